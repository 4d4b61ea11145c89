"""Baumgarte's terms of tree joints, for states whose bodies have drifted apart. (8.22)."""

from __future__ import annotations

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.tree.motion import TreeMotion
from sparsebody.tree.spanning_tree import SpanningTree


def add_tree_shift(
    tree: SpanningTree, motion: TreeMotion, subspace: FloatArray, shift: FloatArray
) -> None:
    """Add to the drift of the links what makes T' (a_s - a_p) of tree joints larger by `shift`.

    Of all such accelerations the least in S coordinates that leaves prescribed coordinates alone;
    `subspace` (n_rows, 6) and `shift` (n_rows,) are those of the system's rows.
    """
    system = tree.system
    own = shift.copy()
    own[system.coordinates.row[system.coordinates.prescribed]] = 0.0
    native.add_stabilization(tree.links, motion, tree.joint, system.first_row, subspace, own)
