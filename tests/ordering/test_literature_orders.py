import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from patterns import eliminated, ladder, metrics, networkx_graph, pattern_of, patterns

from sparsebody.ordering import ALGORITHMS, algorithm_order, order
from sparsebody.ordering.literature_orders import search
from sparsebody.sparse.elimination_tree import is_admissible
from sparsebody.sparse.pattern import check_order

few = settings(max_examples=10)


def rooted(graph):
    """Return a pattern with its first body joined to the world."""
    ends = [(-1, 0), *nx.convert_node_labels_to_integers(graph).edges()]
    return pattern_of(ends, len(graph))


def flops(pattern, name):
    return metrics(pattern, algorithm_order, name).flops


def exponent(family, name, sizes):
    work = [flops(family(n), name) for n in sizes]
    return np.polyfit(np.log(sizes), np.log(work), 1)[0]


def star(n):
    return rooted(nx.star_graph(n))


@given(pattern=patterns())
@few
def test_every_block_is_eliminated_once(pattern):
    for name in ALGORITHMS:
        check_order(pattern, algorithm_order(pattern, name))


@pytest.mark.parametrize("depth_first", [True, False])
@given(pattern=patterns())
@few
def test_a_search_reaches_blocks_from_those_that_they_couple_to(depth_first, pattern):
    result = search(pattern, depth_first=depth_first)
    check_order(pattern, result.sequence)
    position = np.argsort(result.sequence)
    for block, before in enumerate(result.came_from.tolist()):
        assert before < 0 or (
            before in pattern.neighbours(block) and position[before] < position[block]
        )
    n_parts = nx.number_connected_components(
        nx.Graph([*networkx_graph(pattern).edges(), *((b, b) for b in range(pattern.n_primal))])
    )
    assert (result.came_from[: pattern.n_primal] < 0).sum() <= n_parts


@given(pattern=patterns())
@few
def test_breadth_first_bodies_are_as_near_to_the_world_as_they_can_be(pattern):
    result = search(pattern, depth_first=False)
    graph = nx.Graph(pattern.ends.tolist())
    graph.add_node(-1)
    near = nx.single_source_shortest_path_length(graph, -1)
    for body in range(pattern.n_primal):
        steps, block = 0, body
        while block >= 0:
            steps, block = steps + 1, int(result.came_from[block])
        assert body not in near or steps == 2 * near[body]


@given(pattern=patterns())
@few
def test_depth_first_couples_a_block_only_with_those_on_the_way_to_it(pattern):
    came_from = search(pattern, depth_first=True).came_from
    sequence = algorithm_order(pattern, "depth-first")
    for block, below in zip(sequence.tolist(), eliminated(pattern, sequence), strict=True):
        way = set()
        while block >= 0:
            block = int(came_from[block])
            way.add(block)
        assert {int(sequence[k]) for k in below} <= way


@pytest.mark.parametrize("seed", range(3))
def test_on_a_tree_four_algorithms_are_one_and_no_order_takes_less(seed):
    pattern = rooted(nx.random_labeled_tree(40, seed=seed))
    own = algorithm_order(pattern, "articulated-body")
    np.testing.assert_array_equal(own, algorithm_order(pattern, "baraff"))
    assert is_admissible(pattern, own)
    least = metrics(pattern, order, "leaves-first").flops
    for name in ("articulated-body", "baraff", "depth-first", "minimum-degree"):
        assert flops(pattern, name) == least
    assert min(flops(pattern, name) for name in ALGORITHMS) == least


@given(pattern=patterns())
@few
def test_the_phases_of_penalty_and_delassus_are_kept(pattern):
    n = pattern.n_primal
    assert np.all(algorithm_order(pattern, "penalty")[: pattern.n_dual] >= n)
    assert np.all(algorithm_order(pattern, "delassus")[:n] < n)


def test_on_a_star_delassus_is_cubic_and_penalty_linear():
    assert exponent(star, "delassus", (160, 320, 640)) == pytest.approx(3.0, abs=0.05)
    assert exponent(star, "penalty", (40, 80, 160)) == pytest.approx(1.0, abs=0.02)


def test_on_a_ladder_baraff_is_cubic_and_the_others_are_linear():
    sizes = (20, 40, 80)
    for name in ALGORITHMS:
        power = 3.0 if name == "baraff" else 1.0
        assert exponent(ladder, name, sizes) == pytest.approx(power, abs=0.25), name


def test_on_a_ladder_the_matrix_of_delassus_stays_narrow_and_on_a_star_it_is_full():
    short, long, full = (
        metrics(pattern, algorithm_order, "delassus").largest_front
        for pattern in (ladder(20), ladder(200), star(30))
    )
    assert short == long
    assert full == 6 + 5 * star(30).n_dual
    assert metrics(ladder(30), algorithm_order, "band").block_bandwidth == 3  # figure 8.4
