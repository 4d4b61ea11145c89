"""Simulated annealing on predicted flops: slow, and nearly optimal."""

from __future__ import annotations

import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.ordering.minimum_fill import minimum_fill
from sparsebody.ordering.nested_dissection import nested_dissection
from sparsebody.ordering.sweeps import pathwidth_sweep
from sparsebody.ordering.tree_parts import leaves_then
from sparsebody.sparse.etree import ordering_metrics, postordered
from sparsebody.sparse.pattern import BlockPattern, Graph
from sparsebody.sparse.searches import dual_graph, with_primal_blocks

LARGEST = 8_000  # blocks; two tables of n^2 for n joints in memory
_VISITS = 100  # that all steps together may make, by default, for each pair of joints
_MOST_VISITS = 30_000_000
_VISITS_AT_ONCE = 200_000  # in about 0.1 s


def annealed(pattern: BlockPattern, seed: int = 0, visits: int | None = None) -> IntArray:
    """Move joints, and runs of joints, to other positions in the order as annealing allows.

    Admissible: tree parts leaves first, and in the core a body right before its first joint. Starts
    from the best of minimum fill, dissection and a sweep, and returns the best order met. A step
    changes the fronts between two positions only, and only these are computed again. The same
    `seed` and number of `visits` give the same order.

    References
    ----------
    Kirkpatrick, Gelatt and Vecchi (1983).
    """

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        starts = [minimum_fill(core), nested_dissection(core), pathwidth_sweep(core)]
        start = min(starts, key=lambda order: ordering_metrics(core, order).flops)
        joints = start[start >= core.n_primal] - core.n_primal
        if len(joints) < 3:
            return start
        size = core.block_sizes[core.n_primal :]
        budget = min(_VISITS * len(joints) ** 2, _MOST_VISITS) if visits is None else visits
        best = _anneal(dual_graph(core), size, joints, budget, np.random.default_rng(seed))
        return postordered(core, with_primal_blocks(core, best))

    return leaves_then(pattern, order_core)


def _anneal(
    graph: Graph,
    size: IntArray,
    start: IntArray,
    visits: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return the best order of the nodes of a graph that was met."""
    bits = rng.bit_generator.capsule
    annealing = kernels.Annealing(graph, size, start, visits, bits)
    while annealing.run(_VISITS_AT_ONCE):  # an interrupt is noticed in between
        pass
    return annealing.best()
