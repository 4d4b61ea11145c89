"""The base class of methods in joint coordinates: prepared once, called at many states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from sparsebody.arrays import FloatArray
from sparsebody.equations.accelerations import Accelerations
from sparsebody.equations.reactions import REACTIONS
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.system import State, System
from sparsebody.tree.choice import spanning_tree
from sparsebody.tree.frames import body_accelerations
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.recursive_newton_euler import recursion
from sparsebody.tree.solution import TreeSolution, accelerations_of, check_finite
from sparsebody.tree.spanning_tree import SpanningTree


class TreeDynamics(ABC):
    """Forward dynamics by a spanning tree.

    A method derives from it, states its name and whether it takes loops, and solves; what it
    prepares once it makes in its constructor.

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
        tree: SpanningTree | str = "minimum-nonzeros",
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
        found = recursion(self.tree, problem.motion, self.solve(problem).qdd)
        bodies = body_accelerations(self.tree, problem.motion, found[1])
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
