"""Figures: what they show, and that they do not touch the settings of the user."""

import io

import matplotlib as mpl
import numpy as np
import pytest
from linkages import small_sizes
from patterns import scalar_factor

from sparsebody.assembly.constraint import kkt_structure
from sparsebody.errors import ShapeError, UnknownNameError
from sparsebody.model.gallery import GALLERY, build
from sparsebody.ordering import order
from sparsebody.plots import MechanismPictures, Options, curves, elimination_orders
from sparsebody.plots.drawing import plot_motion
from sparsebody.plots.elimination_orders import _cells, _spots, plot_orders, plot_spy
from sparsebody.plots.outline import mechanism_outline
from sparsebody.plots.style import save_figure
from sparsebody.sparse.elimination_tree import ordering_metrics

TIME = np.linspace(0.0, 1.0, 11)


def drawn(figure):
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    return figure


@pytest.mark.parametrize("name", GALLERY)
def test_every_mechanism_of_the_gallery_can_be_drawn_to_scale(name):
    mechanism = build(name, **small_sizes(name))
    figure = drawn(MechanismPictures(mechanism, Options()).figure("mechanism"))
    axes = figure.axes[0]
    assert axes.get_xlabel().endswith("[m]")
    assert axes.get_ylabel().endswith("[m]")
    if axes.name == "rectilinear":
        assert axes.get_aspect() == 1.0


def test_the_motion_names_its_instants():
    _, bar = motion_of("pendulum", (0.0, 0.25, 0.5), np.zeros((2, 3))).axes
    assert bar.get_ylabel() == "time [s]"
    assert [label.get_text() for label in bar.get_yticklabels()] == ["0", "0.25", "0.5"]


@pytest.mark.parametrize(("name", "size"), [("scissor", "pairs"), ("n-four-bar", "loops")])
def test_a_slender_mechanism_is_drawn_instant_over_instant_with_a_close_up(name, size):
    panels = motion_of(name, (0.0, 1.0, 2.0), **{size: 30}).get_axes()
    titles = [axes.get_title() for axes in panels if axes.get_title()]
    assert titles == ["t = 0 s", "t = 1 s", "t = 2 s"]
    assert all(axes.get_aspect() == 1.0 for axes in panels if axes.axison)


def test_energies_and_their_largest_change_are_drawn():
    kinetic, potential = TIME**2, 5.0 - TIME**2 + 1e-3 * TIME
    energy, change = drawn(curves.plot_energy(TIME, kinetic, potential)).axes
    lines = {line.get_label(): line.get_ydata() for line in energy.get_lines()}
    assert np.allclose(lines["kinetic"], kinetic)
    assert np.allclose(lines["potential, from the start"], potential - 5.0)
    assert np.allclose(change.get_lines()[0].get_ydata(), 1e-3 * TIME)
    assert change.get_title(loc="right") == "largest change 1.00e-03 J"


def test_errors_of_zero_have_a_place_on_the_logarithmic_axis():
    position, _ = drawn(curves.plot_drift(TIME, np.zeros(11), 1e-9 * TIME)).axes
    assert np.all(position.get_lines()[0].get_ydata() > 0.0)


def test_rounding_is_not_magnified_in_a_path():
    path = np.stack([TIME, 1e-14 * np.sin(9 * TIME), -TIME], axis=1)
    _, y, _ = drawn(curves.plot_path(TIME, {"body": path})).axes
    assert np.ptp(y.get_ylim()) > 0.05


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_equal_figures_make_equal_files_and_leave_the_users_settings_alone(tmp_path, suffix, magic):
    before = dict(mpl.rcParams)
    paths = [tmp_path / f"{k}.{suffix}" for k in range(2)]
    for path in paths:
        save_figure(curves.plot_drift(TIME, TIME, TIME), path)
    assert paths[0].read_bytes().startswith(magic)
    assert suffix == "svg" or paths[0].read_bytes() == paths[1].read_bytes()
    assert dict(mpl.rcParams) == before


def test_unknown_formats_and_kinds_are_refused_with_those_that_there_are(tmp_path):
    with pytest.raises(UnknownNameError, match=r"no picture format '\.jpeg'; give one of \.png"):
        save_figure(curves.plot_drift(TIME, TIME, TIME), tmp_path / "drift.jpeg")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UnknownNameError, match="drawn as mechanism, spy, all"):
        MechanismPictures(build("pendulum"), Options()).kinds(["film"])
    with pytest.raises(UnknownNameError):  # it stands for several figures
        MechanismPictures(build("pendulum"), Options()).figure("all")


def structure_of(name, **parameters):
    system = build(name, **parameters).compile()
    return kkt_structure(system), system.initial_state


def motion_of(name, times, path=None, **parameters):
    mechanism = build(name, **parameters)
    system = mechanism.compile()
    states = [system.initial_state.with_(time=time) for time in times]
    return drawn(plot_motion(mechanism_outline(mechanism, system), states, system.gravity, path))


def test_a_tree_is_laid_out_with_parents_above_the_middle_of_their_leaves_and_as_high_as_it_is():
    across, depth = elimination_orders.tree_layout(np.array([2, 2, 6, 5, 5, 6, -1]))
    assert depth.tolist() == [2, 2, 1, 2, 2, 1, 0]
    assert across.tolist() == [0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1.5]
    structure, _ = structure_of("lattice", rows=3, columns=4)
    sequence = order(structure.pattern, "minimum-degree")
    height = ordering_metrics(structure.pattern, sequence).etree_height
    (axes,) = elimination_orders.plot_elimination_tree(structure.pattern, sequence, "lattice").axes
    assert f"height {height} of {structure.pattern.n_blocks} blocks" in axes.get_title()


def test_joints_are_drawn_between_their_bodies_and_on_the_ground_where_they_are():
    structure, state = structure_of("ladder", rungs=3)
    points = elimination_orders.block_points(structure, state)
    np.testing.assert_allclose(points[:6], state.position)
    np.testing.assert_allclose(points[6:9], [[-0.5, 0, 0], [-0.5, 1, 0], [0, 0.5, 0]], atol=1e-12)


@pytest.mark.parametrize("name", ["lattice", "scissor", "chain"])
def test_every_block_is_drawn_in_the_colour_of_its_turn(name):
    structure, state = structure_of(name)
    sequence = order(structure.pattern, "minimum-degree")
    axes = elimination_orders.plot_elimination(
        structure.pattern, sequence, elimination_orders.block_points(structure, state)
    ).axes[0]
    turns = np.concatenate([dots.get_array() for dots in axes.collections[1:]])
    np.testing.assert_array_equal(turns[sequence], np.arange(structure.pattern.n_blocks))


def test_bars_are_ratios_to_the_least_in_order():
    left, right = elimination_orders.plot_fill({"a": 4.0, "b": 2.0}, {"a": 50.0, "b": 1.0}).axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["b", "a"]
    assert [bar.get_width() for bar in left.patches] == [1.0, 2.0]
    assert (left.get_xscale(), right.get_xscale()) == ("linear", "log")


def test_growth_is_drawn_with_the_fitted_power_and_open_marks_where_it_is_not_exact():
    n, none = np.array([1.0, 10.0, 100.0]), np.zeros(0)
    exact = np.array([True, False, True])
    lines = [
        curves.Line("ours", n, n, n, 2 * n, True, exact),
        curves.Line("other", n, n**2, none, none),
    ]
    (axes,) = curves.plot_growth(lines, "time [s]").axes
    labels = [line.get_label() for line in axes.lines]
    assert [label for label in labels if label[0] != "_"] == ["ours", "other"]
    (open_marks,) = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert open_marks.get_xdata().tolist() == [10.0]
    assert any(line.get_ydata().tolist() == (2 * n).tolist() for line in axes.lines)


def cells_of(pattern, sequence):
    spots = _spots(pattern, sequence, ordering_metrics(pattern, sequence))
    return _cells(spots, 0, pattern.n_rows)


@pytest.mark.parametrize("name", ["natural", "minimum-degree", "level-sweep"])
def test_a_spy_plot_shows_the_entries_of_the_ordered_matrix_and_the_fill_in(name):
    pattern = structure_of("ladder", rungs=3)[0].pattern
    sequence = order(pattern, name)
    cells, rows = cells_of(pattern, sequence), pattern.scalar_order(sequence)
    block = np.repeat(np.arange(pattern.n_blocks), pattern.block_sizes)[rows]
    _, filled = scalar_factor(pattern, sequence)
    assert np.array_equal(np.tril(cells > 0), filled)
    couples = [[other in pattern.neighbours(one) for other in block] for one in block]
    assert np.array_equal(cells == 2, couples)
    assert np.array_equal(cells == 3, (block[:, None] == block) & (block < pattern.n_primal))


def test_titles_tell_entries_of_the_factor_and_bandwidth():
    pattern = structure_of("ladder", rungs=10)[0].pattern
    sequence = order(pattern, "minimum-degree")
    before, after, _ = plot_spy(pattern, sequence, "minimum-degree").axes
    metrics = ordering_metrics(pattern, sequence)
    costs = f"nnz(L) = {metrics.nnz_l:,}, bandwidth {metrics.scalar_bandwidth:,}"
    assert before.get_title().startswith("as numbered\n")
    assert after.get_title() == f"minimum-degree\n{costs}"


def test_a_matrix_larger_than_the_picture_is_drawn_in_cells():
    pattern = structure_of("chain", bodies=300)[0].pattern
    cells = cells_of(pattern, np.arange(pattern.n_blocks))
    assert cells.shape == (480, 480)
    assert np.all(np.diag(cells) > 0)


def test_an_order_that_misses_a_block_is_refused():
    pattern = structure_of("pendulum")[0].pattern
    with pytest.raises(ShapeError, match="list each of 2 blocks once"):
        plot_spy(pattern, np.array([0, 0]), "wrong")


@pytest.mark.parametrize("n_orders", [1, 4, 7])
def test_orders_stand_side_by_side_and_empty_places_show_nothing(n_orders):
    pattern = structure_of("ladder", rungs=3)[0].pattern
    orders = {f"order {k}": np.arange(pattern.n_blocks) for k in range(n_orders)}
    figure = plot_orders(pattern, orders, "ladder")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title().split("\n")[0] for axes in shown] == list(orders)
    assert all(len(axes.images) == 1 for axes in shown)


def test_every_joint_has_a_curve_and_its_name():
    times = np.linspace(0.0, 1.0, 5)
    figure = curves.plot_joint_forces(times, np.outer(times, [1.0, -2.0]), ["hip", "knee"], "leg")
    (axes,) = figure.axes
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), -2.0 * times)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["hip", "knee"]
    assert axes.get_xlabel() == "time [s]"
    assert axes.get_ylabel() == "joint torque [N m]"
