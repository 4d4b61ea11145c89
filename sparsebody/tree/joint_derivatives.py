"""Derivatives of inverse and forward dynamics by the joint coordinates of a tree.

    dtau/dq, dtau/dqd, dtau/dqdd = H,    dqdd/dq = -H^-1 dtau/dq, dqdd/dqd = -H^-1 dtau/dqd, H^-1.

The first ones by a recursion over the links, the others by H = L' L. Carpentier and Mansard (2018),
Analytical derivatives of rigid body dynamics algorithms, RSS; Singh, Russell and Wensing (2022).
"""

from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.errors import ModelError, SingularSystemError
from sparsebody.model.system import State, System
from sparsebody.tree import recursions
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.recursions import NO_FORCE, NONE_PRESCRIBED, TreeMotion, checked_coordinates
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_choice import tree_of

_NO_SPRINGS = np.zeros(0), np.zeros(0)


class InverseDynamicsDerivatives(NamedTuple):
    """tau = H qdd + C, and its derivatives (n_velocities, n_velocities), a column a coordinate."""

    tau: FloatArray  # (n_velocities,) [N m, N]
    tau_q: FloatArray
    tau_qd: FloatArray
    H: FloatArray  # by qdd: the joint-space inertia


class ForwardDynamicsDerivatives(NamedTuple):
    """qdd = H^-1 (tau - C), and its derivatives (n_velocities, n_velocities), columns as above."""

    qdd: FloatArray  # (n_velocities,) [rad/s^2, m/s^2]
    qdd_q: FloatArray
    qdd_qd: FloatArray
    qdd_tau: FloatArray  # H^-1, zero in rows and columns of prescribed coordinates


class TreeDerivatives:
    """Derivatives of the dynamics of a tree by q, qd, qdd and tau, prepared once for many states.

    What Pinocchio calls computeRNEADerivatives and computeABADerivatives. Columns are velocity
    coordinates: where positions are quaternions, rotations seen from the joint's frame S (of free
    joints its displacement as well), as in the columns of JointType.motion_subspace; the other
    velocities are rates of positions. With one coordinate changed the others, qd and qdd or tau
    stay the same numbers.

    Parameters
    ----------
    system : System
        A mechanism without closed loops.
    tree : SpanningTree or str
        Its tree, or one of TREE_CHOICES.

    Raises
    ------
    ModelError
        If a joint closes a loop, or the dense matrices are too large.
    """

    def __init__(self, system: System, tree: SpanningTree | str = "depth-first") -> None:
        self.tree = tree = tree_of(system, tree)
        self.system, n = system, tree.n_velocities
        if tree.n_loops:
            name = system.joint_names[int(tree.loop_joint[0])]
            raise ModelError(
                f"derivatives by joint coordinates are of trees, and joint {name!r} closes a loop "
                f"({tree.n_loops} joints do); take those of the bodies by jvp, vjp and matrix of "
                "sparsebody.derivatives"
            )
        if n**2 > recursions.MOST_ENTRIES:
            raise ModelError(
                f"matrices of {n} joint coordinates of {system.name!r} are too large; take "
                "products with vectors by jvp and vjp of sparsebody.derivatives"
            )
        self._motion = recursions.empty_motion(tree)
        self._work = recursions.empty_articulated(tree)
        self._transmitted = np.empty((tree.n_bodies, 6))
        self._packed = recursions.empty_inertia(tree)

    def inverse_dynamics(
        self, q: FloatArray, qd: FloatArray, qdd: FloatArray
    ) -> InverseDynamicsDerivatives:
        """Return tau that gives qdd under gravity alone, and its derivatives.

        `q` (n_positions,) [rad, m, unit quaternions], `qd` and `qdd` (n_velocities,). Raises
        ShapeError or ModelError if there are too many or too few, or one is not finite,
        SingularSystemError if they are too large to multiply.
        """
        tree, n = self.tree, self.tree.n_velocities
        qdd = checked_coordinates(tree, qdd, "qdd", n)
        motion, tau = self._motion_at(q, qd), np.empty(n)
        tau_q, tau_qd = np.zeros((n, n)), np.zeros((n, n))
        work = self._work.acceleration, self._transmitted
        native.inverse_dynamics_derivatives(
            tree.links, motion, tree.pattern, qdd, NO_FORCE, *work, tau, tau_q, tau_qd, self._packed
        )
        _check_finite(tau)
        return InverseDynamicsDerivatives(
            tau, tau_q, tau_qd, recursions.symmetric(tree.pattern, self._packed)
        )

    def forward_dynamics(
        self, q: FloatArray, qd: FloatArray, tau: FloatArray
    ) -> ForwardDynamicsDerivatives:
        """Return qdd under tau [N m, N] and gravity alone, and its derivatives; see above.

        No coordinate is prescribed here. Raises SingularSystemError besides, naming the
        coordinate, if H is not positive definite.
        """
        tau = checked_coordinates(self.tree, tau, "tau", self.tree.n_velocities)
        return self._forward(self._motion_at(q, qd), tau, np.empty_like(tau))

    def at_state(
        self, state: State, body_force: FloatArray | None = None
    ) -> ForwardDynamicsDerivatives:
        """Return qdd and its derivatives at a state of the mechanism, with all that acts on it.

        Springs, dampers and efforts on joint coordinates are taken along; `body_force` (n_bodies,
        6), wrenches about the centers of mass in body axes [N m, N], moves with the bodies.
        Prescribed accelerations do not change. Raises ModelError for other loads, errors of
        `forward_dynamics` besides.
        """
        tree, system, springs = self.tree, self.system, self.system.joint_forces
        problem = TreeProblem(tree, state, body_force)
        self._check_loads()
        tau, stiffness, damping = np.zeros((3, tree.n_velocities))
        if len(springs.item):
            tracked, at = system.coordinates, problem.coordinates
            joint, index = tracked.joint[springs.item], tracked.index[springs.item]
            k = tree.first_velocity[tree.tree_index[joint]] + index
            stretch = at.value[springs.item] - springs.rest
            effort = springs.efforts(state.time) - springs.stiffness * stretch
            np.add.at(tau, k, effort - springs.damping * at.rate[springs.item])
            np.add.at(stiffness, k, springs.stiffness)
            np.add.at(damping, k, springs.damping)
        force = NO_FORCE
        if problem.body_force is not None:
            force = recursions.link_forces(tree, problem.motion, problem.body_force)
        acting = problem.prescribed_qdd.copy(), force, tree.is_prescribed, (stiffness, damping)
        return self._forward(problem.motion, tau, *acting)

    def _check_loads(self) -> None:
        """Raise ModelError where forces are not those of joint coordinates."""
        system = self.system
        lines, elastic = system.point_forces, system.elastic
        on_lines = np.maximum(lines.first, lines.second)  # -1 is the world
        on_elements = np.maximum(elastic.predecessor, elastic.successor)
        bodies = np.concatenate([system.external_forces.body, on_lines, on_elements])
        if len(bodies):
            name = system.body_names[int(bodies[0])]
            raise ModelError(
                f"derivatives by joint coordinates take springs on joints only, and body {name!r} "
                "has a load, a force between points or an elastic element; take those of the "
                "bodies by jvp, vjp and matrix of sparsebody.derivatives, or give `body_force`"
            )

    def _motion_at(self, q: FloatArray, qd: FloatArray) -> TreeMotion:
        tree = self.tree
        q = checked_coordinates(tree, q, "q", tree.n_positions)
        qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
        native.motion_from_coordinates(tree.links, q, qd, self._motion)
        return self._motion

    def _forward(
        self,
        motion: TreeMotion,
        tau: FloatArray,
        qdd: FloatArray,
        force: FloatArray = NO_FORCE,
        is_prescribed: BoolArray = NONE_PRESCRIBED,
        springs: tuple[FloatArray, FloatArray] = _NO_SPRINGS,
    ) -> ForwardDynamicsDerivatives:
        tree, shape = self.tree, (len(tau), len(tau))
        matrices = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        acting = tau, force, is_prescribed, *springs
        failed = native.forward_dynamics_derivatives(
            tree.links, motion, tree.pattern, *acting, self._work, qdd, matrices, self._packed
        )
        recursions.check_pivots(tree, failed)
        _check_finite(qdd)
        return ForwardDynamicsDerivatives(qdd, *matrices)


def _check_finite(values: FloatArray) -> None:
    if not np.isfinite(values).all():
        raise SingularSystemError(
            "joint forces or accelerations are not finite: q, qd, qdd or tau are too large to "
            "multiply; look at them"
        )
