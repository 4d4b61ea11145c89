import networkx as nx
import pytest
from patterns import graph_pattern, ladder, shuffled

from sparsebody.ordering.sweeps import reverse_cuthill_mckee
from sparsebody.sparse.elimination_tree import ordering_metrics


@pytest.mark.parametrize(
    ("pattern", "width"),
    [
        (graph_pattern(nx.path_graph(100)), 4),
        (graph_pattern(nx.cycle_graph(100)), 8),
        (ladder(100), 20),
    ],
)
def test_band_does_not_grow_with_the_length(pattern, width):
    for seed in range(3):
        renumbered = shuffled(pattern, seed)
        order = reverse_cuthill_mckee(renumbered)
        assert ordering_metrics(renumbered, order).block_bandwidth <= width
