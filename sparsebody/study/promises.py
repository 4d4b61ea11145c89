"""Promises about rows of a study, each judged at every size by its own limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import le

SIZE_SLACK = 1.12  # families have the sizes of a square, say

Values = Mapping[int, tuple[float, float, str]]
"""number of bodies -> value, limit, remark"""


@dataclass(frozen=True)
class Finding:
    """One promise, and what came of it."""

    promise: str
    measured: str  # number of bodies: value, ...
    limit: str
    verdict: str


def judged(
    promise: str,
    values: Values,
    limit: str,
    needed: Sequence[int] = (),
    is_kept: Callable[[float, float], bool] = le,
    form: str = ".3g",
) -> Finding:
    """Judge every value by its own limit.

    Parameters
    ----------
    promise, limit : str
        For readers.
    values : dict
        By number of bodies; NaN is what was not measured.
    needed : sequence of int
        About the numbers of bodies without which the promise is only kept in part.
    is_kept : callable
        Of value and limit.
    form : str
        How values are written.
    """
    known = {n: one for n, one in values.items() if not math.isnan(one[0] + one[1])}
    parts = [f"{n}: {value:{form}}{remark}" for n, (value, _, remark) in known.items()]
    broken = [n for n, (value, bound, _) in known.items() if not is_kept(value, bound)]
    lacking = [n for n in needed if not any(is_about(m, n) for m in known)]
    if not known:
        verdict = "not measured"
    elif broken:
        verdict = "NOT MET at " + ", ".join(map(str, broken))
    elif lacking:
        verdict = "met, but not measured at " + ", ".join(map(str, lacking))
    else:
        verdict = "met"
    return Finding(promise, "; ".join(parts) or "-", limit, verdict)


def is_about(n: int, size: float) -> bool:
    """Tell whether a number of bodies is near a size."""
    return size / SIZE_SLACK <= n <= size * SIZE_SLACK
