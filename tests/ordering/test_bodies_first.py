import networkx as nx
import pytest
from hypothesis import given
from patterns import graph_pattern, ladder, patterns

from sparsebody.ordering.minimum_degree import bodies_first, leaves_first, minimum_degree
from sparsebody.sparse.elimination_tree import ordering_metrics


@given(pattern=patterns())
def test_bodies_wait_for_no_joint_that_they_couple_to(pattern):
    place = {block: k for k, block in enumerate(bodies_first(pattern).tolist())}
    for j, ends in enumerate(pattern.ends.tolist()):
        assert all(place[body] < place[pattern.n_primal + j] for body in ends if body >= 0)


def test_in_loops_this_costs_what_minimum_degree_costs():
    pattern = ladder(50)
    costs = [ordering_metrics(pattern, f(pattern)).flops for f in (bodies_first, minimum_degree)]
    assert costs[0] == pytest.approx(costs[1], rel=0.01)


def test_the_arms_of_a_hub_couple_all_with_each_other():
    star = graph_pattern(nx.star_graph(40))
    first, leaves = (ordering_metrics(star, f(star)) for f in (bodies_first, leaves_first))
    assert first.largest_front >= 5 * 40
    assert leaves.largest_front == 11
