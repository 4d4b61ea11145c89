"""A family of mechanisms by one number: gallery families, or a function of a user's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.gallery import GALLERY
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import System
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.study.families import Family, check_family

FIRST = 3  # the least value of a size parameter that every mechanism of the gallery takes
SMALLEST = 16  # bodies of the members that are measured
FEWEST = 4  # of them
MOST = 1 << 20  # bodies of the largest
_LARGEST = 1 << 24  # values that are tried

Made = Mechanism | System | BlockPattern
FamilyLike = Family | str | Callable[[int], Made]


class Member(NamedTuple):
    """One mechanism of a family."""

    value: int  # of the size parameter
    n_bodies: int
    pattern: BlockPattern  # all bodies with all freedoms, all constraint rows
    positions: FloatArray | None  # (n_bodies, 3)
    system: System | None  # None where the family is one of patterns


@dataclass(frozen=True, eq=False)
class GrowingFamily:
    """What grows with one size parameter, from FIRST on."""

    name: str
    make: Callable[[int], Made]
    nearest: Callable[[int], int] | None = None  # the parameter for a number of bodies, if known

    def member(self, value: int) -> Member:
        """Return the mechanism at a value of the parameter."""
        made = self.make(value)
        if isinstance(made, BlockPattern):
            return Member(value, made.n_primal, made, None, None)
        system = made.compile() if isinstance(made, Mechanism) else made
        if not isinstance(system, System):
            raise ModelError(
                f"family {self.name!r}: its function returns {type(made).__name__} at {value}; "
                "return a Mechanism, a System or a BlockPattern"
            )
        place = system.initial_state.position
        return Member(value, system.n_bodies, kkt_structure(system).pattern, place, system)

    def parameter(self, n_bodies: int, least: int = FIRST) -> int:
        """Return the value of the parameter nearest to a number of bodies, `least` or more.

        Of functions it is the largest with no more bodies; steps double, so that members with
        many more are not made even where bodies double with every step.
        """
        if self.nearest is not None:
            return max(least, self.nearest(n_bodies))
        step = 1
        while step <= _LARGEST and self.member(least + step).n_bodies <= n_bodies:
            least, step = least + step, 2 * step
        while step > 1:
            step //= 2
            if self.member(least + step).n_bodies <= n_bodies:
                least += step
        return least


def gallery_family(name: str, parameters: Mapping[str, Any] | None = None) -> Family:
    """Return a mechanism of the gallery as a family, with parameters that stay.

    Raises
    ------
    UnknownNameError
        If the gallery has no such mechanism.
    """
    if name not in GALLERY:
        raise UnknownNameError(f"no mechanism {name!r} in the gallery; it has {', '.join(GALLERY)}")
    return Family(name, name, parameters or {})


def growing_family(family: FamilyLike) -> GrowingFamily:
    """Return a family, a gallery mechanism by name, or a function of a whole number, as one.

    Raises
    ------
    UnknownNameError
        If the gallery has no such mechanism.
    ModelError
        If it does not grow.
    """
    if isinstance(family, str):
        family = gallery_family(family)
    if isinstance(family, Family):
        check_family(family)
        return GrowingFamily(family.name, family.of_parameter, family.parameter)
    name = getattr(family, "__name__", "family")
    grown = GrowingFamily(name, family)
    first = grown.member(FIRST).n_bodies
    values = range(FIRST + 1, 8 * FIRST + 1)
    if all(grown.member(value).n_bodies <= first for value in values):
        raise ModelError(
            f"family {name!r} does not grow: {first} bodies at {FIRST}, no more up to "
            f"{values[-1]}; give a function whose mechanisms have more bodies for larger numbers"
        )
    return grown


def measured_values(grown: GrowingFamily, largest: int) -> list[int]:
    """Return the size parameters of members of 16, 32, ... bodies up to the largest.

    Raises
    ------
    ModelError
        If they are fewer than four, or the largest is too large.
    """
    if largest > MOST:
        raise ModelError(f"largest is {largest}; give {MOST} bodies or fewer")
    n = SMALLEST * 2 ** np.arange(max(1, int(np.log2(max(largest, 1) / SMALLEST)) + 1))
    values = [FIRST]
    for size in n[n <= largest]:
        values.append(grown.parameter(int(size), values[-1]))
    values = sorted(set(values[1:]))
    if len(values) < FEWEST:
        raise ModelError(
            f"family {grown.name!r} has {len(values)} of {FEWEST} sizes that are needed from "
            f"{SMALLEST} to {largest} bodies; give {SMALLEST << FEWEST} or more for the largest"
        )
    return values
