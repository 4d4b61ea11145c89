"""The rows of passive loop joints on their links, without those of all other joints.

loop_constraints gives the same with drives and stabilization, by way of all joints of the system.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.varying_rows import VaryingRows
from sparsebody.model.system import State, with_joints
from sparsebody.tree.fronts.front_order import constrained_loops
from sparsebody.tree.links import FRAME, FRAME_POINT
from sparsebody.tree.motion import TreeMotion
from sparsebody.tree.spanning_tree import SpanningTree


class LoopTable(NamedTuple):
    """Constants of the loop joints that have rows."""

    ends: IntArray  # (n, 2) links of predecessor and successor, -1 for the world
    first_row: IntArray  # (n + 1,) among loop rows
    row: FloatArray  # (m, 6) T' in the axes of the successor's link about its origin
    anchor: FloatArray  # (n, 3) origin of S in the world, where the successor is the world


def loop_table(tree: SpanningTree) -> LoopTable:
    """Return the constants of the loop joints of a tree."""
    system, loops = tree.system, constrained_loops(tree)
    first = system.first_row
    joint = tree.loop_joint[first[tree.loop_joint + 1] > first[tree.loop_joint]]
    own = np.repeat(np.arange(len(joint)), np.diff(loops.first_row))
    rows = tree.loop_rows
    link = loops.ends[:, 1]
    is_link = (link >= 0)[:, None]
    to_body = tree.links.constants[link, FRAME:FRAME_POINT].reshape(-1, 3, 3)
    origin = tree.links.constants[link, FRAME_POINT : FRAME_POINT + 3]
    to_body = np.where(is_link[:, :, None], to_body, np.eye(3))
    point, rotation = system.successor_point[joint], system.successor_rotation[joint]
    to_link = np.einsum("nba,nbc->nac", to_body, rotation)
    arm = np.einsum("nba,nb->na", to_body, np.where(is_link, point - origin, 0.0))
    moment, force = (
        np.einsum("mab,mb->ma", to_link[own], part)
        for part in (system.subspace[rows, :3], system.subspace[rows, 3:])
    )
    row = np.concatenate([moment + np.cross(arm[own], force), force], axis=1)
    return LoopTable(loops.ends, loops.first_row, row, np.where(is_link, 0.0, point))


class VaryingLoops:
    """The rows of those loop joints whose T varies on both bodies.

    Parameters
    ----------
    tree : SpanningTree
        A tree of a system without springs or drives on joints.
    """

    def __init__(self, tree: SpanningTree) -> None:
        system = tree.system
        joint = tree.loop_joint[np.isin(tree.loop_joint, system.varying_joints)]
        of_loops = system.row_joint[tree.loop_rows]
        self.row = np.flatnonzero(np.isin(of_loops, joint))  # (k,) among loop rows
        self._varying, self._links = VaryingRows(with_joints(system, joint)), tree.links

    def overwrite(
        self,
        state: State,
        motion: TreeMotion,
        link: IntArray,
        wrench: FloatArray,
        gamma: FloatArray,
    ) -> None:
        """Overwrite those of all loop rows, `wrench` (m, 2, 6) on `link` (m, 2) and gamma (m,)."""
        if len(self.row) == 0:
            return
        self._varying.fill(state)
        own = self._varying.rows.copy()
        native.rows_to_links(self._links, motion, link[self.row], own)
        wrench[self.row], gamma[self.row] = own, self._varying.gamma
