"""Certificates of growth: how fronts, entries and work of a family grow in one order, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.choice import TREE_CHOICES
from sparsebody.errors import OrderingError, UnknownNameError
from sparsebody.ordering import ORDERINGS, is_admissible, order
from sparsebody.ordering.entry import ANY_SIZE
from sparsebody.sparse.metrics import pivot_flops
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.treewidth import admissible_front_bound, front_bound
from sparsebody.study.eliminations import (
    Eliminated,
    Ordering,
    Tree,
    automatic_ordering,
    ordered,
    recursed,
)
from sparsebody.study.fits import Growth
from sparsebody.study.growing import (
    FEWEST,
    FIRST,
    FamilyLike,
    GrowingFamily,
    growing_family,
    measured_values,
)
from sparsebody.study.laws import (
    LogarithmicGrowth,
    asymptotic,
    law,
    local_exponents,
    logarithmic_growth,
)
from sparsebody.study.proofs import Proof, proof_of_bounded_fronts
from sparsebody.study.timing import Timer, timer

LARGEST = {"sparse": 4096, "loops-aba": 1024}
MEASURED = ("largest_front", "nnz_l", "flops")
_LARGEST_BOUNDED = 1_100  # bodies of members whose fronts are bounded from below
_GROWS = 0.1  # of exponents: what differs by less is taken for equal
_SMALL_BOUNDED = 130  # the same where fronts are bounded from above anyway
_NOTHING = BlockPattern(np.zeros(0, dtype=np.intp), np.zeros((0, 2), dtype=np.intp))


@dataclass(frozen=True)
class Measured:
    """What the elimination of one member takes."""

    n_bodies: int
    largest_front: int  # scalar rows
    nnz_l: int
    flops: float
    front_bound: int | None = None  # scalar rows that no order goes below, where it is known
    seconds: float | None = None  # CPU time of one evaluation of the accelerations

    @property
    def least_flops(self) -> float:
        """Operations that every order takes: a front of so many rows fills in completely."""
        return float(pivot_flops(float(self.front_bound or 0)))


@dataclass(frozen=True, eq=False)
class Certificate:
    """How a family grows in one elimination order.

    `growth` has the power laws of `largest_front`, `nnz_l`, `flops`, and `front_bound` and
    `seconds` where they are known, fitted to sizes within a factor of 16 of the largest.
    """

    family: str
    method: str  # "sparse", or "loops-aba"
    ordering: str  # of "sparse"; the tree of "loops-aba"
    asked: str  # what was asked for, such as "auto"
    sizes: tuple[Measured, ...]
    growth: dict[str, Growth]
    fill: LogarithmicGrowth | None
    proof: Proof | None
    bound_is_for: str  # the orders that `front_bound` is for

    @property
    def status(self) -> str:
        """How sure it is that fronts stay bounded, or not.

        "proved"; "conditional", as long as no new production comes; "observed".
        """
        if self.proof is None:
            return "observed"
        return "conditional" if self.proof.kind == "types" else "proved"

    @property
    def claim(self) -> str:
        """The order of growth of the work: "O(n)", "O(n^1.5)", ..."""
        return "O(n)" if self.proof is not None else f"O({law(self.growth['flops'])})"

    @property
    def width(self) -> int | None:
        """Scalar rows that no front exceeds at any size; None where that is not proved."""
        return None if self.proof is None else self.proof.width

    @property
    def local_exponents(self) -> dict[str, list[float]]:
        """The slopes between neighbouring sizes, in logarithms."""
        n = _column(self.sizes, "n_bodies")
        return {name: local_exponents(n, _column(self.sizes, name)) for name in MEASURED}

    @property
    def excess(self) -> float | None:
        """The largest front over its lower bound, at the largest size where that is known."""
        known = [one for one in self.sizes if one.front_bound]
        return known[-1].largest_front / (known[-1].front_bound or 1) if known else None

    def __str__(self) -> str:
        """In a few words: "O(n), width 15"."""
        if self.proof is not None:
            more = " if no other production comes" if self.status == "conditional" else ""
            return f"{self.claim}, width {self.width}{more}"
        fronts = law(self.growth["largest_front"])
        said = "fronts seem bounded" if fronts == "1" else f"fronts grow as {fronts}"
        return f"{self.claim}, {said}; not proved, observed"

    def lines(self) -> Iterator[str]:
        """Yield the whole certificate for people, but for its table of sizes."""
        chosen = "" if self.asked == self.ordering else f" ({self.asked})"
        yield f"{self.family}, {self.method}, {self.ordering}{chosen}: {self}"
        if self.proof is not None:
            yield f"proof by {self.proof.kind}: {self.proof.statement}"
            yield f"premise: {self.proof.premise}"
        for name, found in self.growth.items():
            yield f"{name} grows as {found}"
        if self.fill is not None and self.proof is None:
            yield f"nnz_l: {self._fill_words()}"
        yield from self._bound_lines()

    def _fill_words(self) -> str:
        assert self.fill is not None
        fill = self.fill
        n_log_n = f"n ({fill.constant:.3g} + {fill.slope:.3g} log2 n)"
        errors = f"off by {fill.error:.1%}, a power of n by {fill.power_error:.1%}"
        return f"{n_log_n} is {errors}" + (": n log n" if fill.is_better else "")

    def _bound_lines(self) -> Iterator[str]:
        known = [one for one in self.sizes if one.front_bound]
        if not known:
            return
        last = known[-1]
        yield (
            f"no {self.bound_is_for} has fronts of less than {last.front_bound} rows at "
            f"{last.n_bodies} bodies: {self.excess:.2f} times as wide here"
        )
        bound, flops = self.growth.get("front_bound"), self.growth["flops"]
        if self.proof is None and bound is not None and bound.exponent > _GROWS:
            alike = abs(3 * bound.exponent - flops.exponent) <= _GROWS
            yield (
                f"that bound grows as {bound}; such a front fills in, which takes the cube of it: "
                f"{last.least_flops:.3g} flops, of {last.flops:.3g} here"
                + (", so that no order grows more slowly" if alike else "")
            )

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return header and rows of its sizes, for people."""
        timed = any(one.seconds is not None for one in self.sizes)
        header = ("bodies", "front", "every order", "nnz(L)", "flops", "local exponents")
        local = zip(
            *(["-", *map("{:.2f}".format, v)] for v in self.local_exponents.values()), strict=True
        )
        rows = [
            (
                f"{one.n_bodies}",
                f"{one.largest_front}",
                "-" if one.front_bound is None else f"{one.front_bound}",
                f"{one.nnz_l}",
                f"{one.flops:.4g}",
                " ".join(slopes),
                *([f"{1e6 * (one.seconds or 0.0):.4g} us"] if timed else []),
            )
            for one, slopes in zip(self.sizes, local, strict=True)
        ]
        return (*header, "time") if timed else header, rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "family": self.family,
            "method": self.method,
            "ordering": self.ordering,
            "asked": self.asked,
            "claim": self.claim,
            "text": str(self),
            "status": self.status,
            "width": self.width,
            "proof": None if self.proof is None else asdict(self.proof),
            "sizes": [asdict(one) for one in self.sizes],
            "growth": {name: asdict(found) for name, found in self.growth.items()},
            "local_exponents": self.local_exponents,
            "fill": None if self.fill is None else asdict(self.fill),
            "excess": self.excess,
            "bound_is_for": self.bound_is_for,
        }


def certify(
    family: FamilyLike,
    ordering: Ordering = "auto",
    *,
    method: str = "sparse",
    tree: Tree = "minimum-fronts",
    largest: int | None = None,
    time: bool = False,
) -> Certificate:
    """Return how the elimination of a family grows, with a proof where fronts stay bounded.

    The matrix is that of all bodies with six freedoms and of all constraint rows; with fewer of
    them fronts are no wider in the same order.

    Parameters
    ----------
    family : Family, str or callable
        A gallery family, by name, or a function of a whole number, 3 or more, that returns a
        Mechanism, a System or a BlockPattern, larger ones for larger numbers.
    ordering : str or callable
        A key of ORDERINGS, a function of a BlockPattern, or "auto": what the automatic choice
        takes for the largest member.
    method : {"sparse", "loops-aba"}
        The whole graph, or the articulated-body recursion with loops, which `ordering` is not for.
    tree : str or callable
        Of "loops-aba": a key of TREE_CHOICES, or a function from a System to a SpanningTree.
    largest : int, optional
        Bodies of the largest member; default 4096, or 1024 with "loops-aba".
    time : bool
        Measure the accelerations, too.

    Raises
    ------
    UnknownNameError, MissingDependencyError
        For a mechanism, an ordering, a method or a tree that is not there.
    ModelError
        If the family does not grow, or not to four sizes up to the largest.
    OrderingError
        If the ordering takes fewer than four of these.
    """
    check_method(method, ordering, tree)
    grown = growing_family(family)
    values = measured_values(grown, LARGEST[method] if largest is None else largest)
    if method == "sparse":
        name = _name(ordering)
        values = _taken(grown, values, name)
        if ordering == "auto":
            ordering = automatic_ordering(grown.member(values[-1]))
        at = partial(ordered, ordering=ordering)
        label = _name(ordering)
    else:
        name = label = _name(tree)
        at = partial(recursed, choice=tree)
    eliminated = [at(grown.member(value)) for value in values]
    seconds = timer(method, ordering, tree) if time else None
    proof = proof_of_bounded_fronts(lambda value: at(grown.member(value)), FIRST, eliminated)
    most = _LARGEST_BOUNDED if proof is None else _SMALL_BOUNDED
    sizes = tuple(_measured(one, most, seconds) for one in eliminated)
    return Certificate(
        family=grown.name,
        method=method,
        ordering=label,
        asked=name,
        sizes=sizes,
        growth=_growth(sizes),
        fill=logarithmic_growth(*(_column(sizes, name) for name in ("n_bodies", "nnz_l"))),
        proof=proof,
        bound_is_for="admissible order" if _is_admissible(eliminated[-1]) else "order",
    )


def check_method(method: str, ordering: Ordering, tree: Tree) -> None:
    """Raise UnknownNameError or MissingDependencyError for a name that is not there."""
    if method not in LARGEST:
        raise UnknownNameError(f"method is {method!r}; give one of {', '.join(LARGEST)}")
    if method == "sparse" and isinstance(ordering, str) and ordering != "auto":
        order(_NOTHING, ordering)
    if method != "sparse" and isinstance(tree, str) and tree not in TREE_CHOICES:
        raise UnknownNameError(f"tree is {tree!r}; give one of {', '.join(TREE_CHOICES)}")


def _taken(grown: GrowingFamily, values: list[int], ordering: str) -> list[int]:
    """Return the values at which the members are not too large for an ordering."""
    most = ORDERINGS[ordering].largest if ordering in ORDERINGS else ANY_SIZE
    taken = [value for value in values if grown.member(value).pattern.n_blocks <= most]
    if len(taken) < FEWEST:
        raise OrderingError(
            f"the ordering {ordering} takes {most} bodies and joints at most, which is too few to "
            f"see how {grown.name!r} grows; give another ordering"
        )
    return taken


def _name(choice: Ordering | Tree) -> str:
    return choice if isinstance(choice, str) else getattr(choice, "__name__", "own")


def _is_admissible(one: Eliminated) -> bool:
    return one.order is not None and is_admissible(one.member.pattern, one.order)


def _measured(one: Eliminated, most: int, seconds: Timer | None) -> Measured:
    """Return the numbers of one member, its lower bound if it has `most` bodies at most."""
    member, bound = one.member, None
    if one.order is not None and member.n_bodies <= most:
        bound_of = admissible_front_bound if _is_admissible(one) else front_bound
        bound = int(bound_of(member.pattern))
    return Measured(
        n_bodies=member.n_bodies,
        largest_front=one.largest_front,
        nnz_l=one.nnz_l,
        flops=one.flops,
        front_bound=bound,
        seconds=None if seconds is None else seconds(member),
    )


def _growth(sizes: Sequence[Measured]) -> dict[str, Growth]:
    """Return the power laws of all that is known at two sizes at least."""
    found = {}
    for name in (*MEASURED, "front_bound", "seconds"):
        known = [one for one in sizes if getattr(one, name) is not None]
        law_of_name = asymptotic(_column(known, "n_bodies"), _column(known, name))
        if law_of_name is not None:
            found[name] = law_of_name
    return found


def _column(sizes: Sequence[Measured], name: str) -> FloatArray:
    return np.array([getattr(one, name) for one in sizes], dtype=float)
