"""Admissible elimination orders, which need no pivoting, and the repair of others.

An order is admissible when every joint comes after both its bodies or, in a tree part, after its
outer body, which must have at least as many freedoms as the joint has rows. The mechanism made of
the bodies eliminated so far, with all others fixed, then has independent constraints whenever the
complete mechanism has.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import BoolArray, IntArray
from sparsebody.sparse.pattern import BlockPattern, check_order


def repair(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return `order` with each joint moved to right after the later of its bodies.

    Bodies keep their sequence, and so do joints that follow the same body.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    check_order(pattern, order)
    return kernels.joints_after_bodies(order, pattern.ends)


def is_admissible(pattern: BlockPattern, order: IntArray) -> bool:
    """Return whether every joint comes after both bodies or, in a tree part, after its outer one.

    The root of a tree that is not fixed to the world is free: any one that makes it true will do.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    return len(early_joints(pattern, order)) == 0


def early_joints(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return the joints, numbered from zero, that come too early for the order to be admissible.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    check_order(pattern, order)
    position, ends = kernels.positions(order), pattern.ends
    later_end = np.maximum(*np.where(ends >= 0, position[ends], -1).T)
    is_early = position[pattern.n_primal :] < later_end
    if is_early.any():
        is_early &= (
            kernels.tree_parts(pattern.adjacency, pattern.block_sizes, ends, position)[0] < 0
        )
    return np.flatnonzero(is_early)


def tree_parts(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Strip the tree parts of the mechanism leaf by leaf.

    Returns
    -------
    outer : (n_dual,) int array
        The outer body of every joint in a tree part, -1 for a joint of the core.
    stripped : (n_stripped,) int array
        The outer bodies from the leaves inwards. A tree that is not fixed to the world keeps one
        body, in its middle.
    """
    bodies_first = np.arange(pattern.n_blocks, dtype=np.intp)
    return kernels.tree_parts(pattern.adjacency, pattern.block_sizes, pattern.ends, bodies_first)


def core_joints(pattern: BlockPattern) -> BoolArray:
    """Return which joints (n_dual,) are in no tree part."""
    return tree_parts(pattern)[0] < 0
