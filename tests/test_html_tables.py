"""What notebooks show: well-formed HTML without colors of its own, whatever the names are."""

from xml.etree import ElementTree

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.html_tables import html_curves, html_facts


def cells(shown):
    """The rows of a table by their headers, which parses as XML."""
    text = shown._repr_html_()
    assert not any(word in text for word in ("color:", "background", "#fff", "black"))
    rows = ElementTree.fromstring(text).iterfind("table/tr")
    return {row.findtext("th"): "".join(row.find("td").itertext()) for row in rows}


def test_a_mechanism_tells_counts_that_are_known():
    facts = cells(sb.build("scissor", pairs=5))
    assert facts["bodies"].startswith("10: ")
    assert facts["joints"].startswith("15: ")
    assert facts["joint types"] == "14 revolute, 1 point-on-plane"
    assert facts["loops"] == "5"  # 15 joints of 10 bodies and the world: 15 - 11 + 1
    system = sb.build("scissor", pairs=5).compile()
    facts = cells(system)
    counts = sb.count_mobility(system)
    assert facts["loops"] == str(counts.loops)
    assert facts["constraint rows"] == str(counts.constraint_rows)
    assert facts["mobility"].startswith(f"{counts.mobility - counts.redundant_rows} at least")
    assert cells(counts)["mobility"] == str(counts.mobility)


def test_mass_and_extent_are_those_of_the_bodies():
    mechanism = sb.Mechanism("two")
    mechanism.add_body("a", mass=1.5, inertia=[1.0, 1.0, 1.0])
    mechanism.add_body("b", mass=2.0, inertia=[1.0, 1.0, 1.0], position=[3.0, 0.0, -2.0])
    facts = cells(mechanism)
    assert facts["mass"] == "3.5 kg"
    assert facts["extent of the body origins"] == "3 x 0 x 2 m"


def test_names_are_escaped():
    mechanism = sb.Mechanism("<script>")
    mechanism.add_body("<b>&", mass=1.0, inertia=[1.0, 1.0, 1.0])
    assert cells(mechanism)["bodies"] == "1: <b>&"
    assert "<script>" not in mechanism._repr_html_()


@pytest.mark.parametrize("mechanism", [sb.Mechanism(), sb.build("andrews")])
def test_a_mechanism_without_bodies_or_with_springs_is_shown(mechanism):
    assert ("mass" in cells(mechanism)) == (mechanism.n_bodies > 0)
    assert ("springs, loads, elements" in cells(mechanism)) == (len(mechanism.forces) > 0)


def test_a_motion_is_shown_with_its_energy_over_time():
    system = sb.build("pendulum").compile()
    dynamics = sb.ForwardDynamics(system)
    state = system.initial_state
    run = sb.simulate(system, duration=0.1, step=0.01)
    facts = cells(run)
    assert facts["steps"] == "10, 11 recorded"
    assert facts["energy over time, kinetic dashed"] == "energykinetic energy"
    assert cells(run.summary())["mechanism"] == "pendulum"
    shown = cells(dynamics)
    assert shown["ordering"] == dynamics.ordering
    assert "history" not in shown  # which is empty
    solved = dynamics(state)
    assert cells(solved)["largest acceleration"].startswith(
        f"{np.linalg.norm(solved.acceleration[:, 3:], axis=1).max():.4g} m/s^2"
    )
    fast = state.with_(velocity=np.array([[0.0, 0.0, 2.0, 3.0, 4.0, 0.0]]))
    assert cells(fast)["fastest body"] == "5 m/s, 2 rad/s"


def test_modes_and_certificates_are_tables_of_their_numbers():
    modes = sb.modes(sb.build("beam", elements=2, gravity=(0.0, 0.0, 0.0)).compile(), n=2)
    assert f"{modes.frequency[0]:.6g}" in cells(modes)["the first"]
    certificate = sb.certify("ladder", largest=128)
    facts = cells(certificate)
    assert facts["why"].startswith("proof by ")
    assert str(certificate.sizes[-1].nnz_l) in facts["sizes"]


def test_curves_end_at_the_edges_of_their_frame_and_need_finite_numbers():
    x = np.linspace(0.0, 1.0, 10_001)
    svg = ElementTree.fromstring(html_curves(x, {"y": x}))
    (line,) = svg
    points = np.array([point.split(",") for point in line.attrib["points"].split()], float)
    assert len(points) <= 401
    np.testing.assert_array_equal(points[[0, -1]], [[3.0, 69.0], [317.0, 3.0]])
    assert len(ElementTree.fromstring(html_curves(x, dict.fromkeys("abcde", x)))) == 5
    assert html_curves(x, {"y": np.full(len(x), np.nan)}) == ""
    assert html_curves(x[:1], {"y": x[:1]}) == ""
    assert "&lt;i&gt;" in html_facts("<i>", {})
