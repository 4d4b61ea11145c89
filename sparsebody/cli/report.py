"""sparsebody report: tables and figures of a study."""

from __future__ import annotations

from pathlib import Path

import click

from sparsebody.cli.arguments import FOLDER, PATH, json_option
from sparsebody.cli.output import print_json


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

    Growth with confidence intervals, crossovers, accuracy, orderings, patterns; in HTML and in
    Markdown unless one of them is asked for.
    """
    from sparsebody.study.report import write_report

    by_format = {"html": wants_html, "markdown": wants_markdown}
    formats = [name for name, wants in by_format.items() if wants] or list(by_format)
    files = write_report(results, output, formats=formats, smallest=smallest)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        for file in files:
            click.echo(str(file))
