"""Runs every kernel once, so that nothing is compiled while a case is timed.

`python -m benchmarks.warm` fills numba's cache. `benchmarks.warmed` loads the kernels on import:
processes forked from one that imported it begin warm.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from benchmarks import ours
from benchmarks.cases import CASES, problem
from benchmarks.oracle import relative_violation

SMALL = 8  # every method
LARGER = (512, 6000)  # the automatic choice: other kernels serve wide fronts and samples
SLOW = 1.0  # [s]


def warm_up(sizes: Sequence[int]) -> None:
    """Run methods on mechanisms, saying so where that takes long."""
    for mechanism, size, method in _cases(sizes):
        start = time.perf_counter()
        given = problem(mechanism, size, relabelled=True)
        prepared = ours.prepare(method, given)
        relative_violation(given, prepared.accelerations())
        prepared.forces()
        prepared.phases()
        seconds = time.perf_counter() - start
        if seconds > SLOW:
            print(f"kernels of {method}, {mechanism} {size}: {seconds:.0f} s", flush=True)


def _cases(sizes: Sequence[int]) -> Iterator[tuple[str, int, str]]:
    for size in sizes:
        for mechanism in CASES:
            for method in filter(ours.is_available, ours.methods()):
                if size == SMALL or method == ours.PREFIX:
                    yield mechanism, size, method


if __name__ == "__main__":
    warm_up((SMALL, *LARGER))
