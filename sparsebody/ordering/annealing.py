"""Simulated annealing on predicted flops: slow, and nearly the best there is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.ordering.minimum_fill import minimum_fill
from sparsebody.ordering.nested_dissection import nested_dissection
from sparsebody.ordering.pathwidth_sweep import pathwidth_sweep
from sparsebody.ordering.tree_parts import leaves_then
from sparsebody.sparse.dual_graph import dual_graph, with_primal_blocks
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.metrics import ordering_metrics, pivot_flops
from sparsebody.sparse.pattern import BlockPattern

LARGEST = 8_000  # blocks; two tables of n^2 for n joints in memory
_VISITS = 100  # that all steps together may make, by default, for each pair of joints
_MOST_VISITS = 30_000_000
_WARM, _COLD = 2e-3, 1e-5  # temperatures, as shares of the flops


def annealed(pattern: BlockPattern, seed: int = 0, visits: int | None = None) -> IntArray:
    """Move joints, and runs of joints, to other places in the order as annealing allows.

    Admissible: tree parts leaves first, and in the core a body right before its first joint. Starts
    from the best of minimum fill, dissection and a sweep, and returns the best order met.
    A step changes the fronts between two places only, and only these are computed again. The same
    `seed` and number of `visits` give the same order.

    References
    ----------
    Kirkpatrick, Gelatt and Vecchi (1983).
    """

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        starts = [minimum_fill(core), nested_dissection(core), pathwidth_sweep(core)]
        start = min(starts, key=lambda found: ordering_metrics(core, found).flops)
        joints = start[start >= core.n_primal] - core.n_primal
        if len(joints) < 3:
            return start
        size = np.ascontiguousarray(core.block_sizes[core.n_primal :], dtype=np.intp)
        budget = min(_VISITS * len(joints) ** 2, _MOST_VISITS) if visits is None else visits
        best = _anneal(*dual_graph(core), size, joints, budget, np.random.default_rng(seed))
        return postordered(core, with_primal_blocks(core, best))

    return leaves_then(pattern, order_core)


class _Tree(NamedTuple):
    """The order of the nodes, and what eliminating them in it makes of the graph."""

    order: IntArray
    place: IntArray
    parent: IntArray  # the first node below each one, -1 for none
    below: np.ndarray  # (n, n): the nodes that each one couples to when it is eliminated
    n_below: IntArray
    flops: FloatArray


@njit(cache=True)
def _anneal(
    indptr: IntArray,
    indices: IntArray,
    size: IntArray,
    start: IntArray,
    visits: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return the best order of the nodes of a graph that was met."""
    n = len(size)
    tree, trial = _new_tree(n), _new_tree(n)
    tree.order[:], tree.place[start] = start, np.arange(n)
    trial.place[:] = tree.place
    trial.order[:] = start
    work = np.zeros((4, n), dtype=np.intp)
    _eliminate(0, n, indptr, indices, size, tree, trial, work)
    _accept(0, n, tree, trial)
    flops = tree.flops.sum()
    best, best_flops, visited = start.copy(), flops, 0
    while visited < visits:
        first, middle, end = _runs(n, indptr, indices, tree, rng)
        visited += end - first + 1
        for k in range(first, end):
            at = k + end - middle if k < middle else k - middle + first
            trial.order[at] = tree.order[k]
            trial.place[tree.order[k]] = at
        change = _eliminate(first, end, indptr, indices, size, tree, trial, work)
        temperature = _WARM * (_COLD / _WARM) ** (visited / visits)
        if change <= 0.0 or rng.random() < np.exp(-change / (temperature * flops)):
            _accept(first, end, tree, trial)
            flops += change
            if flops < best_flops * (1.0 - 1e-9):
                best_flops = flops
                best[:] = tree.order
        else:
            for k in range(first, end):
                trial.place[tree.order[k]] = k
    return best


@njit(cache=True)
def _new_tree(n: int) -> _Tree:
    """Return the arrays for n nodes, without content."""
    numbers = np.full((3, n), -1, dtype=np.intp)
    below, n_below = np.empty((n, n), dtype=np.int32), np.zeros(n, dtype=np.intp)
    return _Tree(numbers[0], numbers[1], numbers[2], below, n_below, np.zeros(n))


@njit(cache=True)
def _runs(
    n: int, indptr: IntArray, indices: IntArray, tree: _Tree, rng: np.random.Generator
) -> tuple[int, int, int]:
    """Return two runs of places that are to be exchanged: first, middle, end.

    Either a node goes right past a neighbour, or runs of any length change places.
    """
    u = rng.integers(0, n)
    here = tree.place[u]
    if rng.random() < 0.6:
        if tree.n_below[u] > 0 and rng.random() < 0.5:
            there = tree.place[tree.below[u, rng.integers(0, tree.n_below[u])]]
        else:
            degree = indptr[u + 1] - indptr[u]
            if degree == 0:
                return here, here + 1, here + 1
            there = tree.place[indices[indptr[u] + rng.integers(0, degree)]]
        if here < there:
            return here, here + 1, there + 1
        return there, here, here + 1
    first_length = int(np.exp(rng.random() * np.log(0.5 * n)))
    second_length = int(np.exp(rng.random() * np.log(0.5 * n)))
    middle = min(here + first_length, n)
    return here, middle, min(middle + second_length, n)


@njit(cache=True)
def _eliminate(
    first: int,
    end: int,
    indptr: IntArray,
    indices: IntArray,
    size: IntArray,
    tree: _Tree,
    trial: _Tree,
    work: IntArray,
) -> float:
    """Fill `trial` for the places from `first` to `end`; return how much the flops change.

    What was eliminated before has its fronts already, and hands them on to its new parent.
    """
    child, sibling, seen_in, step = work[0], work[1], work[2], work[3]
    for k in range(first, end):
        child[trial.order[k]] = -1
    for k in range(first):
        node = tree.order[k]
        parent = tree.parent[node]
        if parent >= 0 and first <= tree.place[parent] < end:
            parent = _earliest(tree.below[node], tree.n_below[node], trial.place)
            trial.parent[node] = parent
            sibling[node], child[parent] = child[parent], node
    change = 0.0
    for k in range(first, end):
        node = trial.order[k]
        count, rows, row = 0, 0, trial.below[node]
        step[0] += 1
        seen_in[node] = step[0]
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            if trial.place[other] > k:
                seen_in[other] = step[0]
                row[count] = other
                count += 1
                rows += size[other]
        below = child[node]
        while below >= 0:
            source = trial if tree.place[below] >= first else tree
            for entry in range(source.n_below[below]):
                other = source.below[below, entry]
                if seen_in[other] != step[0]:
                    seen_in[other] = step[0]
                    row[count] = other
                    count += 1
                    rows += size[other]
            below = sibling[below]
        trial.n_below[node] = count
        parent = _earliest(row, count, trial.place)
        trial.parent[node] = parent
        if parent >= 0 and trial.place[parent] < end:
            sibling[node], child[parent] = child[parent], node
        trial.flops[node] = pivot_flops(float(rows + size[node])) - pivot_flops(float(rows))
        change += trial.flops[node] - tree.flops[node]
    return change


@njit(cache=True)
def _earliest(nodes: np.ndarray, count: int, place: IntArray) -> int:
    """Return the node that is eliminated first, -1 if there is none."""
    best = -1
    for entry in range(count):
        if best == -1 or place[nodes[entry]] < place[best]:
            best = nodes[entry]
    return best


@njit(cache=True)
def _accept(first: int, end: int, tree: _Tree, trial: _Tree) -> None:
    """Take over what `trial` holds for the places from `first` to `end`, and parents before."""
    for k in range(first):
        node = tree.order[k]
        parent = tree.parent[node]
        if parent >= 0 and first <= tree.place[parent] < end:
            tree.parent[node] = trial.parent[node]
    for k in range(first, end):
        node = trial.order[k]
        tree.order[k], tree.place[node] = node, k
        tree.parent[node], tree.flops[node] = trial.parent[node], trial.flops[node]
        tree.n_below[node] = trial.n_below[node]
        for entry in range(trial.n_below[node]):
            tree.below[node, entry] = trial.below[node, entry]
