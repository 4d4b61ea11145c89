import sys
from types import SimpleNamespace

import numpy as np
import pytest
from page_documents import unpacked

import sparsebody as sb
from sparsebody.errors import ModelError, SimulationError
from sparsebody.viewer import page_of


@pytest.fixture(scope="module")
def trajectory():
    return sb.simulate(sb.build("four-bar", speed=2.0).compile(), duration=0.1, step=0.01)


def test_a_motion_just_simulated_shows_itself(trajectory, tmp_path):
    page = trajectory.show(output=tmp_path / "motion.html", color="energy")
    header, arrays = unpacked(page.document)
    assert (header["n_frames"], header["color"]) == (11, "energy")
    assert len(arrays["part_kind"]) > 0
    assert (tmp_path / "motion.html").read_text() == page.html


def test_a_motion_written_to_a_file_shows_itself(tmp_path):
    system = sb.build("pendulum").compile()
    path = tmp_path / "a.h5"
    written = sb.simulate(system, duration=0.1, step=0.01, output=path)
    page = written.show(output=tmp_path / "a.html")
    read = sb.Trajectory.load(path)
    assert sb.show(read, system=system, output=tmp_path / "b.html").document == page.document
    with pytest.raises(ModelError, match="give the system that was simulated"):
        read.show(output=tmp_path / "c.html")


def test_systems_are_shown_at_a_state_and_modes_as_motions(tmp_path):
    system = sb.build("beam", gravity=(0.0, 0.0, 0.0)).compile()
    state = sb.consistent_state(system)
    header, arrays = unpacked(sb.show(system, state, output=tmp_path / "a.html").document)
    assert header["n_frames"] == 1
    modes = sb.modes(system, n=2)
    header, arrays = unpacked(sb.show(modes, mode=1, output=tmp_path / "b.html").document)
    assert header["n_frames"] == 41
    assert "mode 2" in header["title"]
    assert arrays["time"][-1] == pytest.approx(1.0 / modes.frequency[1], rel=1e-6)


def test_a_path_of_equilibria_is_played_from_end_to_end(tmp_path):
    mechanism = sb.Mechanism("slide", gravity=(0, 0, 0))
    mechanism.add_body("top", mass=1.0, inertia=[1.0] * 3)
    mechanism.add_joint("guide", sb.Prismatic(), "world", "top", axis=(0, 0, 1))
    mechanism.add_joint_force("spring", "guide", stiffness=10.0)
    mechanism.add_external_force("load", "top", force=(0, 0, 1.0))
    path = sb.follow(mechanism.compile(), "load", stop=20.0, step=4.0)
    header, arrays = unpacked(sb.show(path, output=tmp_path / "path.html").document)
    assert "parameter 0 to 20" in header["title"]
    assert (header["color"], header["n_frames"]) == ("plain", len(path.states))
    assert arrays["time"][[0, -1]].tolist() == [0.0, 1.0]
    motion = path.motion()
    np.testing.assert_allclose(motion.position[:, 0, 2], path.parameter / 10.0, atol=1e-9)


def test_outside_of_a_notebook_the_path_is_printed(trajectory, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    trajectory.show()
    (path,) = tmp_path.glob("*.html")
    assert capsys.readouterr().out == f"{path}\n"


def test_in_a_notebook_nothing_is_written(trajectory, capsys, monkeypatch, tmp_path):
    class ZMQInteractiveShell:
        pass

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kernel = SimpleNamespace(get_ipython=lambda: ZMQInteractiveShell())
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    page = trajectory.show()
    assert page._repr_html_().startswith("<iframe")
    assert (capsys.readouterr().out, list(tmp_path.iterdir())) == ("", [])


def test_a_mode_that_does_not_exist_is_named():
    system = sb.build("beam", elements=3).compile()
    modes = sb.modes(system, sb.equilibrium(system).state, n=2)
    with pytest.raises(SimulationError, match="there is no mode 2; give 0 to 1"):
        page_of(modes, mode=2)


def test_other_things_are_refused():
    with pytest.raises(ModelError, match="cannot show int"):
        sb.show(3)
