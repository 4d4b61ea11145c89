"""The report of a study: promises, crossovers, growth, accuracy, orderings, patterns, failures."""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sparsebody.analysis.order_comparison import compared
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import StudyError
from sparsebody.plots import Line, plot_growth, plot_spy, save_figure
from sparsebody.plots import elimination_orders as orders
from sparsebody.study import findings, machine, pages, runner
from sparsebody.study.families import Family
from sparsebody.study.findings import ACCURATE, ERROR, OURS, TIME, FamilyRows
from sparsebody.study.plan import AUTO, Study, study_of
from sparsebody.study.rows import Row, read_results
from sparsebody.writing import write_errors

SMALLEST = 128.0  # sizes from which on growth is fitted, unless there are too few
BEST = "annealing"  # its flops are nearly the least there are
RATIO = "auto_ratio"
BODIES = 48  # of the mechanism whose pattern is drawn
_LEAST_POINTS = 3
_SECONDS = "CPU time of one evaluation [s]"
_PHASES = ("kinematics_seconds", "factorize_seconds", "solve_seconds", TIME, "forces_seconds")
_PREPARATION = ("build", "compile", "analyze")
Cells = tuple[str, ...]  # of a row
Lines = Callable[..., Iterator[Cells]]
"""lines(family, ...): lines of a table about it."""


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
    parts = list(_Report(rows, _study_in(folder), output, smallest).parts(folder, patterns))
    writers = {
        "markdown": (pages.write_markdown, "report.md"),
        "html": (pages.write_html, "report.html"),
    }
    chosen = [writer for name, writer in writers.items() if name in formats]
    return [write(parts, output / name) for write, name in chosen]


def judged_promises(results: Path) -> list[findings.Finding]:
    """Return the promises, judged, that the study of a result file names."""
    study = _study_in(results if results.is_dir() else results.parent)
    return _findings(study, read_results(results))


def _findings(study: Study | None, rows: Sequence[Row]) -> list[findings.Finding]:
    return [] if study is None or study.promises is None else list(study.promises.load()(rows))


def _study_in(folder: Path) -> Study | None:
    """Return the study of the results in a folder; None where it cannot be used here."""
    file = folder / runner.DOCUMENT
    try:
        return study_of(json.loads(file.read_text())) if file.exists() else None
    except (StudyError, ValueError):  # modules or peers that are not on this machine
        return None


@dataclass(frozen=True, eq=False)
class _Report:
    """The parts of one report; its pictures are saved as the parts are made."""

    rows: Sequence[Row]
    study: Study | None
    output: Path
    smallest: float  # size from which on growth is fitted

    @cached_property
    def families(self) -> list[FamilyRows]:
        """The finished rows by family."""
        return findings.families(self.rows)

    def parts(self, folder: Path, patterns: bool) -> Iterator[pages.Part]:
        """Yield all of them; the environment is that recorded in the folder."""
        yield from self._head(folder)
        header: Cells = ("promise", "bodies: measured", "limit", "verdict")
        promises = map(astuple, _findings(self.study, self.rows))
        yield from _section("Promises", "", header, promises)
        yield from self._crossovers()
        yield from self._growth()
        text = "Error of the accelerations over the largest of them, against references."
        columns = (f"within {ACCURATE:g}", "worst (bodies)", "bodies", "error", "kappa")
        header = ("family", "method", *columns, "error of the reference")
        yield from _section("Accuracy", text, header, self._lines(_accuracy))
        if self.study is not None and self.study.settings.details:
            yield from self._details(self.study)
        yield from self._orderings()
        if patterns and self.study is not None:
            yield pages.Heading("Patterns")
            yield pages.Paragraph(
                "A small mechanism of each family in the order that predicts the fewest "
                "operations: the matrix before and after, the elimination tree, the order on the "
                "graph."
            )
            for name, one in self.study.families.items():
                yield pages.Heading(name, 3)
                for kind, figure in pattern_figures(one):
                    yield self._save(figure, f"{name}-{kind}", f"{kind}, {name}")
        text = "After a limit was exceeded, larger cases of a series were skipped."
        header = ("method", "status", "message", "families and sizes")
        yield from _section("Not measured", text, header, findings.failures(self.rows))

    def _lines(self, lines_of: Lines, *arguments: float) -> Iterator[Cells]:
        return chain.from_iterable(lines_of(family, *arguments) for family in self.families)

    def _save(self, figure: Figure, name: str, caption: str) -> pages.Picture:
        return pages.Picture(save_figure(figure, self.output / f"{name}.png"), caption)

    def _head(self, folder: Path) -> Iterator[pages.Part]:
        """Yield title and environment."""
        yield pages.Heading(self.study.title if self.study else "Study", 1)
        done = sum(row["status"] == "ok" for row in self.rows)
        yield pages.Paragraph(
            f"{len(self.rows)} cases, {done} of them measured. Times are CPU times of one "
            "evaluation of all accelerations, the least of the repeats, on one thread; memory is "
            "the peak above that of the mechanism. Intervals are 95 % confidence intervals of "
            "least-squares fits in logarithms."
        )
        keys = ("processor", "cores", "memory_gb", "python", "packages", "blas", "commit")
        recorded = machine.environments(folder)
        for one in recorded[-1:]:
            yield pages.Table(("where", ""), [(key, str(one.get(key, ""))) for key in keys])
        if len(recorded) > 1:
            yield pages.Paragraph(f"The study was started {len(recorded)} times.")

    # ---- methods ------------------------------------------------------------------------------

    def _crossovers(self) -> Iterator[pages.Part]:
        """Yield from which sizes on the sparse method is faster, at equal accuracy and at any."""
        equal, of_any = (list(self._lines(_crossovers, limit)) for limit in (ACCURATE, math.inf))
        if not of_any:
            return
        header = ("family", "against", "sparse is faster from", "common sizes", "ratio at the end")
        yield pages.Heading("Crossovers")
        yield pages.Paragraph(
            "The number of bodies from which on the sparse method, with its automatic choice, "
            "stays faster at all larger sizes measured: interpolated in logarithms, and the sizes "
            "that it lies between. The ratio is the other method's time over ours at the largest "
            "common size."
        )
        yield pages.Heading(f"At equal accuracy: both within {ACCURATE:g}", 3)
        if equal:
            yield pages.Paragraph(
                f"Only sizes count at which the accelerations of both are within {ACCURATE:g} of "
                "the reference, relative to the largest of them."
            )
            yield pages.Table(header, equal)
        else:
            yield pages.Paragraph("No other method and sparse were both that close to a reference.")
        yield pages.Heading("At any accuracy", 3)
        yield pages.Paragraph(
            "All sizes count. Errors are those at the largest size at which both are known."
        )
        yield pages.Table((*header, "error of sparse", "of the other", "with bodies"), of_any)

    def _growth(self) -> Iterator[pages.Part]:
        """Yield fitted powers of n and figures of them."""
        yield pages.Heading("Growth")
        yield pages.Paragraph(
            f"In figures, open marks are measurements whose error is more than {ACCURATE:g}, or "
            "not known. Dotted lines are the fitted powers."
        )
        ours = (family for family in self.families if OURS in family.methods)
        lines = [self._line(family, OURS, TIME, family.name) for family in ours]
        if len(lines) > 1:
            figure = plot_growth(lines, _SECONDS, "sparse, all families")
            yield self._save(figure, "overview", "time of the sparse method, all families")
        for family in self.families:
            if family.methods:
                yield from self._family_growth(family)

    def _family_growth(self, family: FamilyRows) -> Iterator[pages.Part]:
        yield pages.Heading(family.name, 3)
        yield pages.Table(
            ("method", "bodies", "time", "memory", "us per body at the end", "error there"),
            [self._growth_cells(family, label) for label in family.methods],
        )
        backends = [label for label in family.methods if label.startswith(OURS)]
        methods = [label for label in family.methods if label not in backends[1:]]
        for column, name, ylabel, labels in (
            (TIME, "time", _SECONDS, methods),
            (
                findings.PER_BODY,
                "time-per-body",
                "CPU time of one evaluation per body [s]",
                methods,
            ),
            (ERROR, "error", "relative error of the accelerations", methods),
            (findings.MEMORY, "memory", "memory above the mechanism's [MB]", methods),
            (TIME, "backends", _SECONDS, backends if len(backends) > 1 else []),
        ):
            measured = [label for label in labels if family.curve(label, column)]
            if measured:
                lines = [self._line(family, label, column, label) for label in measured]
                figure = plot_growth(lines, ylabel, family.name)
                yield self._save(figure, f"{family.name}-{name}", f"{name}, {family.name}")

    def _growth_cells(self, family: FamilyRows, label: str) -> Cells:
        curve = family.curve(label, TIME)
        if not curve:
            return label, "", "", "", "", ""
        end, fits = max(curve), []
        for column in (TIME, findings.MEMORY):
            fit = family.growth(label, column, self._smallest(curve))
            is_short = fit is not None and not fit.spans_two_decades
            fits.append(f"{fit or ''}" + ", less than two decades" * is_short)
        error = family.curve(label, ERROR).get(end)
        sizes, us = f"{min(curve):.0f} to {end:.0f}", f"{1e6 * curve[end] / end:.3g}"
        return label, sizes, *fits, us, "" if error is None else f"{error:.0e}"

    def _smallest(self, curve: findings.Curve) -> float:
        """Return the size from which on to fit: the usual one, or that of the last few."""
        return min([self.smallest, *sorted(curve)[-_LEAST_POINTS:]])

    def _line(self, family: FamilyRows, label: str, column: str, name: str) -> Line:
        curve, errors = family.curve(label, column), family.curve(label, ERROR)
        n, y = np.array(list(curve)), np.array(list(curve.values()))
        exact = np.array([errors.get(size, np.inf) <= ACCURATE for size in n])
        fit = family.growth(label, column, self._smallest(family.curve(label, TIME)))
        text, ends, values = name, np.zeros(0), np.zeros(0)
        if fit is not None:
            ends = np.array([fit.smallest, fit.largest])
            text, values = f"{name}  n^{fit.exponent:.2f}", fit(ends)
        return Line(text, n, y, ends, values, name == OURS, exact)

    # ---- every case, of studies with details --------------------------------------------------

    def _details(self, study: Study) -> Iterator[pages.Part]:
        text = "The last column is a method's time over that of sparse."
        header = ("family", "bodies", "method", "us", "us per body", "error", "kappa")
        yield from _section("Time and error", text, (*header, "over sparse"), self._lines(_cases))
        text = "Microseconds, operations and memory for each body."
        phases = ("kinematics and assembly", "factorize", "solve", "all", "with joint forces")
        work = ("flops", "GFLOP/s of factorize", "kB", *_PREPARATION)
        columns: Cells = ("family", "bodies", *phases, *work)
        yield from _section("Where the time of sparse goes", text, columns, self._lines(_profile))
        columns = ("family", "method", "bodies", "shuffled / ordered")
        yield from _section("Shuffled numbering", "", columns, self._shuffled(study))

    def _shuffled(self, study: Study) -> Iterator[Cells]:
        """Yield how many times slower methods are with bodies and joints in a random order."""
        by_name = {family.name: family for family in self.families}
        for name, family in by_name.items():
            known, own = study.families, replace(study.families[name], shuffled=False)
            others = (key for key, one in known.items() if replace(one, name=name) == own)
            base = by_name.get(next(others, "")) if known[name].shuffled else None
            if base is None:
                continue
            for label in family.rows.keys() & base.rows.keys():
                usual = base.curve(label, TIME)
                for n, seconds in family.curve(label, TIME).items():
                    if n in usual:
                        yield base.name, label, f"{n:.0f}", f"{seconds / usual[n]:.2f}"

    # ---- orderings ----------------------------------------------------------------------------

    def _orderings(self) -> Iterator[pages.Part]:
        """Yield the automatic choice beside the best of the others, then every ordering."""
        contests = [one for family in self.families for one in _contests(family)]
        if not contests:
            return
        yield pages.Heading("Orderings")
        yield pages.Paragraph(
            "The automatic choice beside the quickest of all other orderings, each with the "
            "factorization that suits it: times are measured in turn in one process. Below one, "
            "the other is quicker. Flops are those of one factorization, over those of the order "
            f"that {BEST} found, a slow search for the best there is."
        )
        header = ("family", "bodies", "auto takes", "orderings", "quickest other")
        cells = [_contest_cells(*one) for one in contests]
        yield pages.Table((*header, "its time / auto", f"flops / {BEST}"), cells)
        worst = [(min(others, key=_ratio), name, n) for name, n, _, others in contests]
        quickest, name, n = min(worst, key=lambda one: _ratio(one[0]))
        yield pages.Paragraph(
            f"At the worst, {name} with {n} bodies, the quickest other ordering, "
            f"{quickest['ordering']}, takes {quickest[RATIO]:.2f} of its time."
        )
        for name, n, automatic, others in contests:
            yield pages.Heading(f"{name}, {n} bodies", 3)
            columns = ("ordering", "with", "nnz(L)", "flops", "front", "time [us]", "time / auto")
            yield pages.Table(columns, _ordering_cells([automatic, *others]))
            nnz_l, flops = (
                {row["ordering"]: row[key] for row in others} for key in ("nnz_l", "flops")
            )
            figure = orders.plot_fill(nnz_l, flops, f"{name}, {n} bodies")
            yield self._save(figure, f"{name}-{n}-fill", f"fill against ordering, {name}, {n}")


# ---- lines of tables --------------------------------------------------------------------------


def _section(title: str, text: str, header: Cells, lines: Iterable[Cells]) -> Iterator[pages.Part]:
    """Yield a heading, a paragraph and a table; nothing where it has no lines."""
    if table := list(lines):
        yield pages.Heading(title)
        if text:
            yield pages.Paragraph(text)
        yield pages.Table(header, table)


def _crossovers(family: FamilyRows, accuracy: float) -> Iterator[Cells]:
    """Yield one line for each other method; at any accuracy, with the errors of both."""
    for label, crossover in family.crossovers(accuracy).items():
        if label not in family.methods:
            continue
        sizes = f"{crossover.smallest:.0f} to {crossover.largest:.0f}"
        line = (family.name, label, str(crossover), sizes, f"{crossover.ratio:.3g}")
        if accuracy < math.inf:
            yield line
            continue
        own, other = family.curve(OURS, ERROR), family.curve(label, ERROR)
        n = max(own.keys() & other.keys(), default=None)
        known = ("", "", "") if n is None else (f"{own[n]:.0e}", f"{other[n]:.0e}", f"{n:.0f}")
        yield *line, *known


def _accuracy(family: FamilyRows) -> Iterator[Cells]:
    """Yield for each method its worst error, and that of its largest mechanism."""
    for label, rows in family.rows.items():
        known = [row for row in rows if math.isfinite(row[ERROR])]
        if not known:
            continue
        worst = max(known, key=lambda row: row[ERROR])
        large = max(known, key=lambda row: row["n_bodies"])
        exact = [row["n_bodies"] for row in known if row[ERROR] <= ACCURATE]
        within = f"{len(exact)} of {len(known)}" + (f", to {max(exact)}" if exact else "")
        of_worst = f"{worst[ERROR]:.1e} ({worst['n_bodies']})"
        of_large = f"{large[ERROR]:.1e}", f"{large['kappa']:.1e}", f"{large['reference_error']:.0e}"
        yield family.name, label, within, of_worst, f"{large['n_bodies']}", *of_large


def _cases(family: FamilyRows) -> Iterator[Cells]:
    ours = family.curve(OURS, TIME) if OURS in family.rows else {}
    for label, rows in family.rows.items():
        for row in sorted(rows, key=lambda row: row["n_bodies"]):
            n, us = row["n_bodies"], 1e6 * row[TIME]
            ratio = f"{row[TIME] / ours[n]:.2f}" if n in ours else ""
            accuracy = [f"{row[name]:.0e}" for name in (ERROR, "kappa")]
            yield family.name, f"{n}", label, f"{us:.4g}", f"{us / n:.3g}", *accuracy, ratio


def _profile(family: FamilyRows) -> Iterator[Cells]:
    rows = [row for row in family.rows.get(OURS, ()) if row["forces_seconds"] > 0.0]
    for row in sorted(rows, key=lambda row: row["n_bodies"]):
        n = row["n_bodies"]
        phases = (f"{1e6 * row[name] / n:.3f}" for name in _PHASES)
        flops, memory = row["flops"], row["system_mb"] + row["memory_mb"]
        rate = 1e-9 * flops / row["factorize_seconds"]
        work = f"{flops / n:.0f}", f"{rate:.2f}", f"{1e3 * memory / n:.2f}"
        before = (f"{1e6 * row[f'{name}_seconds'] / n:.3g}" for name in _PREPARATION)
        yield family.name, f"{n}", *phases, *work, *before


def _contests(family: FamilyRows) -> Iterator[tuple[str, int, Row, list[Row]]]:
    """Yield family, bodies, the row of the automatic choice, and those of other orderings alone."""
    sizes: dict[int, dict[str, Row]] = defaultdict(dict)
    for row in chain.from_iterable(family.rows.values()):
        if row["method"] == OURS and row["factorization"] == AUTO:
            sizes[row["n_bodies"]].setdefault(row["ordering"], row)
    for n, rows in sorted(sizes.items()):
        others = [row for row in rows.values() if row["ordering"] != AUTO and row[RATIO] > 0.0]
        if AUTO in rows and others:
            yield family.name, n, rows[AUTO], others


def _contest_cells(name: str, n: int, automatic: Row, others: Sequence[Row]) -> Cells:
    quickest = min(others, key=_ratio)
    best = next((row["flops"] for row in others if row["ordering"] == BEST), math.nan)
    flops_ratio = automatic["flops"] / best
    taken = f"{automatic['chosen_ordering']}, {automatic['chosen_factorization']}"
    other = f"{quickest['ordering']}, {quickest['chosen_factorization']}"
    ratio = "" if math.isnan(flops_ratio) else f"{flops_ratio:.2f}"
    return name, str(n), taken, str(len(others)), other, f"{quickest[RATIO]:.2f}", ratio


def _ordering_cells(rows: Sequence[Row]) -> list[Cells]:
    """Return the cells of orderings, the quickest first, with times over that of "auto"."""
    cells: list[Cells] = []
    for row in sorted(rows, key=_ratio):
        name = f"auto: {row['chosen_ordering']}" if row["ordering"] == AUTO else row["ordering"]
        work = f"{row['nnz_l']}", f"{row['flops']:.3g}", f"{row['largest_front']}"
        us, ratio = f"{1e6 * row[TIME]:.4g}", f"{_ratio(row):.2f}"
        cells.append((name, row["chosen_factorization"], *work, us, ratio))
    return cells


def _ratio(row: Row) -> float:
    """Return the time of a row over that of the automatic choice."""
    return 1.0 if row["ordering"] == AUTO else float(row[RATIO])


def pattern_figures(family: Family, n_bodies: int = BODIES) -> Iterator[tuple[str, Figure]]:
    """Yield kinds and figures: spy, elimination tree, order on the graph."""
    system = family.build(n_bodies).compile()
    state = system.initial_state
    structure = ForwardDynamics(system, state, reactions="basic").structure
    pattern = structure.pattern
    comparison = compared(pattern)
    best = comparison.lines[0].name
    order = comparison.orders[best]
    title = f"{family.name}, {system.n_bodies} bodies: {best}"
    yield "spy", plot_spy(pattern, order, best, family.name)
    yield "tree", orders.plot_elimination_tree(pattern, order, title)
    points = orders.block_points(structure, state)
    yield "order", orders.plot_elimination(pattern, order, points, title)
