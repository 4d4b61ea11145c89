"""Numba's cache of compiled kernels, made safe for processes that compile at the same time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from numba.core.caching import IndexDataCacheFile


def share_cache() -> None:
    """Let this process take turns with others at the cache, as all of them must.

    Numba reads the index of a kernel, adds a line and writes it again: of two processes at it, one
    loses its line, or both give their code the same name. Here each waits for the other.
    """
    for name in ("save", "load"):
        method = getattr(IndexDataCacheFile, name)
        if not hasattr(method, "__wrapped__"):
            setattr(IndexDataCacheFile, name, _in_turn(method))


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def alone(self: Any, *arguments: Any) -> Any:
        with _locked(self._cache_path):
            return method(self, *arguments)

    return alone


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Hold a folder for oneself; a process that dies lets go of it."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
