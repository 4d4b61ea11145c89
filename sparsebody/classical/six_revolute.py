"""The arm of six parallel revolute joints by which Liu (2011) shows the spatial operator algebra.

Its table of Denavit-Hartenberg parameters (modified: the length of a row lies before its joint)
goes from the tip to the base, and numbers joints and lengths from the base. M(2) and phi(2) are
printed with the length L1 and for bodies numbered from the tip; the symbols here are those of the
print, where body k has the length with the number k - 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, numbers
from sparsebody.classical.algorithms import Algorithm
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import Links, Motion, link_transforms
from sparsebody.classical.counting import lifted
from sparsebody.classical.operators import SpatialOperators, body_masses, shift_operators
from sparsebody.errors import ModelError, check_name
from sparsebody.spatial import rod_inertia

N = 6
BODIES = ("points", "rods")


class Row(NamedTuple):
    """A row of the printed table; "w" is what it leaves open, at the tip."""

    theta: str
    D: str
    a: str
    alpha: str


TABLE = (
    Row("w", "0", "L6", "w"),
    *(Row(f"theta{k}", "0", f"L{k - 1}", "0") for k in range(6, 1, -1)),
    Row("theta1", "0", "0", "0"),
)


def six_revolute_arm(bodies: str = "points", length: float = 1.0, mass: float = 2.0) -> Arm:
    """Return the arm without gravity, which the paper does not mention.

    `bodies`: "points", masses at the ends of the links as in the printed M(2), or "rods", slender
    and uniform; `length` [m] and `mass` [kg] of every link. Raises UnknownNameError if there are no
    such bodies, ModelError if none can have that mass.
    """
    check_name(bodies, BODIES, "bodies")
    center, inertia = length, np.zeros((3, 3))
    if bodies == "rods":
        center, inertia = length / 2.0, rod_inertia(mass, length, [1.0, 0.0, 0.0])
    values = {"0": 0.0} | {f"L{k}": length for k in range(1, N + 1)}
    arm = Arm.from_dh(
        [[0.0, values[row.D], values[row.a], values[row.alpha]] for row in TABLE[:0:-1]],
        [mass] * N,
        [[center, 0.0, 0.0]] * N,
        [inertia] * N,
        convention="modified",
        gravity=[0.0, 0.0, 0.0],
    )
    return replace(arm, tip_length=values[TABLE[0].a])


def six_revolute_symbols(*, straight: bool = False) -> SpatialOperators:
    """Return the operators of the arm with point masses in symbols.

    L0, L1, ... are lengths, m(1), ... masses, c(1), s(1), ... cosines and sines of the joint
    angles, body by body from the tip; where it is straight they are 1 and 0.
    """
    links = _symbolic_links(six_revolute_arm())
    if straight:
        cosine, sine = array_of([1] * N, (N,)), array_of([0] * N, (N,))
    else:
        cosine, sine = (array_of(_named(name), (N,)) for name in ("c({})", "s({})"))
    nothing = array_of([0] * N, (N,))
    transforms = link_transforms(links, cosine, sine, nothing)
    others = (np.full(shape, nothing[0]) for shape in ((N, 4), N, N, (N, 6), 3))
    tip = shift_operators(array_of([symbol("L0"), 0, 0], (1, 3)))[0]
    return SpatialOperators(links, Motion(*transforms, *others), N - 1, tip)


def _symbolic_links(arm: Arm) -> Links:
    """Return the constants of the links with symbols for lengths and masses."""
    names = _named("L{}")[1:]  # of links between joints; link i is the body N - i
    mass, length = array_of(_named("m({})"), (N,)), array_of([0, *names], (N,))
    ends = [x for name in (*names, symbol("L0")) for x in (name, 0, 0)]
    com, inertia = array_of(ends, (N, 3)), array_of([0] * 9 * N, (N, 3, 3))
    links = lifted(arm.links, constant)
    return links._replace(
        mass=mass,
        com=com,
        length=length,
        inertia=inertia,
        moment=mass[:, None] * com,
        spatial_inertia=body_masses(mass, com, inertia),
    )


def _named(pattern: str) -> list[object]:
    """Return symbols numbered from body N at the base to body 1 at the tip."""
    return [symbol(pattern.format(k)) for k in range(N, 0, -1)]


def sine_torques(arm: Arm, times: ArrayLike, algorithm: Algorithm) -> FloatArray:
    """Return joint forces (times, n) for q_i = sin t in every joint, by inverse dynamics."""
    if algorithm.is_forward:
        raise ModelError(f"{algorithm.name} is forward dynamics; give one that finds forces")
    t = np.atleast_1d(numbers(times, "arm: times"))
    motions = np.stack([np.sin(t), np.cos(t), -np.sin(t)], axis=1)
    return np.array([algorithm(arm, *np.tile(at[:, None], arm.n)) for at in motions])


# ---- polynomials in named symbols: numbers on which formulas run to be read ----------------------

Monomial = tuple[tuple[str, int], ...]  # symbols with their powers, by name


class Expression:
    """A polynomial in symbols with exact coefficients; `terms` has (("L", 2), ("m", 1)) for L^2 m.

    Examples
    --------
    >>> L, m = symbol("L"), symbol("m")
    >>> L * L * m - 2 * m + 1
    L^2 m - 2 m + 1
    >>> ((L + m) * (L - m))({"L": 3.0, "m": 1.0})
    8.0
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, Any]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c != 0}

    def __call__(self, values: Mapping[str, float]) -> float:
        """Return the value where the symbols have these; ModelError if one is missing."""
        for name in sorted({name for monomial in self.terms for name, _ in monomial}):
            if name not in values:
                raise ModelError(f"symbol {name!r} has no value; give it a number")
        return sum(
            (float(c) * prod(values[name] ** power for name, power in monomial))
            for monomial, c in self.terms.items()
        )

    def __repr__(self) -> str:
        text = ""
        for monomial, c in sorted(self.terms.items(), key=_by_degree):
            powers = (name if power == 1 else f"{name}^{power}" for name, power in monomial)
            size, letters = abs(c), " ".join(powers)
            sign = " - " if c < 0 else " + "
            text += sign + " ".join(
                x for x in ("" if size == 1 and letters else str(size), letters) if x
            )
        first = text[:3].replace(" ", "").replace("+", "")
        return first + text[3:] if text else "0"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression | int | float | Fraction) and not (self - other).terms

    def __hash__(self) -> int:
        is_number = self.terms.keys() <= {()}
        return hash(self.terms.get((), 0) if is_number else frozenset(self.terms.items()))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __neg__(self) -> Expression:
        return Expression({monomial: -c for monomial, c in self.terms.items()})

    def __add__(self, other: Any) -> Expression:
        terms = dict(self.terms)
        for monomial, c in _expression(other).terms.items():
            terms[monomial] = terms.get(monomial, 0) + c
        return Expression(terms)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Expression:
        return self + -_expression(other)

    def __rsub__(self, other: Any) -> Expression:
        return _expression(other) - self

    def __mul__(self, other: Any) -> Expression:
        terms: dict[Monomial, Any] = {}
        for left, c in self.terms.items():
            for right, d in _expression(other).terms.items():
                monomial = tuple(sorted((Counter(dict(left)) + Counter(dict(right))).items()))
                terms[monomial] = terms.get(monomial, 0) + c * d
        return Expression(terms)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> Expression:
        if isinstance(number, Expression):
            return NotImplemented  # no polynomial
        return self * (1 / Fraction(number))

    def __pow__(self, power: int) -> Expression:
        if not isinstance(power, int) or power < 0:
            return NotImplemented
        return prod([self] * power, start=constant(1))


def symbol(name: str) -> Expression:
    """Return the expression that is one symbol."""
    return Expression({((name, 1),): 1})


def constant(value: float) -> Expression:
    """Return a number as an expression; a float becomes the fraction that it is."""
    exact = Fraction(value)
    return Expression({(): int(exact) if exact.denominator == 1 else exact})


def array_of(values: Iterable[Any], shape: tuple[int, ...]) -> FloatArray:
    """Return expressions and numbers as an array of objects."""
    expressions = np.empty(shape, dtype=object)
    expressions.ravel()[:] = [_expression(value) for value in values]
    return expressions


def _expression(value: Any) -> Expression:
    return value if isinstance(value, Expression) else constant(value)


def _by_degree(term: tuple[Monomial, Any]) -> tuple[int, Monomial]:
    return -sum(power for _, power in term[0]), term[0]
