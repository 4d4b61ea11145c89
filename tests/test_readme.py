"""What the README promises runs as printed."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sparsebody.cli import main

README = (Path(__file__).parents[1] / "README.md").read_text()


def run_example(number: int) -> dict[str, Any]:
    """Run one of the programs and return its names."""
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", README, re.DOTALL)[number], names)
    return names


def test_the_example_of_the_readme_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    names = run_example(0)
    dynamics, trajectory = names["dynamics"], names["trajectory"]
    assert dynamics.redundant_rows.size == 3
    assert abs(trajectory.energy_error) < 1e-6
    assert "[" in capsys.readouterr().out


def test_the_example_with_arrays_runs_as_printed() -> None:
    system = run_example(1)["chain"].compile()
    assert (system.n_bodies, system.n_joints, system.predecessor[0]) == (1000, 1000, -1)
    assert (system.body_names[7], system.joint_names[7]) == ("bar-7", "ball-7")


def test_the_example_with_actuators_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    found = run_example(2)["found"]
    assert found.force.shape == (1,)
    assert str(found.actuation) in README
    assert str(found.actuation) in capsys.readouterr().out


def test_the_example_with_reactions_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    names = run_example(3)
    shown = capsys.readouterr().out
    assert "[147.15  49.05]" in shown
    assert "joint 'low': force x, y, z, torque x, y not: 5 redundant constraints" in shown
    assert "remove joint 'high'" in shown
    assert names["advice"].is_verified
    assert names["proper"].n_joints == 1


def test_the_example_with_a_certificate_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    found = run_example(4)["found"]
    assert str(found) == "O(n), width 15"
    assert f"# {found}" in README
    assert "exactly" in capsys.readouterr().out


def test_the_commands_of_the_readme_are_understood() -> None:
    commands = re.findall(r"^    sparsebody (.*?)(?:\s+#.*)?$", README, re.MULTILINE)
    assert len(commands) == 10
    for command in commands:
        name, *options = shlex.split(command)
        assert name in main.commands
        flags = [option for option in options if option.startswith("-")]
        text = CliRunner().invoke(main, [name, "--help"]).output
        for flag in flags:
            assert flag in text


def test_the_picture_of_the_readme_is_there() -> None:
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (Path(__file__).parents[1] / picture).stat().st_size > 1000
