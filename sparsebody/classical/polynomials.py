"""Operation counts as exact polynomials in the number of joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sparsebody.errors import ShapeError


@dataclass(frozen=True)
class Polynomial:
    """coefficients[0] + coefficients[1] n + ..., exact."""

    coefficients: tuple[Fraction, ...]

    def __call__(self, n: int) -> Fraction:
        """Return its value."""
        total = Fraction(0)
        for coefficient in reversed(self.coefficients):
            total = total * n + coefficient
        return total

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


def exact_polynomial(values: Mapping[int, int], checks: int = 2) -> Polynomial:
    """Return the polynomial of least degree through all values, found from all but some of them.

    Parameters
    ----------
    values : dict of int to int
        Counts by size.
    checks : int
        How many of the largest sizes must be met without having been used.

    Raises
    ------
    ShapeError
        If there are too few sizes, or no polynomial of so low a degree goes through all.

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
    """Newton's divided differences, expanded."""
    sizes = list(values)
    table = [Fraction(values[n]) for n in sizes]
    total, product = [Fraction(0)] * len(sizes), [Fraction(1)]
    for k in range(len(sizes)):
        for power, c in enumerate(product):
            total[power] += table[0] * c
        shifted = [Fraction(0), *product]
        product = [a - sizes[k] * b for a, b in zip(shifted, [*product, Fraction(0)], strict=True)]
        table = [
            (table[i + 1] - table[i]) / (sizes[i + k + 1] - sizes[i]) for i in range(len(table) - 1)
        ]
    while len(total) > 1 and total[-1] == 0:
        total.pop()
    return Polynomial(tuple(total))
