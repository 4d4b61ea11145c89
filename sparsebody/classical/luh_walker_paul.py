"""Recursive Newton-Euler in link coordinates. Luh, Walker, Paul (1980); Craig (2005), sec. 6.5."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.compiling import kernel
from sparsebody.classical.links import Links, Motion
from sparsebody.classical.newton_euler import next_link, opposite, store_forces, through_joints
from sparsebody.classical.vectors import (
    Vector,
    add,
    cross,
    load_rotation,
    load_vector,
    scaled,
    turned,
)


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
