"""Ranks of a run under mpiexec: their number, their communicator, and how a lost one ends them all.

A program under `mpiexec -n P` runs P times at once, each time as another rank. mpi4py, and with it
MPI, is started only where ranks work together: by `communicator`.
"""

import os
import sys
import time
import traceback
from collections.abc import Mapping
from functools import cache
from types import TracebackType
from typing import Any

from sparsebody.errors import required_package

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")  # set by mpiexec, srun
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
LOCAL = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE")
PREFIXES = ("OMPI_", "PMIX_", "PMI_", "MV2_", "HYDRA_", "PRTE_")
PATIENCE = 1.0  # [s] that a rank which fails waits for the others to fail as well
POLL = 0.01  # [s]


def n_ranks() -> int:
    """Return how many ranks this program runs as; 1 without mpiexec."""
    return _number(SIZES, 1)


def rank() -> int:
    """Return which of them this process is, counted from 0."""
    return _number(RANKS, 0)


def n_local_ranks() -> int:
    """Return how many of them are on this machine: all, where mpiexec does not tell."""
    return _number(LOCAL, n_ranks())


def share_work() -> bool:
    """Tell whether several ranks run the same program together: `communicator` has been called."""
    return n_ranks() > 1 and communicator.cache_info().currsize > 0


def _number(names: tuple[str, ...], otherwise: int) -> int:
    """Return the first of some environment variables that is a number."""
    values = (os.environ.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdigit()), otherwise)


def without_ranks(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which a child process is no rank."""
    return {name: value for name, value in environment.items() if not name.startswith(PREFIXES)}


@cache
def communicator() -> Any:
    """Return the mpi4py communicator of all ranks, or of this process where there is only one.

    From then on an exception that nothing catches ends all ranks, and not only its own. Raises
    MissingDependencyError without mpi4py.
    """
    if n_ranks() == 1:  # no daemon of MPI's is needed
        os.environ.setdefault("OMPI_MCA_ess_singleton_isolated", "1")
    MPI = required_package("mpi4py.MPI", "ranks that share work need mpi4py", "mpi")
    if n_ranks() == 1:
        return MPI.COMM_SELF
    _of_failures()
    sys.excepthook = _end_all
    return MPI.COMM_WORLD


@cache
def _of_failures() -> Any:
    """Return a communicator that only failing ranks use."""
    from mpi4py import MPI

    return MPI.COMM_WORLD.Dup()


def first_of_all(value: Any) -> Any:
    """Return the value of the first rank on which it is not empty; that of the last one if none."""
    values = communicator().allgather(value)
    return next(filter(None, values), values[-1])


def fails_alone() -> bool:
    """Tell, after at most PATIENCE, whether not all ranks fail: some may wait for this one."""
    if not share_work():
        return False
    request, end = _of_failures().Ibarrier(), time.monotonic() + PATIENCE
    while not request.Test():
        if time.monotonic() > end:
            return True
        time.sleep(POLL)
    return False


def end_all(code: int = 1) -> None:
    """End all ranks at once, and say which one does."""
    print(f"sparsebody: {name()} failed, and ends all", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    communicator().Abort(code)


def name() -> str:
    """Return how messages call this process."""
    return f"rank {rank()} of {n_ranks()}"


def _end_all(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception that nothing caught, and end all ranks unless they all fail like this."""
    is_alone = fails_alone()
    if is_alone or rank() == 0:
        traceback.print_exception(kind, error, trace)
    if is_alone:
        end_all()
