import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import document, printed, refusal, run

from sparsebody.simulation import Trajectory

PROGRAM = [sys.executable, "-m", "sparsebody.cli"]


def test_the_summary_for_scripts_is_that_of_the_trajectory_which_holds_its_mechanism(tmp_path):
    path = tmp_path / "new" / "chain.h5"
    words = ["simulate", "chain", "-p", "bodies=2", "--duration", "0.5", "--step", "0.01"]
    summary = document(*words, "--output", path)
    assert summary.pop("output") == str(path)
    trajectory = Trajectory.load(path)
    assert summary == trajectory.summary()
    assert (summary["steps"], summary["energy_error"] < 1e-6) == (50, True)
    assert 0.0 < summary["estimated_error"] < 1e-6
    nodes = json.loads(trajectory.source)["nodes"]
    assert (nodes[0]["id"], len(nodes)) == ("world", 3)
    result = run(*words, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_the_options_reach_the_simulation(tmp_path):
    path = tmp_path / "pendulum.h5"
    words = "--duration 0.1 --step 0.01 --record-step 0.05 --record-reactions"
    options = {
        "method": "semi-implicit-euler",
        "stabilization": "baumgarte",
        "ordering": "natural",
        "factorization": "dense",
        "reduction": "none",
    }
    words += "".join(f" --{key} {value}" for key, value in options.items())
    printed("simulate", "pendulum", *words.split(), "--output", path)
    trajectory = Trajectory.load(path)
    assert np.allclose(trajectory.time, [0.0, 0.05, 0.1])
    assert trajectory.joint_wrench.shape == (3, 1, 6)
    assert options.items() <= trajectory.options.items()


def test_a_motion_that_cannot_go_on_ends_with_code_1_and_keeps_what_there_is(tmp_path):
    path = tmp_path / "governor.h5"
    words = "--duration", "1", "--step", "0.1", "--method", "rk4"
    message = refusal("simulate", "governor", *words, "--output", path, code=1)
    assert message.startswith("sparsebody: error: stopped at t = ")
    assert f"what was computed is in {path}" in message
    assert len(Trajectory.load(path)) >= 1


def test_an_output_is_tried_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsebody.build", None)
    loop, blocked = tmp_path / "loop.h5", tmp_path / "file" / "pendulum.h5"
    loop.symlink_to(loop)
    blocked.parent.write_text("not a directory")
    for path in (loop, blocked):
        message = refusal("simulate", "pendulum", "--output", path, code=1)
        assert message.startswith("sparsebody: error: cannot write ")
        assert message.count("\n") == 1


def test_ctrl_c_ends_with_code_130_and_the_run_can_be_resumed(tmp_path):
    path = tmp_path / "chain.h5"
    words = ["simulate", "chain", "--step", "0.001", "--output", str(path), "--duration"]
    process = subprocess.Popen(
        [*PROGRAM, *words, "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    size = 0
    while size < 1_000_000 and time.monotonic() < deadline:  # until there are records
        time.sleep(0.05)
        size = path.stat().st_size if path.exists() else 0
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "sparsebody: interrupted at t = " in errors
    assert "go on with --resume" in errors
    stopped = Trajectory.load(path)
    assert stopped.interrupted
    end = round(float(stopped.time[-1]) + 0.01, 3)
    assert run(*words, str(end), "--resume").exit_code == 0
    assert Trajectory.load(path).time[-1] == pytest.approx(end)


@pytest.mark.parametrize("words", ["gallery", "--help", "plot --help", "gallery --json"])
def test_a_reader_that_goes_away_leaves_no_traceback(words):
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run([*PROGRAM, *words.split()], stdout=writing, stderr=subprocess.PIPE)
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
