"""Newton-Euler with Cartesian tensors. Balafoutis, Patel, Misra (1988)."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.newton_euler import (
    next_link,
    opposite,
    store_forces,
    through_joints,
)
from sparsebody.classical.kernels.vectors import (
    Rotation,
    Vector,
    add,
    cross,
    load_rotation,
    load_vector,
    scaled,
    turned,
)


@kernel
def balafoutis_patel_misra(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,); the tensor dw~ + w~ w~ takes the place of the nested cross products."""
    n, kind = links.parent.size, motion.qd.dtype
    w, dw, dv = np.empty((n, 3), kind), np.empty((n, 3), kind), np.empty((n, 3), kind)
    force, moment = np.empty((n, 3), kind), np.empty((n, 3), kind)
    Omega, tau = np.empty((n, 3, 3), kind), np.empty(n, kind)
    for i in range(n):
        p, r = links.parent[i], load_vector(motion.translation[i], 0)
        if p >= 0:
            carried = add(load_vector(dv[p], 0), turned(load_rotation(Omega[p]), r))
        else:
            carried = opposite(motion.gravity)
        w_i, dw_i, a = next_link(links, motion, i, carried, w, dw, dv)
        tensor = _acceleration_tensor(w_i, dw_i, Omega[i])
        mc = load_vector(links.moment[i], 0)
        F = add(turned(tensor, mc), scaled(links.mass[i], a))
        N = add(_dual_moment(tensor, links.pseudo_inertia[i]), cross(mc, a))
        store_forces(motion, i, F, N, force, moment)
    through_joints(links, motion, force, moment, tau)
    return tau


@kernel
def _acceleration_tensor(w: Vector, dw: Vector, tensor: FloatArray) -> Rotation:
    """Return dw~ + w~ w~ row by row, and fill `found` (3, 3) with it."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    tensor[0, 0], tensor[0, 1], tensor[0, 2] = -(yy + zz), xy - dw[2], xz + dw[1]
    tensor[1, 0], tensor[1, 1], tensor[1, 2] = xy + dw[2], -(xx + zz), yz - dw[0]
    tensor[2, 0], tensor[2, 1], tensor[2, 2] = xz - dw[1], yz + dw[0], -(xx + yy)
    return load_rotation(tensor)


@kernel
def _dual_moment(T: Rotation, J: FloatArray) -> Vector:
    """Return the vector of T J - (T J)', the moment of a body with pseudo-inertia J (4, 4)."""
    return (
        _element(T, J, 2, 1) - _element(T, J, 1, 2),
        _element(T, J, 0, 2) - _element(T, J, 2, 0),
        _element(T, J, 1, 0) - _element(T, J, 0, 1),
    )


@kernel
def _element(T: Rotation, J: FloatArray, row: int, column: int) -> float:
    first = 3 * row
    return T[first] * J[0, column] + T[first + 1] * J[1, column] + T[first + 2] * J[2, column]
