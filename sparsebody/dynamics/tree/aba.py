"""Method "aba": trees by the articulated-body algorithm."""

from __future__ import annotations

import numpy as np

from sparsebody.dynamics.tree.articulated_body import articulated_body, empty_articulated
from sparsebody.dynamics.tree.methods import TreeDynamics
from sparsebody.dynamics.tree.problem import TreeProblem
from sparsebody.dynamics.tree.solution import TreeSolution


class ArticulatedBody(TreeDynamics):
    """O(n) on trees. Featherstone (2008), sec. 7.3."""

    name = "aba"
    takes_loops = False

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd."""
        tree = self.tree
        qdd = problem.driven_qdd.copy()
        articulated_body(
            tree.links,
            problem.motion,
            np.zeros(tree.n_velocities),
            problem.force,
            problem.is_driven,
            empty_articulated(tree),
            qdd,
        )
        return TreeSolution(qdd, np.zeros(problem.system.n_rows))
