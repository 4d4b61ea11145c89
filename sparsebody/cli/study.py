"""sparsebody study: run the cases of a study file, or go on where it was stopped."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebody.cli.arguments import FOLDER, PATH, PositiveSeconds, json_option
from sparsebody.cli.output import print_json
from sparsebody.cli.progress import progress_bar

if TYPE_CHECKING:
    from sparsebody.study.runner import Report


@click.command()
@click.argument("file", type=PATH)
@click.option(
    "--output",
    type=FOLDER,
    help="Folder of rows, references and results; a study goes on from there.  "
    "[default: out/ and the name of FILE]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Cases at a time on this machine.  [default: one for each core]",
)
@click.option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster that runs the cases.")
@click.option("--time-limit", type=PositiveSeconds(), help="Of a case [s], instead of the file's.")
@click.option(
    "--memory-limit",
    type=click.FloatRange(0.0, min_open=True),
    help="That a case may ask for [MB], instead of the file's.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(("csv", "parquet")),
    default="csv",
    show_default=True,
    help="Of the result file.",
)
@click.option("--retry", is_flag=True, help="Run again what failed or exceeded a limit.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@json_option
def study(
    file: Path,
    output: Path | None,
    jobs: int | None,
    scheduler: str | None,
    time_limit: float | None,
    memory_limit: float | None,
    file_format: str,
    retry: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run a study FILE (.toml): families x sizes x methods x orderings x factorizations x peers.

    Each case has a process of its own, with limits of time and memory; one that exceeds them is a
    row too. A study that was interrupted or killed goes on when it is started again, and nothing
    that was finished runs twice.
    """
    from sparsebody.study.results import check_format
    from sparsebody.study.runner import run_study
    from sparsebody.study.study_files import read_study

    check_format(file_format)
    plan = read_study(file).limited(time_limit, memory_limit)
    folder = output or Path("out") / file.stem
    with _progress(quiet or as_json, len(plan.cases)) as report:
        target = run_study(
            plan,
            folder,
            jobs=jobs or os.cpu_count() or 1,
            scheduler=scheduler,
            file_format=file_format,
            retry=retry,
            report=report,
        )
    from sparsebody.study.results import read_results

    counts = Counter(str(row["status"]) for row in read_results(target))
    if as_json:
        print_json({"results": str(target), "cases": len(plan.cases), "status": dict(counts)})
    else:
        said = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        click.echo(f"{target}: {len(plan.cases)} cases: {said}")


@contextmanager
def _progress(quiet: bool, n_cases: int) -> Iterator[Report | None]:
    """Yield a report that moves a bar on standard error."""
    if quiet:
        yield None
        return
    with progress_bar(n_cases) as moved:

        def report(case: Any, row: Any, done: int, total: int) -> None:
            series = case.series
            at = f"{series.family} {case.size} {series.label}: {row['status']}"
            moved(at, done)

        yield report
