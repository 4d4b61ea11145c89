"""Published operation counts beside counted ones, and why they differ."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

from sparsebody.classical.counts import Counts, Polynomial

Pair = tuple[int, int]


@dataclass(frozen=True)
class Published:
    """A published count of multiplications and additions for n joints in general position.

    `printed` is what tables print for n = 6, `remark` says how what is counted differs.
    """

    label: str
    algorithm: str  # of ALGORITHMS; "" if it is not implemented
    multiplications: Polynomial | None
    additions: Polynomial | None
    printed: Pair | None  # at n = 6
    every_operation: bool  # whether the paper counts operations by known 0 and 1 as well
    remark: str


def _polynomial(coefficients: Sequence[str | int]) -> Polynomial | None:
    """Of coefficients, the highest power first; None if there are none."""
    exact = tuple(Fraction(c) for c in reversed(coefficients))
    return Polynomial(exact) if exact else None


def _published() -> Iterator[Published]:
    text = resources.files(__package__).joinpath("published_counts.toml").read_text("utf-8")
    for row in tomllib.loads(text)["published"]:
        formulas = {key: _polynomial(row.get(key, ())) for key in ("multiplications", "additions")}
        printed = tuple(row["printed"]) if "printed" in row else None
        yield Published(**(row | formulas | {"printed": printed}))


PUBLISHED = tuple(_published())
PRINTED_AT = 6  # joints


@dataclass(frozen=True)
class Comparison:
    """A published count for six joints beside the one that was counted."""

    published: Published
    counts: Counts | None  # None if the algorithm is not implemented

    @property
    def counted(self) -> Pair | None:
        """Multiplications and additions, with those by known 0 and 1 if the paper counts them."""
        if self.counts is None:
            return None
        counts = self.counts.polynomials(every_operation=self.published.every_operation)
        return _at(counts[0]), _at(counts[1])

    @property
    def formula(self) -> tuple[int | None, int | None]:
        """The values of the published formulas, where there are any."""
        both = (self.published.multiplications, self.published.additions)
        return tuple(None if formula is None else _at(formula) for formula in both)  # type: ignore[return-value]

    @property
    def ratio(self) -> tuple[float, float] | None:
        """What was counted over what is printed, or over the formula where nothing is printed."""
        if self.counted is None:
            return None
        reference = self.published.printed or self.formula
        pairs = zip(self.counted, reference, strict=True)
        return tuple(own / other for own, other in pairs if other)  # type: ignore[return-value]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings; pairs are multiplications and additions at n = 6."""
        return {
            "published": self.published.label,
            "algorithm": self.published.algorithm,
            "counts_known_0_and_1": self.published.every_operation,
            "counted": self.counted,
            "formula": self.formula,
            "printed": self.published.printed,
            "ratio": self.ratio,
            "remark": self.published.remark,
        }


def _at(polynomial: Polynomial) -> int:
    return int(polynomial(PRINTED_AT))


def comparisons(counts: dict[str, Counts], *, all_published: bool = True) -> list[Comparison]:
    """Return what is published of these algorithms and, if asked for, of those not implemented."""
    return [
        Comparison(published, counts.get(published.algorithm))
        for published in PUBLISHED
        if published.algorithm in counts or (all_published and not published.algorithm)
    ]
