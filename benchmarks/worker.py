"""Cases in processes of their own, with limits of time and of memory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from benchmarks.measure import Row, Task, blank_row, known_reference, measure
from sparsebody.study.isolation import Failure, isolated

REFERENCE = "reference"  # the method that only stores the reference solution


def run_case(task: Task, cache: Path, seconds: float, gigabytes: float) -> Row:
    """Measure one case in a process of its own; timeouts and crashes are rows."""
    result = isolated(lambda: asdict(row_of(task, cache)), seconds, 1e3 * gigabytes)
    if isinstance(result, Failure):
        return blank_row(task, status=result.status, message=result.message)
    return Row(**result)


def row_of(task: Task, cache: Path) -> Row:
    """Measure a case here, or store the reference solution that it is compared with."""
    if task.method != REFERENCE:
        return measure(task, cache)
    known_reference(task, cache)
    return blank_row(task)
