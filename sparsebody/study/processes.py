"""Cases in processes of their own, with limits of CPU time and memory, here or on a Dask cluster.

They come from the fork server of the standard library, which has imported what a case needs: a
process costs milliseconds, begins with one thread, and ends with the one that asked for it.

A cluster runs already, or is made of jobs that a batch system is asked for. Its workers and
schedulers may die. A case whose worker died runs on another one, and is a failure where several
died of it; what a lost scheduler had runs again when one answers at its address within Dask's
distributed.comm.timeouts.connect, 30 s by default.
"""

import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import IO, Any

from sparsebody import errors, ranks
from sparsebody.study import machine

_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
_PRELOADED = ["sparsebody.study.runner", "sparsebody.model.compilation", "sksparse.cholmod"]
_MESSAGE = 300  # characters
_POLL = 0.2  # [s] between two looks at a process or a scheduler
_PATIENCE = 4.0  # clock time over the limit of CPU time: a process may wait for a processor
_context = multiprocessing.get_context("forkserver")
_starting = threading.Lock()
_running: set[BaseProcess] = set()


@dataclass(frozen=True)
class Failure:
    """A row's status and message where work came to no result."""

    status: str  # timeout, out-of-memory, crashed, unsupported, unavailable, failed
    message: str


def isolated(
    work: Callable[..., Any], arguments: tuple[Any, ...], seconds: float, megabytes: float
) -> Any:
    """Return the result of work done in a process of its own, or the Failure that it ended in.

    Arguments are pickled, the result is sent as JSON. Limits are of CPU time, and of the memory
    allocated beyond what the process begins with.
    """
    receiver, sender = _context.Pipe(duplex=False)
    with receiver, tempfile.NamedTemporaryFile() as output:
        with sender:
            process = _started((partial(work, *arguments), megabytes, sender, output.name))
        try:
            return _received(receiver, process, seconds, output)
        finally:
            _stop(process)


def _started(arguments: tuple[Any, ...]) -> BaseProcess:
    """Start a process with one thread, and without the caller's script, which may have no guard."""
    process = _context.Process(target=_run, args=arguments)
    with _starting:
        environment, main = dict(os.environ), sys.modules["__main__"]
        os.environ.clear()
        os.environ.update(ranks.without_ranks(environment) | _ONE_THREAD)
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            multiprocessing.current_process().daemon = False  # workers of Dask may have no children
            forkserver.set_forkserver_preload(_PRELOADED)
            forkserver.ensure_running()
            process.start()
            _running.add(process)
        finally:
            sys.modules["__main__"] = main
            os.environ.clear()
            os.environ.update(environment)
    return process


def _received(receiver: Connection, process: BaseProcess, seconds: float, output: IO[bytes]) -> Any:
    assert process.pid is not None
    start = time.perf_counter()
    while not receiver.poll(_POLL):
        waited = time.perf_counter() - start
        if machine.cpu_seconds(process.pid) > seconds or waited > _PATIENCE * seconds:
            return Failure("timeout", f"more than {seconds:g} s")
    try:
        answer = json.loads(receiver.recv_bytes())
    except EOFError:
        text = output.read().decode(errors="replace")
        last = (text.strip().splitlines() or ["no message"])[-1]
        status = "out-of-memory" if "alloc" in text.lower() else "crashed"
        return Failure(status, f"the process died: {last}"[:_MESSAGE])
    return answer["result"] if "result" in answer else Failure(**answer)


def _stop(process: BaseProcess) -> None:
    """Kill a process, with the programs that its engine started, and wait for it."""
    assert process.pid is not None
    with suppress(ProcessLookupError):  # it has ended, or has no group yet
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()
    _running.discard(process)


# ---- in the process ---------------------------------------------------------------------------


def _run(work: Callable[[], Any], megabytes: float, sender: Connection, output: str) -> None:
    """Work, send the result and end; what engines print goes to a file."""
    try:
        os.setsid()
        threading.Thread(target=_end_with_parent, daemon=True).start()
        printed = os.open(output, os.O_WRONLY | os.O_APPEND)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        # A limit of CPU time would make Linux count it in steps of 4 ms: too coarse to measure by.
        used = machine.memory("VmSize")
        most = int(((used if used == used else 0.0) + megabytes) * 1e6)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        try:
            answer = {"result": work()}
        except Exception as error:  # any engine, any exception
            message = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MESSAGE]
            answer = {"status": _status(error), "message": message}
        sender.send_bytes(json.dumps(answer).encode())
        sender.close()
    finally:
        os._exit(0)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.killpg(0, signal.SIGKILL)


def _status(error: Exception) -> str:
    if isinstance(error, MemoryError) or "alloc" in str(error).lower():
        return "out-of-memory"
    statuses = {NotImplementedError: "unsupported", ImportError: "unavailable"}
    return next((one for kind, one in statuses.items() if isinstance(error, kind)), "failed")


# ---- several at a time ------------------------------------------------------------------------


@contextmanager
def executor(jobs: int) -> Iterator[Executor]:
    """Yield what calls `isolated`: threads here, or other ranks of mpiexec."""
    if ranks.n_ranks() > 1:
        with _executor_of_ranks() as others:
            yield others
        return
    pool = ThreadPoolExecutor(jobs)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while _running:  # the threads that wait for them go on
            _stop(next(iter(_running)))
        pool.shutdown()


def serve() -> None:
    """Run the cases that rank 0 gives to this rank, until its executor ends."""
    with _executor_of_ranks():
        pass


def _executor_of_ranks() -> Any:
    from mpi4py.futures import MPICommExecutor

    return MPICommExecutor(ranks.communicator(), root=0)


# ---- on a Dask cluster ------------------------------------------------------------------------


BATCH_SYSTEMS = ("slurm", "pbs", "sge", "lsf", "oar")  # that dask-jobqueue submits jobs to
AT_ONCE = 1024  # calls that wait for their results


class ClusterExecutor(Executor):
    """Calls on the workers of a Dask client, which has found its scheduler."""

    def __init__(self, client: Any) -> None:
        self._client, self._is_over = client, False
        self._threads = ThreadPoolExecutor(AT_ONCE)

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Return the future result, or the Failure of workers that died."""
        return self._threads.submit(self._result, work, arguments, options)

    def _result(self, work: Callable[..., Any], arguments: Any, options: Any) -> Any:
        from distributed import KilledWorker

        while True:
            try:
                return self._client.submit(work, *arguments, pure=False, **options).result()
            except KilledWorker as error:
                return Failure("crashed", f"the workers that ran it died: {error}".split("\n")[0])
            except Exception as error:
                is_lost = isinstance(error, CancelledError) or self._client.status != "running"
                if self._is_over or not is_lost:
                    raise
                self._await_scheduler(error)

    def _await_scheduler(self, error: Exception) -> None:
        """Wait while the client looks for a scheduler at the address of the one that it lost."""
        while self._client.status == "connecting":
            time.sleep(_POLL)
        if self._client.status != "running":
            raise errors.StudyError(
                "the Dask scheduler was lost, and none answered at its address; the rows that came "
                "are kept, and the same command goes on when there is one"
            ) from error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Forget the calls that have not ended."""
        self._is_over = True
        self._client.close()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)


@contextmanager
def cluster_executor(scheduler: str, jobs: int) -> Iterator[Executor]:
    """Yield what runs calls on the cluster at an address, or in up to `jobs` of a batch system.

    Raises StudyError if none answers, or if the configuration lacks what a batch system needs;
    MissingDependencyError without the packages.
    """
    with ExitStack() as stack:
        address = _address(scheduler, jobs, stack)
        distributed = errors.required_package("distributed", "--scheduler needs Dask", "study")
        try:
            pool = ClusterExecutor(distributed.Client(address))
        except (OSError, ValueError) as error:
            raise errors.StudyError(f"no Dask scheduler answers at {address}: {error}") from error
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        yield pool


def _address(scheduler: str, jobs: int, stack: ExitStack) -> Any:
    """Return the address, or a cluster of the jobs of a batch system, which end with the stack."""
    if scheduler not in BATCH_SYSTEMS:
        return scheduler
    needs = f"--scheduler {scheduler} needs dask-jobqueue"
    dask_jobqueue = errors.required_package("dask_jobqueue", needs, "study")
    try:
        cluster = getattr(dask_jobqueue, f"{scheduler.upper()}Cluster")()
    except (ValueError, OSError) as error:
        raise errors.StudyError(
            f"no jobs of {scheduler}: {' '.join(str(error).split())}; Dask reads queue, cores, "
            f"memory and walltime from the key jobqueue.{scheduler} of ~/.config/dask/*.yaml"
        ) from error
    stack.enter_context(cluster)
    cluster.adapt(minimum_jobs=1, maximum_jobs=jobs)  # a job that dies is replaced
    return cluster
