"""sparsebody study, sparsebody report: run the cases of a study file; tables and figures of it."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparsebody.cli.arguments import FOLDER, PATH, PositiveSeconds, json_option
from sparsebody.cli.output import print_json, print_table, progress_bar

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
@click.option(
    "--budget",
    type=PositiveSeconds(),
    help="Begin no case after so many seconds, small ones first.",
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
    budget: float | None,
    retry: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run a study FILE (.toml): families x sizes x methods x orderings x factorizations x peers.

    Each case has a process of its own, with limits of time and memory; one that exceeds them is a
    row too. A study that was interrupted or killed goes on when it is started again, and nothing
    that was finished runs twice.
    """
    from sparsebody.study.plan import read_study
    from sparsebody.study.rows import check_format
    from sparsebody.study.runner import run_study

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
            budget=budget or math.inf,
            report=report,
        )
    from sparsebody.study.rows import read_results

    counts = Counter(str(row["status"]) for row in read_results(target))
    remaining = len(plan.cases) - counts.total()
    if as_json:
        print_json({"results": str(target), "cases": len(plan.cases), "status": dict(counts)})
    else:
        said = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        later = f", {remaining} not begun; the same command goes on" if remaining else ""
        click.echo(f"{target}: {len(plan.cases)} cases: {said}{later}")


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


@click.command()
@click.argument("results", type=PATH)
@click.option(
    "--output",
    type=FOLDER,
    help="Folder of the report.  [default: report/ beside RESULTS]",
)
@click.option("--html", "wants_html", is_flag=True, help="One file that holds its pictures.")
@click.option("--markdown", "wants_markdown", is_flag=True, help="Text that links to pictures.")
@click.option(
    "--from",
    "smallest",
    type=click.FloatRange(1.0),
    default=128.0,
    show_default=True,
    help="Orders of growth are fitted from this number of bodies on.",
)
@json_option
def report(
    results: Path,
    output: Path | None,
    wants_html: bool,
    wants_markdown: bool,
    smallest: float,
    as_json: bool,
) -> None:
    """Write tables and figures of RESULTS: a result file of a study, or its folder.

    Promises that the study names, judged; growth with confidence intervals, crossovers, accuracy,
    orderings, patterns; in HTML and in Markdown unless one of them is asked for.
    """
    from sparsebody.study.reports import judged_promises, write_report

    by_format = {"html": wants_html, "markdown": wants_markdown}
    formats = [name for name, wants in by_format.items() if wants] or list(by_format)
    files = write_report(results, output, formats=formats, smallest=smallest)
    promises = judged_promises(results)
    if as_json:
        judged = {"promises": [asdict(one) for one in promises]} if promises else {}
        print_json({"files": [str(file) for file in files], **judged})
        return
    for file in files:
        click.echo(str(file))
    if promises:
        rows = [(one.promise, one.limit, one.verdict) for one in promises]
        print_table(("promise", "limit", "verdict"), rows, folded="verdict")
