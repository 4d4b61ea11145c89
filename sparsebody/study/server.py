"""A process that runs cases, each in a fork of its own with limits of time and memory.

`python -m sparsebody.study.server` reads one JSON request a line: first {"study": document,
"folder": path}, then {"job": name, "case": columns}; it answers each of the latter with a row.
It has done every method once, small, before it forks: a fork begins warm. It ends, and what it
runs with it, as soon as nobody writes to it any more.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

from sparsebody.study import machine
from sparsebody.study.files import study_of
from sparsebody.study.measure import (
    Row,
    blank_row,
    measure,
    solve_reference,
    warm_up,
    warm_up_reference,
)
from sparsebody.study.plan import PEER, Case, Series, Study
from sparsebody.study.shared_cache import share_cache

Job = Callable[[Study, Case, Path], Row]
JOBS: dict[str, tuple[Job, Job]] = {  # and what to do once before
    "measure": (measure, warm_up),
    "reference": (solve_reference, warm_up_reference),
}
_MESSAGE = 300  # characters
_LOOK = 0.2  # [s] between two looks at the CPU time of a case
_PATIENCE = 4.0  # times the limit of CPU time, on the clock: a case may wait, but not for ever


class _Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Server:
    """Runs the cases of one study."""

    def __init__(self, study: Study, folder: Path, requests: int) -> None:
        self.study = study
        self.folder = folder
        self.requests = requests  # file descriptor; it can be read while a case runs once it ends
        self._warm: set[tuple[str, object]] = set()

    def answer(self, job: str, case: Case) -> Row:
        """Run a job on a case in a fork; whatever happens to it, return a row."""
        work, first = JOBS[job]
        kind = _kind(job, case)
        if kind not in self._warm:
            self._warm.add(kind)
            if self._is_ours(job, case) or self._forked(first, case)["status"] == "ok":
                with _quiet(), _frozen():
                    guarded(first, self.study, case, self.folder)
        return self._forked(work, case)

    def _is_ours(self, job: str, case: Case) -> bool:
        """Tell whether nothing outside the package runs, which might hang or crash."""
        if job == "reference":
            return self.study.reference is None
        return case.series.method != PEER

    def _forked(self, job: Job, case: Case) -> Row:
        receiver, sender = Pipe(duplex=False)
        with tempfile.TemporaryFile() as said:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                receiver.close()
                _run(job, self.study, case, self.folder, sender, said.fileno())
            sender.close()
            try:
                start = time.perf_counter()
                row = self._received(case, receiver, child, said)
                return row | {"case_seconds": time.perf_counter() - start}
            finally:
                _stop(child)
                receiver.close()

    def _received(self, case: Case, receiver: Connection, child: int, said: Any) -> Row:
        limit = self.study.time_limit(case)
        start = time.perf_counter()
        while not (ready := wait([receiver, self.requests], _LOOK)):
            waited = time.perf_counter() - start
            if machine.cpu_seconds(child) > limit or waited > _PATIENCE * limit:
                return blank_row(case, status="timeout", message=f"more than {limit:g} s")
        if receiver not in ready:
            raise _Abandoned
        try:
            return json.loads(receiver.recv_bytes())
        except EOFError:
            said.seek(0)
            text = said.read().decode(errors="replace")
        last = (text.strip().splitlines() or ["no message"])[-1]
        status = "out-of-memory" if "alloc" in text.lower() else "crashed"
        return blank_row(case, status=status, message=f"the process died: {last}"[:_MESSAGE])


def _kind(job: str, case: Case) -> tuple[str, object]:
    """Return what cases have in common that one of them warms up for."""
    if job == "reference":
        return job, case.series.family
    return job, case.series.peer if case.series.method == PEER else case.series


@contextmanager
def _frozen() -> Iterator[None]:
    """Keep what is made here, but for cycles, from garbage collections.

    A collection in a fork would copy every page with a Python object: 0.2 s a case.
    """
    gc.freeze()
    yield
    gc.collect()
    gc.freeze()


def _run(job: Job, study: Study, case: Case, folder: Path, sender: Connection, said: int) -> None:
    """Do the job in a fork, send the row and end; what engines print goes to a file."""
    try:
        os.setsid()
        os.dup2(said, 1)
        os.dup2(said, 2)
        _limit_memory(study.settings.memory_limit)
        sender.send_bytes(json.dumps(guarded(job, study, case, folder)).encode())
        sender.close()
    finally:
        os._exit(0)


def _limit_memory(megabytes: float) -> None:
    """Let this process ask for so much more than it has.

    A limit of CPU time would make Linux count it in steps of 4 ms: too coarse to measure by.
    """
    most = int((machine.address_space() + megabytes) * 1e6)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def guarded(job: Job, study: Study, case: Case, folder: Path) -> Row:
    """Do the job; an exception becomes the status of the row."""
    try:
        return job(study, case, folder)
    except MemoryError as error:
        return blank_row(case, status="out-of-memory", message=_line(error))
    except NotImplementedError as error:
        return blank_row(case, status="unsupported", message=_line(error))
    except ImportError as error:
        return blank_row(case, status="unavailable", message=_line(error))
    except Exception as error:  # any engine, any exception: a row all the same
        status = "out-of-memory" if "alloc" in str(error).lower() else "failed"
        return blank_row(case, status=status, message=_line(error))


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MESSAGE]


def _stop(child: int) -> None:
    """Kill a fork, with the programs that its engine started, and wait for it."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except ProcessLookupError:  # it has ended, or has no group yet
            continue
    os.waitpid(child, 0)


class _quiet:
    """Send what engines print to nowhere."""

    def __enter__(self) -> None:
        self.kept = [os.dup(stream) for stream in (1, 2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os.close(nowhere)

    def __exit__(self, *error: object) -> None:
        for stream, kept in zip((1, 2), self.kept, strict=True):
            os.dup2(kept, stream)
            os.close(kept)


def case_of(columns: dict[str, Any]) -> Case:
    """Return the case that its columns identify."""
    named = dict(columns)
    return Case(named.pop("size"), Series(**named))


def _lines(requests: int) -> Any:
    """Yield requests as they come, never reading beyond the end of one."""
    rest = b""
    while part := os.read(requests, 1 << 16):
        *lines, rest = (rest + part).split(b"\n")
        yield from lines


def main() -> None:
    """Answer requests until there are no more."""
    share_cache()
    answers = os.dup(1)  # engines print on the standard output
    os.dup2(2, 1)
    lines = _lines(0)
    first = json.loads(next(lines))
    study = study_of(first["study"])
    server = Server(study, Path(first["folder"]), 0)
    for line in lines:
        request = json.loads(line)
        try:
            row = server.answer(request["job"], case_of(request["case"]))
            os.write(answers, json.dumps(row).encode() + b"\n")
        except (_Abandoned, BrokenPipeError):
            return


if __name__ == "__main__":
    main()
