"""Where cases run: in servers on this machine, or in those that the workers of a cluster keep."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparsebody.errors import MissingDependencyError, StudyError
from sparsebody.study.measure import Row, blank_row
from sparsebody.study.plan import Case, Series

_LIBRARIES = ("OMP", "OPENBLAS", "MKL")
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in _LIBRARIES}
_own = threading.local()  # each thread has its own server
_all: set[Client] = set()


class Client:
    """Talks to one server; starts it when it is first needed, and again if it dies."""

    def __init__(self, document: Mapping[str, Any], folder: str) -> None:
        self.first = {"study": document, "folder": folder}
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, job: str, case: Case) -> Row:
        """Return the row of a case."""
        try:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"job": job, "case": case.columns}).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            if answer.endswith(b"\n"):
                return dict(json.loads(answer))
        except BrokenPipeError:
            pass
        self.close()
        return blank_row(case, status="crashed", message="the server of this worker died")

    def close(self) -> None:
        """End the server, and what it runs."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "sparsebody.study.server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **_ONE_THREAD},
                start_new_session=True,  # an interrupt is for the runner alone
            )
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(self.first).encode() + b"\n")
        return self.process


def run_job(document: Mapping[str, Any], folder: str, job: str, columns: Mapping[str, Any]) -> Row:
    """Run a job on a case in the server of this thread; arguments and result can be sent around."""
    key = json.dumps([document, folder], sort_keys=True)
    if getattr(_own, "key", None) != key:
        _own.key, _own.client = key, Client(document, folder)
        _all.add(_own.client)
    named = dict(columns)
    case = Case(named.pop("size"), Series(**named))
    return dict(_own.client.ask(job, case))


@atexit.register
def close_all() -> None:
    """End all servers of this process."""
    while _all:
        _all.pop().close()


@contextmanager
def executor(jobs: int, scheduler: str | None) -> Iterator[Executor]:
    """Yield what runs jobs: threads with a server each, or the workers of a Dask cluster.

    Raises
    ------
    MissingDependencyError
        If a scheduler is given and Dask is not installed.
    StudyError
        If the scheduler does not answer.
    """
    if scheduler is None:
        pool = ThreadPoolExecutor(jobs)
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            close_all()
            pool.shutdown()
        return
    with _dask(scheduler) as client:
        yield client.get_executor(pure=False)


@contextmanager
def _dask(scheduler: str) -> Iterator[Any]:
    try:
        from distributed import Client as Cluster
    except ImportError as error:
        raise MissingDependencyError(
            "--scheduler needs Dask: pip install 'sparsebody[study]'"
        ) from error
    try:
        client = Cluster(scheduler)
    except (OSError, ValueError) as error:
        raise StudyError(f"no Dask scheduler answers at {scheduler}: {error}") from error
    with client:
        yield client


def absolute(folder: Path) -> str:
    """Return a folder as other processes know it."""
    return str(folder.resolve())
