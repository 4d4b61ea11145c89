import networkx as nx
import numpy as np
from hypothesis import given
from patterns import graph_pattern, networkx_graph, patterns

from sparsebody.sparse.searches import landmark_distances


@given(pattern=patterns())
def test_each_column_holds_the_distances_from_one_block_of_each_part(pattern):
    graph, distance = networkx_graph(pattern), landmark_distances(pattern, 3)
    for part in map(sorted, nx.connected_components(graph)):
        offset = distance[part].min()
        for column in (distance[part] - offset).T.astype(int):
            columns = [[nx.shortest_path_length(graph, a, b) for b in part] for a in part]
            assert column.tolist() in columns


def test_the_first_landmarks_of_a_lattice_are_opposite_corners():
    lattice = graph_pattern(nx.grid_2d_graph(5, 5))
    first, second = landmark_distances(lattice, 2).argmin(axis=0)
    assert {first, second} in ({0, 24}, {4, 20})


def test_parts_are_set_apart():
    two = graph_pattern(nx.disjoint_union(nx.path_graph(4), nx.path_graph(4)))
    ranges = np.sort(landmark_distances(two, 1)[:, 0])
    np.testing.assert_array_equal(ranges, np.arange(8))
