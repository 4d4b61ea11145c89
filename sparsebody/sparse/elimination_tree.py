"""Elimination tree and shape of L in a given order; orders that need no pivoting.

All arrays are numbered by *position*: position 0 is eliminated first. `order[position]` is the
block. A block column of L has the pivot block on top and the blocks that fill in below it.

An order is admissible when every joint comes after both its bodies or, in a tree part, after its
outer body, which must have at least as many freedoms as the joint has rows. The mechanism made of
the bodies eliminated so far, with all others fixed, then has independent constraints whenever the
complete mechanism has. Functions of an order raise ShapeError unless it lists every block once.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import BoolArray, IntArray
from sparsebody.sparse.pattern import BlockPattern, Blocks, Graph, check_order


def ordered_adjacency(pattern: Blocks, order: IntArray) -> Graph:
    """Return the pattern's adjacency in positions, (indptr, indices); rows are not sorted."""
    check_order(pattern, order)
    return kernels.reordered(pattern.adjacency, order)


class Elimination(NamedTuple):
    """Adjacency, elimination tree and postorder in one order, from which costs follow quickly.

    Liu (1986), with path compression; Davis (2006), sec. 4.1.
    """

    graph: Graph  # the pattern's adjacency, by position
    parent: IntArray  # (n_blocks,) of every position in the elimination tree, -1 for a root
    sequence: IntArray  # (n_blocks,) a postorder: every node after all of its descendants


def elimination(pattern: Blocks, order: IntArray) -> Elimination:
    """Return adjacency, elimination tree and postorder of a pattern in an order."""
    return elimination_of(ordered_adjacency(pattern, order))


def elimination_of(graph: Graph) -> Elimination:
    """Return adjacency, elimination tree and postorder of any graph, numbered by position."""
    parent = kernels.elimination_tree(graph)
    return Elimination(graph, parent, kernels.postorder(parent))


def postordered(pattern: Blocks, order: IntArray) -> IntArray:
    """Return an equivalent order: the same L except for its numbering, subtrees contiguous.

    Blocks that couple keep their sequence, so an admissible order stays admissible.
    """
    check_order(pattern, order)
    return kernels.postordered(pattern.adjacency, order)


def weighted_counts(tree: Elimination, weight: IntArray) -> IntArray:
    """Return the weights (n_blocks,) in each block column of L, given the weight of each position.

    Gilbert, Ng and Peyton (1994); Davis (2006), sec. 4.5, with scalar rows for weights.
    """
    return kernels.column_counts(*tree, weight)


def column_structures(pattern: Blocks, order: IntArray) -> tuple[IntArray, IntArray]:
    """Return the sorted positions below the pivot in each block column of L, as (indptr, rows)."""
    return kernels.column_structures(*elimination(pattern, order))


def light_subtrees(tree: Elimination, weight: IntArray, most: int) -> IntArray:
    """Return for each position the largest subtree of weight up to `most` that holds it.

    (n_blocks,) numbers in sequence; -1 above them. Positions are in postorder.
    """
    total = kernels.subtree_sums(tree.parent, weight)
    is_root = (total <= most) & (np.append(total, most + 1)[tree.parent] > most)
    return np.where(total <= most, np.cumsum(is_root) - is_root, -1)


@dataclass(frozen=True)
class OrderingMetrics:
    """The predicted cost of a block LDL' factorization in one order, blocks taken as dense."""

    nnz_l: int  # scalar entries of L, the diagonal included
    flops: float  # multiplications, divisions, additions: m (m + 2) for m rows below a scalar pivot
    block_bandwidth: int  # greatest distance of two coupled blocks, in blocks
    scalar_bandwidth: int  # greatest distance of two coupled scalar rows
    profile: int  # scalar entries between the first one of a row and its diagonal, over all rows
    etree_height: int  # blocks on the longest path from a leaf to a root
    largest_front: int  # most scalar rows in one block column of L, the pivot block included


def ordering_metrics(pattern: Blocks, order: IntArray) -> OrderingMetrics:
    """Return the predicted cost of factorizing in `order`, zeros within blocks counting as entries.

    One scalar pivot with m rows below it needs m divisions and m (m + 1) / 2 multiplications and
    additions: m (m + 2). Raises ShapeError if `order` does not list every block once.
    """
    return elimination_metrics(elimination(pattern, order), pattern.block_sizes[order])


def elimination_metrics(tree: Elimination, size: IntArray) -> OrderingMetrics:
    """Return the predicted cost; `size` (n_blocks,) is that of each position."""
    front = weighted_counts(tree, size)
    start, triangle = np.cumsum(size) - size, size * (size - 1) // 2
    first = kernels.first_coupled(tree.graph)
    return OrderingMetrics(
        nnz_l=int((size * front - triangle).sum()),
        flops=float(kernels.block_flops(front, size).sum()),
        block_bandwidth=int((np.arange(len(size)) - first).max(initial=0)),
        scalar_bandwidth=int((start + size - 1 - start[first]).max(initial=0)),
        profile=int((size * (start - start[first]) + triangle).sum()),
        etree_height=int(kernels.depths(tree.parent).max(initial=-1)) + 1,
        largest_front=int(front.max(initial=0)),
    )


def pivot_flops(n: float) -> float:
    """Return the sum of m (m + 2) for m = 0 .. n - 1: a dense factorization of n rows."""
    return (n - 1.0) * n * (2.0 * n - 1.0) / 6.0 + n * (n - 1.0)


def repair(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return `order` with each joint moved to right after the later of its bodies.

    Bodies keep their sequence, and so do joints that follow the same body.
    """
    check_order(pattern, order)
    return kernels.joints_after_bodies(order, pattern.ends)


def is_admissible(pattern: BlockPattern, order: IntArray) -> bool:
    """Return whether every joint comes after both bodies or, in a tree part, after its outer one.

    In a tree that is not fixed to the world, any body may be the root.
    """
    return len(early_joints(pattern, order)) == 0


def early_joints(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return the joints, numbered from zero, that come too early for the order to be admissible."""
    check_order(pattern, order)
    position, ends = kernels.positions(order), pattern.ends
    later_end = np.maximum(*np.where(ends >= 0, position[ends], -1).T)
    is_early = position[pattern.n_primal :] < later_end
    if is_early.any():
        outer, _ = kernels.tree_parts(pattern.adjacency, pattern.block_sizes, ends, position)
        is_early &= outer < 0
    return np.flatnonzero(is_early)


def tree_parts(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Strip the tree parts of the mechanism leaf by leaf; return (outer, stripped).

    `outer` (n_dual,) is the outer body of every joint in a tree part, -1 in the core; `stripped`
    the outer bodies, leaves first. A tree that is not fixed to the world keeps one body, in its
    middle.
    """
    bodies_first = np.arange(pattern.n_blocks, dtype=np.intp)
    return kernels.tree_parts(pattern.adjacency, pattern.block_sizes, pattern.ends, bodies_first)


def core_joints(pattern: BlockPattern) -> BoolArray:
    """Return which joints (n_dual,) are in no tree part."""
    return tree_parts(pattern)[0] < 0
