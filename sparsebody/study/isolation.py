"""Work in a process of its own, with limits of CPU time and of memory: a fork of this one.

A fork begins with everything that this process has imported, so that it costs milliseconds.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.gallery import build
from sparsebody.study import machine

_MESSAGE = 300  # characters
_POLL = 0.2  # [s] between two looks at the CPU time of a fork
_PATIENCE = 4.0  # clock time over the limit of CPU time: a fork may wait for a processor


class AbandonedError(Exception):
    """Nobody waits for the result any more."""


@dataclass(frozen=True)
class Failure:
    """A row's status and message where work came to no result."""

    status: str  # timeout, out-of-memory, crashed, unsupported, unavailable, failed
    message: str


def preload() -> None:
    """Import what the first evaluation imports, so that no fork spends time on it."""
    ForwardDynamics(build("ladder", rungs=2).compile())
    with suppress(ImportError):
        importlib.import_module("sksparse.cholmod")


def isolated(
    work: Callable[[], Any], seconds: float, megabytes: float, cancel: int | None = None
) -> Any:
    """Return the result of work done in a fork, or the Failure that it ended in.

    Parameters
    ----------
    work : callable
        Its result is sent as JSON.
    seconds : float
        Limit of its CPU time.
    megabytes : float
        Limit of the memory that it may ask for beyond what this process has.
    cancel : int, optional
        A file descriptor; work is abandoned as soon as there is something to be read from it.

    Raises
    ------
    AbandonedError
        If work was abandoned.
    """
    receiver, sender = Pipe(duplex=False)
    with tempfile.TemporaryFile() as output:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            receiver.close()
            _run(work, megabytes, sender, output.fileno())
        sender.close()
        try:
            return _received(receiver, child, seconds, cancel, output)
        finally:
            _stop(child)
            receiver.close()


def _received(
    receiver: Connection, child: int, seconds: float, cancel: int | None, output: Any
) -> Any:
    start = time.perf_counter()
    sources: list[Any] = [receiver] if cancel is None else [receiver, cancel]
    while not (ready := wait(sources, _POLL)):
        waited = time.perf_counter() - start
        if machine.cpu_seconds(child) > seconds or waited > _PATIENCE * seconds:
            return Failure("timeout", f"more than {seconds:g} s")
    if receiver not in ready:
        raise AbandonedError
    try:
        answer = json.loads(receiver.recv_bytes())
    except EOFError:
        output.seek(0)
        text = output.read().decode(errors="replace")
        last = (text.strip().splitlines() or ["no message"])[-1]
        status = "out-of-memory" if "alloc" in text.lower() else "crashed"
        return Failure(status, f"the process died: {last}"[:_MESSAGE])
    return answer["result"] if "result" in answer else Failure(**answer)


def _run(work: Callable[[], Any], megabytes: float, sender: Connection, output: int) -> None:
    """Work in the fork, send the result and end; what engines print goes to a file."""
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        _limit_memory(megabytes)
        sender.send_bytes(json.dumps(_guarded(work)).encode())
        sender.close()
    finally:
        os._exit(0)


def _limit_memory(megabytes: float) -> None:
    """Let this process ask for so much more than it has.

    A limit of CPU time would make Linux count it in steps of 4 ms: too coarse to measure by.
    """
    most = int((machine.address_space() + megabytes) * 1e6)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _guarded(work: Callable[[], Any]) -> dict[str, Any]:
    """Return {"result": ...}, or the fields of a Failure: any engine, any exception."""
    try:
        return {"result": work()}
    except Exception as error:
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MESSAGE]
        return {"status": _status(error), "message": message}


def _status(error: Exception) -> str:
    if isinstance(error, MemoryError) or "alloc" in str(error).lower():
        return "out-of-memory"
    if isinstance(error, NotImplementedError):
        return "unsupported"
    return "unavailable" if isinstance(error, ImportError) else "failed"


def _stop(child: int) -> None:
    """Kill a fork, with the programs that its engine started, and wait for it."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except ProcessLookupError:  # it has ended, or has no group yet
            continue
    os.waitpid(child, 0)
