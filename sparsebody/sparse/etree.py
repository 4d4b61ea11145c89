"""The elimination tree of a pattern in a given order, and the shape of the factor L.

All arrays are numbered by *position*: position 0 is eliminated first. `order[position]` is the
block. A block column of L has the pivot block on top and the blocks that fill in below it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import Blocks, Graph, check_order


def positions(order: IntArray) -> IntArray:
    """Return the position (n_blocks,) at which each block is eliminated: the inverse order."""
    inverse = np.empty(len(order), dtype=np.intp)
    inverse[order] = np.arange(len(order))
    return inverse


def ordered_adjacency(pattern: Blocks, order: IntArray) -> Graph:
    """Return the pattern's adjacency in positions, (indptr, indices); rows are not sorted.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    check_order(pattern, order)
    return kernels.reordered(pattern.adjacency, order)


class Elimination(NamedTuple):
    """Adjacency, elimination tree and postorder in one order, by position; see `elimination`."""

    graph: Graph  # the pattern's adjacency
    parent: IntArray  # of the elimination tree
    sequence: IntArray  # a postorder of it


def elimination(pattern: Blocks, order: IntArray) -> Elimination:
    """Return adjacency, elimination tree and postorder, from which costs follow quickly.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    return elimination_of(ordered_adjacency(pattern, order))


def elimination_of(graph: Graph) -> Elimination:
    """Return adjacency, elimination tree and postorder of any graph, numbered by position."""
    parent = kernels.elimination_tree(graph)
    return Elimination(graph, parent, postorder(parent))


def elimination_tree(pattern: Blocks, order: IntArray) -> IntArray:
    """Return the parent (n_blocks,) of every position in the elimination tree, -1 for a root.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.

    References
    ----------
    Liu (1986), with path compression; Davis (2006), sec. 4.1.
    """
    return kernels.elimination_tree(ordered_adjacency(pattern, order))


def postorder(parent: IntArray) -> IntArray:
    """Return the nodes (n,) of the forest, every node after all of its descendants."""
    return kernels.postorder(parent)


def tree_height(parent: IntArray) -> int:
    """Return the number of nodes on the longest way up; a parent is numbered after its children."""
    return int(kernels.depths(parent).max(initial=-1)) + 1


def postordered(pattern: Blocks, order: IntArray) -> IntArray:
    """Return an equivalent order: the same L but for its numbering, each subtree in one piece.

    Blocks that couple keep their sequence, so an admissible order stays admissible. A
    factorization then needs next what it has just computed.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    check_order(pattern, order)
    return kernels.postordered(pattern.adjacency, order)


def column_counts(pattern: Blocks, order: IntArray) -> IntArray:
    """Return the scalar rows (n_blocks,) of each block column of L, its pivot block included.

    Takes time almost proportional to the pattern, however much fills in.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.

    References
    ----------
    Gilbert, Ng and Peyton (1994); Davis (2006), sec. 4.5. Here a row counts with its block's size.
    """
    return weighted_counts(elimination(pattern, order), pattern.block_sizes[order])


def weighted_counts(tree: Elimination, weight: IntArray) -> IntArray:
    """Return the weights (n_blocks,) in each block column of L, with those of each position."""
    return kernels.column_counts(*tree, weight)


def column_structures(pattern: Blocks, order: IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions below the pivot in each block column of L, as (indptr, rows), sorted.

    Takes time and memory proportional to the number of blocks in L.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    return filled_columns(elimination(pattern, order))


def filled_columns(tree: Elimination) -> tuple[IntArray, IntArray]:
    """Return the positions below the pivot in each block column of L; see `column_structures`."""
    return kernels.column_structures(*tree)
