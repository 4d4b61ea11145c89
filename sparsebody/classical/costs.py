"""CPU times of the algorithms, compiled and in plain Python, over the number of joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.algorithm import Algorithm
from sparsebody.classical.counting import interpreted, lifted
from sparsebody.classical.counts import Counts, general_arm
from sparsebody.classical.links import Links, Motion
from sparsebody.study.fits import Growth, growth
from sparsebody.study.measure import timings
from sparsebody.study.plan import Settings

LARGEST = {1: 4096, 2: 2048, 3: 512, 4: 64}  # joints by growth, unless sizes are given
_SMALLEST = 4
_FITTED = 3  # the largest sizes, to which exponents are fitted
_PATIENCE = {"compiled": 0.02, "python": 0.1}  # of one call [s], beyond which n does not grow
_SETTINGS = Settings(repeats=7, batch_seconds=0.002, longest=1.0)


@dataclass(frozen=True, eq=False)
class Cost:
    """What an algorithm takes on arms of hinges in general position."""

    algorithm: str
    operations: Counts
    compiled: dict[int, float]  # joints -> least CPU time of one call [s]
    python: dict[int, float]

    @property
    def counted(self) -> dict[int, float]:
        """Multiplications and additions at the sizes of the compiled times."""
        return {n: self.operations.total(n) for n in self.compiled}

    @property
    def exponents(self) -> dict[str, float]:
        """Fitted powers of n of operations and times; NaN with one size."""
        fits = (self.counted, self.compiled, self.python)
        names = ("operations", "compiled", "python")
        return {name: _exponent(values) for name, values in zip(names, fits, strict=True)}

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
    plain = interpreted(algorithm.kernel)
    chosen = sizes or _doubled(LARGEST[algorithm.growth])
    patience = dict.fromkeys(_PATIENCE, np.inf) if sizes else _PATIENCE
    return Cost(
        algorithm.name,
        counts,
        _times(algorithm.kernel, float, chosen, patience["compiled"]),
        _times(plain, object, chosen, patience["python"]),
    )


def fitted(values: dict[int, float]) -> Growth | None:
    """Return the power of n through the largest sizes; None with one size."""
    sizes = np.array(sorted(values), dtype=float)
    times = np.array([values[int(n)] for n in sizes])
    return growth(sizes[-_FITTED:], times[-_FITTED:])


def _doubled(largest: int) -> list[int]:
    return [_SMALLEST * 2**k for k in range((largest // _SMALLEST).bit_length())]


def _exponent(values: dict[int, float]) -> float:
    fit = fitted(values)
    return float("nan") if fit is None else fit.exponent


def _times(
    kernel: Callable[[Links, Motion], FloatArray],
    kind: type,
    sizes: Sequence[int],
    patience: float,
) -> dict[int, float]:
    found: dict[int, float] = {}
    for n in sizes:
        arm = general_arm(n)
        links, motion = arm.links, arm.motion(*np.random.default_rng(n).normal(size=(3, n)))
        if kind is object:
            links, motion = lifted(links, float), lifted(motion, float)
        call = SimpleNamespace(evaluate=partial(kernel, links, motion))
        found[n] = timings(call, _SETTINGS)["seconds_min"]
        if found[n] > patience:
            break
    return found
