"""Cases in processes of their own, forked from one that has loaded every kernel already."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing import forkserver, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

from benchmarks.measure import Row, Task, blank_row, known_reference, measure
from benchmarks.peers.tree import UnsupportedError

REFERENCE = "reference"  # the method that only stores the reference solution
Work = Callable[[Task, Path], Row]


def start_warm() -> float:
    """Start the process that all others are forked from; return the time [s].

    What numba's cache lacks is compiled by another process before, because a compiler leaves its
    memory in pieces: processes forked from it were up to 1.5 times slower on large mechanisms.
    """
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "benchmarks.warm"], check=True)
    get_context("forkserver").set_forkserver_preload(["benchmarks.warmed", __name__])
    forkserver.ensure_running()
    process = get_context("forkserver").Process(target=_nothing)
    process.start()  # waits until it is ready
    process.join()
    if process.exitcode:
        raise RuntimeError("the kernels could not be run; see above")
    return time.monotonic() - start


def _nothing() -> None:
    """Do nothing."""


def run_case(
    task: Task, cache: Path, seconds: float, gigabytes: float, work: Work | None = None
) -> Row:
    """Measure one case in a process of its own; timeouts and crashes are rows."""
    with tempfile.TemporaryDirectory() as folder:
        target, said = Path(folder) / "row.json", Path(folder) / "said"
        arguments = (work or guarded, task, cache, gigabytes, target, said)
        process = get_context("forkserver").Process(target=_child, args=arguments)
        process.start()
        try:
            process.join(seconds)
            is_late = process.exitcode is None
        finally:  # after an interruption, too
            _stop(process)
        if is_late:
            return blank_row(task, status="timeout", message=f"more than {seconds:.0f} s")
        if target.exists():
            return Row(**json.loads(target.read_text()))
        text = said.read_text(errors="replace") if said.exists() else ""
    last = (text.strip().splitlines() or ["no message"])[-1]
    status = "out-of-memory" if "alloc" in text else "crashed"
    return blank_row(task, status=status, message=f"exit code {process.exitcode}: {last}"[:300])


def _stop(process: BaseProcess) -> None:
    """Kill a process that has not ended, with the programs that its engine started."""
    if process.exitcode is None and process.pid is not None:
        with contextlib.suppress(ProcessLookupError):  # it may not have a group yet
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()


def _child(work: Work, task: Task, cache: Path, gigabytes: float, target: Path, said: Path) -> None:
    """Limit the memory, measure, write the row; what engines print goes to a file."""
    os.setsid()
    with said.open("w") as file:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(file.fileno(), stream.fileno())
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    draft = target.with_suffix(".tmp")
    draft.write_text(json.dumps(asdict(work(task, cache))))
    draft.replace(target)


def guarded(task: Task, cache: Path) -> Row:
    """Measure; an exception becomes the status of the row."""
    try:
        if task.method != REFERENCE:
            return measure(task, cache)
        known_reference(task, cache)
        return blank_row(task)
    except MemoryError as error:
        return blank_row(task, status="out-of-memory", message=_line(error))
    except UnsupportedError as error:
        return blank_row(task, status="unsupported", message=_line(error))
    except Exception as error:  # any engine, any exception: a row all the same
        status = "out-of-memory" if "alloc" in str(error) else "failed"
        return blank_row(task, status=status, message=_line(error))


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]
