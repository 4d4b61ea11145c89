"""Method "crba": trees by the joint-space inertia and its L' L factorization."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.dynamics.tree.branch_sparsity import BranchPattern
from sparsebody.dynamics.tree.composite_rigid_body import joint_space_inertia
from sparsebody.dynamics.tree.ltl import ltl_factor, ltl_solve
from sparsebody.dynamics.tree.methods import TreeDynamics
from sparsebody.dynamics.tree.problem import TreeProblem
from sparsebody.dynamics.tree.recursive_newton_euler import inverse_dynamics
from sparsebody.dynamics.tree.solution import TreeSolution


class CompositeRigidBody(TreeDynamics):
    """O(sum of squared depths) on trees. Featherstone (2008), secs. 6.2 and 6.5."""

    name = "crba"
    takes_loops = False

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd = H^-1 (tau - C)."""
        tree = self.tree
        H, right = free_equations(problem)
        qdd = problem.driven_qdd + ltl_solve(tree, ltl_factor(tree, H), right)
        return TreeSolution(qdd, np.zeros(problem.system.n_rows))


def free_equations(problem: TreeProblem) -> tuple[FloatArray, FloatArray]:
    """Return H (packed) and tau - C of the tree, with qdd measured from problem.driven_qdd.

    Rows and columns of driven coordinates are those of the identity and their right-hand sides
    are zero, so that solutions of H x = right add nothing to what is prescribed.
    """
    tree = problem.tree
    H = joint_space_inertia(tree, problem.motion)
    right = -inverse_dynamics(tree, problem.motion, problem.driven_qdd, problem.force)
    if len(problem.is_driven):
        decouple(tree.pattern, problem.is_driven, H)
        right[problem.is_driven] = 0.0
    return H, right


@njit(cache=True)
def decouple(pattern: BranchPattern, is_driven: BoolArray, H: FloatArray) -> None:
    """Replace the rows and columns of driven coordinates in the packed H by the identity's."""
    for k in range(is_driven.size):
        j = k
        while j >= 0:
            if is_driven[k] or is_driven[j]:
                H[pattern.start[k] + pattern.depth[j]] = 1.0 if j == k else 0.0
            j = pattern.parent[j]
