"""Progress bars on standard error: what is done of all, the time elapsed and the time left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Moved = Callable[[float, str], None]
"""moved(done, text): how much is done, and what is under way."""
Report = Callable[[str, float, float], None]
"""report(text, done, all): what is under way, how much is done, and how much there is."""

_LONGEST = 1e9  # [s] that samples of the speed are used


def no_report(text: str, done: float, total: float) -> None:
    """Show nothing."""


@contextmanager
def progress_bar(total: float, unit: str = "", steady: bool = True) -> Iterator[Moved]:
    """Yield a function to call with how much is done.

    The time left is estimated from the last thousand calls. Numbers with a `unit` are shown with
    three digits behind the point; without, they are counts. Where work is not `steady`, and some
    parts of it take far longer than others, no time left is shown.
    """
    from rich import console, progress

    form = ".3f" if unit else ".0f"
    count = progress.TextColumn(
        f"{{task.completed:{form}}}/{{task.total:{form}}}{unit and ' ' + unit}"
    )
    columns = [count, progress.BarColumn(), progress.TimeElapsedColumn()]
    if steady:
        columns += [progress.TextColumn("left"), progress.TimeRemainingColumn()]
    columns.append(progress.TextColumn("{task.fields[text]}"))
    stderr = console.Console(stderr=True, markup=False)
    with progress.Progress(*columns, console=stderr, speed_estimate_period=_LONGEST) as bar:
        task = bar.add_task("", total=total, text="")
        yield lambda done, text: bar.update(task, completed=done, text=text)
