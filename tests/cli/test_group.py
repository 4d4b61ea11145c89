import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import sparsebody
from sparsebody.cli import main
from sparsebody.errors import ModelError

PROGRAM = [sys.executable, "-m", "sparsebody.cli"]


@pytest.mark.parametrize("command", [[], *([name] for name in main.commands)])
def test_every_command_explains_itself(command):
    result = CliRunner().invoke(main, [*command, "--help"])
    assert result.exit_code == 0
    assert "Usage: sparsebody" in result.stdout


def test_the_examples_keep_their_lines():
    result = CliRunner().invoke(main, ["--help"])
    assert "\n    sparsebody inspect scissor -p pairs=100\n" in result.stdout


def test_no_command_is_one_line_of_error():
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 2
    assert result.stderr.startswith("sparsebody: error: Missing command")
    assert "Usage" not in result.stderr


def test_help_needs_none_of_the_heavy_modules():
    check = "import sys; from sparsebody.cli import main\n"
    check += "try: main(['--help'])\nexcept SystemExit: pass\n"
    check += (
        "print(sorted({'numpy', 'scipy', 'matplotlib', 'h5py', 'networkx'} & set(sys.modules)))"
    )
    start = time.monotonic()
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "[]"
    assert time.monotonic() - start < 5.0


def test_the_version_is_that_of_the_package():
    result = CliRunner().invoke(main, ["--version"])
    assert result.stdout == f"sparsebody {sparsebody.__version__}\n"


def test_an_unknown_command_ends_with_code_2():
    result = CliRunner().invoke(main, ["animate"])
    assert result.exit_code == 2
    assert "No such command 'animate'" in result.stderr


def test_debug_shows_the_traceback():
    result = CliRunner().invoke(main, ["--debug", "inspect", "nothing"])
    assert isinstance(result.exception, KeyError)
    broken = CliRunner().invoke(main, ["--debug", "inspect", "chain", "-p", "bodies=0"])
    assert isinstance(broken.exception, ModelError)


def test_errors_go_to_stderr_and_exit_codes_to_the_shell():
    result = subprocess.run([*PROGRAM, "inspect", "nothing"], capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("sparsebody: error: no mechanism 'nothing'")


def test_too_little_memory_is_one_line_of_error(monkeypatch):
    def build(name):
        raise MemoryError("Unable to allocate 9. TiB")

    monkeypatch.setattr("sparsebody.model.gallery.build", build)
    result = CliRunner().invoke(main, ["inspect", "chain"])
    assert result.exit_code == 1
    assert result.stderr == "sparsebody: error: not enough memory; Unable to allocate 9. TiB\n"


def test_a_path_is_never_a_name_of_the_gallery():
    result = CliRunner().invoke(main, ["inspect", "./chain"])
    assert result.exit_code == 2
    assert "./chain: unknown suffix" in result.stderr
