"""Recursive Newton-Euler in link coordinates, and the steps that other formulations share.

Luh, Walker, Paul (1980); Craig (2005), sec. 6.5.
"""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.vectors import (
    Vector,
    add,
    cross,
    load_rotation,
    load_vector,
    scaled,
    store_vector,
    turned,
    turned_back,
)


@kernel
def with_joint(
    revolute: bool, qd: float, qdd: float, w: Vector, dw: Vector, dv: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return w, dw and dv of a link from those of its parent at its origin, all in link axes."""
    if revolute:
        dw = (dw[0] + w[1] * qd, dw[1] - w[0] * qd, dw[2] + qdd)
        w = (w[0], w[1], w[2] + qd)
    else:
        twice = 2 * qd
        dv = (dv[0] + w[1] * twice, dv[1] - w[0] * twice, dv[2] + qdd)
    return w, dw, dv


@kernel
def next_link(
    links: Links,
    motion: Motion,
    i: int,
    carried: Vector,
    w: FloatArray,
    dw: FloatArray,
    dv: FloatArray,
) -> tuple[Vector, Vector, Vector]:
    """Fill and return row i of angular velocities, angular and linear accelerations (n, 3).

    `carried` is the acceleration of the link's origin as a point of its parent, in parent axes.
    """
    p, R = links.parent[i], load_rotation(motion.rotation[i])
    w_i, dw_i, dv_i = zero_vector(links), zero_vector(links), turned_back(R, carried)
    if p >= 0:
        w_i, dw_i = turned_back(R, load_vector(w[p], 0)), turned_back(R, load_vector(dw[p], 0))
    w_i, dw_i, dv_i = with_joint(links.revolute[i], motion.qd[i], motion.qdd[i], w_i, dw_i, dv_i)
    store_vector(w[i], 0, w_i)
    store_vector(dw[i], 0, dw_i)
    store_vector(dv[i], 0, dv_i)
    return w_i, dw_i, dv_i


@kernel
def store_forces(
    motion: Motion, i: int, F: Vector, N: Vector, force: FloatArray, moment: FloatArray
) -> None:
    """Fill row i of (n, 3) with what the joint and the children exert for force F and moment N."""
    for a in range(3):
        force[i, a] = F[a] - motion.wrench[i, 3 + a]
        moment[i, a] = N[a] - motion.wrench[i, a]


@kernel
def opposite(a: FloatArray) -> Vector:
    """Return -a of an array (3,): the acceleration of the base that stands for gravity."""
    return -a[0], -a[1], -a[2]


@kernel
def zero_vector(links: Links) -> Vector:
    """Return three zeros of the kind of number in use."""
    zero = links.base[3, 0]
    return zero, zero, zero


@kernel
def zeros_like(links: Links, array: FloatArray) -> FloatArray:
    """Return an array of such zeros."""
    zeros = np.empty(array.shape, array.dtype)
    zeros[...] = links.base[3, 0]
    return zeros


@kernel
def without_accelerations(links: Links, motion: Motion) -> Motion:
    """Return the motion with qdd = 0, of which inverse dynamics makes the bias forces C."""
    return Motion(
        motion.rotation,
        motion.translation,
        motion.euler,
        motion.qd,
        zeros_like(links, motion.qd),
        motion.wrench,
        motion.gravity,
    )


@kernel
def carry_inwards(
    links: Links, motion: Motion, i: int, force: FloatArray, moment: FloatArray
) -> None:
    """Add force and moment (n, 3) on link i to those on its parent, about the parent's origin."""
    p = links.parent[i]
    if p >= 0:
        R, r = load_rotation(motion.rotation[i]), load_vector(motion.translation[i], 0)
        f = turned(R, load_vector(force[i], 0))
        m = add(turned(R, load_vector(moment[i], 0)), cross(r, f))
        store_vector(force[p], 0, add(load_vector(force[p], 0), f))
        store_vector(moment[p], 0, add(load_vector(moment[p], 0), m))


@kernel
def along_joint(links: Links, i: int, force: FloatArray, moment: FloatArray) -> float:
    """Return what the joint of link i feels of force and moment (n, 3)."""
    return moment[i, 2] if links.revolute[i] else force[i, 2]


@kernel
def through_joints(
    links: Links, motion: Motion, force: FloatArray, moment: FloatArray, tau: FloatArray
) -> None:
    """Fill tau (n,) by recursion inwards; forces and moments (n, 3) become those of subtrees."""
    for i in range(links.parent.size - 1, -1, -1):
        tau[i] = along_joint(links, i, force, moment)
        carry_inwards(links, motion, i, force, moment)


@kernel
def luh_walker_paul(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,), by velocities and accelerations outwards and forces inwards."""
    n, kind = links.parent.size, motion.qd.dtype
    w, dw, dv = np.empty((n, 3), kind), np.empty((n, 3), kind), np.empty((n, 3), kind)
    force, moment = np.empty((n, 3), kind), np.empty((n, 3), kind)
    tau = np.empty(n, kind)
    for i in range(n):
        w_i, dw_i, dv_i = outwards(links, motion, i, w, dw, dv)
        c, I = load_vector(links.com[i], 0), load_rotation(links.inertia[i])
        dv_c = add(accelerated(w_i, dw_i, c), dv_i)
        F = scaled(links.mass[i], dv_c)
        N = add(turned(I, dw_i), cross(w_i, turned(I, w_i)))
        store_forces(motion, i, F, add(N, cross(c, F)), force, moment)
    through_joints(links, motion, force, moment, tau)
    return tau


@kernel
def outwards(
    links: Links, motion: Motion, i: int, w: FloatArray, dw: FloatArray, dv: FloatArray
) -> tuple[Vector, Vector, Vector]:
    """Fill and return row i of angular velocities, angular and linear accelerations (n, 3)."""
    p = links.parent[i]
    if p >= 0:
        r = load_vector(motion.translation[i], 0)
        turning = accelerated(load_vector(w[p], 0), load_vector(dw[p], 0), r)
        carried = add(turning, load_vector(dv[p], 0))
    else:
        carried = opposite(motion.gravity)
    return next_link(links, motion, i, carried, w, dw, dv)


@kernel
def accelerated(w: Vector, dw: Vector, r: Vector) -> Vector:
    """Return dw x r + w x (w x r)."""
    return add(cross(dw, r), cross(w, cross(w, r)))
