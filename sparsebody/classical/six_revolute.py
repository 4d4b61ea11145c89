"""The arm of six parallel revolute joints by which Liu (2011) shows the spatial operator algebra.

Its table of Denavit-Hartenberg parameters (modified: the length of a row lies before its joint)
goes from the tip to the base, and numbers joints and lengths from the base. M(2) and phi(2) are
printed with the length L1 and for bodies numbered from the tip; the symbols here are those of the
print, where body k has the length with the number k - 1.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparsebody import errors, spatial
from sparsebody.arrays import ArrayLike, FloatArray, numbers
from sparsebody.classical import algorithms, counting, operators
from sparsebody.classical.arm import Arm
from sparsebody.classical.arm_links import Motion, link_transforms

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
    errors.check_name(bodies, BODIES, "bodies")
    center, inertia = length, np.zeros((3, 3))
    if bodies == "rods":
        center, inertia = length / 2.0, spatial.rod_inertia(mass, length, [1.0, 0.0, 0.0])
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


def six_revolute_symbols(*, straight: bool = False) -> operators.SpatialOperators:
    """Return the operators of the arm with point masses, of polynomials in symbols, by SymPy.

    L0, L1, ... are lengths, m(1), ... masses, c(1), s(1), ... cosines and sines of the joint
    angles, body by body from the tip; where it is straight they are 1 and 0. Raises
    MissingDependencyError without SymPy.
    """
    sympy = errors.required_package("sympy", "operators in symbols need SymPy", "classical")
    numbered = [f"{letter}({k})" for letter in "mcs" for k in range(1, N + 1)]
    names = [*(f"L{k}" for k in range(N)), *numbered]
    ring, *generators = sympy.ring([sympy.Symbol(name) for name in names], sympy.QQ)
    symbols = dict(zip(names, generators, strict=True))

    def constant(value: float) -> Any:
        return ring(sympy.QQ(*value.as_integer_ratio()))

    def from_the_base(letter: str) -> list[Any]:
        return [symbols[f"{letter}({k})"] for k in range(N, 0, -1)]

    links = counting.converted(six_revolute_arm().links, constant)  # link i is the body N - i
    lengths = [symbols[f"L{k}"] for k in range(N - 1, -1, -1)]  # the last is that of the tip
    mass = _objects(from_the_base("m"))
    com = _objects([x for length in lengths for x in (length, ring.zero, ring.zero)]).reshape(N, 3)
    inertia = np.full((N, 3, 3), ring.zero)
    links = links._replace(
        mass=mass,
        com=com,
        length=_objects([ring.zero, *lengths[:-1]]),
        inertia=inertia,
        moment=mass[:, None] * com,
        spatial_inertia=operators.body_masses(mass, com, inertia),
    )
    nothing = np.full(N, ring.zero)
    if straight:
        cosine, sine = np.full(N, ring.one), nothing
    else:
        cosine, sine = (_objects(from_the_base(letter)) for letter in "cs")
    transforms = link_transforms(links, cosine, sine, nothing)
    others = (np.full(shape, ring.zero) for shape in ((N, 4), N, N, (N, 6), 3))
    tip = operators.shift_operators(com[-1:])[0]
    return operators.SpatialOperators(links, Motion(*transforms, *others), N - 1, tip)


def _objects(values: Sequence[Any]) -> FloatArray:
    """Return numbers of any kind as an array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def sine_torques(arm: Arm, times: ArrayLike, algorithm: algorithms.Algorithm) -> FloatArray:
    """Return joint forces (times, n) for q_i = sin t in every joint, by inverse dynamics."""
    if algorithm.is_forward:
        raise errors.ModelError(f"{algorithm.name} is forward dynamics; give one that finds forces")
    t = np.atleast_1d(numbers(times, "arm: times"))
    motions = np.stack([np.sin(t), np.cos(t), -np.sin(t)], axis=1)
    return np.array([algorithm(arm, *np.tile(at[:, None], arm.n)) for at in motions])
