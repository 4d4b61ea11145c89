"""Workers, schedulers and batch systems as processes of their own, some of which are killed."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from sparsebody.errors import MissingDependencyError, StudyError
from sparsebody.study import processes
from sparsebody.study.plan import study_of
from sparsebody.study.processes import Failure
from sparsebody.study.rows import read_results
from sparsebody.study.runner import run_study

distributed = pytest.importorskip("distributed")  # pip install 'sparsebody[study]'
pytestmark = pytest.mark.filterwarnings("ignore")

STUDY = {
    "batch_seconds": 1e-4,
    "repeats": 1,
    "paths": [str(Path(__file__).parents[1])],
    "families": {"chain": {"mechanism": "chain"}},
    "runs": [{"sizes": [2, 3, 4], "methods": ["sparse", "aba"]}],
}
SLOW = STUDY | {
    "peers": {"waiting": {"function": "study_peers:waiting"}},
    "runs": [{"sizes": [2, 3], "seeds": [0, 1, 2], "peers": ["waiting"]}],
}


def started(stack, module, *arguments):
    """Return a process of Dask, which ends with the stack, and with what it started."""
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, start_new_session=True, **quiet)
    stack.callback(killed, process)
    return process


def killed(process):
    """Kill a process and those that it started."""
    for end in (lambda: os.killpg(process.pid, signal.SIGKILL), process.wait):
        with suppress(ProcessLookupError):
            end()


@pytest.fixture
def position():
    """The address of a scheduler to come."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{one.getsockname()[1]}"


@contextmanager
def dask(position, n_workers):
    """Yield a scheduler and its workers, which end with the context."""
    with ExitStack() as stack:
        port = position.rpartition(":")[2]
        scheduler = started(stack, "dask_scheduler", "--host", "127.0.0.1", "--port", port)
        options = ("--nthreads", "1", "--no-nanny")
        workers = [started(stack, "dask_worker", position, *options) for _ in range(n_workers)]
        yield scheduler, workers


@contextmanager
def running(study, folder, **options):
    """Run a study in a thread; yield its reports and a call that waits for its rows."""
    reports, results = [], []

    def run():
        try:
            results.append(read_results(run_study(study, folder, report=note, **options)))
        except StudyError as error:
            results.append(error)

    def note(case, row, done, total):
        reports.append(case)

    def rows():
        thread.join()
        return results[0]

    thread = threading.Thread(target=run)
    thread.start()
    yield reports, rows
    thread.join()


def await_more(reports):
    """Wait until another row has come."""
    n_before = len(reports)
    while len(reports) == n_before:
        time.sleep(0.05)


def test_killed_workers_and_a_killed_scheduler_cost_no_row_and_none_comes_twice(tmp_path, position):
    study = study_of(SLOW)
    with running(study, tmp_path, scheduler=position) as (reports, rows):
        with dask(position, 2) as (scheduler, workers):
            await_more(reports)
            killed(workers[0])  # while it works, as the other one does
            await_more(reports)
            killed(scheduler)
        with dask(position, 1):
            counted = Counter(row["status"] for row in rows())
    assert counted == {"ok": 6}
    assert len(reports) == len(set(reports)) == len(study.cases)


class LostClient:
    """A client that has lost its scheduler, and ends its search when it is asked twice."""

    def __init__(self):
        self.answers = ["connecting", "connecting", "closed"]

    @property
    def status(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def submit(self, work, *arguments, pure):
        raise CancelledError

    def close(self):
        assert self.answers == ["closed"]


def test_a_scheduler_that_stays_away_ends_the_run_with_what_was_kept():
    pool = processes.ClusterExecutor(LostClient())
    with pytest.raises(StudyError, match="rows that came are kept, and the same command goes on"):
        pool.submit(len, "abc").result()
    pool.shutdown()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_work_that_kills_its_workers_is_a_failure_and_the_next_one_runs(position, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with dask(position, 2), processes.cluster_executor(position, 1) as pool:
        failure = pool.submit(die).result()
        assert isinstance(failure, Failure)
        assert failure.status == "crashed"
        assert "the workers that ran it died" in failure.message
        assert pool.submit(len, "abc").result() == 3


SBATCH = """#!/bin/sh
echo "Submitted batch job $$" ; echo submitted >> {log}
cp "$1" {log}.job
setsid sh {log}.job > {log}.out 2>&1 &
"""


def test_jobs_of_slurm_run_the_cases(tmp_path, monkeypatch):
    dask_jobqueue = pytest.importorskip("dask_jobqueue")
    assert dask_jobqueue.SLURMCluster
    import dask

    commands = {"sbatch": SBATCH.format(log=tmp_path / "jobs"), "scancel": "#!/bin/sh\n"}
    for name, script in commands.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(StudyError, match=r"key jobqueue\.slurm of ~/\.config/dask"):
        run_study(study_of(STUDY), tmp_path / "none", scheduler="slurm")
    job = {"cores": 1, "memory": "2GB", "queue": "long", "walltime": "00:07:00"}
    job |= {"local-directory": str(tmp_path), "scheduler-options": {"dashboard_address": None}}
    with dask.config.set({"jobqueue.slurm": dask.config.get("jobqueue.slurm") | job}):
        rows = read_results(run_study(study_of(STUDY), tmp_path / "out", jobs=2, scheduler="slurm"))
    assert [row["status"] for row in rows] == 6 * ["ok"]
    assert all(row["error"] < 1e-12 for row in rows)
    directives = (tmp_path / "jobs.job").read_text()
    assert "#SBATCH -p long" in directives
    assert "#SBATCH -t 00:07:00" in directives
    assert 1 <= len((tmp_path / "jobs").read_text().split()) <= 3


def test_a_cluster_without_dask_names_the_command_that_installs_it(tmp_path, monkeypatch):
    study = study_of(STUDY)
    for package, scheduler in (("distributed", "tcp://localhost:1"), ("dask_jobqueue", "slurm")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[study\]'"):
            run_study(study, tmp_path / "out", scheduler=scheduler)


def test_an_address_where_no_scheduler_is_is_named(tmp_path):
    with pytest.raises(StudyError, match="no Dask scheduler answers at nonsense:xx"):
        run_study(study_of(STUDY), tmp_path / "other", scheduler="nonsense:xx")
