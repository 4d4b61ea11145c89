"""Completion in shells; its names are those of the tables, which it does not import."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import printed, refusal

from sparsebody.cli import completion, main
from sparsebody.factorization import FACTORIZATIONS
from sparsebody.model.gallery import GALLERY
from sparsebody.ordering import ALGORITHMS, ORDERINGS
from sparsebody.simulation.integrators import INTEGRATORS
from sparsebody.simulation.stabilization import STABILIZATIONS
from sparsebody.tree.tree_choice import TREE_CHOICES

TABLES = {
    ("model.gallery", "GALLERY"): GALLERY,
    ("ordering", "ORDERINGS"): ORDERINGS,
    ("factorization", "FACTORIZATIONS"): FACTORIZATIONS,
    ("simulation.integrators", "INTEGRATORS"): INTEGRATORS,
    ("simulation.stabilization", "STABILIZATIONS"): STABILIZATIONS,
    ("tree.tree_choice", "TREE_CHOICES"): TREE_CHOICES,
    ("ordering", "ALGORITHMS"): ALGORITHMS,
}


def completed(line, shell="bash"):
    """What click's protocol answers for the last word of a line."""
    words = line.split(" ")
    environment = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    environment["_SPARSEBODY_COMPLETE"] = f"{shell}_complete"
    result = CliRunner().invoke(main, env=environment, prog_name="sparsebody")
    lines = result.stdout.splitlines()
    if shell == "zsh":
        return lines[1::3]
    return [line.partition(",")[2] for line in lines if line]


@pytest.mark.parametrize("table", TABLES)
def test_names_are_those_of_the_table(table):
    assert completion.table_names(*table) == list(TABLES[table])


@pytest.mark.parametrize("name", GALLERY)
def test_parameters_are_those_of_the_mechanism(name):
    assert list(completion.parameters(name)) == list(GALLERY[name].defaults)
    assert completion.parameters("oak") == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sparsebody sim", ["simulate"]),
        ("sparsebody inspect sci", ["scissor"]),
        ("sparsebody inspect scissor -p pa", ["pairs="]),
        ("sparsebody simulate scissor -p drive=", ["true", "false"]),
        ("sparsebody simulate scissor -p pairs=9 -p pairs=1", ["10"]),
        ("sparsebody inspect chain -p joint=s", ["spherical"]),
        ("sparsebody inspect -p pa", []),
        ("sparsebody simulate chain --ordering minimum-d", ["minimum-degree"]),
        ("sparsebody simulate chain --ordering=minimum-d", ["minimum-degree"]),
        ("sparsebody simulate chain --method rk", ["rk4"]),
        ("sparsebody inspect chain --reduction ", ["auto", "none"]),
        ("sparsebody study a.toml --format p", ["parquet"]),
        ("sparsebody simulate chain --dur", ["--duration"]),
    ],
)
def test_bash_is_told_what_fits(line, words):
    assert completed(line) == words


def test_zsh_and_fish_take_whole_words():
    assert completed("sparsebody inspect chain -p joint=s", "zsh") == ["joint=spherical"]
    environment = {"COMP_WORDS": "sparsebody inspect sci", "COMP_CWORD": "sci"}
    environment["_SPARSEBODY_COMPLETE"] = "fish_complete"
    result = CliRunner().invoke(main, env=environment, prog_name="sparsebody")
    assert result.stdout == "plain,scissor\n"


def test_files_are_completed_by_their_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("run.h5", "robot.json", "notes.txt", "matrix.mtx"):
        (tmp_path / name).touch()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "long.h5").touch()
    files = ["robot.json", "run.h5", "runs/"]
    assert completed("sparsebody plot r") == ["rotating-squares", "ring", *files]
    assert completed("sparsebody simulate r")[2:] == ["robot.json", "runs/"]
    assert completed("sparsebody order m") == ["matrix.mtx"]
    assert completed("sparsebody plot runs/") == ["runs/long.h5"]
    assert completed("sparsebody plot nowhere/") == []


def test_a_completion_imports_nothing_that_is_slow():
    check = """if True:
        import os, sys
        os.environ |= {"COMP_WORDS": "sparsebody inspect scissor -p ", "COMP_CWORD": "4",
                       "_SPARSEBODY_COMPLETE": "bash_complete"}
        from sparsebody.cli import main
        try:
            main([])
        finally:
            print(sorted({"numpy", "scipy", "matplotlib", "h5py", "networkx", "rich"}
                         & set(sys.modules)))
    """
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert result.stdout.splitlines()[0] == "plain,pairs="
    assert result.stdout.splitlines()[-1] == "[]"


BASH = """
source /dev/stdin <<< "$SCRIPT"
COMP_LINE=$1 COMP_POINT=${#1}
compopt() { echo "compopt $1 $2"; }
_sparsebody_completion sparsebody
printf '%s\\n' "${COMPREPLY[@]}"
complete -p sparsebody
"""


def in_shell(shell, script, *words):
    """Standard output of a script in a shell, in which `sparsebody` is that of this Python."""
    environment = {"SCRIPT": printed("completion", shell), "HOME": "/nonexistent"}
    environment["PATH"] = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    result = subprocess.run(
        [shell, "-c", script, shell, *words], capture_output=True, text=True, env=environment
    )
    assert result.stderr == ""
    return result.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.skipif(
    not (Path(sys.executable).parent / "sparsebody").exists(), reason="needs the program"
)
def test_bash_itself_completes():
    words = in_shell("bash", BASH, "sparsebody inspect scissor -p le")
    assert words[:2] == ["compopt -o nospace", "length="]
    assert "-F _sparsebody_completion sparsebody" in words[-1]
    assert in_shell("bash", BASH, "sparsebody inspect scissor -p drive=t")[0] == "true"


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_script_of_every_shell_is_one_that_it_reads(shell):
    assert "_SPARSEBODY_COMPLETE" in printed("completion", shell)
    if shutil.which(shell):
        script = printed("completion", shell)
        checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_an_unknown_shell_is_refused():
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in refusal("completion", "tcsh")
