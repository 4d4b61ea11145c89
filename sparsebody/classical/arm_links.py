"""The arguments of every algorithm, links and one instant of their motion, and its decorator.

Frames are proximal, as in Craig's modified convention: link i turns about the z axis of its
own frame or slides along it. Arrays hold floats, or as objects numbers of any other kind: kernels
run on both, compiled where Numba is installed (`pip install 'sparsebody[classical]'`), in plain
Python elsewhere; only measured times depend on it.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray

F = TypeVar("F", bound=Callable[..., Any])
IS_COMPILED = find_spec("numba") is not None


def kernel(function: F) -> F:
    """Return a function compiled by Numba, or itself without Numba; `py_func` is the original."""
    if IS_COMPILED:
        from numba import njit

        return cast(F, njit(cache=True)(function))
    function.py_func = function  # type: ignore[attr-defined]
    return function


class Links(NamedTuple):
    """Constants of n links, each in the axes of its own frame and about its origin."""

    parent: IntArray  # (n,) -1 is the base; a parent comes before its children
    revolute: BoolArray  # (n,) whether the joint turns; else it slides
    cos_twist: FloatArray  # (n,) of the angle about the parent's x axis to the joint
    sin_twist: FloatArray
    cos_half_twist: FloatArray
    sin_half_twist: FloatArray
    length: FloatArray  # (n,) along the parent's x axis to the joint [m]
    mass: FloatArray  # (n,) [kg]
    com: FloatArray  # (n, 3) center of mass [m]
    inertia: FloatArray  # (n, 3, 3) about the center of mass [kg m^2]
    moment: FloatArray  # (n, 3) mass times com [kg m]
    pseudo_inertia: FloatArray  # (n, 4, 4) integral of (x, y, z, 1)' (x, y, z, 1) dm
    spatial_inertia: FloatArray  # (n, 6, 6) angular part first
    subspace: FloatArray  # (n, 6) joint velocity for qd = 1, angular part first
    generator: FloatArray  # (n, 4, 4) Q: the derivative of the transform A is A Q
    base: FloatArray  # (4, 4) the unit matrix, from which kernels take their 0 and 1


class Motion(NamedTuple):
    """Joints, rates and forces at one instant."""

    rotation: FloatArray  # (n, 3, 3) from link to parent axes
    translation: FloatArray  # (n, 3) origin of the link in the parent's frame [m]
    euler: FloatArray  # (n, 4) Euler parameters of the rotation, the scalar last
    qd: FloatArray  # (n,) [rad/s, m/s]
    qdd: FloatArray  # (n,) [rad/s^2, m/s^2]; of forward dynamics the joint forces [N m, N]
    wrench: FloatArray  # (n, 6) on the links from outside, in link axes, moment first [N m, N]
    gravity: FloatArray  # (3,) in base axes [m/s^2]


def link_transforms(
    links: Links, cosine: FloatArray, sine: FloatArray, displacement: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return rotations and translations from joint angles and displacements (n,). Craig, (3.6)."""
    c, s = links.cos_twist, links.sin_twist
    zero = np.full_like(c, links.base[3, 0])
    rows = [cosine, -sine, zero], [sine * c, cosine * c, -s], [sine * s, cosine * s, c]
    rotation = np.ascontiguousarray(np.moveaxis(np.array(rows), -1, 0))
    return rotation, np.stack([links.length, -s * displacement, c * displacement], axis=1)


def euler_parameters(links: Links, cos_half: FloatArray, sin_half: FloatArray) -> FloatArray:
    """Return the Euler parameters (n, 4) of the rotations from (n,) halves of the joint angles."""
    c, s = links.cos_half_twist, links.sin_half_twist
    return np.stack([s * cos_half, -s * sin_half, c * sin_half, c * cos_half], axis=1)
