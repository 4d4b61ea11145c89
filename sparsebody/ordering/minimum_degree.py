"""Minimum degree on the quotient graph, weighted by scalar rows, among admissible orders."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.sparse.admissibility import tree_parts
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.pattern import BlockPattern, Blocks

_PHASE = 2**40  # waiting for a phase, added to the number of bodies


def minimum_degree(pattern: BlockPattern) -> IntArray:
    """Eliminate next the admissible block that couples to the fewest scalar rows.

    A joint waits for both its bodies or, in a tree part, for its outer body. Admissible.

    The eliminated blocks are kept as elements: sets of blocks that they couple. Degrees are the
    upper bounds of the approximate minimum degree method, with its absorption of elements and its
    mass elimination of blocks that have nothing but the newest element left. A postorder of the
    elimination tree then brings together what belongs together.

    References
    ----------
    Amestoy, Davis and Duff (1996); Davis (2006), sec. 7.1.
    """
    return in_phases(pattern, np.zeros(pattern.n_blocks, dtype=np.intp))


def in_phases(pattern: BlockPattern, phase: IntArray) -> IntArray:
    """Do the same phase by phase: a block waits for those of a lower `phase` (n_blocks,) too.

    A block that couples to nothing but what has just been eliminated waits for its turn all the
    same. The phase of a joint must not be lower than those of the bodies that it waits for.

    References
    ----------
    Constrained minimum degree: Liu (1989), ACM Trans. Math. Softw. 15, 2; Davis (2006), sec. 7.1.
    """
    outer, _ = tree_parts(pattern)
    n_ends = np.diff(pattern.adjacency[0])[pattern.n_primal :]
    return _by_degree(pattern, phase, outer, np.where(outer >= 0, 1, n_ends))


def without_waiting(pattern: BlockPattern, phase: IntArray) -> IntArray:
    """Do the same with joints that wait for no body, only for lower phases. Not admissible."""
    none = np.full(pattern.n_dual, -1, dtype=np.intp)
    return _by_degree(pattern, phase, none, np.zeros(pattern.n_dual, dtype=np.intp))


def _by_degree(
    pattern: BlockPattern, phase: IntArray, outer: IntArray, n_awaited: IntArray
) -> IntArray:
    """Return the order with joints that wait for so many bodies, or for the outer one."""
    waits_for = np.where(phase > phase.min(initial=0), _PHASE, 0)
    waits_for[pattern.n_primal :] += n_awaited
    return _ordered(pattern, _new_graph(pattern, pattern.n_primal, waits_for, outer), phase)


def unconstrained_minimum_degree(pattern: Blocks) -> IntArray:
    """Eliminate next the block that couples to the fewest scalar rows, of any symmetric pattern.

    No block waits for another: for positive or quasi-definite matrices, or with pivoting.

    References
    ----------
    Amestoy, Davis and Duff (1996); Davis (2006), sec. 7.1.
    """
    phase, none = np.zeros(pattern.n_blocks, dtype=np.intp), np.zeros(0, dtype=np.intp)
    return _ordered(pattern, _new_graph(pattern, 0, phase.copy(), none), phase)


def _ordered(pattern: Blocks, graph: _Graph, phase: IntArray) -> IntArray:
    members = np.empty(4 * len(graph.neighbours) + pattern.n_blocks + 16, dtype=np.intp)
    order = np.empty(pattern.n_blocks, dtype=np.intp)
    held = np.flatnonzero(graph.waits_for >= _PHASE)
    held = held[np.argsort(phase[held], kind="stable")]
    _minimum_degree(graph, _new_candidates(graph), members, held, phase, order)
    return postordered(pattern, order)


class _Graph(NamedTuple):
    """What every block couples to: blocks through the matrix itself, others through elements.

    Those of block i stand from indptr[i] on in `blocks` and in `elements`; the lists may hold
    blocks that are done and elements that are absorbed. The element of an eliminated block is
    members[first:last], with `members` passed along because it grows.
    """

    n_primal: int
    size: IntArray  # scalar rows of each block
    waits_for: IntArray  # bodies that a joint still waits for; _PHASE more before its phase
    outer: IntArray  # the outer body of each joint in a tree part, or -1
    indptr: IntArray
    neighbours: IntArray  # blocks, as it was at first
    blocks: IntArray
    n_blocks: IntArray
    elements: IntArray
    n_elements: IntArray
    first: IntArray
    last: IntArray
    absorbed: BoolArray
    rows: IntArray  # scalar rows in each element
    outside: IntArray  # those of them outside the newest element, if computed in this step
    computed: IntArray  # the step in which `outside` was computed
    marked: IntArray  # the step in which a block was last put in an element
    done: BoolArray


class _Candidates(NamedTuple):
    """Blocks that may be eliminated next, in doubly linked lists, one for each degree."""

    degree: IntArray  # upper bound of the scalar rows that a block couples to
    head: IntArray
    after: IntArray
    before: IntArray
    listed: BoolArray


def _new_graph(pattern: Blocks, n_primal: int, waits_for: IntArray, outer: IntArray) -> _Graph:
    """Return the graph before any elimination: blocks only, no elements."""
    n = pattern.n_blocks
    indptr, indices = pattern.adjacency
    zeros, never = np.zeros((5, n), dtype=np.intp), np.full((2, n), -1, dtype=np.intp)
    return _Graph(
        n_primal=n_primal,
        size=np.ascontiguousarray(pattern.block_sizes, dtype=np.intp),
        waits_for=waits_for,
        outer=outer,
        indptr=indptr,
        neighbours=indices,
        blocks=indices.copy(),
        n_blocks=np.diff(indptr),
        elements=np.empty_like(indices),
        n_elements=zeros[0],
        first=zeros[1],
        last=zeros[2],
        absorbed=np.ones(n, dtype=np.bool_),
        rows=zeros[3],
        outside=zeros[4],
        computed=never[0],
        marked=never[1],
        done=np.zeros(n, dtype=np.bool_),
    )


def _new_candidates(graph: _Graph) -> _Candidates:
    """Return the lists, all empty, of the blocks that may be eliminated next."""
    n = len(graph.size)
    degree = np.zeros(n, dtype=np.intp)
    of_neighbours = graph.size[graph.neighbours]
    np.add.at(degree, np.repeat(np.arange(n), graph.n_blocks), of_neighbours)
    return _Candidates(
        degree=degree,
        head=np.full(graph.size.sum() + 1, -1, dtype=np.intp),
        after=np.full(n, -1, dtype=np.intp),
        before=np.full(n, -1, dtype=np.intp),
        listed=np.zeros(n, dtype=np.bool_),
    )


@njit(cache=True)
def _minimum_degree(
    graph: _Graph,
    candidates: _Candidates,
    members: IntArray,
    held: IntArray,
    phase: IntArray,
    order: IntArray,
) -> None:
    """Fill `order`; `held` are the blocks of later phases, sorted by them."""
    indptr, size, waits_for = graph.indptr, graph.size, graph.waits_for
    n = len(size)
    zero = int(np.intp(0))  # numba would compile what takes a literal 0 a second time
    n_done, begin, lowest, rows_left, n_released = zero, zero, len(candidates.head), zero, zero
    for i in range(n - 1, -1, -1):
        lowest = min(lowest, _enlist(i, graph, candidates))
        rows_left += size[i]
    while n_done < n:
        while lowest < len(candidates.head) and candidates.head[lowest] == -1:
            lowest += 1
        if lowest == len(candidates.head):
            n_released, lowest = _release(held, n_released, phase, graph, candidates)
            continue
        pivot, step = candidates.head[lowest], n_done
        _delist(pivot, candidates)
        members, end = _new_element(pivot, step, graph, members, begin)
        order[n_done] = pivot
        n_done += 1
        rows_left -= size[pivot]
        _finish(pivot, graph)
        if end - begin == 1:  # nothing fills in: no element, dead entries are swept up later
            i = members[begin]
            _delist(i, candidates)
            candidates.degree[i] -= size[pivot]
            lowest = min(lowest, _enlist(i, graph, candidates))
            continue
        _measure_outside(step, graph, members[begin:end])
        end_of_element = begin
        for k in range(begin, end):
            i = members[k]
            _delist(i, candidates)
            elsewhere = _sweep_up(i, step, graph)
            if elsewhere == 0 and waits_for[i] == 0:  # couples to nothing but the new element
                order[n_done] = i
                n_done += 1
                rows_left -= size[i]
                _finish(i, graph)
                continue
            graph.elements[indptr[i] + graph.n_elements[i]] = pivot
            graph.n_elements[i] += 1
            graph.rows[pivot] += size[i]
            members[end_of_element] = i
            end_of_element += 1
            candidates.degree[i] = min(elsewhere, candidates.degree[i])
        graph.first[pivot], graph.last[pivot] = begin, end_of_element
        graph.absorbed[pivot] = begin == end_of_element
        for k in range(begin, end_of_element):
            i = members[k]
            bound = candidates.degree[i] + graph.rows[pivot] - size[i]
            candidates.degree[i] = min(bound, rows_left - size[i])
            lowest = min(lowest, _enlist(i, graph, candidates))
        begin = end_of_element


@njit(cache=True)
def _release(
    held: IntArray, n_released: int, phase: IntArray, graph: _Graph, candidates: _Candidates
) -> tuple[int, int]:
    """Begin the next phase: return how many blocks are in it or earlier, and the least degree."""
    lowest, current = len(candidates.head), phase[held[n_released]]
    while n_released < len(held) and phase[held[n_released]] == current:
        i = held[n_released]
        n_released += 1
        graph.waits_for[i] -= _PHASE
        lowest = min(lowest, _enlist(i, graph, candidates))
    return n_released, lowest


@njit(cache=True)
def _new_element(
    pivot: int, step: int, graph: _Graph, members: IntArray, begin: int
) -> tuple[IntArray, int]:
    """Write all that `pivot` couples to into `members`, from `begin`; absorb its elements.

    Return `members`, which may have moved to find room, and the end of the new element.
    """
    needed = begin + graph.n_blocks[pivot]
    first_element = graph.indptr[pivot]
    last_element = first_element + graph.n_elements[pivot]
    for entry in range(first_element, last_element):
        e = graph.elements[entry]
        needed += graph.last[e] - graph.first[e]
    if needed > len(members):
        larger = np.empty(2 * needed, dtype=np.intp)
        for k in range(begin):  # slices would cost seconds to compile
            larger[k] = members[k]
        members = larger
    graph.marked[pivot] = step
    here = graph.indptr[pivot]
    end = _append(graph.blocks[here : here + graph.n_blocks[pivot]], step, graph, members, begin)
    for entry in range(first_element, last_element):
        e = graph.elements[entry]
        if not graph.absorbed[e]:
            graph.absorbed[e] = True
            end = _append(members[graph.first[e] : graph.last[e]], step, graph, members, end)
    return members, end


@njit(cache=True)
def _append(blocks: IntArray, step: int, graph: _Graph, members: IntArray, end: int) -> int:
    """Append what is not there yet to the element that ends at `end`; return its new end."""
    for i in blocks:
        if not graph.done[i] and graph.marked[i] != step:
            graph.marked[i] = step
            members[end] = i
            end += 1
    return end


@njit(cache=True)
def _finish(block: int, graph: _Graph) -> None:
    """Mark `block` as eliminated and tell the joints that wait for it."""
    graph.done[block] = True
    if block >= graph.n_primal:
        return
    for entry in range(graph.indptr[block], graph.indptr[block + 1]):
        joint = graph.neighbours[entry]
        outer = graph.outer[joint - graph.n_primal]
        if outer == -1 or outer == block:
            graph.waits_for[joint] -= 1


@njit(cache=True)
def _measure_outside(step: int, graph: _Graph, new_element: IntArray) -> None:
    """Compute how many rows of the other elements lie outside the new one."""
    for i in new_element:
        for entry in range(graph.indptr[i], graph.indptr[i] + graph.n_elements[i]):
            e = graph.elements[entry]
            if graph.absorbed[e]:
                continue
            if graph.computed[e] != step:
                graph.computed[e] = step
                graph.outside[e] = graph.rows[e]
            graph.outside[e] -= graph.size[i]


@njit(cache=True)
def _sweep_up(i: int, step: int, graph: _Graph) -> int:
    """Drop what the new element holds from the lists of i; return a bound of the rows left there.

    An element that lies in the new one altogether is absorbed.
    """
    start, elsewhere, to = graph.indptr[i], 0, graph.indptr[i]
    for entry in range(start, start + graph.n_blocks[i]):
        j = graph.blocks[entry]
        if not graph.done[j] and graph.marked[j] != step:
            graph.blocks[to] = j
            to += 1
            elsewhere += graph.size[j]
    graph.n_blocks[i] = to - start
    to = start
    for entry in range(start, start + graph.n_elements[i]):
        e = graph.elements[entry]
        if graph.absorbed[e]:
            continue
        if graph.outside[e] == 0:
            graph.absorbed[e] = True
            continue
        graph.elements[to] = e
        to += 1
        elsewhere += graph.outside[e]
    graph.n_elements[i] = to - start
    return elsewhere


@njit(cache=True)
def _enlist(i: int, graph: _Graph, candidates: _Candidates) -> int:
    """Put i in front of the list of its degree, unless it waits; return the degree to look at."""
    degree = candidates.degree[i]
    if graph.waits_for[i] > 0:
        return len(candidates.head)
    following = candidates.head[degree]
    candidates.after[i], candidates.before[i] = following, -1
    if following >= 0:
        candidates.before[following] = i
    candidates.head[degree] = i
    candidates.listed[i] = True
    return degree


@njit(cache=True)
def _delist(i: int, candidates: _Candidates) -> None:
    """Take i out of the list of its degree, if it is in one."""
    if not candidates.listed[i]:
        return
    before, after = candidates.before[i], candidates.after[i]
    if before >= 0:
        candidates.after[before] = after
    else:
        candidates.head[candidates.degree[i]] = after
    if after >= 0:
        candidates.before[after] = before
    candidates.listed[i] = False
