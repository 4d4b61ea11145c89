"""The elimination tree of a pattern in a given order, and the shape of the factor L.

Everything here is numbered by *position*: position 0 is eliminated first. `order[position]` is the
block. A block column of L has the pivot block on top and the blocks that fill in below it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import Blocks, check_order


def positions(order: IntArray) -> IntArray:
    """Return the position (n_blocks,) at which each block is eliminated: the inverse order."""
    inverse = np.empty(len(order), dtype=np.intp)
    inverse[order] = np.arange(len(order))
    return inverse


def ordered_adjacency(pattern: Blocks, order: IntArray) -> tuple[IntArray, IntArray]:
    """Return the pattern's adjacency in positions, (indptr, indices); rows are not sorted.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    check_order(pattern, order)
    order = np.ascontiguousarray(order, dtype=np.intp)
    indptr, indices = pattern.adjacency
    new_indptr, new_indices = np.empty_like(indptr), np.empty_like(indices)
    _relabel(indptr, indices, order, positions(order), new_indptr, new_indices)
    return new_indptr, new_indices


@njit(cache=True)
def _relabel(
    indptr: IntArray,
    indices: IntArray,
    order: IntArray,
    position: IntArray,
    new_indptr: IntArray,
    new_indices: IntArray,
) -> None:
    """Fill the rows of the adjacency in `order`, with their entries as positions."""
    to = 0
    for i in range(len(order)):
        new_indptr[i] = to
        for entry in range(indptr[order[i]], indptr[order[i] + 1]):
            new_indices[to] = position[indices[entry]]
            to += 1
    new_indptr[len(order)] = to


class Elimination(NamedTuple):
    """What the shape of L in one order follows from, by position; see `elimination`."""

    indptr: IntArray  # the pattern's adjacency
    indices: IntArray
    parent: IntArray  # of the elimination tree
    sequence: IntArray  # a postorder of it


def elimination(pattern: Blocks, order: IntArray) -> Elimination:
    """Return adjacency, elimination tree and postorder, from which other numbers come quickly.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    return elimination_of(*ordered_adjacency(pattern, order))


def elimination_of(indptr: IntArray, indices: IntArray) -> Elimination:
    """Return the same for the adjacency of any graph, numbered by position."""
    parent = _elimination_tree(indptr, indices)
    return Elimination(indptr, indices, parent, postorder(parent))


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
    return _elimination_tree(*ordered_adjacency(pattern, order))


@njit(cache=True)
def _elimination_tree(indptr: IntArray, indices: IntArray) -> IntArray:
    """Climb from every earlier neighbour to its present root, which becomes a child."""
    n = len(indptr) - 1
    parent = np.full(n, -1, dtype=np.intp)
    ancestor = np.full(n, -1, dtype=np.intp)  # a short cut up the tree
    for i in range(n):
        for entry in range(indptr[i], indptr[i + 1]):
            k = indices[entry]
            while k != -1 and k < i:
                above = ancestor[k]
                ancestor[k] = i
                if above == -1:
                    parent[k] = i
                k = above
    return parent


@njit(cache=True)
def postorder(parent: IntArray) -> IntArray:
    """Return the nodes (n,) of the forest, every node after all of its descendants."""
    n = len(parent)
    first_child = np.full(n, -1, dtype=np.intp)
    sibling = np.full(n, -1, dtype=np.intp)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            sibling[i] = first_child[parent[i]]
            first_child[parent[i]] = i
    sequence = np.empty(n, dtype=np.intp)
    stack = np.empty(n, dtype=np.intp)
    done = 0
    for root in range(n):
        if parent[root] >= 0:
            continue
        stack[0] = root
        depth = 1
        while depth > 0:
            node = stack[depth - 1]
            child = first_child[node]
            if child >= 0:
                first_child[node] = sibling[child]
                stack[depth] = child
                depth += 1
            else:
                sequence[done] = node
                done += 1
                depth -= 1
    return sequence


def postordered(pattern: Blocks, order: IntArray) -> IntArray:
    """Return an equivalent order: the same L but for its numbering, each subtree in one piece.

    Blocks that couple keep their sequence, so an admissible order stays admissible. What a
    factorization needs next is then what it has just computed.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    return order[postorder(elimination_tree(pattern, order))]


@njit(cache=True)
def tree_height(parent: IntArray) -> int:
    """Return the number of nodes on the longest way up; a parent is numbered after its children."""
    level = np.zeros(len(parent), dtype=np.intp)
    height = 0
    for i in range(len(parent)):
        height = max(height, level[i] + 1)
        if parent[i] >= 0:
            level[parent[i]] = max(level[parent[i]], level[i] + 1)
    return height


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


def weighted_counts(found: Elimination, weight: IntArray) -> IntArray:
    """Return the weights (n_blocks,) in each block column of L, with those of each position."""
    return _column_counts(*found, np.ascontiguousarray(weight, dtype=np.intp))


@njit(cache=True)
def _column_counts(
    indptr: IntArray, indices: IntArray, parent: IntArray, sequence: IntArray, weight: IntArray
) -> IntArray:
    """Add each row's weight at the leaves of its subtree, take it away where two leaves meet."""
    n = len(parent)
    first = np.full(n, -1, dtype=np.intp)  # the first descendant, as a place in the postorder
    count = np.zeros(n, dtype=np.intp)
    for place in range(n):
        j = sequence[place]
        if first[j] == -1:  # a leaf
            count[j] = weight[j]
        while j != -1 and first[j] == -1:
            first[j] = place
            j = parent[j]
    latest_first = np.full(n, -1, dtype=np.intp)
    latest_leaf = np.full(n, -1, dtype=np.intp)
    ancestor = np.arange(n)
    for place in range(n):
        j = sequence[place]
        if parent[j] != -1:
            count[parent[j]] -= weight[j]
        for entry in range(indptr[j], indptr[j + 1]):
            i = indices[entry]
            if i <= j or first[j] <= latest_first[i]:
                continue  # j is no leaf of the subtree of row i
            latest_first[i] = first[j]
            count[j] += weight[i]
            if latest_leaf[i] != -1:
                count[_meeting_point(latest_leaf[i], ancestor)] -= weight[i]
            latest_leaf[i] = j
        if parent[j] != -1:
            ancestor[j] = parent[j]
    for j in range(n):
        if parent[j] != -1:
            count[parent[j]] += count[j]
    return count


@njit(cache=True)
def _meeting_point(leaf: int, ancestor: IntArray) -> int:
    """Return the root of the set that holds `leaf`, and shorten the way to it."""
    root = leaf
    while root != ancestor[root]:
        root = ancestor[root]
    while leaf != root:
        ancestor[leaf], leaf = root, ancestor[leaf]
    return root


def column_structures(pattern: Blocks, order: IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions below the pivot in each block column of L, as (indptr, rows), sorted.

    Takes time and memory proportional to the number of blocks in L.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    return filled_columns(elimination(pattern, order))


def filled_columns(found: Elimination) -> tuple[IntArray, IntArray]:
    """Return the positions below the pivot in each block column of L; see `column_structures`."""
    n = len(found.parent)
    column_start = np.zeros(n + 1, dtype=np.intp)
    np.cumsum(weighted_counts(found, np.ones(n, dtype=np.intp)) - 1, out=column_start[1:])
    rows = np.empty(column_start[-1], dtype=np.intp)
    _column_structures(*found[:3], column_start[:-1].copy(), rows)
    return column_start, rows


@njit(cache=True)
def _column_structures(
    indptr: IntArray, indices: IntArray, parent: IntArray, end: IntArray, rows: IntArray
) -> None:
    """Write row i into every column of its subtree; `end` is where each column has got to."""
    seen_by = np.full(len(parent), -1, dtype=np.intp)
    for i in range(len(parent)):
        seen_by[i] = i
        for entry in range(indptr[i], indptr[i + 1]):
            k = indices[entry]
            while k < i and seen_by[k] != i:
                seen_by[k] = i
                rows[end[k]] = i
                end[k] += 1
                k = parent[k]
