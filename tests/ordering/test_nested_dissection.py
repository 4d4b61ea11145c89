import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, ladder, shuffled

from sparsebody.ordering import order
from sparsebody.ordering.minimum_degree import minimum_degree
from sparsebody.ordering.nested_dissection import geometric_dissection, nested_dissection
from sparsebody.sparse.elimination_tree import ordering_metrics


def metrics(pattern, ordering=nested_dissection, *arguments):
    return ordering_metrics(pattern, ordering(pattern, *arguments))


def lattice(*sizes):
    return graph_pattern(nx.grid_graph(sizes), joint_size=3)


def places(*sizes):
    return np.array(list(nx.grid_graph(sizes).nodes), dtype=float)


def test_work_on_square_lattices_grows_as_the_power_three_halves():
    small, large = metrics(lattice(24, 24)).flops, metrics(lattice(48, 48)).flops
    assert 4 * 1.5 < large / small < 8.5  # 8 with n = 4 times as many bodies


def test_the_last_separator_of_a_lattice_holds_as_many_joints_as_a_side_has():
    pattern = lattice(16, 16)
    order = nested_dissection(pattern)
    assert np.all(order[-8:] >= pattern.n_primal)
    assert metrics(pattern).largest_front <= 3 * (16 + 16 + 1)


@pytest.mark.parametrize("sizes", [(24, 24), (7, 7, 7)])
def test_dissection_beats_minimum_degree_on_lattices(sizes):
    pattern = shuffled(lattice(*sizes), 0)
    assert metrics(pattern).flops < 0.95 * metrics(pattern, minimum_degree).flops


@pytest.mark.cholmod
@pytest.mark.parametrize("sizes", [(32, 32), (8, 8, 8)])
def test_dissection_by_joints_is_no_worse_than_metis(sizes):
    pattern = lattice(*sizes)
    metis = ordering_metrics(pattern, order(pattern, "cholmod-metis"))
    assert metrics(pattern).flops < 1.05 * metis.flops


def test_the_elimination_tree_of_a_long_ladder_is_low():
    pattern = ladder(500)
    assert metrics(pattern).etree_height < 80
    assert metrics(pattern, minimum_degree).etree_height > 80


def test_positions_tell_where_to_cut_and_their_axes_do_not_matter():
    pattern, at = lattice(6, 7, 8), places(6, 7, 8)
    by_place = metrics(pattern, geometric_dissection, at).flops
    assert metrics(pattern, geometric_dissection, -2.0 * at[:, ::-1] + 3.0).flops == pytest.approx(
        by_place, rel=0.05
    )
    assert by_place == pytest.approx(metrics(pattern).flops, rel=0.25)


def test_without_positions_distances_in_the_graph_serve():
    pattern = lattice(5, 9)
    np.testing.assert_array_equal(geometric_dissection(pattern), nested_dissection(pattern))
    np.testing.assert_array_equal(
        order(pattern, "geometric-dissection"), nested_dissection(pattern)
    )
