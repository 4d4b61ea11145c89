"""Loop constraints K qdd = k on the accelerations of the tree. Featherstone (2008), sec. 8.2.

A row of a loop joint is a wrench on each of its two bodies. Its row of K is the power of these
wrenches on the motion subspaces between the bodies and the body where their supports meet, as in
table 8.4, but about each link's own origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.system_motion import padded
from sparsebody.tree.motion import link_accelerations, powers
from sparsebody.tree.problem import TreeProblem


@dataclass(frozen=True, eq=False)
class LoopRows:
    """The rows of the loop joints, drives among them, on the links at their ends."""

    row: IntArray  # (m,) numbers in the system
    link: IntArray  # (m, 2) the tree's numbers of predecessor and successor, -1 for the world
    wrench: FloatArray  # (m, 2, 6) A on either link, in world axes about its origin
    gamma: FloatArray  # (m,) right-hand sides of A a = gamma, with Baumgarte's terms

    @property
    def n_rows(self) -> int:
        """Number of rows, dependent ones included."""
        return len(self.row)


def loop_rows(problem: TreeProblem, row: IntArray | None = None) -> LoopRows:
    """Return the rows of the loop joints at a state, in the order of `row` if it is given."""
    tree, row = problem.tree, problem.loop_rows if row is None else row
    link, wrench = tree.ends(problem.system.row_joint[row]), problem.constraint.rows[row]
    native.rows_to_links(tree.links, problem.motion, link, wrench)
    return LoopRows(row, link, wrench, problem.gamma[row])


def loop_matrix(problem: TreeProblem, rows: LoopRows) -> FloatArray:
    """Return K (m, n_velocities); columns of driven coordinates are zero."""
    return powers(problem.tree, problem.free_motion, rows.link, rows.wrench)


def loop_right_hand_side(problem: TreeProblem, rows: LoopRows) -> FloatArray:
    """Return k + k_stab (m,), with qdd measured from problem.prescribed_qdd. (8.15), (8.22)."""
    velocity_product = link_accelerations(problem.tree, problem.motion, problem.prescribed_qdd)
    ends = padded(velocity_product)[rows.link]
    return np.asarray(rows.gamma - np.einsum("mea,mea->m", rows.wrench, ends))
