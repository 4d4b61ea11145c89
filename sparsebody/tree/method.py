"""Methods in joint coordinates: what they start from, prepared once, called at many states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.body_forces import add_joint_wrenches, model_loads
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.equations.accelerations import (
    REACTIONS,
    Accelerations,
    joint_reactions,
    joint_wrenches,
    minimum_norm,
)
from sparsebody.equations.system_motion import SystemMotion, checked_vectors, joint_ends, padded
from sparsebody.errors import ModelError, ShapeError, SingularSystemError, UnknownNameError
from sparsebody.kinematics.joint_motion import prescribed_motion, prescribed_velocities
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.saddle import constraint_matrix
from sparsebody.tree.joint_coordinates import joint_coordinates, position_rates, tree_state
from sparsebody.tree.rnea import recursion
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_choice import spanning_tree
from sparsebody.tree.tree_motion import (
    Links,
    TreeMotion,
    add_tree_shift,
    body_accelerations,
    link_accelerations,
    link_forces,
    motion_at_state,
)


class StateSpace:
    """A method in joint coordinates as a function that integrators call.

    Positions of balls and free joints are quaternions, which are more than their velocities.

    Parameters
    ----------
    dynamics : TreeDynamics
        By any method; with loops, give it a Baumgarte constant.
    """

    def __init__(self, dynamics: TreeDynamics) -> None:
        self.dynamics = dynamics
        self.tree = dynamics.tree

    def pack(self, state: State) -> FloatArray:
        """Return x (n_positions + n_velocities,) of a state."""
        return np.concatenate(joint_coordinates(self.tree, state))

    def unpack(self, x: FloatArray, time: float = 0.0) -> State:
        """Return the state of x."""
        return tree_state(self.tree, *self._parts(x), time=time)

    def __call__(self, time: float, x: FloatArray) -> FloatArray:
        """Return dx/dt = (Q(q) qd, qdd)."""
        q, qd = self._parts(x)
        problem = self.dynamics.problem(tree_state(self.tree, q, qd, time=time))
        return np.concatenate([position_rates(self.tree, q, qd), self.dynamics.solve(problem).qdd])

    def _parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = self.tree.n_positions
        if np.shape(x) != (n + self.tree.n_velocities,):
            raise ShapeError(
                f"x has shape {np.shape(x)}; the tree has {n} positions and "
                f"{self.tree.n_velocities} velocities"
            )
        return x[:n], x[n:]


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


TINY = 1e-300


@dataclass(frozen=True, eq=False)
class TreeSolution:
    """Accelerations of the joint coordinates, and multipliers of the loop joints."""

    qdd: FloatArray  # (n_velocities,)
    multiplier: FloatArray  # (n_rows,) of the rows of loop joints; others are ignored
    is_unique: bool = True  # whether the multipliers are
    dropped_residual: float = 0.0  # of rows that the method left out


class TreeDynamics(ABC):
    """Forward dynamics by a spanning tree.

    A method derives from it, states its name and whether it takes loops, and solves; what it needs
    at every state it makes once in `prepare`.

    Parameters
    ----------
    system : System
        The mechanism.
    tree : SpanningTree or str
        The tree, what spanning_tree is to choose, or "auto" for the choice that suits the method.
    reactions : {"minimum-norm", "basic"}
        Which multipliers to return where they are not unique.
    baumgarte : float, optional
        Time constant [s] of the stabilization terms of (8.22) on all joints.

    Raises
    ------
    ModelError
        If the method takes trees only, and a joint closes a loop.
    """

    name: ClassVar[str]
    takes_loops: ClassVar[bool]
    best_tree: ClassVar[str] = "minimum-nonzeros"

    def __init__(
        self,
        system: System,
        tree: SpanningTree | str = "auto",
        *,
        reactions: str = "minimum-norm",
        baumgarte: float | None = None,
    ) -> None:
        if reactions not in REACTIONS:
            raise UnknownNameError(
                f"reactions is {reactions!r}; give one of {', '.join(REACTIONS)}"
            )
        if baumgarte is not None and not baumgarte > 0.0:
            raise ModelError(f"the Baumgarte time constant is {baumgarte}; it must be positive")
        self.system = system
        tree = self.best_tree if tree == "auto" else tree
        self.tree = spanning_tree(system, tree) if isinstance(tree, str) else tree
        self.reactions = reactions
        self.baumgarte = baumgarte
        self.prepare()

    def prepare(self) -> None:  # noqa: B027
        """Make what is needed at every state; nothing here."""

    def problem(self, state: State, body_force: FloatArray | None = None) -> TreeProblem:
        """Return the motion, forces and rows at a state."""
        return TreeProblem(self.tree, state, body_force, self.baumgarte)

    @abstractmethod
    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return the accelerations of the joint coordinates, and the multipliers of loop rows."""

    def __call__(self, state: State, *, body_force: FloatArray | None = None) -> Accelerations:
        """Return the accelerations and constraint forces; see ForwardDynamics."""
        problem = self.problem(state, body_force)
        return accelerations_of(problem, self.solve(problem), self.reactions)

    def acceleration(self, state: State, *, body_force: FloatArray | None = None) -> FloatArray:
        """Return the accelerations of the bodies (n_bodies, 6) alone, in body coordinates."""
        problem = self.problem(state, body_force)
        qdd = self.solve(problem).qdd
        links = link_accelerations(self.tree, problem.motion, qdd)
        bodies = body_accelerations(self.tree, problem.motion, links)
        check_finite(bodies, state.time)
        return bodies

    def explain(self) -> dict[str, object]:
        """Say which tree is used, and how large what it leads to is."""
        tree = self.tree
        return {
            "method": self.name,
            "tree": tree.choice,
            "depth": int(tree.depth.max(initial=0)),
            "velocity_coordinates": tree.n_velocities,
            "inertia_nonzeros": tree.n_inertia_nonzeros,
            "loop_joints": tree.n_loops,
        }


def accelerations_of(
    problem: TreeProblem, solution: TreeSolution, reactions: str = "minimum-norm"
) -> Accelerations:
    """Return the accelerations of the bodies and the constraint forces of all joints.

    The forces of tree joints are what the recursive Newton-Euler algorithm finds transmitted; the
    residual is the largest violation of a loop row, or of a tree joint's tau = 0.

    Raises
    ------
    SingularSystemError
        If the accelerations are not finite.
    """
    tree, system, motion = problem.tree, problem.system, problem.motion
    multiplier = np.zeros(system.n_rows)
    multiplier[problem.loop_rows] = solution.multiplier[problem.loop_rows]
    force = problem.force
    if tree.n_loops:
        force = _with_loops(problem, multiplier)
    tau, acceleration, transmitted = recursion(tree, motion, solution.qdd, force)
    subspace = problem.subspace
    native.tree_multipliers(
        tree.links, motion, tree.joint, system.first_row, subspace, transmitted, multiplier
    )
    bodies = body_accelerations(tree, motion, acceleration)
    check_finite(bodies, problem.state.time)
    residual = _residual(problem, bodies, tau, transmitted)
    if not solution.is_unique and reactions == "minimum-norm":
        matrix = kkt_structure(system).matrix(problem.constraint)
        multiplier = minimum_norm(constraint_matrix(matrix), multiplier)
    return Accelerations(
        bodies,
        multiplier,
        joint_reactions(system, problem.state, subspace, multiplier),
        residual,
        solution.dropped_residual,
    )


def check_finite(bodies: FloatArray, time: float) -> None:
    """Raise SingularSystemError unless all accelerations are finite."""
    if not np.isfinite(bodies).all():
        raise SingularSystemError(
            f"the accelerations at t = {time:.6g} s are not finite: velocities or forces are too "
            "large to multiply, or a joint has lost its motion; look at the state"
        )


def _with_loops(problem: TreeProblem, multiplier: FloatArray) -> FloatArray:
    """Return the forces on the links with those of the loop joints."""
    system, loops = problem.system, problem.tree.loop_joint
    wrench = joint_wrenches(system, problem.subspace, multiplier)
    load = np.zeros((system.n_bodies, 6)) if problem.load is None else problem.load.copy()
    add_joint_wrenches(system, problem.joints, loops, wrench[loops], load)
    return link_forces(problem.tree, problem.motion, load)


def _residual(
    problem: TreeProblem, bodies: FloatArray, tau: FloatArray, transmitted: FloatArray
) -> float:
    """Return the largest relative violation of a loop row, or of S' f = 0 in a tree joint."""
    passive = tau if len(problem.is_prescribed) == 0 else tau[~problem.is_prescribed]
    size = max(np.abs(transmitted).max(initial=0.0), _inertial_size(problem, bodies), TINY)
    worst = np.abs(passive).max(initial=0.0) / size
    rows = problem.loop_rows
    if len(rows):
        system, joint = problem.system, problem.system.row_joint[rows]
        A, gamma = problem.constraint.rows[rows], problem.gamma[rows]
        terms = A * padded(bodies)[joint_ends(system, joint)]
        free = max(np.abs(bodies).max(), np.abs(system.gravity).max())  # a rigid loop rests
        size = max(np.abs(terms).max(), np.abs(gamma).max(), np.abs(A).max() * free, TINY)
        worst = max(worst, np.abs(terms.sum(axis=(1, 2)) - gamma).max() / size)
    return float(worst)


def _inertial_size(problem: TreeProblem, bodies: FloatArray) -> float:
    """Return the size of the largest term of the bodies' equations of motion."""
    system = problem.system
    load = 0.0 if problem.load is None else np.abs(problem.load).max()
    weight = np.abs(system.gravity).max()
    velocity = problem.state.velocity
    own = native.largest_inertial_term(system.mass, system.inertia, velocity, bodies, weight)
    return max(float(load), own)
