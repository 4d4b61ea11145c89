"""Recursive Newton-Euler in link coordinates. Luh, Walker, Paul (1980); Craig (2005), sec. 6.5."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.classical.links import Links, Motion
from sparsebody.spatial.tuples import (
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
    w, dw, dv = np.zeros((n + 1, 3), kind), np.zeros((n + 1, 3), kind), np.zeros((n + 1, 3), kind)
    force, moment = np.zeros((n, 3), kind), np.zeros((n, 3), kind)
    tau = np.empty(n, kind)
    for a in range(3):
        dv[n, a] = -links.gravity[a]  # of the base, which is the last row
    for i in range(n):
        p, R = links.parent[i], load_rotation(motion.rotation[i])
        r = load_vector(motion.translation[i], 0)
        w_p, dw_p = load_vector(w[p], 0), load_vector(dw[p], 0)
        dv_p = add(cross(dw_p, r), add(cross(w_p, cross(w_p, r)), load_vector(dv[p], 0)))
        w_i, dw_i, dv_i = turned_back(R, w_p), turned_back(R, dw_p), turned_back(R, dv_p)
        qd, qdd = motion.qd[i], motion.qdd[i]
        if links.revolute[i]:
            dw_i = (dw_i[0] + w_i[1] * qd, dw_i[1] - w_i[0] * qd, dw_i[2] + qdd)
            w_i = (w_i[0], w_i[1], w_i[2] + qd)
        else:
            twice = 2.0 * qd
            dv_i = (dv_i[0] + w_i[1] * twice, dv_i[1] - w_i[0] * twice, dv_i[2] + qdd)
        store_vector(w[i], 0, w_i)
        store_vector(dw[i], 0, dw_i)
        store_vector(dv[i], 0, dv_i)
        c, I = load_vector(links.com[i], 0), load_rotation(links.inertia[i])
        dv_c = add(cross(dw_i, c), add(cross(w_i, cross(w_i, c)), dv_i))
        F = scaled(links.mass[i], dv_c)
        N = add(turned(I, dw_i), cross(w_i, turned(I, w_i)))
        for a in range(3):
            force[i, a] = F[a] - motion.wrench[i, 3 + a]
        M = add(N, cross(c, F))
        for a in range(3):
            moment[i, a] = M[a] - motion.wrench[i, a]
    for i in range(n - 1, -1, -1):
        tau[i] = moment[i, 2] if links.revolute[i] else force[i, 2]
        p = links.parent[i]
        if p >= 0:
            R, r = load_rotation(motion.rotation[i]), load_vector(motion.translation[i], 0)
            f = turned(R, load_vector(force[i], 0))
            m = add(turned(R, load_vector(moment[i], 0)), cross(r, f))
            store_vector(force[p], 0, add(load_vector(force[p], 0), f))
            store_vector(moment[p], 0, add(load_vector(moment[p], 0), m))
    return tau
