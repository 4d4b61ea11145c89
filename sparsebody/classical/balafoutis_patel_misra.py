"""Newton-Euler with Cartesian tensors. Balafoutis, Patel, Misra (1988)."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.classical.links import Links, Motion
from sparsebody.classical.newton_euler import opposite, through_joints, with_joint, zero_vector
from sparsebody.spatial.tuples import (
    Rotation,
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
def balafoutis_patel_misra(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,); the tensor dw~ + w~ w~ takes the place of the nested cross products."""
    n, kind = links.parent.size, motion.qd.dtype
    w, dw, dv = np.empty((n, 3), kind), np.empty((n, 3), kind), np.empty((n, 3), kind)
    force, moment = np.empty((n, 3), kind), np.empty((n, 3), kind)
    Omega, tau = np.empty((n, 3, 3), kind), np.empty(n, kind)
    for i in range(n):
        _outwards(links, motion, i, Omega, w, dw, dv)
        tensor = _acceleration_tensor(load_vector(w[i], 0), load_vector(dw[i], 0), Omega[i])
        a, mc = load_vector(dv[i], 0), load_vector(links.moment[i], 0)
        F = add(turned(tensor, mc), scaled(links.mass[i], a))
        N = add(_dual_moment(tensor, links.pseudo_inertia[i]), cross(mc, a))
        for k in range(3):
            force[i, k] = F[k] - motion.wrench[i, 3 + k]
            moment[i, k] = N[k] - motion.wrench[i, k]
    through_joints(links, motion, force, moment, tau)
    return tau


@njit(cache=True)
def _outwards(
    links: Links,
    motion: Motion,
    i: int,
    Omega: FloatArray,
    w: FloatArray,
    dw: FloatArray,
    dv: FloatArray,
) -> None:
    """Fill row i of angular velocities, angular and linear accelerations in link coordinates."""
    p = links.parent[i]
    R, r = load_rotation(motion.rotation[i]), load_vector(motion.translation[i], 0)
    if p >= 0:
        w_i = turned_back(R, load_vector(w[p], 0))
        dw_i = turned_back(R, load_vector(dw[p], 0))
        a = turned_back(R, add(load_vector(dv[p], 0), turned(load_rotation(Omega[p]), r)))
    else:
        w_i, dw_i = zero_vector(links), zero_vector(links)
        a = turned_back(R, opposite(motion.gravity))
    w_i, dw_i, a = with_joint(links.revolute[i], motion.qd[i], motion.qdd[i], w_i, dw_i, a)
    store_vector(w[i], 0, w_i)
    store_vector(dw[i], 0, dw_i)
    store_vector(dv[i], 0, a)


@njit(cache=True)
def _acceleration_tensor(w: Vector, dw: Vector, found: FloatArray) -> Rotation:
    """Return dw~ + w~ w~ row by row, and fill `found` (3, 3) with it."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    found[0, 0], found[0, 1], found[0, 2] = -(yy + zz), xy - dw[2], xz + dw[1]
    found[1, 0], found[1, 1], found[1, 2] = xy + dw[2], -(xx + zz), yz - dw[0]
    found[2, 0], found[2, 1], found[2, 2] = xz - dw[1], yz + dw[0], -(xx + yy)
    return load_rotation(found)


@njit(cache=True)
def _dual_moment(T: Rotation, J: FloatArray) -> Vector:
    """Return the vector of T J - (T J)', the moment of a body with pseudo-inertia J (4, 4)."""
    return (
        _element(T, J, 2, 1) - _element(T, J, 1, 2),
        _element(T, J, 0, 2) - _element(T, J, 2, 0),
        _element(T, J, 1, 0) - _element(T, J, 0, 1),
    )


@njit(cache=True)
def _element(T: Rotation, J: FloatArray, row: int, column: int) -> float:
    first = 3 * row
    return T[first] * J[0, column] + T[first + 1] * J[1, column] + T[first + 2] * J[2, column]
