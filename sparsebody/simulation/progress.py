"""Progress of a run: a bar on standard error, or whatever a callable does with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Report = Callable[[float, float], None]
"""report(time, end): simulated time reached, and where it ends [s]."""

_PERIOD = 0.1  # [s] of wall time between two reports


@contextmanager
def progress_report(progress: bool | Report, end: float) -> Iterator[Report]:
    """Yield a function to call after every step; it passes on about ten calls a second."""
    if progress is False:
        yield lambda now, end: None
    elif progress is True:
        columns = (
            TextColumn("{task.completed:.3f} of {task.total:.3f} s"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=end)
            yield _rarely(lambda now, end: bar.update(task, completed=now))
    else:
        yield _rarely(progress)


def _rarely(report: Report) -> Report:
    last = [-float("inf")]

    def call(now: float, end: float) -> None:
        if time.monotonic() - last[0] >= _PERIOD or now >= end:
            last[0] = time.monotonic()
            report(now, end)

    return call
