"""What a report says of orderings: the automatic choice against all others, fill, patterns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from sparsebody.analysis.order_comparison import compared
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.plots.elimination_orders import (
    graph_places,
    plot_elimination,
    plot_elimination_tree,
    plot_fill,
)
from sparsebody.plots.spy import plot_spy
from sparsebody.study.families import Family
from sparsebody.study.family_rows import OURS, TIME, FamilyRows
from sparsebody.study.measure import Row
from sparsebody.study.pages import Heading, Paragraph, Part, Table
from sparsebody.study.plan import AUTO, Study
from sparsebody.study.report_methods import Save

BEST = "annealing"  # its flops are nearly the least there are
RATIO = "auto_ratio"
BODIES = 48  # of the mechanism whose pattern is drawn


@dataclass(frozen=True, eq=False)
class Contest:
    """Mechanisms of one family and size in several orders."""

    family: str
    n_bodies: int
    automatic: Row
    others: Sequence[Row]

    @property
    def rows(self) -> list[Row]:
        """All of them."""
        return [self.automatic, *self.others]

    @property
    def quickest(self) -> Row:
        """The other order with the least time over that of the automatic choice."""
        return min(self.others, key=lambda row: row[RATIO])

    @property
    def flops_ratio(self) -> float:
        """Flops of the automatic choice over those of the best order known; NaN if unknown."""
        best = next((row["flops"] for row in self.others if row["ordering"] == BEST), math.nan)
        return float(self.automatic["flops"] / best)

    @property
    def cells(self) -> tuple[str, ...]:
        """As a table says it."""
        chosen = (self.automatic["chosen_ordering"], self.automatic["chosen_factorization"])
        quick, ratio = self.quickest, self.flops_ratio
        return (
            self.family,
            str(self.n_bodies),
            ", ".join(chosen),
            str(len(self.others)),
            f"{quick['ordering']}, {quick['chosen_factorization']}",
            f"{quick[RATIO]:.2f}",
            "" if math.isnan(ratio) else f"{ratio:.2f}",
        )


def contests(family: FamilyRows) -> Iterator[Contest]:
    """Yield by size the rows of the sparse method that differ in their ordering alone."""
    sizes: dict[int, dict[str, Row]] = defaultdict(dict)
    for series in family.rows.values():
        for row in series:
            if row["method"] == OURS and row["factorization"] == AUTO:
                sizes[row["n_bodies"]].setdefault(row["ordering"], row)
    for n, rows in sorted(sizes.items()):
        others = [row for row in rows.values() if row["ordering"] != AUTO and row[RATIO] > 0.0]
        if AUTO in rows and others:
            yield Contest(family.name, n, rows[AUTO], others)


def ordering_cells(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of orderings, the quickest first, with times over that of "auto"."""
    return [
        (
            f"auto: {row['chosen_ordering']}" if row["ordering"] == AUTO else row["ordering"],
            row["chosen_factorization"],
            f"{row['nnz_l']}",
            f"{row['flops']:.3g}",
            f"{row['largest_front']}",
            f"{1e6 * row[TIME]:.4g}",
            f"{_ratio(row):.2f}",
        )
        for row in sorted(rows, key=_ratio)
    ]


def _ratio(row: Row) -> float:
    return 1.0 if row["ordering"] == AUTO else float(row[RATIO])


def ordering_parts(families: Sequence[FamilyRows], save: Save) -> Iterator[Part]:
    """Yield the automatic choice beside the best of the others, then every ordering."""
    results = [one for family in families for one in contests(family)]
    if not results:
        return
    yield Heading("Orderings")
    yield Paragraph(
        "The automatic choice beside the quickest of all other orderings, each with the "
        "factorization that suits it: times are measured in turn in one process. Below one, the "
        "other is quicker. Flops are those of one factorization, over those of the order that "
        f"{BEST} found, a slow search for the best there is."
    )
    header = ("family", "bodies", "auto takes", "orderings", "quickest other", "its time / auto")
    yield Table((*header, f"flops / {BEST}"), [one.cells for one in results])
    least = min(results, key=lambda one: one.quickest[RATIO])
    yield Paragraph(
        f"At the worst, {least.family} with {least.n_bodies} bodies, the quickest other ordering, "
        f"{least.quickest['ordering']}, takes {least.quickest[RATIO]:.2f} of its time."
    )
    for one in results:
        yield from _all_orderings(one.family, one.n_bodies, one.rows, save)


def _all_orderings(name: str, n: int, rows: Sequence[Row], save: Save) -> Iterator[Part]:
    yield Heading(f"{name}, {n} bodies", 3)
    header = ("ordering", "with", "nnz(L)", "flops", "front", "time [us]", "time / auto")
    yield Table(header, ordering_cells(rows))
    named = {row["ordering"]: row for row in rows if row["ordering"] != "auto"}
    figure = plot_fill(
        {ordering: row["nnz_l"] for ordering, row in named.items()},
        {ordering: row["flops"] for ordering, row in named.items()},
        f"{name}, {n} bodies",
    )
    yield save(figure, f"{name}-{n}-fill", f"fill against ordering, {name}, {n}")


def pattern_parts(study: Study | None, save: Save) -> Iterator[Part]:
    """Yield pictures of a small mechanism of each family."""
    if study is None:
        return
    yield Heading("Patterns")
    yield Paragraph(
        "A small mechanism of each family in the order that predicts the fewest operations: "
        "the matrix before and after, the elimination tree, the order on the graph."
    )
    for name, family in study.families.items():
        yield Heading(name, 3)
        for kind, figure in pattern_figures(family):
            yield save(figure, f"{name}-{kind}", f"{kind}, {name}")


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
    yield "tree", plot_elimination_tree(pattern, order, title)
    place = graph_places(structure, state)
    yield "order", plot_elimination(pattern, order, place, title)
