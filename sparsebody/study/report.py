"""The report of a study: growth, crossovers, accuracy, orderings, patterns, what failed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sparsebody.errors import StudyError
from sparsebody.plots.fill import plot_fill
from sparsebody.plots.growth import Line, plot_growth
from sparsebody.plots.saving import save_figure
from sparsebody.study.environment import environments
from sparsebody.study.files import study_of
from sparsebody.study.journal import case_of_row
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
from sparsebody.study.patterns import pattern_figures
from sparsebody.study.plan import Study
from sparsebody.study.results import read_results
from sparsebody.study.runner import DOCUMENT
from sparsebody.study.tables import MEMORY, OURS, TIME, FamilyRows, families, ordering_cells
from sparsebody.writing import write_errors

SMALLEST = 128.0  # sizes from which on growth is fitted, unless there are too few
_LEAST_POINTS = 3


def write_report(
    results: Path,
    output: Path | None = None,
    *,
    formats: Sequence[str] = ("html", "markdown"),
    smallest: float = SMALLEST,
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
    parts = [*writer.head(environments(folder)), *writer.sections()]
    written = []
    if "markdown" in formats:
        written.append(write_markdown(parts, output / "report.md"))
    if "html" in formats:
        written.append(write_html(parts, output / "report.html"))
    return written


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

    def sections(self) -> Iterator[Part]:
        """Yield everything else."""
        yield from self._crossovers()
        yield from self._growth()
        yield from self._accuracy()
        yield from self._orderings()
        yield from self._patterns()
        yield from self._failures()

    def _crossovers(self) -> Iterator[Part]:
        header = (
            *("family", "against", "sparse is faster from", "common sizes", "ratio at the end"),
            *("error of sparse", "of the other", "with bodies"),
        )
        rows = [
            (
                family.name,
                label,
                str(found),
                f"{found.smallest:.0f} to {found.largest:.0f}",
                f"{found.ratio:.3g}",
                *family.errors(label),
            )
            for family in self.families
            for label, found in family.crossovers().items()
            if label in family.methods
        ]
        if rows:
            yield Heading("Crossovers")
            yield Paragraph(
                "The number of bodies from which on the sparse method, with its automatic choice, "
                "stays faster at all larger sizes measured, interpolated in logarithms; the ratio "
                "is the other method's time over ours at the largest common size. Errors are "
                "those of the accelerations at the largest size at which both are known."
            )
            yield Table(header, rows)

    def _growth(self) -> Iterator[Part]:
        yield Heading("Growth")
        for family in self.families:
            if not family.methods:
                continue
            yield Heading(family.name, 3)
            yield Table(
                ("method", "bodies", "time", "memory", "us per body at the end"),
                [self._growth_row(family, label) for label in family.methods],
            )
            for column, name, label in (
                (TIME, "time", "CPU time of one evaluation [s]"),
                (MEMORY, "memory", "memory above the mechanism's [MB]"),
            ):
                lines = [
                    line
                    for method in family.methods
                    if (line := self._line(family, method, column)) is not None
                ]
                if lines:
                    figure = plot_growth(lines, label, family.name)
                    yield self._saved(figure, f"{family.name}-{name}", f"{name}, {family.name}")

    def _growth_row(self, family: FamilyRows, label: str) -> tuple[str, ...]:
        curve = family.curve(label, TIME)
        if not curve:
            return label, "", "", "", ""
        end = max(curve)
        cells = []
        for column in (TIME, MEMORY):
            found = family.growth(label, column, self._from(curve))
            short = "" if found is None or found.spans_two_decades else ", less than two decades"
            cells.append("" if found is None else f"{found}{short}")
        return label, f"{min(curve):.0f} to {end:.0f}", *cells, f"{1e6 * curve[end] / end:.3g}"

    def _from(self, curve: dict[float, float]) -> float:
        """Return the size from which on to fit: the usual one, or all where few would be left."""
        return self.smallest if sum(n >= self.smallest for n in curve) >= _LEAST_POINTS else 0.0

    def _line(self, family: FamilyRows, label: str, column: str) -> Line | None:
        curve = family.curve(label, column)
        if not curve:
            return None
        n, y = np.array(list(curve)), np.array(list(curve.values()))
        found = family.growth(label, column, self._from(family.curve(label, TIME)))
        ends = np.zeros(0) if found is None else np.array([found.smallest, found.largest])
        text = label if found is None else f"{label}  n^{found.exponent:.2f}"
        fit = ends if found is None else found(ends)
        return Line(text, n, y, ends, fit, label == OURS)

    def _accuracy(self) -> Iterator[Part]:
        table = [line for family in self.families for line in family.accuracy()]
        if table:
            yield Heading("Accuracy")
            yield Paragraph(
                "Error of the accelerations over the largest of them, against the reference."
            )
            header = ("family", "method", "worst (bodies)", "bodies", "error", "kappa")
            yield Table((*header, "error of the reference"), table)

    def _orderings(self) -> Iterator[Part]:
        is_first = True
        for family in self.families:
            for n, rows in family.orderings().items():
                if is_first:
                    yield Heading("Orderings")
                    yield Paragraph(
                        "Times and work as ratios to those of the automatic choice: below one, "
                        "another ordering is better."
                    )
                    is_first = False
                yield Heading(f"{family.name}, {n} bodies", 3)
                yield Table(
                    ("ordering", "with", "nnz(L)", "flops", "front", "time [us]", "time / auto"),
                    ordering_cells(rows),
                )
                named = {row["ordering"]: row for row in rows if row["ordering"] != "auto"}
                figure = plot_fill(
                    {name: row["nnz_l"] for name, row in named.items()},
                    {name: row["flops"] for name, row in named.items()},
                    f"{family.name}, {n} bodies",
                )
                name = f"{family.name}-{n}-fill"
                yield self._saved(figure, name, f"fill against ordering, {family.name}, {n}")

    def _patterns(self) -> Iterator[Part]:
        if self.study is None:
            return
        yield Heading("Patterns")
        yield Paragraph(
            "A small mechanism of each family in the order that predicts the fewest operations: "
            "the matrix before and after, the elimination tree, the order on the graph."
        )
        for name, family in self.study.families.items():
            yield Heading(name, 3)
            for kind, figure in pattern_figures(family):
                yield self._saved(figure, f"{name}-{kind}", f"{kind}, {name}")

    def _failures(self) -> Iterator[Part]:
        table = [
            (
                row["family"],
                case_of_row(row).series.label,
                str(row["size"]),
                row["status"],
                row["message"],
            )
            for row in self.rows
            if row["status"] not in ("ok", "skipped")
        ]
        if table:
            yield Heading("Not measured")
            yield Paragraph("After a limit was exceeded, larger cases of a series were skipped.")
            yield Table(("family", "method", "bodies", "status", "message"), table)

    def _saved(self, figure: Figure, name: str, says: str) -> Picture:
        return Picture(save_figure(figure, self.output / f"{name}.png"), says)
