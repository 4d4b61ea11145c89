"""What the README and the guides promise runs as printed."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sparsebody.cli import main
from sparsebody.ordering import ORDERINGS

ROOT = Path(__file__).parents[1]
PAGES = {path.name: path.read_text() for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))}
PROGRAMS = [
    pytest.param(program, id=f"{name}-{number}")
    for name, text in PAGES.items()
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
]
TEXT = "\n".join(PAGES.values())


def run_example(content):
    """Run the program with a certain content and return its names."""
    names: dict[str, Any] = {}
    (found,) = [parameter.values[0] for parameter in PROGRAMS if content in parameter.values[0]]
    exec(found, names)
    return names


def test_the_mechanism_of_the_readme_runs_as_printed(capsys):
    names = run_example('Mechanism("four-bar"')
    dynamics, trajectory = names["dynamics"], names["trajectory"]
    assert dynamics.redundant_rows.size == 3
    assert abs(trajectory.energy_error) < 1e-6
    assert "[" in capsys.readouterr().out


def test_the_lattice_of_the_readme_runs_as_printed(capsys):
    trajectory = run_example('build("lattice"')["trajectory"]
    assert trajectory.time[-1] == pytest.approx(1.0)
    assert trajectory.position_error.max() < 1e-6 * 8  # of its size
    assert "implicit steps" in capsys.readouterr().out


def test_variational_energy_does_not_drift_as_printed():
    error = run_example('method in ("rk4", "variational")')["error"]
    assert error[-200:].max() < 1.1 * error[:200].max()


def test_the_bouncing_ball_runs_as_printed():
    run = run_example("floor.change")["run"]
    first = np.sqrt(4.0 / 9.81)  # falling 2 m, then up with 0.8 of the velocity
    bounces = [event.time for event in run.events if event.kind == "event"]
    np.testing.assert_allclose(bounces, first * np.array([1.0, 2.6]), rtol=1e-6)


def test_the_ordering_of_the_readme_runs_as_printed(capsys, monkeypatch):
    for name in set(ORDERINGS):
        monkeypatch.setitem(ORDERINGS, name, ORDERINGS[name])  # so that the new one goes again
    run_example("register_ordering")
    assert "left-to-right" in capsys.readouterr().out
    ORDERINGS.pop("left-to-right")


def test_the_example_with_arrays_runs_as_printed():
    system = run_example('Mechanism("chain")')["chain"].compile()
    assert (system.n_bodies, system.n_joints, system.predecessor[0]) == (1000, 1000, -1)
    assert (system.body_names[7], system.joint_names[7]) == ("bar-7", "ball-7")


def test_the_example_with_actuators_runs_as_printed(capsys):
    found = run_example("inverse_dynamics")["found"]
    assert found.force.shape == (1,)
    assert str(found.actuation) in TEXT
    assert str(found.actuation) in capsys.readouterr().out


def test_the_example_with_reactions_runs_as_printed(capsys):
    names = run_example("apply_advice")
    shown = capsys.readouterr().out
    assert "[147.15  49.05]" in shown
    assert "joint 'low': force x, y, z, torque x, y not: 5 redundant constraints" in shown
    assert "remove joint 'high'" in shown
    assert names["advice"].is_verified
    assert names["proper"].n_joints == 1


def test_the_example_with_algorithms_runs_as_printed(capsys):
    names = run_example("compare_algorithms")
    assert names["line"].counted_flops == names["line"].metrics.flops
    assert names["basis"].loops == 20
    assert "penalty" in capsys.readouterr().out


def test_the_example_with_classical_algorithms_runs_as_printed(capsys):
    run_example("uicker-kahn")
    lines = capsys.readouterr().out.replace("\n ", " ").splitlines()
    forces = {re.findall(r"\[.*?\]", line)[0] for line in lines}
    assert len(lines) == 3
    assert len(forces) == 1  # the same to eight digits
    assert lines[2].endswith("117 n - 118")


def test_the_example_with_spatial_operators_runs_as_printed():
    names = run_example("SpatialOperators.of")
    on, product = names["on"], names["H"] @ names["phi"] @ names["M"] @ names["phi"].T
    np.testing.assert_allclose(on.factor @ on.D @ on.factor.T, product @ names["H"].T, atol=1e-14)
    given = (names["arm"], *(names[name] for name in ("q", "qd", "tau")))
    found = names["ALGORITHMS"]["spatial-operators-forward"](*given)
    np.testing.assert_allclose(found, on.forward_dynamics(*given[2:]), rtol=1e-12)


def test_the_example_with_a_certificate_runs_as_printed(capsys):
    found = run_example("sb.certify")["found"]
    assert str(found) == "O(n), width 15"
    assert f"# {found}" in TEXT
    assert "exactly" in capsys.readouterr().out


def test_the_commands_of_the_pages_are_understood():
    commands = re.findall(r"^    sparsebody (.*?)(?:\s+#.*)?$", TEXT, re.MULTILINE)
    assert len(commands) == 18
    for command in commands:
        name, *options = shlex.split(command)
        assert name in main.commands
        flags = [option for option in options if option.startswith("-")]
        text = CliRunner().invoke(main, [name, "--help"]).output
        for flag in flags:
            assert flag in text


def test_links_lead_to_files():
    for name, text in PAGES.items():
        folder = ROOT if name == "README.md" else ROOT / "docs"
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for link in re.findall(r"\]\((?!http)(.*?)\)", prose):
            assert (folder / link).exists(), f"{name}: {link}"
