"""Recursive Newton-Euler in link coordinates. Luh, Walker, Paul (1980); Craig (2005), sec. 6.5."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.classical.links import Links, Motion
from sparsebody.classical.newton_euler import opposite, through_joints, with_joint, zero_vector
from sparsebody.spatial.tuples import (
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


@njit(cache=True)
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
        M = add(N, cross(c, F))
        for a in range(3):
            force[i, a] = F[a] - motion.wrench[i, 3 + a]
            moment[i, a] = M[a] - motion.wrench[i, a]
    through_joints(links, motion, force, moment, tau)
    return tau


@njit(cache=True)
def outwards(
    links: Links, motion: Motion, i: int, w: FloatArray, dw: FloatArray, dv: FloatArray
) -> tuple[Vector, Vector, Vector]:
    """Fill and return row i of angular velocities, angular and linear accelerations (n, 3)."""
    p, R = links.parent[i], load_rotation(motion.rotation[i])
    if p >= 0:
        r, w_p, dw_p = (
            load_vector(motion.translation[i], 0),
            load_vector(w[p], 0),
            load_vector(dw[p], 0),
        )
        dv_i = turned_back(R, add(accelerated(w_p, dw_p, r), load_vector(dv[p], 0)))
        w_i, dw_i = turned_back(R, w_p), turned_back(R, dw_p)
    else:
        w_i, dw_i = zero_vector(links), zero_vector(links)
        dv_i = turned_back(R, opposite(motion.gravity))
    w_i, dw_i, dv_i = with_joint(links.revolute[i], motion.qd[i], motion.qdd[i], w_i, dw_i, dv_i)
    store_vector(w[i], 0, w_i)
    store_vector(dw[i], 0, dw_i)
    store_vector(dv[i], 0, dv_i)
    return w_i, dw_i, dv_i


@njit(cache=True)
def accelerated(w: Vector, dw: Vector, r: Vector) -> Vector:
    """Return dw x r + w x (w x r)."""
    return add(cross(dw, r), cross(w, cross(w, r)))
