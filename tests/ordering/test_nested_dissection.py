import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, ladder, metrics, shuffled

from sparsebody.ordering import order
from sparsebody.ordering.heuristics import geometric_dissection, minimum_degree, nested_dissection


def lattice(*sizes):
    return graph_pattern(nx.grid_graph(sizes), joint_size=3)


def flops(pattern, ordering=nested_dissection, *arguments):
    return metrics(pattern, ordering, *arguments).flops


def test_work_on_square_lattices_grows_as_the_power_three_halves():
    small, large = flops(lattice(24, 24)), flops(lattice(48, 48))
    assert 4 * 1.5 < large / small < 8.5  # 8 with n = 4 times as many bodies


def test_the_last_separator_of_a_lattice_holds_as_many_joints_as_a_side_has():
    pattern = lattice(16, 16)
    order = nested_dissection(pattern)
    assert np.all(order[-8:] >= pattern.n_primal)
    assert metrics(pattern, nested_dissection).largest_front <= 3 * (16 + 16 + 1)


@pytest.mark.parametrize("sizes", [(24, 24), (7, 7, 7)])
def test_dissection_beats_minimum_degree_on_lattices(sizes):
    pattern = shuffled(lattice(*sizes), 0)
    assert flops(pattern) < 0.95 * flops(pattern, minimum_degree)


@pytest.mark.cholmod
@pytest.mark.parametrize("sizes", [(32, 32), (8, 8, 8)])
def test_dissection_by_joints_is_no_worse_than_metis(sizes):
    pattern = lattice(*sizes)
    assert flops(pattern) < 1.05 * flops(pattern, order, "cholmod-metis")


def test_the_elimination_tree_of_a_long_ladder_is_low():
    pattern = ladder(500)
    assert metrics(pattern, nested_dissection).etree_height < 80
    assert metrics(pattern, minimum_degree).etree_height > 80


def test_positions_tell_where_to_cut_and_their_axes_do_not_matter():
    pattern, at = lattice(6, 7, 8), np.array(nx.grid_graph((6, 7, 8)).nodes, dtype=float)
    by_place, turned = (
        flops(pattern, geometric_dissection, places) for places in (at, -2.0 * at[:, ::-1] + 3.0)
    )
    assert turned == pytest.approx(by_place, rel=0.05)
    assert by_place == pytest.approx(flops(pattern), rel=0.25)


def test_without_positions_distances_in_the_graph_serve():
    pattern = lattice(5, 9)
    np.testing.assert_array_equal(geometric_dissection(pattern), nested_dissection(pattern))
    np.testing.assert_array_equal(
        order(pattern, "geometric-dissection"), nested_dissection(pattern)
    )
