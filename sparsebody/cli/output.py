"""Output of commands: JSON for scripts, tables and bars for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebody import progress as bars
from sparsebody.cli import arguments as arg
from sparsebody.progress import Report, no_report

if TYPE_CHECKING:
    from sparsebody.analysis.order_comparison import OrderingLine


_FEW = 6  # names that are listed


def print_json(document: Any) -> None:
    """Print one JSON document; what is not finite becomes null."""
    click.echo(json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and values in two columns."""
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {value}")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], folded: str = "") -> None:
    """Print a table; of its columns only the one called `folded` may break its lines."""
    from rich import box, console, table

    grid = table.Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for k, name in enumerate(header):
        is_number = all(row[k][:1].isdigit() for row in rows)
        grid.add_column(name, justify="right" if is_number else "left", no_wrap=name != folded)
    for row in rows:
        grid.add_row(*row)
    terminal = console.Console(highlight=False, markup=False)
    if not terminal.is_terminal:
        terminal.width = 120
    with terminal.capture() as captured:  # click handles a closed pipe
        terminal.print(grid)
    click.echo(captured.get(), nl=False)


Column = str | Callable[[Any], str]  # a format such as "{.name}", or a function, of a line


def print_columns(columns: Mapping[str, Column], lines: Sequence[Any]) -> None:
    """Print a table of a row for each of `lines`; `columns`: what to show of it, by header."""
    shown = [one.format if isinstance(one, str) else one for one in columns.values()]
    print_table(list(columns), [[text(line) for text in shown] for line in lines])


def echo_paths(*paths: Path | None) -> None:
    """Print which files were written."""
    for path in filter(None, paths):
        click.echo(str(path))


def number(value: float, form: str = ".3g") -> str:
    """Return a number in a format; - for what is not finite."""
    return f"{value:{form}}" if math.isfinite(value) else "-"


def seconds(value: float) -> str:
    """Return a time with a unit that suits it."""
    if not math.isfinite(value):
        return "-"
    unit, size = ("s", 1.0) if value >= 1.0 else ("ms", 1e-3) if value >= 1e-3 else ("us", 1e-6)
    return f"{value / size:.3g} {unit}"


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many there are besides."""
    shown = ", ".join(names[:_FEW])
    return shown if len(names) <= _FEW else f"{shown} and {len(names) - _FEW} more"


def print_orderings(lines: Sequence[OrderingLine]) -> None:
    """Print work, fill-in, shape and predicted time of each ordering, then remarks on some."""
    columns: dict[str, Column] = {
        "ordering": "{.name}",
        "flops": "{.metrics.flops:.3g}",
        "nnz(L)": "{.metrics.nnz_l}",
        "band": "{.metrics.scalar_bandwidth}",
        "block band": "{.metrics.block_bandwidth}",
        "height": "{.metrics.etree_height}",
        "front": "{.metrics.largest_front}",
        "with": "{.factorization}",
        "time": lambda line: seconds(line.predicted_seconds),
    }
    print_columns(columns, lines)
    for line in lines:
        if line.remark:
            click.echo(f"{line.name}: {line.remark}")


Update = Callable[[str, float], None]  # update(text, done): what is under way, how much is done


@contextmanager
def progress_bar(total: float, quiet: bool = False, steady: bool = True) -> Iterator[Update]:
    """Yield update(text, done), which shows how much of all is done, and the time left.

    On stderr if that is a terminal, unless quiet, as with --quiet or --json; `steady` as of
    `sparsebody.progress`.
    """
    with reports(quiet, steady) as report:
        yield lambda text, done: report(text, done, total)


@contextmanager
def reports(quiet: bool = False, steady: bool = True) -> Iterator[Report]:
    """Yield report(text, done, all), the same where all is known at the first report only."""
    quiet = quiet or arg.is_given("quiet") or arg.is_given("json")
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield no_report
        return
    with ExitStack() as stack:
        bar: list[bars.Moved] = []

        def report(text: str, done: float, total: float) -> None:
            if not bar:
                bar.append(stack.enter_context(bars.progress_bar(total, steady=steady)))
            bar[0](done, text)

        yield report
