"""Orders of growth with confidence intervals, and sizes at which one method overtakes another."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray

TWO_DECADES = 100.0  # of sizes: a fit over less says little
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Growth:
    """y = constant * n^exponent over some sizes."""

    exponent: float
    low: float  # 95 % confidence interval of the exponent; NaN with two points
    high: float
    constant: float
    n_points: int
    smallest: float  # size
    largest: float

    def __call__(self, n: FloatArray) -> FloatArray:
        """Return the fitted values."""
        return np.asarray(self.constant * n**self.exponent)

    @property
    def spans_two_decades(self) -> bool:
        """Whether the sizes reach far enough for an order of growth."""
        return self.largest >= TWO_DECADES * self.smallest

    def __str__(self) -> str:
        """As a table says it."""
        exponent, low, high = (f"{value:z.2f}" for value in (self.exponent, self.low, self.high))
        return f"n^{exponent} " + ("(two sizes)" if np.isnan(self.low) else f"({low} to {high})")


def growth(n: FloatArray, y: FloatArray, smallest: float = 0.0) -> Growth | None:
    """Fit log y over log n, (k,) each, by least squares; None with fewer than two sizes.

    Values that are not positive are left out, and sizes below `smallest`, which show overhead.
    """
    use = (n >= smallest) & (y > 0.0) & np.isfinite(y)
    x, z = np.log(n[use]), np.log(y[use])
    if len(np.unique(x)) < 2:
        return None
    from scipy.stats import linregress, t  # takes half a second to import

    fit = linregress(x, z)
    free = len(x) - 2
    error = fit.stderr if np.ptp(z) > 0.0 else 0.0  # which is 0 / 0 where nothing grows
    half = float(t.ppf(0.5 + _CONFIDENCE / 2, free) * error) if free > 0 else np.nan
    exponent = float(fit.slope)
    constant, *ends = (float(np.exp(value)) for value in (fit.intercept, x.min(), x.max()))
    return Growth(exponent, exponent - half, exponent + half, constant, len(x), *ends)


@dataclass(frozen=True)
class Crossover:
    """From which of the common sizes on a method is the faster one."""

    size: float  # interpolated; the smallest common size if always, NaN if never
    below: float  # the measured sizes between which it lies; NaN where there is none
    above: float
    smallest: float  # common sizes
    largest: float
    ratio: float  # the other's time over the method's, at the largest common size

    def __str__(self) -> str:
        """As a table says it."""
        if np.isnan(self.size):
            return f"not up to {self.largest:.0f}"
        if np.isnan(self.below):
            return f"from the smallest on ({self.smallest:.0f})"
        return f"{self.size:.0f} (between {self.below:.0f} and {self.above:.0f})"


def crossover(own: Mapping[float, float], other: Mapping[float, float]) -> Crossover | None:
    """Return where times by size of one method become, and stay, less than those of another.

    Interpolated between common sizes by a straight line in logarithms; None without any.
    """
    n = np.array(sorted(set(own) & set(other)), dtype=float)
    if len(n) == 0:
        return None
    lead = np.log([other[size] / own[size] for size in n])
    ends = {"smallest": float(n[0]), "largest": float(n[-1]), "ratio": float(np.exp(lead[-1]))}
    behind = np.flatnonzero(lead <= 0.0)
    if len(behind) == 0:
        return Crossover(float(n[0]), np.nan, np.nan, **ends)
    last = int(behind[-1])
    if last == len(n) - 1:
        return Crossover(np.nan, np.nan, np.nan, **ends)
    around = slice(last, last + 2)
    size = np.exp(np.interp(0.0, lead[around], np.log(n[around])))
    return Crossover(float(size), *n[around].tolist(), **ends)
