"""The joint-space inertia H by the composite-rigid-body algorithm. Featherstone (2008), table 6.2.

    I^c_i = I_i + sum of I^c of the children
    F = I^c_i S_i,  H_ii = S_i' F;  towards the root, for every j on the support:  H_ij = F' S_j

Method "crba" solves H qdd = tau - C by H = L' L. C from `rnea`, the factors from `ltl`.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.tree.joint_coordinates import checked_coordinates
from sparsebody.tree.ltl import check_pivots, ltl_factor, ltl_solve
from sparsebody.tree.method import TreeDynamics, TreeProblem, TreeSolution
from sparsebody.tree.rnea import inverse_dynamics
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_motion import TreeMotion, empty_motion

MOST_ENTRIES = 2**28  # of H: 2 GB
INERTIA_SIZE = 10  # of a composite: triangle of A, first moment h, mass


def joint_space_inertia(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return H, packed by rows as `tree.pattern` tells.

    Raises
    ------
    ModelError
        If it has more than MOST_ENTRIES entries.
    """
    H = _empty_inertia(tree)
    native.composite_rigid_body(tree.links, motion, tree.pattern, _empty_composite(tree), H)
    return H


def _empty_composite(tree: SpanningTree) -> FloatArray:
    return np.empty((tree.n_bodies, INERTIA_SIZE))


def _empty_inertia(tree: SpanningTree) -> FloatArray:
    n_entries = tree.n_inertia_nonzeros
    if n_entries > MOST_ENTRIES:
        raise ModelError(
            f"the joint-space inertia of {tree.system.name!r} has {n_entries:.2g} entries on a "
            f"{tree.choice} tree of depth {tree.depth.max()}; use method 'sparse'"
        )
    return np.empty(n_entries)


def free_equations(problem: TreeProblem) -> tuple[FloatArray, FloatArray]:
    """Return H (packed) and tau - C of the tree, with qdd measured from problem.prescribed_qdd.

    Rows and columns of driven coordinates are those of the identity and their right-hand sides
    are zero, so that solutions of H x = right add nothing to what is prescribed.
    """
    tree = problem.tree
    H = joint_space_inertia(tree, problem.motion)
    right = -inverse_dynamics(tree, problem.motion, problem.prescribed_qdd, problem.force)
    if len(problem.is_prescribed):
        native.decouple(tree.pattern, problem.is_prescribed, H)
        right[problem.is_prescribed] = 0.0
    return H, right


class CompositeRigidBody(TreeDynamics):
    """O(sum of squared depths) on trees. Featherstone (2008), secs. 6.2 and 6.5.

    Parameters as in TreeDynamics.
    """

    name = "crba"
    takes_loops = False

    def prepare(self) -> None:
        """Make the work space of `inertia_factor`."""
        self._motion, self._composite = empty_motion(self.tree), _empty_composite(self.tree)
        self._at_rest = np.zeros(self.tree.n_velocities)
        self._values = np.zeros(0)

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd = H^-1 (tau - C)."""
        H, right = free_equations(problem)
        qdd = problem.prescribed_qdd + ltl_solve(self.tree, ltl_factor(self.tree, H), right)
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
            self._values = _empty_inertia(tree)
        work = self._motion, self._composite, self._values
        check_pivots(tree, native.inertia_factor(tree.links, q, self._at_rest, tree.pattern, *work))
        return self._values
