import numpy as np
import pytest

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.gallery import build
from sparsebody.ordering import order
from sparsebody.plots.elimination_orders import (
    graph_places,
    plot_elimination,
    plot_elimination_tree,
    plot_fill,
    tree_layout,
)
from sparsebody.plots.growth import Line, plot_growth
from sparsebody.sparse.elimination_tree import ordering_metrics


def structure_of(name, **parameters):
    system = build(name, **parameters).compile()
    return ForwardDynamics(system).structure, system.initial_state


def test_a_tree_is_laid_out_with_parents_above_the_middle_of_their_leaves():
    parent = np.array([2, 2, 6, 5, 5, 6, -1])
    across, depth = tree_layout(parent)
    assert depth.tolist() == [2, 2, 1, 2, 2, 1, 0]
    assert across.tolist() == [0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1.5]


def test_the_tree_that_is_drawn_is_as_high_as_its_metric_says():
    structure, _ = structure_of("lattice", rows=3, columns=4)
    sequence = order(structure.pattern, "minimum-degree")
    height = ordering_metrics(structure.pattern, sequence).etree_height
    (axes,) = plot_elimination_tree(structure.pattern, sequence, "lattice").axes
    assert f"height {height} of {structure.pattern.n_blocks} blocks" in axes.get_title()


def test_joints_are_drawn_between_their_bodies_and_on_the_ground_where_they_are():
    structure, state = structure_of("ladder", rungs=3)
    places = graph_places(structure, state)
    np.testing.assert_allclose(places[:6], state.position)
    np.testing.assert_allclose(places[6:9], [[-0.5, 0, 0], [-0.5, 1, 0], [0, 0.5, 0]], atol=1e-12)


@pytest.mark.parametrize("name", ["lattice", "scissor", "chain"])
def test_every_block_is_drawn_in_the_colour_of_its_turn(name):
    structure, state = structure_of(name)
    sequence = order(structure.pattern, "minimum-degree")
    axes = plot_elimination(structure.pattern, sequence, graph_places(structure, state)).axes[0]
    turns = np.concatenate([dots.get_array() for dots in axes.collections[1:]])
    np.testing.assert_array_equal(turns[sequence], np.arange(structure.pattern.n_blocks))


def test_bars_are_ratios_to_the_least_in_order():
    left, right = plot_fill({"a": 4.0, "b": 2.0}, {"a": 50.0, "b": 1.0}).axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["b", "a"]
    assert [bar.get_width() for bar in left.patches] == [1.0, 2.0]
    assert (left.get_xscale(), right.get_xscale()) == ("linear", "log")


def test_growth_is_drawn_with_the_fitted_power():
    n, none = np.array([1.0, 10.0]), np.zeros(0)
    lines = [Line("ours", n, n, n, 2 * n, True), Line("other", n, n**2, none, none)]
    (axes,) = plot_growth(lines, "time [s]").axes
    assert [line.get_label() for line in axes.lines if line.get_label()[0] != "_"] == [
        "ours",
        "other",
    ]
    assert len(axes.lines) == 3


def test_what_is_not_exact_has_open_marks():
    n, none = np.array([1.0, 10.0, 100.0]), np.zeros(0)
    line = Line("ours", n, n, none, none, True, np.array([True, False, True]))
    (axes,) = plot_growth([line], "time [s]").axes
    assert axes.lines[1].get_markerfacecolor() == "white"
    assert axes.lines[1].get_xdata().tolist() == [10.0]
