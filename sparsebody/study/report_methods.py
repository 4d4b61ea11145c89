"""What a report says of methods: who is faster from where on, growth, accuracy, what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from sparsebody.plots.curves import Line, plot_growth
from sparsebody.study.family_rows import (
    ACCURATE,
    ERROR,
    MEMORY,
    OURS,
    PER_BODY,
    TIME,
    Curve,
    FamilyRows,
)
from sparsebody.study.pages import Heading, Paragraph, Part, Picture, Table

Save = Callable[[Figure, str, str], Picture]
"""save(figure, file name without suffix, what it shows)"""

_LEAST_POINTS = 3
_SECONDS = "CPU time of one evaluation [s]"


def crossover_parts(families: Sequence[FamilyRows]) -> Iterator[Part]:
    """Yield from which sizes on the sparse method is faster, at equal accuracy and at any."""
    equal = [line for family in families for line in _crossovers(family, ACCURATE)]
    of_any = [line for family in families for line in _crossovers(family, np.inf)]
    if not of_any:
        return
    header = ("family", "against", "sparse is faster from", "common sizes", "ratio at the end")
    yield Heading("Crossovers")
    yield Paragraph(
        "The number of bodies from which on the sparse method, with its automatic choice, stays "
        "faster at all larger sizes measured: interpolated in logarithms, and the sizes that it "
        "lies between. The ratio is the other method's time over ours at the largest common size."
    )
    yield Heading(f"At equal accuracy: both within {ACCURATE:g}", 3)
    if equal:
        yield Paragraph(
            f"Only sizes count at which the accelerations of both are within {ACCURATE:g} of the "
            "reference, relative to the largest of them."
        )
        yield Table(header, equal)
    else:
        yield Paragraph("No other method and sparse were both that close to a reference.")
    yield Heading("At any accuracy", 3)
    yield Paragraph(
        "All sizes count. Errors are those at the largest size at which both are known."
    )
    yield Table((*header, "error of sparse", "of the other", "with bodies"), of_any)


def _crossovers(family: FamilyRows, accuracy: float) -> Iterator[tuple[str, ...]]:
    for label, crossover in family.crossovers(accuracy).items():
        if label in family.methods:
            sizes = f"{crossover.smallest:.0f} to {crossover.largest:.0f}"
            line = (family.name, label, str(crossover), sizes, f"{crossover.ratio:.3g}")
            yield line if accuracy < np.inf else (*line, *family.errors(label))


@dataclass(frozen=True, eq=False)
class GrowthParts:
    """Fitted powers of n and figures of them."""

    families: Sequence[FamilyRows]
    save: Save
    smallest: float  # size from which on to fit, unless less than three would be left

    def parts(self) -> Iterator[Part]:
        """Yield them all."""
        yield Heading("Growth")
        yield Paragraph(
            f"In figures, open marks are measurements whose error is more than {ACCURATE:g}, or "
            "not known. Dotted lines are the fitted powers."
        )
        yield from self._overview()
        for family in self.families:
            if family.methods:
                yield from self._family(family)

    def _overview(self) -> Iterator[Part]:
        lines = [
            self._line(family, OURS, TIME, family.name)
            for family in self.families
            if OURS in family.methods
        ]
        if len(lines) > 1:
            figure = plot_growth(lines, _SECONDS, "sparse, all families")
            yield self.save(figure, "overview", "time of the sparse method, all families")

    def _family(self, family: FamilyRows) -> Iterator[Part]:
        yield Heading(family.name, 3)
        yield Table(
            ("method", "bodies", "time", "memory", "us per body at the end", "error there"),
            [self._row(family, label) for label in family.methods],
        )
        backends = [label for label in family.methods if label.startswith(OURS)]
        methods = [label for label in family.methods if label not in backends[1:]]
        for column, name, label, shown in (
            (TIME, "time", _SECONDS, methods),
            (PER_BODY, "time-per-body", "CPU time of one evaluation per body [s]", methods),
            (ERROR, "error", "relative error of the accelerations", methods),
            (MEMORY, "memory", "memory above the mechanism's [MB]", methods),
            (TIME, "backends", _SECONDS, backends if len(backends) > 1 else []),
        ):
            curves = [one for one in shown if family.curve(one, column)]
            if curves:
                lines = [self._line(family, one, column, one, one == OURS) for one in curves]
                figure = plot_growth(lines, label, family.name)
                yield self.save(figure, f"{family.name}-{name}", f"{name}, {family.name}")

    def _row(self, family: FamilyRows, label: str) -> tuple[str, ...]:
        curve = family.curve(label, TIME)
        if not curve:
            return label, "", "", "", "", ""
        end = max(curve)
        cells = []
        for column in (TIME, MEMORY):
            fit = family.growth(label, column, self._from(curve))
            short = "" if fit is None or fit.spans_two_decades else ", less than two decades"
            cells.append("" if fit is None else f"{fit}{short}")
        error = family.curve(label, ERROR).get(end)
        said = "" if error is None else f"{error:.0e}"
        return (
            label,
            f"{min(curve):.0f} to {end:.0f}",
            *cells,
            f"{1e6 * curve[end] / end:.3g}",
            said,
        )

    def _from(self, curve: Curve) -> float:
        """Return the size from which on to fit: the usual one, or that of the last few."""
        few = sorted(curve)[-_LEAST_POINTS:]
        return min(self.smallest, few[0]) if few else self.smallest

    def _line(
        self, family: FamilyRows, label: str, column: str, name: str, is_ours: bool = False
    ) -> Line:
        curve, errors = family.curve(label, column), family.curve(label, ERROR)
        n, y = np.array(list(curve)), np.array(list(curve.values()))
        found = family.growth(label, column, self._from(family.curve(label, TIME)))
        ends = np.zeros(0) if found is None else np.array([found.smallest, found.largest])
        text = name if found is None else f"{name}  n^{found.exponent:.2f}"
        fit = ends if found is None else found(ends)
        exact = np.array([errors.get(size, np.inf) <= ACCURATE for size in n])
        return Line(text, n, y, ends, fit, is_ours, exact)


def accuracy_parts(families: Sequence[FamilyRows]) -> Iterator[Part]:
    """Yield the errors of all methods."""
    table = [line for family in families for line in family.accuracy()]
    if table:
        yield Heading("Accuracy")
        yield Paragraph("Error of the accelerations over the largest of them, against references.")
        header = (f"within {ACCURATE:g}", "worst (bodies)", "bodies", "error", "kappa")
        yield Table(("family", "method", *header, "error of the reference"), table)
