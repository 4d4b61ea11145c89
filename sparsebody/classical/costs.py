"""Costs of the algorithms over the number of joints: operations, as polynomials, and CPU times.

Operations are counted by running each algorithm on numbers that count their arithmetic.
"""

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from importlib import resources
from itertools import pairwise
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical import algorithms, arm_links
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import IS_COMPILED, Links, Motion, kernel
from sparsebody.classical.counting import Counted, Tally, converted, converted_array, interpreted
from sparsebody.errors import ShapeError, check_name
from sparsebody.plots.curves import Line
from sparsebody.study import Growth, growth, measure, plan

SMALLEST = 3  # joints from which on a polynomial holds: the first two links move less freely
_CHECKS = 2  # sizes at which a fitted polynomial is checked


def general_arm(n: int) -> Arm:
    """Return n revolute joints in general position: no parameter is 0 or 1, gravity along x."""
    rng = np.random.default_rng(n)
    table = rng.uniform(0.2, 0.8, size=(n, 4))
    inertia = np.diag([0.3, 0.4, 0.5]) + 0.02 * (np.ones((3, 3)) - np.eye(3))
    com = rng.uniform(0.1, 0.3, size=(n, 3))
    mass = rng.uniform(1.5, 2.5, size=n)
    return Arm.from_dh(table, mass, com, [inertia] * n, convention="modified")


def planar_arm(n: int) -> Arm:
    """Return n parallel joints 1 m apart with masses of 2 kg at their ends, as in Liu (2011)."""
    table = [[0.0, 0.0, 1.0, 0.0]] * n
    nothing = np.zeros((n, 3))
    return Arm.from_dh(table, [2.0] * n, nothing, nothing, gravity=[0.0, 0.0, 0.0])


def right_angled_arm(n: int) -> Arm:
    """Return revolute joints, each at a right angle to the next, 0.4 m away."""
    table = [[0.0, 0.0, 0.4, np.pi / 2]] * n
    com = [[0.1, 0.2, 0.3]] * n
    return Arm.from_dh(table, [1.5] * n, com, [[0.3, 0.4, 0.5]] * n)


GEOMETRIES: dict[str, Callable[[int], Arm]] = {
    "general": general_arm,
    "right-angled": right_angled_arm,
    "planar": planar_arm,
}


def count(algorithm: algorithms.Algorithm, arm: Arm) -> Tally:
    """Return the operations of one run, from the rotations and translations of the joints on."""
    tally = Tally()
    links, motion, _ = _counted(arm, tally)
    before = replace(tally)
    interpreted(algorithm.kernel)(links, motion)
    return tally - before


def transform_products(geometry: str = "general", n: int = 6) -> dict[str, int]:
    """Return the products of cosines and sines that algorithms start from, on an arm of n links."""
    check_name(geometry, GEOMETRIES, "geometry")
    tally = Tally()
    *_, rotations = _counted(GEOMETRIES[geometry](n), tally)
    of_euler = tally.multiplications - rotations
    return {"rotations and translations": rotations, "Euler parameters": of_euler}


def _counted(arm: Arm, tally: Tally) -> tuple[arm_links.Links, arm_links.Motion, int]:
    """Return counted links and a motion in general position, and the products of rotations."""

    def known(x: float) -> Counted:
        return Counted(x, tally, is_constant=True)

    def unknown(values: FloatArray) -> FloatArray:
        return converted_array(values, lambda x: Counted(x, tally))

    n, links = arm.n, converted(arm.links, known)
    q = np.random.default_rng(n).uniform(0.2, 0.8, size=n)
    turns, half_turns = ((unknown(np.cos(x)), unknown(np.sin(x))) for x in (q, q / 2.0))
    transforms = arm_links.link_transforms(links, *turns, converted_array(arm.offset, known))
    rotations = tally.multiplications
    euler, gravity = arm_links.euler_parameters(links, *half_turns), arm.gravity + 0.0
    loads = np.full((n, 6), known(0.0)), converted_array(gravity, known)
    return links, arm_links.Motion(*transforms, euler, unknown(q), unknown(q), *loads), rotations


@dataclass(frozen=True)
class Polynomial:
    """coefficients[0] + coefficients[1] n + ..., exact."""

    coefficients: tuple[Fraction, ...]

    def __call__(self, n: int) -> Fraction:
        """Return its value."""
        return sum((c * n**k for k, c in enumerate(self.coefficients)), Fraction(0))

    @property
    def degree(self) -> int:
        """The highest power of n."""
        return len(self.coefficients) - 1

    def __str__(self) -> str:
        """As a paper prints it, the highest power first.

        Examples
        --------
        >>> str(Polynomial((Fraction(-48), Fraction(0), Fraction(7, 3))))
        '7/3 n^2 - 48'
        """
        words = ""
        for power in range(self.degree, -1, -1):
            c = self.coefficients[power]
            if c:
                sign = ("-" if c < 0 else "") if not words else (" - " if c < 0 else " + ")
                n = "n" if power == 1 else f"n^{power}"
                size = "" if abs(c) == 1 and power else str(abs(c))
                words += sign + " ".join(part for part in (size, n if power else "") if part)
        return words or "0"


@dataclass(frozen=True)
class Counts:
    """Multiplications and additions of an algorithm as polynomials in the number of joints."""

    algorithm: str
    geometry: str
    multiplications: Polynomial  # without those by known numbers 0, 1 and -1
    additions: Polynomial
    all_multiplications: Polynomial  # all that the formulas write
    all_additions: Polynomial
    smallest: int = SMALLEST  # number of joints from which on they hold

    def polynomials(self, *, every_operation: bool) -> tuple[Polynomial, Polynomial]:
        """Return multiplications and additions, with or without those by known numbers."""
        if every_operation:
            return self.all_multiplications, self.all_additions
        return self.multiplications, self.additions

    def total(self, n: int) -> float:
        """Return all operations that are done for n joints, those by known numbers left out."""
        return float(self.multiplications(n) + self.additions(n))

    def to_dict(self) -> dict[str, Any]:
        """Return the polynomials as strings."""
        return {key: str(value) for key, value in vars(self).items()} | {"smallest": self.smallest}


def counted(algorithm: algorithms.Algorithm, geometry: str = "general") -> Counts:
    """Return the counts of an algorithm on arms of a geometry, for n = 3 (or 4) and more joints."""
    check_name(geometry, GEOMETRIES, "geometry")
    arms, many = GEOMETRIES[geometry], algorithm.growth + _CHECKS + 1
    tallies = {n: count(algorithm, arms(n)) for n in range(SMALLEST, SMALLEST + many)}
    try:
        return _exact_counts(algorithm.name, geometry, tallies)
    except ShapeError:  # known zeros at the tip still count one link further in
        del tallies[SMALLEST]
        tallies[SMALLEST + many] = count(algorithm, arms(SMALLEST + many))
        return _exact_counts(algorithm.name, geometry, tallies)


def _exact_counts(name: str, geometry: str, tallies: Mapping[int, Tally]) -> Counts:
    tables = np.array([tally.values for tally in tallies.values()])
    columns = *tables[:, :2].T, *(tables[:, :2] + tables[:, 2:]).T
    products, sums, all_products, all_sums = (
        exact_polynomial(dict(zip(tallies, column.tolist(), strict=True)), checks=_CHECKS)
        for column in columns
    )
    return Counts(name, geometry, products, sums, all_products, all_sums, min(tallies))


def exact_polynomial(values: Mapping[int, int], checks: int = 2) -> Polynomial:
    """Return the polynomial of least degree through all values by size.

    The `checks` largest sizes are left out of the fit, and must agree with it. Raises ShapeError if
    there are too few sizes, or no polynomial of so low a degree goes through all.

    Examples
    --------
    >>> str(exact_polynomial({n: 3 * n * n - 2 for n in range(1, 6)}))
    '3 n^2 - 2'
    """
    sizes = sorted(values)
    if len(sizes) <= checks:
        raise ShapeError(
            f"there are counts at {len(sizes)} sizes; count at {checks + 1} or more, of which "
            f"{checks} are to check with"
        )
    for degree in range(len(sizes) - checks):
        polynomial = _interpolated({n: values[n] for n in sizes[: degree + 1]})
        if all(polynomial(n) == values[n] for n in sizes):
            return polynomial
    raise ShapeError(
        f"the counts {list(values.values())} at n = {sizes} are no polynomial in n of degree "
        f"{len(sizes) - checks - 1} or less; count at more sizes, or leave out the smallest"
    )


def _interpolated(values: Mapping[int, int]) -> Polynomial:
    """Return Newton's interpolation polynomial, by divided differences, expanded as by Horner."""
    sizes, differences = list(values), [Fraction(value) for value in values.values()]
    for k in range(1, len(sizes)):
        pairs = enumerate(pairwise(differences[k - 1 :]), start=k)
        differences[k:] = [(b - a) / (sizes[i] - sizes[i - k]) for i, (a, b) in pairs]
    total: list[Fraction] = []
    for n, c in zip(reversed(sizes), reversed(differences), strict=True):
        total = [a - n * b for a, b in zip([c, *total], [*total, Fraction(0)], strict=True)]
    return Polynomial(tuple(total))


# ---- published counts beside these, and why they differ ------------------------------------------

Pair = tuple[int, int]


@dataclass(frozen=True)
class Published:
    """A published count of multiplications and additions for n joints in general position."""

    label: str
    algorithm: str  # of ALGORITHMS; "" if it is not implemented
    multiplications: Polynomial | None
    additions: Polynomial | None
    printed: Pair | None  # at n = 6
    every_operation: bool  # whether the paper counts operations by constants 0 and 1 as well
    remark: str


def _published() -> Iterator[Published]:
    text = resources.files(__package__).joinpath("published_counts.toml").read_text("utf-8")
    for row in tomllib.loads(text)["published"]:
        for key in ("multiplications", "additions"):  # from the highest power on, if known
            exact = tuple(map(Fraction, reversed(row.get(key, ()))))
            row[key] = Polynomial(exact) if exact else None
        yield Published(**(row | {"printed": tuple(row["printed"]) if "printed" in row else None}))


PUBLISHED = tuple(_published())
PRINTED_AT = 6  # joints


@dataclass(frozen=True)
class Comparison:
    """A published count for six joints beside the one that was counted."""

    published: Published
    counts: Counts | None  # None if the algorithm is not implemented

    @property
    def counted(self) -> Pair | None:
        """Multiplications and additions, with those by constant 0 or 1 if the paper counts them."""
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
        """Counted over printed numbers, or over those of the formula where none are printed."""
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
    """Return the published counts of these algorithms and, by default, of others, beside ours."""
    return [
        Comparison(published, counts.get(published.algorithm))
        for published in PUBLISHED
        if published.algorithm in counts or (all_published and not published.algorithm)
    ]


# ---- CPU times, compiled and in plain Python --------------------------------------------------


LARGEST = {1: 4096, 2: 2048, 3: 512, 4: 64}  # joints by growth, unless sizes are given
_FIRST_SIZE = 4
_FITTED = 3  # the largest sizes, to which exponents are fitted
_PATIENCE = {"compiled": 0.02, "python": 0.05}  # of one call [s], beyond which n does not grow
_RESOLUTION = 1e-8  # [s]
_SETTINGS = plan.Settings(repeats=7, batch_seconds=0.001, longest=0.1)


Times = dict[int, float]  # by numbers of joints


@dataclass(frozen=True, eq=False)
class Cost:
    """What an algorithm costs on arms of revolute joints in general position."""

    algorithm: str
    operations: Counts
    compiled: Times  # joints -> least CPU time [s] of one call from compiled code;
    #   empty without Numba
    python: Times

    @property
    def counted(self) -> Times:
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


def measured(algorithm: algorithms.Algorithm, counts: Counts, sizes: Sequence[int] = ()) -> Cost:
    """Return the cost of an algorithm; without `sizes`, doubled ones until a call takes long."""
    doublings = (LARGEST[algorithm.growth] // _FIRST_SIZE).bit_length()
    chosen = sizes or [_FIRST_SIZE * 2**k for k in range(doublings)]
    patience = dict.fromkeys(_PATIENCE, math.inf) if sizes else _PATIENCE
    compiled, plain = algorithm.kernel, interpreted(algorithm.kernel)

    def compiled_time(n: int) -> float:
        return max(_least_time(partial(compiled, *_instant(n))) - _call_time(), _RESOLUTION)

    def python_time(n: int) -> float:
        return _least_time(partial(plain, *(converted(part, float) for part in _instant(n))))

    compiled_times = _times(compiled_time, chosen, patience["compiled"]) if IS_COMPILED else {}
    python_times = _times(python_time, chosen, patience["python"])
    return Cost(algorithm.name, counts, compiled_times, python_times)


def fitted(values: Times) -> Growth | None:
    """Return the power of n through the largest sizes; None with fewer than two sizes."""
    sizes, times = np.array(sorted(values.items()), dtype=float).reshape(-1, 2)[-_FITTED:].T
    return growth(sizes, times) if values else None


def _times(time_of: Callable[[int], float], sizes: Sequence[int], patience: float) -> Times:
    """Return times by size, until a call takes long."""
    times: Times = {}
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
    call = partial(_nothing, *_instant(_FIRST_SIZE))
    return min(_least_time(call) for _ in range(5))


@kernel
def _nothing(links: Links, motion: Motion) -> FloatArray:
    """Return an array (n,), as algorithms do."""
    return np.empty(motion.qd.size)


def _least_time(call: Callable[[], Any]) -> float:
    """Return the least CPU time of one call over some batches [s]; of a long one over few calls."""
    return float(measure.timings(measure.Prepared(call, call), _SETTINGS)["seconds_min"])


def cost_panels(costs: Sequence[Cost]) -> dict[str, list[Line]]:
    """Return the lines of operations and of both times, with the fitted powers."""
    panels = {
        "operations": [_line(cost, cost.counted) for cost in costs],
        "compiled: CPU time [s]": [_line(cost, cost.compiled) for cost in costs if cost.compiled],
        "Python: CPU time [s]": [_line(cost, cost.python) for cost in costs],
    }
    return {title: lines for title, lines in panels.items() if lines}


def _line(cost: Cost, values: Times) -> Line:
    n, y = np.array(sorted(values.items()), dtype=float).T
    fit = fitted(values)
    ends = np.empty(0) if fit is None else np.array([fit.smallest, fit.largest])
    at_ends = ends if fit is None else fit(ends)
    powers = ", ".join(f"{p:.1f}" for p in cost.exponents.values() if not np.isnan(p))
    return Line(f"{cost.algorithm} (n^{powers})", n, y, ends, at_ends)
