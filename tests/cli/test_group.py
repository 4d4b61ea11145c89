import subprocess
import sys

import pytest
from command_line import printed, refusal, run

import sparsebody
from sparsebody.cli import main
from sparsebody.errors import ModelError


@pytest.mark.parametrize("command", [[], *([name] for name in main.commands)])
def test_every_command_explains_itself(command):
    assert "Usage: sparsebody" in printed(*command, "--help")


def test_the_examples_keep_their_lines_and_the_version_is_that_of_the_package():
    assert "\n    sparsebody inspect scissor -p pairs=100\n" in printed("--help")
    assert printed("--version") == f"sparsebody {sparsebody.__version__}\n"


def test_help_needs_none_of_the_heavy_modules():
    heavy = {"numpy", "scipy", "matplotlib", "h5py", "networkx"}
    check = f"""if True:
        import sys
        from sparsebody.cli import main
        try:
            main(["--help"])
        except SystemExit:
            print(sorted({heavy} & set(sys.modules)))
    """
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_debug_shows_the_traceback():
    assert isinstance(run("--debug", "inspect", "nothing").exception, KeyError)
    broken = run("--debug", "inspect", "chain", "-p", "bodies=0")
    assert isinstance(broken.exception, ModelError)


def test_errors_go_to_stderr_and_exit_codes_to_the_shell():
    program = [sys.executable, "-m", "sparsebody.cli"]
    result = subprocess.run([*program, "inspect", "nothing"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("sparsebody: error: no mechanism 'nothing'")


def test_too_little_memory_is_one_line_of_error(monkeypatch):
    def build(name):
        raise MemoryError("Unable to allocate 9. TiB")

    monkeypatch.setattr("sparsebody.build", build)
    message = "sparsebody: error: not enough memory; Unable to allocate 9. TiB\n"
    assert refusal("inspect", "chain", code=1) == message
