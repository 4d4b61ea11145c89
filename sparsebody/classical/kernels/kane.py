"""Kane's equations with Euler parameters for rotations. Kane, Levinson (1985)."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.vectors import (
    Vector,
    add,
    cross,
    difference,
    dot,
    load_rotation,
    load_vector,
    scaled,
    store_vector,
    turned,
)


@kernel
def kane(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,): partial velocities times forces of inertia, in base coordinates."""
    n, kind = links.parent.size, motion.qd.dtype
    frame, origin, axis = np.empty((n, 4), kind), np.empty((n, 3), kind), np.empty((n, 3), kind)
    w, dw, dv = np.zeros((n, 3), kind), np.zeros((n, 3), kind), np.zeros((n, 3), kind)
    tau = np.zeros(n, kind)
    for k in range(n):
        _move(links, motion, k, frame, origin, axis, w, dw, dv)
        w_k, dw_k = load_vector(w[k], 0), load_vector(dw[k], 0)
        c = _rotated(frame[k], load_vector(links.com[k], 0))
        dv_c = add(load_vector(dv[k], 0), add(cross(dw_k, c), cross(w_k, cross(w_k, c))))
        I = load_rotation(links.inertia[k])
        w_own, dw_own = _rotated_back(frame[k], w_k), _rotated_back(frame[k], dw_k)
        torque = add(turned(I, dw_own), cross(w_own, turned(I, w_own)))
        push = scaled(links.mass[k], difference(dv_c, load_vector(motion.gravity, 0)))
        center = add(load_vector(origin[k], 0), c)
        applied = load_vector(motion.wrench[k], 3)  # about the origin, so moved to the center
        moment = difference(
            load_vector(motion.wrench[k], 0), cross(load_vector(links.com[k], 0), applied)
        )
        torque = _rotated(frame[k], difference(torque, moment))
        push = difference(push, _rotated(frame[k], applied))
        i = k
        while i >= 0:
            z = load_vector(axis[i], 0)
            if links.revolute[i]:
                partial = cross(z, difference(center, load_vector(origin[i], 0)))
                tau[i] += dot(z, torque) + dot(partial, push)
            else:
                tau[i] += dot(z, push)
            i = links.parent[i]
    return tau


@kernel
def _move(
    links: Links,
    motion: Motion,
    k: int,
    frame: FloatArray,
    origin: FloatArray,
    axis: FloatArray,
    w: FloatArray,
    dw: FloatArray,
    dv: FloatArray,
) -> None:
    """Fill row k: Euler parameters, origin, joint axis, angular velocity and accelerations."""
    p, qd, qdd = links.parent[k], motion.qd[k], motion.qdd[k]
    if p >= 0:
        _combined(frame[p], motion.euler[k], frame[k])
        r = _rotated(frame[p], load_vector(motion.translation[k], 0))
        w_p, dw_p = load_vector(w[p], 0), load_vector(dw[p], 0)
        store_vector(origin[k], 0, add(load_vector(origin[p], 0), r))
        a = add(load_vector(dv[p], 0), add(cross(dw_p, r), cross(w_p, cross(w_p, r))))
    else:
        frame[k] = motion.euler[k]
        origin[k] = motion.translation[k]
        zero = links.base[3, 0]
        w_p, dw_p, a = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    zero, one = links.base[3, 0], links.base[3, 3]
    z = _rotated(frame[k], (zero, zero, one))
    relative, change = scaled(qd, z), scaled(qdd, z)
    if links.revolute[k]:
        store_vector(w[k], 0, add(w_p, relative))
        store_vector(dw[k], 0, add(dw_p, add(change, cross(w_p, relative))))
    else:
        store_vector(w[k], 0, w_p)
        store_vector(dw[k], 0, dw_p)
        a = add(a, add(change, scaled(2, cross(w_p, relative))))
    store_vector(axis[k], 0, z)
    store_vector(dv[k], 0, a)


@kernel
def _rotated(e: FloatArray, r: Vector) -> Vector:
    """Return r + 2 e4 (e x r) + 2 e x (e x r): Rodrigues' formula in Euler parameters e (4,).

    Printed forms with another sine in the second or third term are no rotations.
    """
    vector = load_vector(e, 0)
    twice = scaled(2, cross(vector, r))
    return add(r, add(scaled(e[3], twice), cross(vector, twice)))


@kernel
def _rotated_back(e: FloatArray, r: Vector) -> Vector:
    """Return the same for the opposite rotation."""
    vector = load_vector(e, 0)
    twice = scaled(2, cross(vector, r))
    return add(r, difference(cross(vector, twice), scaled(e[3], twice)))


@kernel
def _combined(first: FloatArray, second: FloatArray, both: FloatArray) -> None:
    """Fill the Euler parameters (4,) of one rotation followed, in its own axes, by another."""
    a, b = load_vector(first, 0), load_vector(second, 0)
    store_vector(both, 0, add(add(scaled(first[3], b), scaled(second[3], a)), cross(a, b)))
    both[3] = first[3] * second[3] - dot(a, b)
