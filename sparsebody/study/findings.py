"""Findings from the rows of a study: numbers by family, method and size; promises judged."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import le

import numpy as np

from sparsebody.study import fits, plan
from sparsebody.study.rows import Row, case_of_row

OURS = "sparse"  # label of the sparse method with automatic ordering and factorization
TIME, MEMORY, ERROR = "seconds_min", "memory_mb", "error"
PER_BODY = "seconds_per_body"
ACCURATE = 1e-8  # error within which times of methods are compared
SIZE_SLACK = 1.12  # sizes within this factor count as equal: families of n x n grids skip numbers
Curve = dict[float, float]  # number of bodies -> value, the median over seeds


@dataclass(frozen=True, eq=False)
class FamilyRows:
    """The finished rows of one family by the label of their method."""

    name: str
    rows: Mapping[str, Sequence[Row]]

    def curve(self, label: str, column: str, accuracy: float = math.inf) -> Curve:
        """Return a column over the number of bodies, positive numbers only.

        Rows count whose error is within `accuracy`; unknown errors are within infinity alone.
        """
        values: dict[float, list[float]] = defaultdict(list)
        for row in self.rows[label]:
            value = row[TIME] / row["n_bodies"] if column == PER_BODY else row[column]
            is_accurate = accuracy == math.inf or row[ERROR] <= accuracy
            if is_accurate and value is not None and 0.0 < value < math.inf:
                values[float(row["n_bodies"])].append(float(value))
        return {n: statistics.median(many) for n, many in sorted(values.items())}

    @property
    def methods(self) -> list[str]:
        """Labels with several sizes and no fixed ordering, ours first; for growth."""
        labels = [
            label
            for label, rows in self.rows.items()
            if len({row["n_bodies"] for row in rows}) > 1 and rows[0]["ordering"] in ("", plan.AUTO)
        ]
        return sorted(labels, key=lambda label: (label != OURS, label))

    def growth(self, label: str, column: str, smallest: float) -> fits.Growth | None:
        """Return the fitted power of n of a column."""
        curve = self.curve(label, column)
        return fits.growth(np.array(list(curve)), np.array(list(curve.values())), smallest)

    def crossovers(self, accuracy: float = math.inf) -> dict[str, fits.Crossover]:
        """Return from which size on ours is faster than each other method.

        Only sizes at which the errors of both are within a finite `accuracy` count.
        """
        if OURS not in self.rows:
            return {}
        own = self.curve(OURS, TIME, accuracy)
        others = {label: self.curve(label, TIME, accuracy) for label in self.rows if label != OURS}
        crossovers = {label: fits.crossover(own, other) for label, other in others.items()}
        return {label: one for label, one in crossovers.items() if one is not None}


def families(rows: Sequence[Row]) -> list[FamilyRows]:
    """Return the finished rows, grouped."""
    groups: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["status"] == "ok":
            groups[row["family"]][case_of_row(row).series.label].append(row)
    return [FamilyRows(name, members) for name, members in groups.items()]


def failures(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Yield method, status, message, and families with sizes, of what was not measured."""
    sizes: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["status"] not in ("ok", "skipped"):
            label = case_of_row(row).series.label
            sizes[label, row["status"], row["message"]][row["family"]].append(row["size"])
    for key, family in sorted(sizes.items()):
        yield *key, "; ".join(f"{name} {', '.join(map(str, n))}" for name, n in family.items())


# ---- promises, each judged at every size by its own bound -------------------------------------

Values = Mapping[int, tuple[float, float, str]]
"""number of bodies -> value, bound, remark"""


@dataclass(frozen=True)
class Finding:
    """One promise, and what was measured of it."""

    promise: str
    measured: str  # number of bodies: value, ...
    limit: str  # the bounds in words
    verdict: str


def judged(
    promise: str,
    values: Values,
    limit: str,
    needed: Sequence[int] = (),
    is_met: Callable[[float, float], bool] = le,
    form: str = ".3g",
) -> Finding:
    """Judge every value by its own bound; NaN is what was not measured.

    Without values at about the numbers of bodies in `needed` a promise is met in part only.
    """
    known = {n: one for n, one in values.items() if not math.isnan(one[0] + one[1])}
    parts = [f"{n}: {value:{form}}{remark}" for n, (value, _, remark) in known.items()]
    broken = [n for n, (value, bound, _) in known.items() if not is_met(value, bound)]
    lacking = [n for n in needed if not any(n / SIZE_SLACK <= m <= n * SIZE_SLACK for m in known)]
    if not known:
        verdict = "not measured"
    elif broken:
        verdict = "NOT MET at " + ", ".join(map(str, broken))
    elif lacking:
        verdict = "met, but not measured at " + ", ".join(map(str, lacking))
    else:
        verdict = "met"
    return Finding(promise, "; ".join(parts) or "-", limit, verdict)
