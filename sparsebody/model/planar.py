"""Mechanisms whose bodies all move parallel to one plane, the displacement subgroup SE(2).

Whether they do follows from the joint frames on the bodies alone, so it holds at every pose: going
out from the world, each joint hands the normal of the plane on from its predecessor to its
successor, or back.

References
----------
Herve (1999), Mech. Mach. Theory 34:719, on displacement subgroups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.system import System
from sparsebody.spatial.tuples import (
    Vector,
    cross,
    dot,
    load_rotation,
    load_vector,
    store_vector,
    turned,
    turned_back,
)

PARALLEL = 1e-12  # how far from each other two unit vectors may be

# Kinds of joints, by what they ask of the normal, the z axis being theirs.
OTHER, ABOUT_Z, ALONG_Z, RIGID = 0, 1, 2, 3
KINDS = {"revolute": ABOUT_Z, "planar": ABOUT_Z, "prismatic": ALONG_Z, "fixed": RIGID}


@dataclass(frozen=True, eq=False)
class PlanarMotion:
    """A plane that all bodies move parallel to, and joints that see to it."""

    axes: FloatArray  # (3, 3) of the world: the normal, and two in the plane
    basis: FloatArray  # (n_bodies, 3, 3) the same of every body, in its own axes
    bodies: IntArray  # (n_bodies,) from the world outwards
    joint: IntArray  # (n_bodies,) that holds each body, in the user's order, in the plane
    is_outer: BoolArray  # (n_rows,) rows of these joints that keep bodies in the plane

    @cached_property
    def tree_rows(self) -> IntArray:
        """The rows of `joint` out of the plane, three for each body."""
        return np.flatnonzero(self.is_outer)


def planar_motion(system: System) -> PlanarMotion | None:
    """Return the plane that all bodies move parallel to; None if there is none, or no body.

    Every body has to be joined to the world through hinges with parallel axes, slides across these,
    planar and fixed joints; what other joints there are does not matter.
    """
    n = system.n_bodies
    kind = joint_kinds(system)
    if n == 0 or not np.any(kind == ABOUT_Z):
        return None
    normal, bodies = np.zeros((n + 1, 3)), np.empty(n, dtype=np.intp)
    joint = np.full(n, -1, dtype=np.intp)
    is_outer = np.zeros(system.n_rows, dtype=bool)
    found = _spread(
        *_joints_of_bodies(system),
        kind,
        system.predecessor,
        system.successor,
        system.predecessor_rotation,
        system.successor_rotation,
        system.first_row,
        system.subspace,
        normal,
        bodies,
        joint,
        is_outer,
    )
    if found < n:
        return None
    basis = np.empty((n + 1, 3, 3))
    _fill_bases(normal, basis)
    return PlanarMotion(basis[n], basis[:n], bodies, joint, is_outer)


def joint_kinds(system: System) -> IntArray:
    """Return (n_joints,) what each joint asks of a normal."""
    kind = np.full(system.n_joints, OTHER, dtype=np.intp)
    for group in system.groups:
        kind[group.joints] = KINDS.get(group.name, OTHER)
    return kind


def _joints_of_bodies(system: System) -> tuple[IntArray, IntArray]:
    """Return (indptr, joints) of every body, the world being the last."""
    n, m = system.n_bodies, system.n_joints
    body = np.concatenate([system.predecessor, system.successor]) % (n + 1)
    order = np.argsort(body, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(body, minlength=n + 1))])
    return indptr.astype(np.intp), (order % m).astype(np.intp)


@njit(cache=True)
def _spread(
    indptr: IntArray,
    joints: IntArray,
    kind: IntArray,
    predecessor: IntArray,
    successor: IntArray,
    predecessor_rotation: FloatArray,
    successor_rotation: FloatArray,
    first_row: IntArray,
    subspace: FloatArray,
    normal: FloatArray,
    bodies: IntArray,
    joint: IntArray,
    is_outer: BoolArray,
) -> int:
    """Hand the normal on from the world; return how many bodies it reaches."""
    n = len(bodies)
    first = _first_hinge(indptr, joints, kind)
    if first < 0:
        return 0
    rotation = predecessor_rotation if predecessor[first] < 0 else successor_rotation
    for a in range(3):
        normal[n, a] = rotation[first, a, 2]
    is_reached = np.zeros(n + 1, dtype=np.bool_)
    is_reached[n] = True
    n_reached, place = 0, -1
    while place < n_reached:
        body = n if place < 0 else bodies[place]
        for j in joints[indptr[body] : indptr[body + 1]]:
            is_out = predecessor[j] % (n + 1) == body
            other = (successor[j] if is_out else predecessor[j]) % (n + 1)
            if is_reached[other] or kind[j] == OTHER:
                continue
            near, far = predecessor_rotation[j], successor_rotation[j]
            if not is_out:
                near, far = far, near
            in_joint = turned_back(load_rotation(near), load_vector(normal[body], 0))
            rows = subspace[first_row[j] : first_row[j + 1]]
            if not _is_kept(kind[j], in_joint, rows, is_outer[first_row[j] : first_row[j + 1]]):
                continue
            store_vector(normal[other], 0, turned(load_rotation(far), in_joint))
            is_reached[other] = True
            bodies[n_reached], joint[other] = other, j
            n_reached += 1
        place += 1
    return n_reached


@njit(cache=True)
def _first_hinge(indptr: IntArray, joints: IntArray, kind: IntArray) -> int:
    """Return the first joint on the world that has a normal of its own, or -1."""
    world = len(indptr) - 2
    for j in joints[indptr[world] : indptr[world + 1]]:
        if kind[j] == ABOUT_Z:
            return int(j)
    return -1


@njit(cache=True)
def _is_kept(kind: int, normal: Vector, rows: FloatArray, is_outer: BoolArray) -> bool:
    """Tell whether a joint keeps bodies parallel to a plane by three rows, and mark these.

    All its rows must act either in the plane or out of it.
    """
    across = np.sqrt(normal[0] ** 2 + normal[1] ** 2)
    if kind == ABOUT_Z and across > PARALLEL:
        return False
    if kind == ALONG_Z and abs(normal[2]) > PARALLEL:
        return False
    n_outer = 0
    for k in range(len(rows)):
        moment, force = load_vector(rows[k], 0), load_vector(rows[k], 3)
        about, along = dot(normal, moment), dot(normal, force)
        tilt, slip = cross(normal, moment), cross(normal, force)
        outer = np.sqrt(dot(tilt, tilt) + along * along)
        inner = np.sqrt(dot(slip, slip) + about * about)
        if min(inner, outer) > PARALLEL:
            is_outer[:] = False
            return False
        is_outer[k] = outer > inner
        n_outer += outer > inner
    if n_outer != 3:
        is_outer[:] = False
    return n_outer == 3


@njit(cache=True)
def _fill_bases(normal: FloatArray, basis: FloatArray) -> None:
    """Add two unit vectors across each normal."""
    for i in range(len(normal)):
        n = load_vector(normal[i], 0)
        size = np.sqrt(dot(n, n))
        n = n[0] / size, n[1] / size, n[2] / size
        x = (n[2], 0.0, -n[0]) if abs(n[2]) > 0.6 else (-n[1], n[0], 0.0)
        size = np.sqrt(dot(x, x))
        x = x[0] / size, x[1] / size, x[2] / size
        store_vector(basis[i, 0], 0, n)
        store_vector(basis[i, 1], 0, x)
        store_vector(basis[i, 2], 0, cross(n, x))
