import networkx as nx
import pytest
from patterns import graph_pattern, ladder, shuffled

from sparsebody.ordering.references import natural
from sparsebody.ordering.sweeps import reverse_cuthill_mckee, sloan
from sparsebody.sparse.elimination_tree import ordering_metrics


@pytest.mark.parametrize("graph", [nx.path_graph(60), nx.cycle_graph(60), nx.grid_2d_graph(4, 20)])
def test_the_profile_is_nearly_that_of_cuthill_and_mckee_or_smaller(graph):
    pattern = shuffled(graph_pattern(graph), 1)
    profile = [
        ordering_metrics(pattern, f(pattern)).profile for f in (sloan, reverse_cuthill_mckee)
    ]
    assert profile[0] <= 1.1 * profile[1]


def test_fronts_of_a_ladder_do_not_grow_with_its_length():
    costs = [ordering_metrics(p, sloan(p)) for p in (shuffled(ladder(n), 0) for n in (20, 200))]
    assert costs[0].largest_front == costs[1].largest_front
    assert costs[1].profile < 0.2 * ordering_metrics(ladder(200), natural(ladder(200))).profile
