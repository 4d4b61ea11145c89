"""Published operation counts beside counted ones, and why they differ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sparsebody.classical.counts import Counts
from sparsebody.classical.polynomials import Polynomial

Pair = tuple[int, int]


@dataclass(frozen=True)
class Published:
    """A published count of multiplications and additions.

    Formulas hold for n joints in general position; `printed` is what tables print for n = 6, which
    need not be the formula's value. `remark` is one sentence on how what is counted differs.
    """

    label: str
    algorithm: str  # of ALGORITHMS; "" if it is not implemented
    multiplications: Polynomial | None
    additions: Polynomial | None
    printed: Pair | None  # at n = 6
    every_operation: bool  # whether the paper counts operations by known 0 and 1 as well
    remark: str


def _polynomial(*coefficients: str | int) -> Polynomial:
    """Of coefficients, the highest power first."""
    return Polynomial(tuple(Fraction(c) for c in reversed(coefficients)))


PUBLISHED: tuple[Published, ...] = (
    Published(
        "Uicker/Kahn",
        "uicker-kahn",
        _polynomial("65/2", "1037/12", "685/4", "160/3", -128),
        _polynomial(25, "199/3", "259/2", "127/3", -96),
        (66271, 51548),
        True,
        "The n^4 terms agree: for every i, j, k, l two full 4x4 products, a trace and two products "
        "by rates; of the n^3 / 3 traces that multiply qdd, 128 products and 99 sums each, the "
        "published n^3 terms hold n^3 / 12 products and nothing else, and the printed 66271 is not "
        "the 67143 of the formula.",
    ),
    Published(
        "Waters",
        "waters",
        None,
        _polynomial(82, 514, -384),
        (7051, 5652),
        True,
        "Three full 4x4 products for each pair of joints in both; the n^2 terms differ by one sum "
        "a pair, since gravity meets vectors of three here and not of four.",
    ),
    Published(
        "Hollerbach 4x4",
        "hollerbach-4x4",
        _polynomial(830, -592),
        _polynomial(675, -464),
        (4388, 3586),
        True,
        "Eleven full 4x4 products a link here; the 25 products and 33 sums more in the published "
        "slopes are not broken down (a reprint with 30 n - 592 has lost a digit).",
    ),
    Published(
        "Hollerbach 3x3",
        "hollerbach-3x3",
        _polynomial(412, -277),
        _polynomial(320, -201),
        (2195, 1719),
        True,
        "Of the product under the last trace only the diagonal is computed here, 18 products less "
        "a link; the source at hand does not break down the rest.",
    ),
    Published(
        "Vukobratovic/Stepanenko",
        "vukobratovic-stepanenko",
        None,
        None,
        (2907, 2068),
        True,
        "The four stages are counted on spatial vectors with X and I as full 6x6 matrices; the "
        "published numbers are for the original on 3-vectors, whose steps are not given.",
    ),
    Published(
        "Walker/Orin",
        "walker-orin-1",
        None,
        None,
        (1771, 1345),
        False,
        "Taken as method 1, n + 1 inverse dynamics and one solution; the source does not tell "
        "which method it counted, and method 2 needs less than the printed numbers.",
    ),
    Published(
        "Walker/Orin, method 3",
        "walker-orin-3",
        _polynomial("1/6", "23/2", "115/3", -47),
        _polynomial("1/6", 7, "233/6", -46),
        None,
        False,
        "The formula, recalled and not checked, is that of H and the solution alone, whereas what "
        "is counted includes the bias forces by inverse dynamics, without which 816 and 626 are "
        "left: composite inertias are turned by whole rotations here.",
    ),
    Published(
        "Walker/Orin, inverse dynamics",
        "luh-walker-paul",
        _polynomial(137, -22),
        _polynomial(101, -11),
        (800, 595),
        False,
        "The same recursion; here the known zero of each rotation and all zeros of the first two "
        "links are left out, and the published steps, which are recalled, are not at hand.",
    ),
    Published(
        "Luh/Walker/Paul",
        "luh-walker-paul",
        _polynomial(150, -48),
        _polynomial(131, -48),
        (792, 662),
        True,
        "Vectors fixed in a link are constants in its axes here; the 28 products and 25 sums more "
        "in the published slopes are not broken down, nor do 792 and 662 follow from the formulas.",
    ),
    Published(
        "Luh/Walker/Paul, refitted",
        "luh-walker-paul",
        _polynomial(150, -108),
        _polynomial(131, -124),
        (792, 662),
        True,
        "Constants fitted to the printed 792 and 662 with the published slopes: no paper has these "
        "formulas, and the slopes differ from what is counted as above.",
    ),
    Published(
        "Newton-Euler (Featherstone 2008)",
        "luh-walker-paul",
        _polynomial(130, -68),
        _polynomial(100, -56),
        None,
        False,
        "The formula is recalled, not checked, and turns spatial vectors about z and x one after "
        "the other; here vectors of three are turned by whole rotations of which one element is 0, "
        "and the first two links move less freely.",
    ),
    Published(
        "Balafoutis/Patel/Misra",
        "balafoutis-patel-misra",
        _polynomial(93, -69),
        _polynomial(81, -66),
        (489, 420),
        False,
        "Six products and eight sums more a link here, as many products as m c times the "
        "acceleration of the link's origin takes; the published steps are not at hand.",
    ),
    Published(
        "Gibbs-Appell (Popov)",
        "gibbs-appell",
        _polynomial("7/3", 27, "722/3", 9),
        _polynomial("10/3", "43/2", "931/6", 6),
        (2929, 2500),
        True,
        "H is symmetric and masses are multiplied once a pair here, so that a triple of links "
        "takes six products and not fourteen; the printed 2500 additions are 2431 by the formula.",
    ),
    Published(
        "Spatial operators (Liu)",
        "spatial-operators",
        None,
        None,
        (800, 596),
        False,
        "The printed numbers are, but for one sum, the 137 n - 22 and 101 n - 11 of Newton-Euler "
        "in general position, of which known zeros of rotations and of the first two links are "
        "left out here; on the planar arm of the paper 98 and 77 are enough.",
    ),
    Published(
        "Articulated bodies (Featherstone 1987)",
        "spatial-operators-forward",
        _polynomial(300, -267),
        _polynomial(279, -259),
        None,
        False,
        "The formula is recalled, not checked; here inertias are turned by whole rotations, a "
        "symmetric block as one with 27 + 18 products.",
    ),
    Published(
        "Articulated bodies (Featherstone 2008)",
        "spatial-operators-forward",
        _polynomial(224, -259),
        _polynomial(205, -248),
        None,
        False,
        "The formula is recalled, not checked, and turns inertias about z and x one after the "
        "other, which takes fewer products than the whole rotations here.",
    ),
    Published(
        "Composite bodies (Featherstone 2008)",
        "",
        _polynomial(10, 22, -32),
        _polynomial(6, 37, -43),
        None,
        False,
        "Not implemented alone: H without the rest of forward dynamics, which walker-orin-3 finds "
        "of composite bodies, too; the formula is recalled, not checked.",
    ),
    Published(
        "Kane (Ma/Xu)",
        "kane",
        None,
        None,
        (1020, 851),
        False,
        "Rotating a vector by Euler parameters takes 18 products instead of 9, and the source does "
        "not say how the partial velocities are shared.",
    ),
    Published(
        "Vukobratovic/Potkonjak",
        "",
        None,
        None,
        (37189, 5652),
        True,
        "Not implemented; its 5652 additions are those of Waters, so that the row seems to mix two "
        "methods.",
    ),
    Published(
        "Renaud",
        "",
        None,
        None,
        (992, 776),
        True,
        "Not implemented; only these numbers are at hand.",
    ),
    Published(
        "Wang/Ravani",
        "",
        None,
        None,
        (1659, 1252),
        True,
        "Not implemented; only these numbers are at hand.",
    ),
    Published(
        "Khalil/Kleinfinger",
        "",
        _polynomial(105, -92),
        _polynomial(94, -86),
        (538, 478),
        False,
        "Not implemented; recursive Newton-Euler with inertias regrouped into base parameters, "
        "the formula recalled and not checked.",
    ),
)


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
