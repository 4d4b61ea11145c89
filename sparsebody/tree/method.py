"""Methods in joint coordinates: prepared once, called at many states; and what they return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import add_joint_wrenches
from sparsebody.assembly.kkt import kkt_structure
from sparsebody.equations.accelerations import Accelerations
from sparsebody.equations.reactions import REACTIONS, joint_reactions, joint_wrenches, minimum_norm
from sparsebody.equations.system_motion import joint_ends, padded
from sparsebody.errors import ModelError, SingularSystemError, UnknownNameError
from sparsebody.model.system import State, System
from sparsebody.sparse.saddle import constraint_matrix
from sparsebody.tree.choice import spanning_tree
from sparsebody.tree.motion import body_accelerations, link_accelerations, link_forces
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.rnea import recursion
from sparsebody.tree.spanning_tree import SpanningTree

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
