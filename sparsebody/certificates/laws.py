"""Orders of growth by their names: n^1.5, sqrt(n), n log n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.study.fits import Growth, growth

NAMES = {
    0.0: "1",
    1 / 3: "n^(1/3)",
    0.5: "sqrt(n)",
    2 / 3: "n^(2/3)",
    1.0: "n",
    4 / 3: "n^(4/3)",
    1.5: "n^1.5",
    2.0: "n^2",
    3.0: "n^3",
}
_NEAR = 0.08  # an exponent this close to one with a name is called by it, if
_SURE = 0.17  # its confidence interval reaches no further
_SLACK = 0.03  # and no further away from the name than this
_ASYMPTOTIC = 16.5  # sizes within this factor of the largest count


def asymptotic(n: FloatArray, y: FloatArray) -> Growth | None:
    """Return the power law of the larger sizes."""
    return growth(n, y, n.max(initial=0.0) / _ASYMPTOTIC)


def local_exponents(n: FloatArray, y: FloatArray) -> list[float]:
    """Return the slopes between neighbouring sizes, in logarithms."""
    rises = np.diff(np.log(y)) / np.diff(np.log(n))
    return [float(slope) for slope in rises]


def law(fit: Growth) -> str:
    """Return the name of an order of growth, or the exponent where it has none."""
    near = min(NAMES, key=lambda exponent: abs(exponent - fit.exponent))
    distance, reach = abs(near - fit.exponent), fit.high - fit.exponent
    is_near = distance <= _NEAR and not distance > reach + _SLACK
    return NAMES[near] if is_near and not reach > _SURE else f"n^{fit.exponent:.2f}"


@dataclass(frozen=True)
class LogarithmicGrowth:
    """y = n (constant + slope log2 n) beside y = constant n^exponent, each with two parameters."""

    constant: float
    slope: float
    error: float  # root mean square, relative
    power_error: float  # that of the power law

    @property
    def is_better(self) -> bool:
        """Whether n log n is nearer to the values than any power of n."""
        return self.slope > 0.0 and self.error < self.power_error


def logarithmic_growth(n: FloatArray, y: FloatArray) -> LogarithmicGrowth | None:
    """Fit y / n = constant + slope log2 n to the same sizes as `asymptotic`; None with too few.

    Both laws are compared by what they leave of log y.
    """
    power = asymptotic(n, y)
    if power is None or power.n_points < 3:
        return None
    use = n >= n.max() / _ASYMPTOTIC
    n, y = n[use], y[use]
    slope, constant = np.polyfit(np.log2(n), y / n, 1, w=n / y)
    fitted = n * (constant + slope * np.log2(n))
    left = [
        float(np.sqrt(np.mean(np.log(y / values) ** 2))) if np.all(values > 0.0) else np.inf
        for values in (fitted, power(n))
    ]
    return LogarithmicGrowth(float(constant), float(slope), *left)
