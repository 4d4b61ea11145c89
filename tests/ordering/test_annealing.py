import networkx as nx
import numpy as np
from hypothesis import given, settings
from patterns import graph_pattern, patterns

from sparsebody.ordering import is_admissible, order
from sparsebody.ordering.references import _anneal, annealed
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.searches import dual_graph


def flops(pattern, found):
    return ordering_metrics(pattern, found).flops


@settings(max_examples=40)
@given(pattern=patterns())
def test_the_order_found_costs_no_more_than_those_it_starts_from(pattern):
    found = annealed(pattern, visits=500)
    assert is_admissible(pattern, found)
    for name in ("minimum-fill", "nested-dissection", "pathwidth-sweep"):
        assert flops(pattern, found) <= flops(pattern, order(pattern, name)) + 1e-9


def test_small_lattices_are_solved_to_the_optimum_from_the_worst_start():
    pattern = graph_pattern(nx.grid_2d_graph(3, 3), joint_size=3)
    rows = np.ascontiguousarray(pattern.block_sizes[pattern.n_primal :])
    rng = np.random.default_rng(1)
    starts = [rng.permutation(pattern.n_dual) for _ in range(3)]
    bodies = np.arange(pattern.n_primal)
    costs = set()
    for start in starts:
        joints = _anneal(dual_graph(pattern), rows, start, 300_000, rng)
        costs.add(flops(pattern, np.r_[bodies, pattern.n_primal + joints]))
    assert costs == {flops(pattern, annealed(pattern))}


def test_a_seed_and_a_budget_give_one_order():
    pattern = graph_pattern(nx.grid_2d_graph(6, 6))
    first, again, other = (annealed(pattern, seed, 50_000) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_lattice_gets_better_than_by_what_it_starts_from():
    pattern = graph_pattern(nx.grid_2d_graph(10, 10), joint_size=3)
    names = ("minimum-fill", "nested-dissection", "pathwidth-sweep")
    starts = [flops(pattern, order(pattern, name)) for name in names]
    assert flops(pattern, annealed(pattern)) < 0.995 * min(starts)
