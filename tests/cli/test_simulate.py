import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from sparsebody.cli import main
from sparsebody.simulation import Trajectory

PROGRAM = [sys.executable, "-m", "sparsebody.cli"]


def run(*arguments):
    return CliRunner().invoke(main, ["simulate", *arguments])


def test_the_summary_for_scripts_is_that_of_the_trajectory(tmp_path):
    path = tmp_path / "new" / "pendulum.h5"
    result = run("pendulum", "--duration", "0.5", "--step", "0.01", "--output", str(path), "--json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary.pop("output") == str(path)
    assert summary == Trajectory.load(path).summary()
    assert summary["steps"] == 50
    assert summary["energy_error"] < 1e-6


def test_the_trajectory_holds_the_mechanism_that_moved(tmp_path):
    path = tmp_path / "chain.h5"
    run("chain", "-p", "bodies=2", "--duration", "0.01", "--output", str(path))
    source = json.loads(Trajectory.load(path).source)
    assert source["nodes"][0]["id"] == "world"
    assert len(source["nodes"]) == 3


def test_the_summary_for_people_tells_energy_and_drift():
    result = run("pendulum", "--duration", "0.1")
    assert result.exit_code == 0
    for word in ("energy error", "position error", "wall time", "100, 101 recorded"):
        assert word in result.stdout


def test_quiet_prints_nothing():
    result = run("pendulum", "--duration", "0.01", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_the_options_reach_the_simulation(tmp_path):
    path = tmp_path / "pendulum.h5"
    words = "--duration 0.1 --step 0.01 --record-step 0.05 --record-reactions"
    words += " --method semi-implicit-euler --stabilization baumgarte"
    words += " --ordering natural --factorization dense --reduction none"
    assert run("pendulum", *words.split(), "--output", str(path)).exit_code == 0
    trajectory = Trajectory.load(path)
    assert np.allclose(trajectory.time, [0.0, 0.05, 0.1])
    assert trajectory.joint_wrench.shape == (3, 1, 6)
    assert trajectory.options["method"] == "semi-implicit-euler"
    assert trajectory.options["stabilization"] == "baumgarte"
    assert trajectory.options["ordering"] == "natural"
    assert trajectory.options["factorization"] == "dense"
    assert trajectory.options["reduction"] == "none"


def test_an_existing_output_is_neither_lost_nor_computed_for(tmp_path):
    path = tmp_path / "mine.h5"
    path.write_text("mine")
    result = run("pendulum", "--output", str(path))
    assert result.exit_code == 2
    assert "exists; give another --output, --resume or --overwrite" in result.stderr
    assert path.read_text() == "mine"
    assert (
        run("pendulum", "--duration", "0.01", "--output", str(path), "--overwrite").exit_code == 0
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--step -0.01", "'-0.01' is not a positive number of seconds"),
        ("--step nan", "'nan' is not a positive number of seconds"),
        ("--duration 0", "'0' is not a positive number of seconds"),
        ("--record-step later", "'later' is not a positive number of seconds"),
        ("--method rk5", "rk4"),
        ("--stabilization hope", "projection"),
        ("--ordering best", "best"),
        ("--factorization best", "best"),
        ("--resume", "--resume needs the --output"),
        ("--resume --overwrite --output x.h5", "not both"),
    ],
)
def test_bad_options_end_with_code_2(words, message):
    result = run("pendulum", "--duration", "0.01", *words.split())
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_motion_that_cannot_go_on_ends_with_code_1_and_keeps_what_there_is(tmp_path):
    path = tmp_path / "governor.h5"
    words = "--duration", "1", "--step", "0.1", "--method", "rk4"
    result = run("governor", *words, "--output", str(path))
    assert result.exit_code == 1
    assert result.stderr.startswith("sparsebody: error: stopped at t = ")
    assert f"what was computed is in {path}" in result.stderr
    assert len(Trajectory.load(path)) >= 1


def test_an_output_that_cannot_be_written_ends_with_code_1(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    result = run("pendulum", "--output", str(blocked / "pendulum.h5"))
    assert result.exit_code == 1
    assert result.stderr.startswith("sparsebody: error: cannot write ")


def test_an_output_is_tried_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsebody.model.gallery.build", None)
    path = tmp_path / "loop.h5"
    path.symlink_to(path)
    result = run("pendulum", "--output", str(path))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"sparsebody: error: cannot write {str(path)!r}: ")
    assert result.stderr.count("\n") == 1


def test_ctrl_c_ends_with_code_130_and_the_run_can_be_resumed(tmp_path):
    path = tmp_path / "chain.h5"
    words = ["simulate", "chain", "--step", "0.001", "--output", str(path), "--duration"]
    process = subprocess.Popen(
        [*PROGRAM, *words, "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "sparsebody: interrupted at t = " in errors
    assert "go on with --resume" in errors
    stopped = Trajectory.load(path)
    assert stopped.interrupted
    end = round(float(stopped.time[-1]) + 0.01, 3)
    assert run(*words[1:], str(end), "--resume").exit_code == 0
    assert Trajectory.load(path).time[-1] == pytest.approx(end)


def test_a_reader_that_goes_away_leaves_no_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run(
        [*PROGRAM, "gallery"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert result.returncode == 141
    assert result.stderr == b""


@pytest.mark.parametrize("words", [["--help"], ["plot", "--help"], ["gallery", "--json"]])
def test_help_and_json_end_alike_where_nobody_reads(words):
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run([*PROGRAM, *words], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="has no /dev/full")
def test_a_full_disk_under_the_output_is_one_line_of_error():
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*PROGRAM, "gallery", "--json"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert result.returncode == 1
    assert result.stderr == (
        "sparsebody: error: cannot write the output: No space left on device\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="has no POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_streams_that_the_shell_closed_are_no_error(closed):
    words = "simulate pendulum --duration 0.01 --json"
    command = f"'{sys.executable}' -m sparsebody.cli {words} {closed}"
    assert subprocess.run(["sh", "-c", command], capture_output=True).returncode == 0
