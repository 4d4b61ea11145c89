"""What a report says of orderings: the automatic choice against all others, fill, patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparsebody.plots.fill import plot_fill
from sparsebody.study.measure import Row
from sparsebody.study.orderings import BEST, RATIO, contests, ordering_cells
from sparsebody.study.pages import Heading, Paragraph, Part, Table
from sparsebody.study.patterns import pattern_figures
from sparsebody.study.plan import Study
from sparsebody.study.report_methods import Save
from sparsebody.study.tables import FamilyRows


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
