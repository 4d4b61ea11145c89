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
PER_BODY = "seconds_per_body"
ACCURATE = 1e-8  # error within which times of methods are compared
Curve = dict[float, float]  # number of bodies -> value, the median over seeds


@dataclass(frozen=True, eq=False)
class FamilyRows:
    """The finished rows of one family by the label of their method."""

    name: str
    rows: Mapping[str, Sequence[Row]]

    def curve(self, label: str, column: str, accuracy: float = math.inf) -> Curve:
        """Return a column over the number of bodies; what is not a positive number is left out.

        So are rows whose error is not within a finite `accuracy`, or not known.
        """
        found: dict[float, list[float]] = defaultdict(list)
        for row in self.rows[label]:
            value = row[TIME] / row["n_bodies"] if column == PER_BODY else row[column]
            if accuracy < math.inf and not row[ERROR] <= accuracy:
                continue
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

    def crossovers(self, accuracy: float = math.inf) -> dict[str, Crossover]:
        """Return from which size on ours is faster than each other method.

        Only sizes at which the errors of both are within a finite `accuracy` count.
        """
        if OURS not in self.rows:
            return {}
        own = self.curve(OURS, TIME, accuracy)
        crossovers = {
            label: crossover(own, self.curve(label, TIME, accuracy))
            for label in self.rows
            if label != OURS
        }
        return {label: one for label, one in crossovers.items() if one is not None}

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
            exact = [row["n_bodies"] for row in known if row[ERROR] <= ACCURATE]
            yield (
                self.name,
                label,
                f"{len(exact)} of {len(known)}" + (f", to {max(exact)}" if exact else ""),
                f"{worst[ERROR]:.1e} ({worst['n_bodies']})",
                f"{large['n_bodies']}",
                f"{large[ERROR]:.1e}",
                f"{large['kappa']:.1e}",
                f"{large['reference_error']:.0e}",
            )


def families(rows: Sequence[Row]) -> list[FamilyRows]:
    """Return the finished rows, grouped."""
    groups: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["status"] == "ok":
            groups[row["family"]][case_of_row(row).series.label].append(row)
    return [FamilyRows(name, members) for name, members in groups.items()]


def failures(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return method, status and message of what was not measured, and where it was so."""
    sizes_of: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["status"] not in ("ok", "skipped"):
            label = case_of_row(row).series.label
            where = sizes_of[label, row["status"], row["message"]]
            where[row["family"]].append(row["size"])
    return [
        (*what, "; ".join(f"{name} {', '.join(map(str, n))}" for name, n in where.items()))
        for what, where in sorted(sizes_of.items())
    ]
