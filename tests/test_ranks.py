"""Commands and programs on several ranks: who prints, who writes, and how a lost rank ends all."""

import json
import os
import re
import signal
import time

import h5py
import mpi_runs
import numpy as np
import pytest

from sparsebody import ranks
from sparsebody.simulation.trajectory_reading import load_trajectory

LATTICE = ["lattice", "-p", "rows=4", "-p", "columns=4", "-p", "layers=4", "-p", "disorder=0.1"]
SHEET = ["lattice", "-p", "rows=2", "-p", "columns=2", "-p", "disorder=0.1"]
MUMPS = ["--factorization", "mumps"]


def test_the_environment_tells_the_ranks_and_can_be_freed_of_them(monkeypatch):
    assert (ranks.n_ranks(), ranks.rank()) == (1, 0)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "2")
    assert ranks.name() == "rank 2 of 3"
    assert "OMPI_COMM_WORLD_RANK" not in ranks.without_ranks(os.environ)
    assert ranks.without_ranks(os.environ)["PATH"] == os.environ["PATH"]


@pytest.mark.mpi
def test_a_command_on_two_ranks_prints_once_what_one_process_does():
    command = [*mpi_runs.SPARSEBODY, "inspect", *LATTICE, *MUMPS, "--json"]
    documents = [json.loads(mpi_runs.run(n, *command)[1]) for n in (1, 2)]
    assert [len(one["megabytes"]["used"]) for one in documents] == [1, 2]
    assert documents[0]["rank"] == documents[1]["rank"]
    assert documents[0]["reactions"] == documents[1]["reactions"]


@pytest.mark.mpi
def test_an_error_of_all_ranks_is_printed_once_and_one_of_a_single_rank_ends_all(tmp_path):
    command = [*mpi_runs.SPARSEBODY, "inspect", *MUMPS]
    code, _, text = mpi_runs.run(2, *command, "latice")
    assert (code, text.count("no mechanism 'latice'")) == (2, 1)
    script = tmp_path / "alone.py"
    script.write_text(
        "from sparsebody import ranks\n"
        "world = ranks.communicator()\n"
        "if ranks.rank() == 1: raise ValueError('the disk is gone')\n"
        "world.Barrier()\n"
    )
    code, _, text = mpi_runs.run(2, mpi_runs.SPARSEBODY[0], script)
    assert code == 1
    assert "ValueError: the disk is gone" in text
    assert "rank 1 of 2 failed, and ends all" in text


@pytest.mark.mpi
def test_a_killed_rank_ends_the_run_and_what_was_recorded_is_gone_on_with(tmp_path):
    path = tmp_path / "motion.h5"
    rest = ["--method", "rk4", "--step", "0.01", "--output", path]
    command = [*mpi_runs.SPARSEBODY, "simulate", *SHEET, *MUMPS, *rest]
    process = mpi_runs.start(2, *command, "--duration", "1000")
    while not (path.exists() and _n_records(path) > 2):
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    os.kill(_rank_process(process.pid, 1), signal.SIGKILL)
    assert "exited on signal 9 (Killed)" in process.communicate(timeout=60)[1]
    assert process.returncode == 128 + signal.SIGKILL
    kept = load_trajectory(path)
    assert kept.interrupted
    duration = str(round(kept.time[-1] + 0.02, 2))
    assert mpi_runs.run(2, *command, "--duration", duration, "--resume")[0] == 0
    resumed = load_trajectory(path)
    assert len(resumed.time) == len(kept.time) + 2
    np.testing.assert_array_equal(resumed.position[: len(kept.time)], kept.position)


def _n_records(path):
    """The number of records that can be read by now."""
    try:
        with h5py.File(path, "r", swmr=True) as file:
            return len(file["time"])
    except (OSError, KeyError):  # the file is being made
        return 0


def _rank_process(parent, rank):
    """The process, started by mpiexec, that is some rank."""
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as stat, open(f"/proc/{entry}/environ") as environ:
                is_child = stat.read().rpartition(")")[2].split()[1] == str(parent)
                if is_child and re.search(rf"OMPI_COMM_WORLD_RANK={rank}\0", environ.read()):
                    return int(entry)
        except (OSError, ValueError):
            continue
    raise AssertionError(f"rank {rank} has ended")


STUDY = """
title = "Two ranks"
repeats = 1
time_limit = 60.0
memory_limit = 4000
[families.chain]
mechanism = "chain"
[[runs]]
sizes = [4, 8]
methods = ["sparse"]
"""


@pytest.mark.mpi
def test_the_cases_of_a_study_run_on_the_other_ranks_and_rank_0_writes(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    command = ["study", tmp_path / "study.toml", "--output", tmp_path / "rows", "--json"]
    for _ in range(2):  # the second time nothing is left to do
        code, output, _ = mpi_runs.run(2, *mpi_runs.SPARSEBODY, *command)
        assert code == 0
        assert json.loads(output)["status"] == {"ok": 2}
