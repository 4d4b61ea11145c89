"""CPU times of the algorithms, compiled and in plain Python, over the number of joints."""

import math
import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.algorithms import Algorithm
from sparsebody.classical.arm_links import IS_COMPILED, Links, Motion, kernel
from sparsebody.classical.counting import interpreted, lifted
from sparsebody.classical.counts import Counts, general_arm
from sparsebody.plots.curves import Line
from sparsebody.study.fits import Growth, growth

LARGEST = {1: 4096, 2: 2048, 3: 512, 4: 64}  # joints by growth, unless sizes are given
_SMALLEST = 4
_FITTED = 3  # the largest sizes, to which exponents are fitted
_PATIENCE = {"compiled": 0.02, "python": 0.05}  # of one call [s], beyond which n does not grow
_BATCH, _REPEATS = 0.001, 7  # calls take at least so long together [s], so many times
_RESOLUTION = 1e-8  # [s]
_LONGEST_BATCHES = 0.1  # all batches for one number [s]
_LONGEST_CALLS = 0.4  # all calls of more than half of that, unless they are two [s]


@dataclass(frozen=True, eq=False)
class Cost:
    """What an algorithm costs on arms of revolute joints in general position."""

    algorithm: str
    operations: Counts
    compiled: dict[int, float]  # joints -> least CPU time [s] of one call from compiled code;
    #   empty without Numba
    python: dict[int, float]

    @property
    def counted(self) -> dict[int, float]:
        """Multiplications and additions at the sizes of the times."""
        return {n: self.operations.total(n) for n in self.compiled or self.python}

    @property
    def exponents(self) -> dict[str, float]:
        """Fitted powers of n of operations and times; NaN with one size."""
        values = {"operations": self.counted, "compiled": self.compiled, "python": self.python}
        fits = {name: fitted(times) for name, times in values.items()}
        return {name: fit.exponent if fit else float("nan") for name, fit in fits.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "algorithm": self.algorithm,
            "exponents": self.exponents,
            "operations": self.counted,
            "compiled_seconds": self.compiled,
            "python_seconds": self.python,
        }


def measured(algorithm: Algorithm, counts: Counts, sizes: Sequence[int] = ()) -> Cost:
    """Return the cost of an algorithm; without `sizes`, doubled ones until a call takes long."""
    doublings = (LARGEST[algorithm.growth] // _SMALLEST).bit_length()
    chosen = sizes or [_SMALLEST * 2**k for k in range(doublings)]
    patience = dict.fromkeys(_PATIENCE, math.inf) if sizes else _PATIENCE
    compiled, plain = algorithm.kernel, interpreted(algorithm.kernel)

    def compiled_time(n: int) -> float:
        return max(_least_time(partial(compiled, *_instant(n))) - _call_time(), _RESOLUTION)

    def python_time(n: int) -> float:
        return _least_time(partial(plain, *(lifted(part, float) for part in _instant(n))))

    compiled_times = _times(compiled_time, chosen, patience["compiled"]) if IS_COMPILED else {}
    python_times = _times(python_time, chosen, patience["python"])
    return Cost(algorithm.name, counts, compiled_times, python_times)


def fitted(values: dict[int, float]) -> Growth | None:
    """Return the power of n through the largest sizes; None with fewer than two sizes."""
    sizes, times = np.array(sorted(values.items()), dtype=float).reshape(-1, 2)[-_FITTED:].T
    return growth(sizes, times) if values else None


def _times(
    time_of: Callable[[int], float], sizes: Sequence[int], patience: float
) -> dict[int, float]:
    """Return times by size, until a call takes long."""
    times: dict[int, float] = {}
    for n in sizes:
        times[n] = time_of(n)
        if times[n] > patience and len(times) >= _FITTED:
            break
    return times


@lru_cache(maxsize=16)
def _instant(n: int) -> tuple[Links, Motion]:
    """Return an arm in general position in some motion."""
    arm = general_arm(n)
    return arm.links, arm.motion(*np.random.default_rng(n).normal(size=(3, n)))


@cache
def _call_time() -> float:
    """Return the CPU time of a call from Python of a compiled function that does nothing [s]."""
    call = partial(_nothing, *_instant(_SMALLEST))
    return min(_least_time(call) for _ in range(5))


@kernel
def _nothing(links: Links, motion: Motion) -> FloatArray:
    """Return an array (n,), as algorithms do."""
    return np.empty(motion.qd.size)


def _least_time(call: Callable[[], object]) -> float:
    """Return the least CPU time of one call over some batches [s]; of a long one over few calls."""
    spent = [_cpu_seconds(call, 1)]  # may load what is compiled
    once = _cpu_seconds(call, 1)
    if once > _LONGEST_BATCHES / 2:
        spent.append(once)
        while sum(spent) < _LONGEST_CALLS:
            spent.append(_cpu_seconds(call, 1))
        return min(spent)
    once = max(min(once, _cpu_seconds(call, 1)), _RESOLUTION)
    calls = math.ceil(_BATCH / once)
    repeats = max(2, min(_REPEATS, math.ceil(_LONGEST_BATCHES / (calls * once))))
    return min(_cpu_seconds(call, calls) for _ in range(repeats))


def _cpu_seconds(call: Callable[[], object], calls: int) -> float:
    return timeit.timeit(call, timer=time.process_time, number=calls) / calls


def cost_panels(costs: Sequence[Cost]) -> dict[str, list[Line]]:
    """Return the lines of operations and of both times, with the fitted powers."""
    panels = {
        "operations": [_line(cost, cost.counted) for cost in costs],
        "compiled: CPU time [s]": [_line(cost, cost.compiled) for cost in costs if cost.compiled],
        "Python: CPU time [s]": [_line(cost, cost.python) for cost in costs],
    }
    return {title: lines for title, lines in panels.items() if lines}


def _line(cost: Cost, values: dict[int, float]) -> Line:
    n, y = np.array(sorted(values.items()), dtype=float).T
    fit = fitted(values)
    ends = np.empty(0) if fit is None else np.array([fit.smallest, fit.largest])
    at_ends = ends if fit is None else fit(ends)
    powers = ", ".join(f"{p:.1f}" for p in cost.exponents.values() if not np.isnan(p))
    return Line(f"{cost.algorithm} (n^{powers})", n, y, ends, at_ends)
