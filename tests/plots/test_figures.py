import io

import matplotlib as mpl
import numpy as np
import pytest

from sparsebody.errors import UnknownNameError
from sparsebody.model.gallery import GALLERY, build
from sparsebody.plots import Options, mechanism_subject
from sparsebody.plots.motion_figure import plot_motion
from sparsebody.plots.outline import mechanism_outline
from sparsebody.plots.style import save_figure
from sparsebody.plots.time_series import plot_drift, plot_energy, plot_path

TIME = np.linspace(0.0, 1.0, 11)
SMALL = {
    "bodies": 4,
    "rungs": 3,
    "elements": 3,
    "rings": 3,
    "rails": 3,
    "pairs": 3,
    "loops": 3,
    "rows": 3,
    "columns": 3,
    "layers": 1,
}


def drawn(figure):
    figure.savefig(io.BytesIO(), format="png", dpi=50)
    return figure


@pytest.mark.parametrize("name", GALLERY)
def test_every_mechanism_of_the_gallery_can_be_drawn_to_scale(name):
    sizes = {key: SMALL[key] for key in GALLERY[name].size_parameters}
    figure = drawn(mechanism_subject(build(name, **sizes), Options()).figure("mechanism"))
    axes = figure.axes[0]
    assert axes.get_xlabel().endswith("[m]")
    assert axes.get_ylabel().endswith("[m]")
    if axes.name == "rectilinear":
        assert axes.get_aspect() == 1.0


def test_the_motion_names_its_instants():
    mechanism = build("pendulum")
    system = mechanism.compile()
    states = [system.initial_state.with_(time=time) for time in (0.0, 0.25, 0.5)]
    outline = mechanism_outline(mechanism, system)
    figure = drawn(plot_motion(outline, states, system.gravity, np.zeros((2, 3))))
    _, bar = figure.axes
    assert bar.get_ylabel() == "time [s]"
    assert [label.get_text() for label in bar.get_yticklabels()] == ["0", "0.25", "0.5"]


@pytest.mark.parametrize(("name", "size"), [("scissor", "pairs"), ("n-four-bar", "loops")])
def test_a_slender_mechanism_is_drawn_instant_over_instant_with_a_close_up(name, size):
    mechanism = build(name, **{size: 30})
    system = mechanism.compile()
    states = [system.initial_state.with_(time=time) for time in (0.0, 1.0, 2.0)]
    outline = mechanism_outline(mechanism, system)
    figure = drawn(plot_motion(outline, states, system.gravity, title="long"))
    titles = [axes.get_title() for axes in figure.get_axes()]
    assert [title for title in titles if title] == ["t = 0 s", "t = 1 s", "t = 2 s"]
    assert all(axes.get_aspect() == 1.0 for axes in figure.get_axes() if axes.axison)


def test_energies_and_their_largest_change_are_drawn():
    kinetic, potential = TIME**2, 5.0 - TIME**2 + 1e-3 * TIME
    energy, change = drawn(plot_energy(TIME, kinetic, potential)).axes
    lines = {line.get_label(): line.get_ydata() for line in energy.get_lines()}
    assert np.allclose(lines["kinetic"], kinetic)
    assert np.allclose(lines["potential, from the start"], potential - 5.0)
    assert np.allclose(change.get_lines()[0].get_ydata(), 1e-3 * TIME)
    assert change.get_title(loc="right") == "largest change 1.00e-03 J"


def test_errors_of_zero_have_a_place_on_the_logarithmic_axis():
    position, _ = drawn(plot_drift(TIME, np.zeros(11), 1e-9 * TIME)).axes
    assert np.all(position.get_lines()[0].get_ydata() > 0.0)


def test_rounding_is_not_magnified_in_a_path():
    path = np.stack([TIME, 1e-14 * np.sin(9 * TIME), -TIME], axis=1)
    _, y, _ = drawn(plot_path(TIME, {"body": path})).axes
    assert np.ptp(y.get_ylim()) > 0.05


def test_drawing_leaves_the_users_settings_alone():
    before = dict(mpl.rcParams)
    plot_drift(TIME, TIME, TIME)
    assert dict(mpl.rcParams) == before


def test_equal_figures_make_equal_files(tmp_path):
    for suffix in ("png", "pdf"):
        paths = [tmp_path / f"{k}.{suffix}" for k in range(2)]
        for path in paths:
            save_figure(plot_drift(TIME, TIME, TIME), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_an_unknown_format_is_refused_and_nothing_is_left_behind(tmp_path):
    with pytest.raises(UnknownNameError, match=r"no picture format '\.jpeg'; give one of \.png"):
        save_figure(plot_drift(TIME, TIME, TIME), tmp_path / "drift.jpeg")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_kind_is_refused_with_the_kinds_that_there_are():
    with pytest.raises(UnknownNameError, match="drawn as mechanism, spy, all"):
        mechanism_subject(build("pendulum"), Options()).kinds(["film"])
