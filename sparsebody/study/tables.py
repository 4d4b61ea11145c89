"""What the rows of a study say, as numbers by family, method and size."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sparsebody.study.fits import Crossover, Growth, crossover, growth
from sparsebody.study.journal import case_of_row
from sparsebody.study.measure import Row
from sparsebody.study.plan import AUTO

OURS = "sparse"  # the label of the automatic choice
TIME, MEMORY, ERROR = "seconds_min", "memory_mb", "error"
Curve = dict[float, float]  # number of bodies -> value, the median over seeds


@dataclass(frozen=True, eq=False)
class FamilyRows:
    """The finished rows of one family by the label of their method."""

    name: str
    rows: Mapping[str, Sequence[Row]]

    def curve(self, label: str, column: str) -> Curve:
        """Return a column over the number of bodies; what is not a positive number is left out."""
        found: dict[float, list[float]] = defaultdict(list)
        for row in self.rows[label]:
            value = row[column]
            if value is not None and math.isfinite(value) and value > 0.0:
                found[float(row["n_bodies"])].append(float(value))
        return {n: statistics.median(values) for n, values in sorted(found.items())}

    @property
    def methods(self) -> list[str]:
        """Labels at several sizes, ours first: what growth and crossovers are told of."""
        labels = [
            label
            for label, rows in self.rows.items()
            if len({row["n_bodies"] for row in rows}) > 1 and rows[0]["ordering"] in ("", AUTO)
        ]
        return sorted(labels, key=lambda label: (label != OURS, label))

    def growth(self, label: str, column: str, smallest: float) -> Growth | None:
        """Return the fitted power of n of a column."""
        curve = self.curve(label, column)
        return growth(np.array(list(curve)), np.array(list(curve.values())), smallest)

    def crossovers(self) -> dict[str, Crossover]:
        """Return from which size on ours is faster than each other method."""
        if OURS not in self.rows:
            return {}
        own = self.curve(OURS, TIME)
        found = {
            label: crossover(own, self.curve(label, TIME)) for label in self.rows if label != OURS
        }
        return {label: one for label, one in found.items() if one is not None}

    def errors(self, label: str) -> tuple[str, str, str]:
        """Return our error, that of another method, and the size: the largest with both known."""
        own, other = self.curve(OURS, ERROR), self.curve(label, ERROR)
        common = own.keys() & other.keys()
        if not common:
            return "", "", ""
        n = max(common)
        return f"{own[n]:.0e}", f"{other[n]:.0e}", f"{n:.0f}"

    def accuracy(self) -> Iterator[tuple[str, ...]]:
        """Yield for each method its worst error, and that of its largest mechanism."""
        for label, rows in self.rows.items():
            known = [row for row in rows if math.isfinite(row[ERROR])]
            if not known:
                continue
            worst = max(known, key=lambda row: row[ERROR])
            large = max(known, key=lambda row: row["n_bodies"])
            yield (
                self.name,
                label,
                f"{worst[ERROR]:.1e} ({worst['n_bodies']})",
                f"{large['n_bodies']}",
                f"{large[ERROR]:.1e}",
                f"{large['kappa']:.1e}",
                f"{large['reference_error']:.0e}",
            )

    def orderings(self) -> dict[int, list[Row]]:
        """Return by size the rows of the sparse method that differ in their ordering alone."""
        sizes: dict[int, dict[tuple[str, str], Row]] = defaultdict(dict)
        for rows in self.rows.values():
            for row in rows:
                if row["method"] == OURS and row["factorization"] == AUTO:
                    sizes[row["n_bodies"]].setdefault((row["ordering"], ""), row)
        return {n: list(rows.values()) for n, rows in sorted(sizes.items()) if len(rows) > 2}


def families(rows: Sequence[Row]) -> list[FamilyRows]:
    """Return the finished rows, grouped."""
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["status"] == "ok":
            found[row["family"]][case_of_row(row).series.label].append(row)
    return [FamilyRows(name, members) for name, members in found.items()]


def ordering_cells(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of orderings, the quickest first, with times over that of "auto"."""
    auto = next((row[TIME] for row in rows if row["ordering"] == "auto"), math.nan)
    return [
        (
            f"auto: {row['chosen_ordering']}" if row["ordering"] == "auto" else row["ordering"],
            row["chosen_factorization"],
            f"{row['nnz_l']}",
            f"{row['flops']:.3g}",
            f"{row['largest_front']}",
            f"{1e6 * row[TIME]:.4g}",
            f"{row[TIME] / auto:.2f}",
        )
        for row in sorted(rows, key=lambda row: row[TIME])
    ]
