import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import graph_pattern, ladder, metrics, pattern_of, patterns, shuffled

from sparsebody.ordering.minimum_degree import bodies_first, leaves_first, minimum_degree
from sparsebody.ordering.reference_orders import natural
from sparsebody.sparse.elimination_tree import column_structures


def flops(pattern, ordering=minimum_degree):
    return metrics(pattern, ordering).flops


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_costs_as_much_as_the_articulated_body_algorithm(seed):
    tree = shuffled(graph_pattern(nx.random_labeled_tree(300, seed=seed)), seed)
    assert flops(tree) == pytest.approx(flops(tree, leaves_first), rel=0.01)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (ladder(200), ladder(2_000)),
        (graph_pattern(nx.cycle_graph(300)), graph_pattern(nx.cycle_graph(3_000))),
        (graph_pattern(nx.grid_2d_graph(3, 100)), graph_pattern(nx.grid_2d_graph(3, 1_000))),
    ],
)
def test_cost_grows_in_proportion_where_the_width_is_bounded(small, large):
    assert flops(shuffled(large, 0)) < 12 * flops(shuffled(small, 1))


def test_a_lattice_costs_far_less_than_in_natural_order_however_it_is_numbered():
    lattice = graph_pattern(nx.grid_2d_graph(32, 32))
    costs = [flops(shuffled(lattice, seed)) for seed in range(6)]
    assert max(costs) < min(1.33 * min(costs), 0.35 * flops(lattice, natural))


def test_thin_joints_are_eliminated_so_that_wide_fronts_come_late():
    wheel = pattern_of([(0, k) for k in range(1, 9)] + [(k, k % 8 + 1) for k in range(1, 9)], 9)
    assert metrics(wheel, minimum_degree).largest_front <= 50


@given(pattern=patterns())
def test_bodies_wait_for_no_joint_that_they_couple_to(pattern):
    place = {block: k for k, block in enumerate(bodies_first(pattern).tolist())}
    for j, ends in enumerate(pattern.ends.tolist()):
        assert all(place[body] < place[pattern.n_primal + j] for body in ends if body >= 0)


def test_the_arms_of_a_hub_couple_all_with_each_other():
    star = graph_pattern(nx.star_graph(40))
    assert metrics(star, bodies_first).largest_front >= 5 * 40
    assert metrics(star, leaves_first).largest_front == 11


@given(n_bodies=st.integers(2, 200), seed=st.integers(0, 99), is_grounded=st.booleans())
def test_nothing_fills_in_on_a_tree_but_one_block_for_each_body(n_bodies, seed, is_grounded):
    tree = graph_pattern(nx.random_labeled_tree(n_bodies, seed=seed))
    if is_grounded:
        tree = pattern_of([*tree.ends, (-1, 0)], n_bodies)
    order = leaves_first(tree)
    start, rows = column_structures(tree, order)
    assert np.all(np.diff(start) <= 1)  # a body couples to its joint, the joint to the inner body
    assert len(rows) == np.count_nonzero(tree.ends >= 0)  # as many as before: no fill at all
    assert metrics(tree, leaves_first).largest_front <= 11


@pytest.mark.parametrize("n_leaves", [10, 10_000])
def test_a_hub_with_many_arms_costs_as_much_as_its_arms(n_leaves):
    star = graph_pattern(nx.star_graph(n_leaves))
    arm = sum(m * (m + 2) for m in [*range(5, 11), *range(6, 11)])
    hub = sum(m * (m + 2) for m in range(6))
    assert flops(star, leaves_first) == pytest.approx(n_leaves * arm + hub)


def test_loops_follow_the_tree_parts_that_hang_on_them():
    graph = nx.cycle_graph(6)
    nx.add_path(graph, [0, 6, 7])
    pattern = graph_pattern(graph)
    tail = {6, 7} | {8 + j for j, pair in enumerate(pattern.ends) if pair.max() >= 6}
    place = np.argsort(leaves_first(pattern))
    assert all(place[block] < place[0] for block in tail)
