"""A bar on standard error that moves while a command works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Moved = Callable[[str, int], None]


@contextmanager
def progress_bar(total: int) -> Iterator[Moved]:
    """Yield moved(at, done), which shows what has just been done, and how much in all."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        MofNCompleteColumn(),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[at]}"),
    )
    with Progress(*columns, console=Console(stderr=True, markup=False)) as bar:
        task = bar.add_task("", total=total, at="")
        yield lambda at, done: bar.update(task, completed=done, total=total, at=at)
