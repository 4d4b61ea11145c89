"""What the README promises runs as printed."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from sparsebody.cli import main

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_example_of_the_readme_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    dynamics, trajectory = names["dynamics"], names["trajectory"]
    assert dynamics.redundant_rows.size == 3
    assert abs(trajectory.energy_error) < 1e-6
    assert "[" in capsys.readouterr().out


def test_the_commands_of_the_readme_are_understood() -> None:
    commands = re.findall(r"^    sparsebody (.*?)(?:\s+#.*)?$", README, re.MULTILINE)
    assert len(commands) == 5
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
