"""Method "crba": trees by the joint-space inertia and its L' L factorization."""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.model.system import System
from sparsebody.tree.composite_rigid_body import (
    empty_composite,
    empty_inertia,
    joint_space_inertia,
)
from sparsebody.tree.coordinates import checked_coordinates
from sparsebody.tree.ltl import check_pivots, ltl_factor, ltl_solve
from sparsebody.tree.methods import TreeDynamics
from sparsebody.tree.motion import empty_motion
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.recursive_newton_euler import inverse_dynamics
from sparsebody.tree.solution import TreeSolution
from sparsebody.tree.spanning_tree import SpanningTree


class CompositeRigidBody(TreeDynamics):
    """O(sum of squared depths) on trees. Featherstone (2008), secs. 6.2 and 6.5.

    Parameters as in TreeDynamics.
    """

    name = "crba"
    takes_loops = False

    def __init__(
        self,
        system: System,
        tree: SpanningTree | str = "minimum-nonzeros",
        *,
        reactions: str = "minimum-norm",
        baumgarte: float | None = None,
    ) -> None:
        super().__init__(system, tree, reactions=reactions, baumgarte=baumgarte)
        self._motion, self._composite = empty_motion(self.tree), empty_composite(self.tree)
        self._at_rest = np.zeros(self.tree.n_velocities)
        self._values = np.zeros(0)

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd = H^-1 (tau - C)."""
        tree = self.tree
        H, right = free_equations(problem)
        qdd = problem.driven_qdd + ltl_solve(tree, ltl_factor(tree, H), right)
        return TreeSolution(qdd, np.zeros(problem.system.n_rows))

    def inertia_factor(self, q: FloatArray) -> FloatArray:
        """Return L of H = L' L at joint positions q (n_positions,), packed as tree.pattern tells.

        The array is filled anew by the next call.

        Raises
        ------
        SingularSystemError
            If H is not positive definite.
        """
        tree = self.tree
        q = checked_coordinates(tree, q, "q", tree.n_positions)
        if len(self._values) == 0:
            self._values = empty_inertia(tree)
        check_pivots(
            tree,
            native.inertia_factor(
                tree.links,
                q,
                self._at_rest,
                tree.pattern,
                self._motion,
                self._composite,
                self._values,
            ),
        )
        return self._values


def free_equations(problem: TreeProblem) -> tuple[FloatArray, FloatArray]:
    """Return H (packed) and tau - C of the tree, with qdd measured from problem.driven_qdd.

    Rows and columns of driven coordinates are those of the identity and their right-hand sides
    are zero, so that solutions of H x = right add nothing to what is prescribed.
    """
    tree = problem.tree
    H = joint_space_inertia(tree, problem.motion)
    right = -inverse_dynamics(tree, problem.motion, problem.driven_qdd, problem.force)
    if len(problem.is_driven):
        native.decouple(tree.pattern, problem.is_driven, H)
        right[problem.is_driven] = 0.0
    return H, right
