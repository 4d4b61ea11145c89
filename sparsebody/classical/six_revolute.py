"""The arm of six parallel hinges by which Liu (2011) shows the spatial operator algebra.

Its table of Denavit-Hartenberg parameters (modified: the length of a row lies before its joint)
goes from the tip to the base, and numbers joints and lengths from the base. M(2) and phi(2) are
printed with the length L1 and for bodies numbered from the tip; the symbols here are those of the
print, where body k has the length with the number k - 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.classical.algorithms import Algorithm
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import Links, empty_motion, fill_transforms
from sparsebody.classical.counting import interpreted, lifted
from sparsebody.classical.operators import SpatialOperators, body_masses, shift_operators
from sparsebody.classical.symbols import array_of, constant, symbol
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.columns import numbers
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
    if bodies not in BODIES:
        raise UnknownNameError(f"no bodies {bodies!r}; give one of {', '.join(BODIES)}")
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
    motion = empty_motion(N, object)
    if straight:
        cosine, sine = array_of([1] * N, (N,)), array_of([0] * N, (N,))
    else:
        cosine, sine = (array_of(_named(name), (N,)) for name in ("c({})", "s({})"))
    nothing = array_of([0] * N, (N,))
    interpreted(fill_transforms)(links, cosine, sine, nothing, motion)
    for array in (motion.qd, motion.qdd, motion.wrench, motion.gravity):
        array[...] = nothing[0]
    tip = shift_operators(array_of([symbol("L0"), 0, 0], (1, 3)))[0]
    return SpatialOperators(links, motion, N - 1, tip)


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
    return np.array(
        [
            algorithm(arm, *(np.full(arm.n, x) for x in (np.sin(t), np.cos(t), -np.sin(t))))
            for t in np.atleast_1d(numbers(times, "arm", "times"))
        ]
    )
