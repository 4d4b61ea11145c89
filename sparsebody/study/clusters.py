"""Cases on a Dask cluster: one that runs already, or jobs that a batch system is asked for.

Workers and schedulers may die. A case whose worker died runs on another one, and is a failure where
several died of it; what a lost scheduler had runs again when one answers at its address within
Dask's distributed.comm.timeouts.connect, 30 s by default.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from sparsebody.errors import MissingDependencyError, StudyError
from sparsebody.study.processes import Failure

BATCH_SYSTEMS = ("slurm", "pbs", "sge", "lsf", "oar")  # that dask-jobqueue submits jobs to
AT_ONCE = 1024  # calls that wait for their results
_POLL = 0.2  # [s] between two looks


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
            raise StudyError(
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
        pool = ClusterExecutor(_client(_address(scheduler, jobs, stack)))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        yield pool


def _client(address: Any) -> Any:
    try:
        from distributed import Client

        return Client(address)
    except ImportError as error:
        raise MissingDependencyError(
            "--scheduler needs Dask: pip install 'sparsebody[study]'"
        ) from error
    except (OSError, ValueError) as error:
        raise StudyError(f"no Dask scheduler answers at {address}: {error}") from error


def _address(scheduler: str, jobs: int, stack: ExitStack) -> Any:
    """Return the address, or a cluster of the jobs of a batch system, which end with the stack."""
    if scheduler not in BATCH_SYSTEMS:
        return scheduler
    try:
        import dask_jobqueue
    except ImportError as error:
        raise MissingDependencyError(
            f"--scheduler {scheduler} needs dask-jobqueue: pip install 'sparsebody[study]'"
        ) from error
    try:
        cluster = getattr(dask_jobqueue, f"{scheduler.upper()}Cluster")()
    except (ValueError, OSError) as error:
        raise StudyError(
            f"no jobs of {scheduler}: {' '.join(str(error).split())}; Dask reads queue, cores, "
            f"memory and walltime from the key jobqueue.{scheduler} of ~/.config/dask/*.yaml"
        ) from error
    stack.enter_context(cluster)
    cluster.adapt(minimum_jobs=1, maximum_jobs=jobs)  # a job that dies is replaced
    return cluster
