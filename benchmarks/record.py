"""Keep one run of a study: `python -m benchmarks.record out/headline`.

Its report in Markdown, rows and environment go to results/ under the name of its folder, with
pictures small enough for a repository.
"""

import shutil
from pathlib import Path

import click
from PIL import Image

from sparsebody.study.machine import ENVIRONMENT
from sparsebody.study.reports import write_report

RESULTS = Path(__file__).parent / "results"
WIDTH = 680  # pixels
COLORS = 32


def small(picture: Path) -> None:
    """Make a picture as wide as a page, with few colors."""
    with Image.open(picture) as image:
        size = WIDTH, round(WIDTH * image.height / image.width)
        smaller = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    smaller.quantize(COLORS, Image.Quantize.MAXCOVERAGE).save(picture, optimize=True)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("study", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--output", type=click.Path(path_type=Path, file_okay=False))
def main(study: Path, output: Path | None) -> None:
    """Write report, rows and environment of the finished STUDY, replacing those of another."""
    output = output or RESULTS / study.name
    shutil.rmtree(output, ignore_errors=True)
    write_report(study, output, formats=["markdown"], patterns=False)
    for name in ("results.csv", ENVIRONMENT):
        shutil.copy(study / name, output)
    for picture in output.glob("*.png"):
        small(picture)
    click.echo(output)


if __name__ == "__main__":
    main()
