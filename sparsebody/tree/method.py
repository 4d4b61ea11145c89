"""Methods in joint coordinates: what they start from, prepared once, called at many states.

A method is a class derived from TreeDynamics; here those for trees, "aba" and "crba".
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.assembly import body_forces, kkt_structure
from sparsebody.equations import Accelerations, SystemMotion, accelerations, system_motion
from sparsebody.errors import SingularSystemError, check_name
from sparsebody.kinematics.joint_motion import prescribed_motion
from sparsebody.model.system import State, System, body_arrays, check_state
from sparsebody.tolerances import LEAST_DIVISOR
from sparsebody.tree import recursions, tree_choice
from sparsebody.tree.spanning_tree import AnyTree, SpanningTree


class TreeProblem(SystemMotion):
    """Motion, forces and constraint rows at a state; computed only as needed.

    Springs, dampers and efforts are wrenches on the bodies, so that tau = 0; `body_force`
    (n_bodies, 6) are more, in body axes [N m, N]. `baumgarte`: time constant [s] of (8.22), on tree
    and loop joints.
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
            body_force = system_motion.checked_vectors(tree.system, body_force, "body_force")
        names = ("position", "orientation", "velocity", "coordinate")
        if not all(getattr(state, name).flags.carray for name in names):
            plain = {name: np.array(getattr(state, name), order="C") for name in names}
            state = state.with_(**plain)
        super().__init__(tree.system, state, body_force)
        self.tree, self.baumgarte = tree, baumgarte

    @cached_property
    def motion(self) -> recursions.TreeMotion:
        """Motion of the links, in world axes; its drift has Baumgarte's terms of tree joints."""
        motion = recursions.motion_at_state(self.tree, self.state)
        if self.baumgarte is not None:
            tree, system, k_stab = self.tree, self.system, self.k_stab.copy()
            k_stab[system.coordinates.row[system.coordinates.prescribed]] = 0.0
            rows = system.first_row, self.subspace, k_stab
            native.add_stabilization(tree.links, motion, tree.joint, *rows)  # (8.22)
        return motion

    @cached_property
    def free_motion(self) -> recursions.TreeMotion:
        """`motion` with zeros in place of the motion subspaces of prescribed coordinates."""
        is_prescribed = self.tree.is_prescribed
        if len(is_prescribed) == 0:
            return self.motion
        free = np.where(is_prescribed[:, None], 0.0, self.motion.subspace)
        return self.motion._replace(subspace=free)

    @cached_property
    def k_stab(self) -> FloatArray:
        """(n_rows,) Baumgarte's terms k_stab of every row, zero without them. (8.22)."""
        if self.baumgarte is None:
            return np.zeros(self.system.n_rows)
        return self.stabilization(self.baumgarte)

    @property
    def gamma(self) -> FloatArray:
        """(n_rows,) right-hand sides of all rows, A a = gamma, with Baumgarte's terms."""
        return self.constraint.acceleration + self.k_stab

    @cached_property
    def load(self) -> FloatArray | None:
        """(n_bodies, 6) wrenches on the bodies besides gravity in body axes, None for none."""
        system = self.system
        if not system.has_loads:
            return self.body_force
        load = system_motion.model_loads(system, self.state)
        return load if self.body_force is None else load + self.body_force

    @cached_property
    def force(self) -> FloatArray:
        """(n_bodies, 6) `load` on the links, or (0, 6) for none; world axes, links' origins."""
        if self.load is None:
            return np.zeros((0, 6))
        return recursions.link_forces(self.tree, self.motion, self.load)

    @cached_property
    def prescribed_qdd(self) -> FloatArray:
        """(n_velocities,) prescribed accelerations, zero elsewhere."""
        qdd, own = np.zeros(self.tree.n_velocities), self.tree.prescribed
        if len(own.velocity):
            acceleration = prescribed_motion(self.system, self.state.time)[own.item, 2]
            qdd[own.velocity] = acceleration + self.k_stab[own.row]
        return qdd


class TreeSolution(NamedTuple):
    """Accelerations of the joint coordinates, and multipliers of the loop joints."""

    qdd: FloatArray  # (n_velocities,)
    multiplier: FloatArray  # (n_rows,) of the rows of loop joints; others are ignored
    is_unique: bool = True  # whether the multipliers are
    dropped_residual: float = 0.0  # of rows that the method left out


class TreeDynamics(ABC):
    """Forward dynamics by a spanning tree: a method says whether it takes loops, and solves.

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
    """

    name: ClassVar[str]
    takes_loops: ClassVar[bool]
    best_tree: ClassVar[str] = "minimum-nonzeros"

    def __init__(
        self,
        system: System,
        tree: AnyTree = "auto",
        *,
        reactions: str = "minimum-norm",
        baumgarte: float | None = None,
    ) -> None:
        check_name(reactions, accelerations.REACTIONS, "reactions")
        accelerations.check_baumgarte(baumgarte)
        self.system, self.reactions, self.baumgarte = system, reactions, baumgarte
        tree = self.best_tree if tree == "auto" else tree
        self.tree = tree_choice.tree_of(system, tree)
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Make what is needed at every state."""

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
        links = recursions.link_accelerations(self.tree, problem.motion, qdd)
        bodies = recursions.body_accelerations(self.tree, problem.motion, links)
        return checked_finite(bodies, state.time)

    def explain(self) -> dict[str, object]:
        """Return the choice of the tree, and the sizes that follow from it."""
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
    """Return the accelerations of the bodies, and constraint forces as table 5.1 transmits them.

    The residual is the largest violation of a loop row, or of a tree joint's tau = 0. Raises
    SingularSystemError if the accelerations are not finite.
    """
    tree, system, motion = problem.tree, problem.system, problem.motion
    multiplier = np.zeros(system.n_rows)
    multiplier[tree.loop_rows] = solution.multiplier[tree.loop_rows]
    subspace, force = problem.subspace, problem.force
    if tree.n_loops:
        wrench = problem.joint_wrenches(multiplier)[tree.loop_joint]
        load = np.zeros((system.n_bodies, 6)) if problem.load is None else problem.load.copy()
        body_forces.add_joint_wrenches(system, problem.joints, tree.loop_joint, wrench, load)
        force = recursions.link_forces(tree, motion, load)
    tau, acceleration, transmitted = recursions.recursive_newton_euler(
        tree, motion, solution.qdd, force
    )
    native.tree_multipliers(
        tree.links, motion, tree.joint, system.first_row, subspace, transmitted, multiplier
    )
    bodies = recursions.body_accelerations(tree, motion, acceleration)
    checked_finite(bodies, problem.state.time)
    residual = _residual(problem, bodies, tau, transmitted)
    if not solution.is_unique and reactions == "minimum-norm":
        matrix = kkt_structure(system).matrix(problem.constraint)
        multiplier = accelerations.minimum_norm(matrix, multiplier)
    wrenches = problem.joint_reactions(multiplier)
    return Accelerations(bodies, multiplier, wrenches, residual, solution.dropped_residual)


def checked_finite(bodies: FloatArray, time: float) -> FloatArray:
    """Return accelerations; raise SingularSystemError unless all are finite."""
    if not np.isfinite(bodies).all():
        raise SingularSystemError(
            f"the accelerations at t = {time:.6g} s are not finite: velocities or forces are too "
            "large to multiply, or a joint has lost its motion; look at the state"
        )
    return bodies


def _residual(problem: TreeProblem, bodies: FloatArray, tau: FloatArray, f: FloatArray) -> float:
    """Return the largest relative violation of a loop row, or of S' f = 0 in a tree joint."""
    system, tree = problem.system, problem.tree
    passive = tau if len(tree.is_prescribed) == 0 else tau[~tree.is_prescribed]
    load = 0.0 if problem.load is None else float(np.abs(problem.load).max())
    weight, velocity = np.abs(system.gravity).max(), problem.state.velocity
    inertial = native.largest_inertial_term(system.mass, system.inertia, velocity, bodies, weight)
    size = max(np.abs(f).max(initial=0.0), load, inertial, LEAST_DIVISOR)
    worst = np.abs(passive).max(initial=0.0) / size
    rows = tree.loop_rows
    if len(rows):
        A, gamma = problem.constraint.rows[rows], problem.gamma[rows]
        terms = A * system_motion.padded(bodies)[system.ends[system.row_joint[rows]]]
        free = max(np.abs(bodies).max(), weight)  # a rigid loop rests
        size = max(np.abs(terms).max(), np.abs(gamma).max(), np.abs(A).max() * free, LEAST_DIVISOR)
        worst = max(worst, np.abs(terms.sum(axis=(1, 2)) - gamma).max() / size)
    return float(worst)


def free_equations(problem: TreeProblem) -> tuple[FloatArray, FloatArray]:
    """Return H (packed) and tau - C for x = qdd - prescribed_qdd; prescribed rows are of one."""
    tree, motion = problem.tree, problem.motion
    H = recursions.joint_space_inertia(tree, motion)
    right = -recursions.inverse_dynamics(tree, motion, problem.prescribed_qdd, problem.force)
    if len(tree.is_prescribed):
        native.decouple(tree.pattern, tree.is_prescribed, H)
        right[tree.is_prescribed] = 0.0
    return H, right


class ArticulatedBody(TreeDynamics):
    """Method "aba", O(n) on trees. Featherstone (2008), sec. 7.3. Parameters: TreeDynamics."""

    name = "aba"
    takes_loops = False

    def prepare(self) -> None:
        """Make the work space."""
        self._motion = recursions.empty_motion(self.tree)
        self._work = recursions.empty_articulated(self.tree)
        self._passive = np.zeros(self.tree.n_velocities)

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd."""
        tree, qdd = self.tree, problem.prescribed_qdd.copy()
        forces = self._passive, problem.force, tree.is_prescribed
        native.articulated_body(tree.links, problem.motion, *forces, self._work, qdd)
        return TreeSolution(qdd, np.zeros(problem.system.n_rows))

    def acceleration(self, state: State, *, body_force: FloatArray | None = None) -> FloatArray:
        """Return the accelerations of the bodies (n_bodies, 6) alone, in body coordinates."""
        problem, tree = self.problem(state, body_force), self.tree
        is_plain = len(tree.is_prescribed) == 0 and problem.load is None
        if self.baumgarte is not None or not is_plain:
            return super().acceleration(state, body_force=body_force)
        result, qdd = np.empty((tree.n_bodies, 6)), np.empty(tree.n_velocities)
        at = body_arrays(self.system, problem.state)
        work = self._passive, self._motion, self._work
        native.accelerations_at_bodies(tree.links, at, *work, qdd, result)
        return checked_finite(result, state.time)

    def joint_acceleration(self, q: FloatArray, qd: FloatArray, tau: FloatArray) -> FloatArray:
        """Return qdd at q (n_positions,) and qd (n_velocities,) under tau [N m, N] and gravity."""
        tree, n_v = self.tree, self.tree.n_velocities
        q = recursions.checked_coordinates(tree, q, "q", tree.n_positions)
        qd = recursions.checked_coordinates(tree, qd, "qd", n_v)
        tau = recursions.checked_coordinates(tree, tau, "tau", n_v)
        qdd = np.empty(n_v)
        native.accelerations_at_coordinates(tree.links, q, qd, tau, self._motion, self._work, qdd)
        return qdd


class CompositeRigidBody(TreeDynamics):
    """Method "crba": H qdd = tau - C by H = L' L, O(sum of squared depths) on trees.

    Featherstone (2008), secs. 6.2 and 6.5. Parameters as in TreeDynamics.
    """

    name = "crba"
    takes_loops = False

    def prepare(self) -> None:
        """Make the work space of `inertia_factor`."""
        self._motion = recursions.empty_motion(self.tree)
        self._composite = recursions.empty_composite(self.tree)
        self._at_rest = np.zeros(self.tree.n_velocities)
        self._values = np.zeros(0)

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd = H^-1 (tau - C)."""
        H, right = free_equations(problem)
        L = recursions.ltl_factor(self.tree, H)
        qdd = problem.prescribed_qdd + recursions.ltl_solve(self.tree, L, right)
        return TreeSolution(qdd, np.zeros(problem.system.n_rows))

    def inertia_factor(self, q: FloatArray) -> FloatArray:
        """Return L of H = L' L at q (n_positions,), packed as in tree.pattern.

        The next call fills it anew. Raises SingularSystemError if H is not positive definite.
        """
        tree = self.tree
        q = recursions.checked_coordinates(tree, q, "q", tree.n_positions)
        if len(self._values) == 0:
            self._values = recursions.empty_inertia(tree)
        work = self._motion, self._composite, self._values
        failed = native.inertia_factor(tree.links, q, self._at_rest, tree.pattern, *work)
        recursions.check_pivots(tree, failed)
        return self._values
