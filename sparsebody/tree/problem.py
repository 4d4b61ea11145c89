"""A mechanism at a state in the terms of its spanning tree: what every method starts from."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.body_forces import model_loads
from sparsebody.equations.system_motion import SystemMotion, checked_vectors
from sparsebody.kinematics.coordinates import prescribed_motion
from sparsebody.kinematics.loop_closure import prescribed_velocities
from sparsebody.model.system import State, check_state
from sparsebody.tree.links import Links
from sparsebody.tree.motion import TreeMotion, add_tree_shift, link_forces, motion_at_state
from sparsebody.tree.spanning_tree import SpanningTree


class TreeProblem(SystemMotion):
    """Motion, forces and constraint rows at a state; computed only as needed.

    Springs, dampers and efforts, on tree and on loop joints alike, are wrenches on the bodies, so
    that no joint of the tree is active: tau = 0, tau_a is part of `force`.

    Parameters
    ----------
    tree : SpanningTree
        The spanning tree.
    state : State
        Poses and velocities.
    body_force : (n_bodies, 6) array, optional
        Additional wrenches about the centers of mass in body axes [N m, N].
    baumgarte : float, optional
        Time constant [s] of the stabilization terms of (8.22), on tree and on loop joints.
    """

    def __init__(
        self,
        tree: SpanningTree,
        state: State,
        body_force: FloatArray | None = None,
        baumgarte: float | None = None,
    ) -> None:
        check_state(tree.system, state)
        if body_force is not None:
            body_force = checked_vectors(tree.system, body_force, "body_force")
        super().__init__(tree.system, _contiguous(state), body_force)
        self.tree, self.baumgarte = tree, baumgarte

    @property
    def links(self) -> Links:
        """Constants of the tree for kernels."""
        return self.tree.links

    @cached_property
    def motion(self) -> TreeMotion:
        """Of the links, in world axes; Baumgarte's terms of tree joints are part of the drift."""
        motion = motion_at_state(self.tree, self.state)
        if self.baumgarte is not None:
            add_tree_shift(self.tree, motion, self.subspace, self.shift)
        return motion

    @cached_property
    def free_motion(self) -> TreeMotion:
        """The same with zeros in place of the motion subspaces of driven coordinates."""
        if len(self.is_prescribed) == 0:
            return self.motion
        free = np.where(self.is_prescribed[:, None], 0.0, self.motion.subspace)
        return self.motion._replace(subspace=free)

    @property
    def subspace(self) -> FloatArray:
        """(n_rows, 6) T' in S coordinates, which few joint types let vary."""
        system = self.system
        varies = len(system.coordinates.prescribed) or len(system.varying_joints)
        return self.constraint.subspace if varies else system.subspace

    @cached_property
    def shift(self) -> FloatArray:
        """(n_rows,) Baumgarte's terms k_stab of every row, zero without them. (8.22)."""
        if self.baumgarte is None:
            return np.zeros(self.system.n_rows)
        T, rows = self.baumgarte, self.constraint
        velocity = rows.velocity - prescribed_velocities(self.system, self.state.time)
        return -2.0 / T * velocity - self.position_error / T**2

    @property
    def gamma(self) -> FloatArray:
        """(n_rows,) right-hand sides of all rows, A a = gamma, with Baumgarte's terms."""
        return self.constraint.acceleration + self.shift

    @property
    def loop_rows(self) -> IntArray:
        """Rows of the system's loop joints, prescribed coordinates among them, in order."""
        return self.tree.loop_rows

    @cached_property
    def load(self) -> FloatArray | None:
        """(n_bodies, 6) wrenches on the bodies besides gravity in body axes, None for none."""
        system = self.system
        if not system.has_loads:
            return self.body_force
        load = model_loads(system, self.state, self.joints, self.coordinates)
        return load if self.body_force is None else load + self.body_force

    @cached_property
    def force(self) -> FloatArray:
        """(n_bodies, 6) the same on the links, or (0, 6) for none; world axes, links' origins."""
        if self.load is None:
            return np.zeros((0, 6))
        return link_forces(self.tree, self.motion, self.load)

    @property
    def is_prescribed(self) -> BoolArray:
        """(n_velocities,) whether qdd is prescribed, or (0,) if none is."""
        return self.tree.is_prescribed

    @cached_property
    def prescribed_qdd(self) -> FloatArray:
        """(n_velocities,) prescribed accelerations, zero elsewhere."""
        qdd, own = np.zeros(self.tree.n_velocities), self.tree.prescribed
        if len(own.velocity):
            acceleration = prescribed_motion(self.system, self.state.time)[own.item, 2]
            qdd[own.velocity] = acceleration + self.shift[own.row]
        return qdd


def _contiguous(state: State) -> State:
    """Return the state with arrays as compiled code takes them; other kinds cost a compilation."""
    fields = ("position", "orientation", "velocity", "coordinate")
    if all(getattr(state, field).flags.carray for field in fields):
        return state
    return state.with_(**{field: np.array(getattr(state, field), order="C") for field in fields})
