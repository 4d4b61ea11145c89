"""Where the blocks of R lie, and what every front is made of: made once, read by the kernels.

R is the triangular factor of A' = Q R, its columns the dual rows in elimination order. Every dual
block has a *front*: the rows of A' of those primal blocks that no earlier front has seen, and what
earlier fronts, its children, left over. Its first columns are those of the block, and the others
belong to later blocks. Left-over rows lie on a stack, which works in a postorder of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparsebody.arrays import IntArray, large_zeros
from sparsebody.errors import ShapeError
from sparsebody.sparse.etree import postorder
from sparsebody.sparse.pattern import BlockPattern

Table = NDArray[np.uint32]

LANES = 4  # columns of storage come in fours
SPARE = 8  # places behind the stack that vectors may write to
MANY = 32  # blocks that are not sorted by insertion
MOST_VALUES = 2**32 - 1  # that the tables can count

# Columns of the table of fronts; each range ends where the next front's begins.
SIZE, N_ROWS, STRIDE, N_LEFT = 0, 1, 2, 3  # own columns, rows, columns of storage, rows left over
FIRST_COLUMN, FIRST_PART, FIRST_CHILD = 4, 5, 6
START, KEPT = 7, 8  # place in R, and on the stack of what is left over
N_FIELDS = 9

# Columns of the table of parts, the blocks of A.
ROW, SIDE, COUNT, WIDTH = 0, 1, 2, 3  # in A: first row, side, rows; columns
TOP, COLUMN = 4, 5  # in the front, which holds the transpose: first row and column
BODY = 6  # 1 + the primal block whose rows come into a front with this part; 0 with the others
N_PART_FIELDS = 7


@dataclass(frozen=True, eq=False)
class Layout:
    """The tables of one pattern in one order."""

    fronts: Table  # (n_dual + 1, N_FIELDS) in elimination order; the last line ends the ranges
    columns: Table  # (n_columns,) dual row of each column
    places: Table  # (n_columns,) where it is in the parent, but for a front's own ones
    children: Table  # (n_children,) fronts, by parent
    parts: Table  # (n_parts, N_PART_FIELDS) by front
    n_values: int
    n_stack: int
    largest_front: int  # values


def make_layout(pattern: BlockPattern, order: IntArray) -> Layout:
    """Lay R out for the dual blocks of an order; where the primal ones stand does not matter.

    Raises
    ------
    ShapeError
        If R has too many values for the tables.
    """
    n = pattern.n_primal
    given = order[order >= n] - n
    duals, found = _analyzed(pattern, given)
    if not np.array_equal(duals, given):
        duals, found = _analyzed(pattern, duals)
    ends, indptr, joints, starts, below, parent = found
    size = np.ascontiguousarray(pattern.block_sizes[n:][duals])
    width = np.ascontiguousarray(pattern.block_sizes[:n])
    first_row = (pattern.offsets[n:-1] - pattern.n_primal_rows)[duals]
    fronts = np.zeros((len(duals) + 1, N_FIELDS), dtype=np.intp)
    structure = starts, below, parent
    n_stack = _fill_fronts(ends, size, width, indptr, joints, *structure, fronts)
    _check_size(fronts, n_stack)
    columns, places = (np.empty(fronts[-1, FIRST_COLUMN], dtype=np.uint32) for _ in range(2))
    _fill_columns(size, first_row, *structure, columns, places)
    parts = large_zeros((int(fronts[-1, FIRST_PART]), N_PART_FIELDS), np.uint32)
    _fill_parts(ends, size, width, first_row, indptr, joints, starts, below, fronts, parts)
    return Layout(
        fronts.astype(np.uint32),
        columns,
        places,
        _children(parent)[1].astype(np.uint32),
        parts,
        n_values=int(fronts[-1, START]),
        n_stack=n_stack + SPARE,
        largest_front=_largest_front(fronts),
    )


def _largest_front(fronts: IntArray) -> int:
    """Return the values in the largest front, with a row and a column for right-hand sides."""
    rows, stride = fronts[:, N_ROWS], fronts[:, STRIDE]
    return int(np.max((rows + 1) * stride + rows, initial=0))


def postordered_duals(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return the dual blocks (n_dual,) of an order, each subtree of the tree of fronts together."""
    return _analyzed(pattern, order[order >= pattern.n_primal] - pattern.n_primal)[0]


def _analyzed(pattern: BlockPattern, duals: IntArray) -> tuple[IntArray, tuple[IntArray, ...]]:
    """Return dual blocks in a postorder of their tree; what makes the layout for those given."""
    duals = np.ascontiguousarray(duals)
    ends = np.ascontiguousarray(pattern.ends[duals], dtype=np.intp)
    indptr, joints = _incidence(ends, pattern.n_primal)
    starts, below, parent = _structures(indptr, joints, ends)
    return duals[postorder(parent)], (ends, indptr, joints, starts, below, parent)


def _check_size(fronts: IntArray, n_stack: int) -> None:
    if max(int(fronts[-1, START]), n_stack) > MOST_VALUES:
        raise ShapeError(
            f"block-qr would store more than {MOST_VALUES} values in this order: use another "
            "ordering, or the factorization cholmod"
        )


@njit(cache=True)
def _incidence(ends: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return (indptr, joints): the dual blocks of each primal one, in order."""
    indptr = np.zeros(n + 1, dtype=np.intp)
    for j in range(len(ends)):
        for side in range(2):
            if ends[j, side] >= 0 and not (side == 1 and ends[j, 1] == ends[j, 0]):
                indptr[ends[j, side] + 1] += 1
    for i in range(n):
        indptr[i + 1] += indptr[i]
    following, joints = indptr[:-1].copy(), np.empty(indptr[n], dtype=np.intp)
    for j in range(len(ends)):
        for side in range(2):
            body = ends[j, side]
            if body >= 0 and not (side == 1 and body == ends[j, 0]):
                joints[following[body]] = j
                following[body] += 1
    return indptr, joints


@njit(cache=True)
def _structures(
    indptr: IntArray, joints: IntArray, ends: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return (starts, below, parent): the later blocks in each front, sorted; the first of them."""
    m = len(ends)
    starts, parent = np.zeros(m + 1, dtype=np.intp), np.full(m, -1, dtype=np.intp)
    below, mark = np.empty(4 * m + 16, dtype=np.intp), np.full(m, -1, dtype=np.intp)
    newest, sibling = np.full(m, -1, dtype=np.intp), np.full(m, -1, dtype=np.intp)
    for j in range(m):
        mark[j], used = j, starts[j]
        for side in range(2):
            body = ends[j, side]
            if body >= 0 and joints[indptr[body]] == j:
                used, below = _united(joints[indptr[body] : indptr[body + 1]], j, mark, used, below)
        child = newest[j]
        while child >= 0:
            used, below = _united(below[starts[child] : starts[child + 1]], j, mark, used, below)
            child = sibling[child]
        starts[j + 1] = used
        _sort(below, starts[j], used)
        if used > starts[j]:
            parent[j] = below[starts[j]]
            sibling[j], newest[parent[j]] = newest[parent[j]], j
    return starts, below[: starts[m]].copy(), parent


@njit(cache=True)
def _sort(blocks: IntArray, first: int, end: int) -> None:
    """Sort a few entries in place."""
    if end - first > MANY:
        blocks[first:end].sort()
        return
    for i in range(first + 1, end):
        block, place = blocks[i], i
        while place > first and blocks[place - 1] > block:
            blocks[place] = blocks[place - 1]
            place -= 1
        blocks[place] = block


@njit(cache=True)
def _united(
    blocks: IntArray, j: int, mark: IntArray, used: int, below: IntArray
) -> tuple[int, IntArray]:
    """Append those blocks that front j does not have yet."""
    if used + len(blocks) > len(below):
        larger = np.empty(2 * (used + len(blocks)), dtype=np.intp)
        larger[:used] = below[:used]
        below = larger
    for block in blocks:
        if mark[block] != j:
            mark[block] = j
            below[used] = block
            used += 1
    return used, below


@njit(cache=True)
def _children(parent: IntArray) -> tuple[IntArray, IntArray]:
    """Return (indptr, children) of every front, in order."""
    indptr = np.zeros(len(parent) + 1, dtype=np.intp)
    for p in parent:
        if p >= 0:
            indptr[p + 1] += 1
    for i in range(len(parent)):
        indptr[i + 1] += indptr[i]
    following, children = indptr[:-1].copy(), np.empty(indptr[-1], dtype=np.intp)
    for j in range(len(parent)):
        if parent[j] >= 0:
            children[following[parent[j]]] = j
            following[parent[j]] += 1
    return indptr, children


@njit(cache=True)
def _fill_fronts(
    ends: IntArray,
    size: IntArray,
    width: IntArray,
    indptr: IntArray,
    joints: IntArray,
    starts: IntArray,
    below: IntArray,
    parent: IntArray,
    fronts: IntArray,
) -> int:
    """Fill the table of fronts; return the height of the stack."""
    m, stacked, highest = len(size), 0, 0
    from_children = np.zeros((m, 3), dtype=np.intp)  # rows, number, place on the stack
    for j in range(m):
        n_rows, n_parts, n_columns = from_children[j, 0], 0, size[j]
        for side in range(2):
            body = ends[j, side]
            if body >= 0 and joints[indptr[body]] == j and not (side == 1 and body == ends[j, 0]):
                n_rows += width[body]
                for k in joints[indptr[body] : indptr[body + 1]]:
                    n_parts += (ends[k, 0] == body) + (ends[k, 1] == body)
        for k in below[starts[j] : starts[j + 1]]:
            n_columns += size[k]
        others = n_columns - size[j]
        left = min(max(n_rows - size[j], 0), others)
        stride = -(-n_columns // LANES) * LANES
        if from_children[j, 1] > 0:
            stacked = from_children[j, 2]
        line, following = fronts[j], fronts[j + 1]
        line[SIZE], line[N_ROWS], line[STRIDE], line[N_LEFT] = size[j], n_rows, stride, left
        line[KEPT] = stacked
        if parent[j] >= 0:
            above = from_children[parent[j]]
            above[2] = stacked if above[1] == 0 else above[2]
            above[0] += left
            above[1] += 1
            stacked += (left + 1) * (others + 1) - 1  # with those of right-hand sides
            highest = max(highest, stacked)
        following[FIRST_COLUMN] = line[FIRST_COLUMN] + n_columns
        following[FIRST_PART] = line[FIRST_PART] + n_parts
        following[FIRST_CHILD] = line[FIRST_CHILD] + from_children[j, 1]
        following[START] = line[START] + size[j] * stride
    return highest


@njit(cache=True)
def _fill_columns(
    size: IntArray,
    first_row: IntArray,
    starts: IntArray,
    below: IntArray,
    parent: IntArray,
    columns: Table,
    places: Table,
) -> None:
    to = 0
    for j in range(len(size)):
        for i in range(size[j]):
            columns[to], places[to] = first_row[j] + i, 0
            to += 1
        p, place = parent[j], 0
        other = starts[p] if p >= 0 else 0
        for k in below[starts[j] : starts[j + 1]]:
            if k != p:
                place = size[p] if place == 0 else place
                while below[other] != k:
                    place += size[below[other]]
                    other += 1
            for i in range(size[k]):
                columns[to], places[to] = first_row[k] + i, place + i
                to += 1
            if k != p:
                place += size[k]
                other += 1


@njit(cache=True)
def _fill_parts(
    ends: IntArray,
    size: IntArray,
    width: IntArray,
    first_row: IntArray,
    indptr: IntArray,
    joints: IntArray,
    starts: IntArray,
    below: IntArray,
    fronts: IntArray,
    parts: Table,
) -> None:
    column, to = np.zeros(len(size), dtype=np.intp), 0
    for j in range(len(size)):
        column[j], place = 0, size[j]
        for k in below[starts[j] : starts[j + 1]]:
            column[k] = place
            place += size[k]
        top = fronts[j, N_ROWS]
        for side in range(2):
            body = ends[j, side]
            if body < 0 or joints[indptr[body]] != j or (side == 1 and body == ends[j, 0]):
                continue
            top -= width[body]
            for k in joints[indptr[body] : indptr[body + 1]]:
                for end in range(2):
                    if ends[k, end] == body:
                        line = parts[to]
                        line[ROW], line[SIDE], line[COUNT] = first_row[k], end, size[k]
                        line[WIDTH], line[TOP], line[COLUMN] = width[body], top, column[k]
                        line[BODY] = 1 + body if k == j else 0
                        to += 1
