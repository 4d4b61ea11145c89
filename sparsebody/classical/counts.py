"""Operations of every algorithm, counted by running it and put as polynomials in n."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.algorithm import Algorithm
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import (
    Links,
    Motion,
    empty_motion,
    fill_euler_parameters,
    fill_transforms,
)
from sparsebody.classical.counting import Counted, Tally, interpreted, lifted, lifted_array
from sparsebody.classical.polynomials import Polynomial, exact_polynomial
from sparsebody.errors import ShapeError, UnknownNameError

SMALLEST = 3  # joints from which on a polynomial holds: the first two links move less freely
_CHECKS = 2  # sizes beyond those that a polynomial is found from


def general_arm(n: int) -> Arm:
    """Return n hinges in general position: no parameter is 0 or 1, gravity along the first axis."""
    rng = np.random.default_rng(n)
    table = rng.uniform(0.2, 0.8, size=(n, 4))
    inertia = np.diag([0.3, 0.4, 0.5]) + 0.02 * (np.ones((3, 3)) - np.eye(3))
    com = rng.uniform(0.1, 0.3, size=(n, 3))
    mass = rng.uniform(1.5, 2.5, size=n)
    return Arm.from_dh(table, mass, com, [inertia] * n, convention="modified")


def planar_arm(n: int) -> Arm:
    """Return n parallel hinges 1 m apart with masses of 2 kg at their ends, as in Liu (2011)."""
    table = [[0.0, 0.0, 1.0, 0.0]] * n
    nothing = np.zeros((n, 3))
    return Arm.from_dh(table, [2.0] * n, nothing, nothing, gravity=[0.0, 0.0, 0.0])


def right_angled_arm(n: int) -> Arm:
    """Return hinges of which each is at a right angle to the next, 0.4 m away."""
    table = [[0.0, 0.0, 0.4, np.pi / 2]] * n
    com = [[0.1, 0.2, 0.3]] * n
    return Arm.from_dh(table, [1.5] * n, com, [[0.3, 0.4, 0.5]] * n)


GEOMETRIES: dict[str, Callable[[int], Arm]] = {
    "general": general_arm,
    "right-angled": right_angled_arm,
    "planar": planar_arm,
}


def check_geometry(name: str) -> None:
    """Raise UnknownNameError unless there is such a geometry."""
    if name not in GEOMETRIES:
        raise UnknownNameError(f"no geometry {name!r}; give one of {', '.join(GEOMETRIES)}")


def count(algorithm: Algorithm, arm: Arm) -> Tally:
    """Return the operations of one run, from the rotations and translations of the joints on."""
    tally = Tally()
    links = lifted(arm.links, lambda x: Counted(x, tally, known=True))
    motion = _counted_motion(arm, tally)
    before = Tally(*tally.values)
    interpreted(algorithm.kernel)(links, motion)
    return tally - before


def transform_products(geometry: str = "general", n: int = 6) -> dict[str, int]:
    """Return the products of cosines and sines that algorithms start from, on an arm of n links.

    Euler parameters are what Kane's equations take instead of rotations.
    """
    check_geometry(geometry)
    tally = Tally()
    arm = GEOMETRIES[geometry](n)
    links, motion = (
        lifted(arm.links, lambda x: Counted(x, tally, known=True)),
        empty_motion(n, object),
    )
    angles = np.random.default_rng(n).uniform(0.2, 0.8, size=n)
    _fill_rotations(arm, links, angles, tally, motion)
    rotations = tally.multiplications
    _fill_euler_parameters(links, angles, tally, motion)
    return {
        "rotations and translations": rotations,
        "Euler parameters": tally.multiplications - rotations,
    }


def _counted_motion(arm: Arm, tally: Tally) -> Motion:
    def known(x: float) -> Counted:
        return Counted(x, tally, known=True)

    n = arm.n
    links, motion = lifted(arm.links, known), empty_motion(n, object)
    q = np.random.default_rng(n).uniform(0.2, 0.8, size=n)
    _fill_rotations(arm, links, q, tally, motion)
    _fill_euler_parameters(links, q, tally, motion)
    motion.qd[:], motion.qdd[:] = _unknown(q, tally), _unknown(q, tally)
    motion.wrench[:] = known(0.0)
    motion.gravity[:] = lifted_array(arm.gravity + 0.0, known)
    return motion


def _fill_rotations(arm: Arm, links: Links, q: FloatArray, tally: Tally, motion: Motion) -> None:
    d = lifted_array(arm.offset, lambda x: Counted(x, tally, known=True))
    cosine, sine = _unknown(np.cos(q), tally), _unknown(np.sin(q), tally)
    interpreted(fill_transforms)(links, cosine, sine, d, motion)


def _fill_euler_parameters(links: Links, q: FloatArray, tally: Tally, motion: Motion) -> None:
    cosine, sine = _unknown(np.cos(q / 2.0), tally), _unknown(np.sin(q / 2.0), tally)
    interpreted(fill_euler_parameters)(links, cosine, sine, motion)


def _unknown(values: FloatArray, tally: Tally) -> FloatArray:
    return lifted_array(values, lambda x: Counted(x, tally))


@dataclass(frozen=True)
class Counts:
    """Multiplications and additions of an algorithm as polynomials in the number of joints."""

    algorithm: str
    geometry: str
    multiplications: Polynomial  # without those by known numbers 0, 1 and -1
    additions: Polynomial
    all_multiplications: Polynomial  # every one that the formulas write
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
        return {name: str(value) for name, value in vars(self).items()} | {
            "smallest": self.smallest
        }


def counted(algorithm: Algorithm, geometry: str = "general") -> Counts:
    """Return the counts of an algorithm on arms of a geometry, for n = 3 (or 4) and more hinges."""
    check_geometry(geometry)
    arms, many = GEOMETRIES[geometry], algorithm.growth + _CHECKS + 1
    tallies = {n: count(algorithm, arms(n)) for n in range(SMALLEST, SMALLEST + many)}
    try:
        return _fitted(algorithm.name, geometry, tallies)
    except ShapeError:  # what is known of the tip is lost one link later
        del tallies[SMALLEST]
        tallies[SMALLEST + many] = count(algorithm, arms(SMALLEST + many))
        return _fitted(algorithm.name, geometry, tallies)


def _fitted(name: str, geometry: str, tallies: Mapping[int, Tally]) -> Counts:
    def polynomial(values: Mapping[int, int]) -> Polynomial:
        return exact_polynomial(values, checks=_CHECKS)

    multiplied = {n: tally.multiplications for n, tally in tallies.items()}
    added = {n: tally.additions for n, tally in tallies.items()}
    return Counts(
        name,
        geometry,
        polynomial(multiplied),
        polynomial(added),
        polynomial({n: multiplied[n] + t.trivial_multiplications for n, t in tallies.items()}),
        polynomial({n: added[n] + t.trivial_additions for n, t in tallies.items()}),
        min(tallies),
    )
