from functools import partial

import networkx as nx
import pytest
from patterns import graph_pattern, ladder, metrics

from sparsebody.errors import UnknownNameError
from sparsebody.ordering import ORDERINGS, candidate_orderings, choose, quickest
from sparsebody.ordering.reference_orders import annealed


@pytest.mark.parametrize(
    "pattern", [ladder(30), graph_pattern(nx.grid_2d_graph(12, 12)), graph_pattern(nx.Graph())]
)
def test_no_admissible_ordering_tried_predicts_clearly_less_work(pattern):
    choice = choose(pattern)
    least = min(metrics.flops for metrics in choice.predictions.values())
    assert 0.95 * choice.predictions[choice.name].flops <= least
    assert all(ORDERINGS[name].admissible for name in choice.predictions)
    assert "random" not in choice.predictions


def test_a_tree_is_taken_leaves_first():
    assert choose(graph_pattern(nx.random_labeled_tree(50, seed=0))).name == "leaves-first"


def test_large_mechanisms_and_large_hubs_skip_what_would_take_long():
    quick = ["leaves-first", "minimum-degree", "reverse-cuthill-mckee"]
    assert candidate_orderings(ladder(60_000)) == quick
    assert candidate_orderings(graph_pattern(nx.star_graph(3_000))) == quick


def test_what_only_pays_in_loops_is_not_tried_on_trees_and_small_mechanisms():
    assert "minimum-fill" not in candidate_orderings(ladder(10))
    assert "minimum-fill" not in candidate_orderings(graph_pattern(nx.path_graph(500)))
    assert "minimum-fill" in candidate_orderings(ladder(100))


@pytest.mark.parametrize(
    "graph",
    [nx.grid_2d_graph(4, 30), nx.grid_2d_graph(9, 9), nx.grid_graph((4, 4, 4)), nx.cycle_graph(80)],
)
def test_annealing_finds_nothing_much_better_than_the_automatic_choice(graph):
    pattern = graph_pattern(graph, joint_size=3)
    choice = choose(pattern)
    annealed_flops = metrics(pattern, partial(annealed, visits=2_000_000)).flops
    assert annealed_flops <= choice.predictions[choice.name].flops < 1.15 * annealed_flops


def test_the_quickest_ordering_is_the_one_without_fill_in_to_think_of():
    assert quickest(["cholmod-metis", "leaves-first", "reverse-cuthill-mckee"]) == (
        "reverse-cuthill-mckee"
    )
    assert quickest(["minimum-degree", "leaves-first"]) == "minimum-degree"


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownNameError, match="no ordering 'best'"):
        choose(ladder(2), names=["best"])
