"""The report of a study: growth, crossovers, accuracy, orderings, patterns, what failed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from sparsebody.errors import StudyError
from sparsebody.plots.style import save_figure
from sparsebody.study.family_rows import failures, families
from sparsebody.study.machine import environments
from sparsebody.study.measure import Row
from sparsebody.study.pages import (
    Heading,
    Paragraph,
    Part,
    Picture,
    Table,
    write_html,
    write_markdown,
)
from sparsebody.study.plan import Study
from sparsebody.study.promises import Finding
from sparsebody.study.report_details import detail_parts, findings, promise_parts
from sparsebody.study.report_methods import GrowthParts, accuracy_parts, crossover_parts
from sparsebody.study.report_orderings import ordering_parts, pattern_parts
from sparsebody.study.results import read_results
from sparsebody.study.runner import DOCUMENT
from sparsebody.study.study_files import study_of
from sparsebody.writing import write_errors

SMALLEST = 128.0  # sizes from which on growth is fitted, unless there are too few


def write_report(
    results: Path,
    output: Path | None = None,
    *,
    formats: Sequence[str] = ("html", "markdown"),
    smallest: float = SMALLEST,
    patterns: bool = True,
) -> list[Path]:
    """Write the report of a result file or of the folder of a study; return the files.

    Parameters
    ----------
    results : Path
        What `run_study` returned, or its folder.
    output : Path, optional
        Folder of the report; default: "report" beside the results.
    formats : sequence of {"html", "markdown"}
        What to write.
    smallest : float
        Growth is fitted from this number of bodies on.
    patterns : bool
        Draw a small mechanism of each family in a good order.

    Raises
    ------
    StudyError
        If there are no results.
    OutputError
        If the folder cannot be written.
    """
    rows = read_results(results)
    folder = results if results.is_dir() else results.parent
    output = folder / "report" if output is None else output
    with write_errors(output):
        output.mkdir(parents=True, exist_ok=True)
    study = _study_in(folder)
    writer = _Writer(rows, study, output, smallest)
    parts = [*writer.head(environments(folder)), *writer.sections(patterns)]
    written = []
    if "markdown" in formats:
        written.append(write_markdown(parts, output / "report.md"))
    if "html" in formats:
        written.append(write_html(parts, output / "report.html"))
    return written


def judged_promises(results: Path) -> list[Finding]:
    """Return what came of the promises that the study of a result file names."""
    folder = results if results.is_dir() else results.parent
    return findings(_study_in(folder), read_results(results))


def _study_in(folder: Path) -> Study | None:
    """Return the study whose results lie in a folder, where it is there and can be used here."""
    file = folder / DOCUMENT
    try:
        return study_of(json.loads(file.read_text())) if file.exists() else None
    except (StudyError, ValueError):  # modules or peers that are not on this machine
        return None


class _Writer:
    """Makes the parts of one report, and its pictures."""

    def __init__(
        self, rows: Sequence[Row], study: Study | None, output: Path, smallest: float
    ) -> None:
        self.rows = rows
        self.study = study
        self.output = output
        self.smallest = smallest
        self.families = families(rows)

    def head(self, recorded: Sequence[dict[str, object]]) -> Iterator[Part]:
        """Yield title and environment."""
        yield Heading(self.study.title if self.study else "Study", 1)
        done = sum(row["status"] == "ok" for row in self.rows)
        yield Paragraph(
            f"{len(self.rows)} cases, {done} of them measured. Times are CPU times of one "
            "evaluation of all accelerations, the least of the repeats, on one thread; memory is "
            "the peak above that of the mechanism. Intervals are 95 % confidence intervals of "
            "least-squares fits in logarithms."
        )
        keys = ("processor", "cores", "memory_gb", "python", "packages", "blas", "commit")
        for one in recorded[-1:]:
            yield Table(("where", ""), [(key, str(one.get(key, ""))) for key in keys])
        if len(recorded) > 1:
            yield Paragraph(f"The study was started {len(recorded)} times.")

    def sections(self, patterns: bool) -> Iterator[Part]:
        """Yield everything else."""
        yield from promise_parts(findings(self.study, self.rows))
        yield from crossover_parts(self.families)
        yield from GrowthParts(self.families, self._save, self.smallest).parts()
        yield from accuracy_parts(self.families)
        if self.study is not None and self.study.settings.details:
            yield from detail_parts(self.study, self.families)
        yield from ordering_parts(self.families, self._save)
        if patterns:
            yield from pattern_parts(self.study, self._save)
        yield from self._failures()

    def _failures(self) -> Iterator[Part]:
        table = failures(self.rows)
        if table:
            yield Heading("Not measured")
            yield Paragraph("After a limit was exceeded, larger cases of a series were skipped.")
            yield Table(("method", "status", "message", "families and sizes"), table)

    def _save(self, figure: Figure, name: str, says: str) -> Picture:
        return Picture(save_figure(figure, self.output / f"{name}.png"), says)
