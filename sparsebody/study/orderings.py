"""The automatic choice of an ordering against all others, as far as rows tell."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sparsebody.study.measure import Row
from sparsebody.study.plan import AUTO
from sparsebody.study.tables import OURS, TIME, FamilyRows

BEST = "annealing"  # its flops are nearly the least there are
RATIO = "auto_ratio"


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
