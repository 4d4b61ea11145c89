"""Polynomials in named symbols: numbers on which formulas run to be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError

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
            size, letters = abs(c), " ".join(_power(*factor) for factor in monomial)
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


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"
