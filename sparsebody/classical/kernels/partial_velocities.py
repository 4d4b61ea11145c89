"""Equations from partial velocities and accelerations of the links.

From the acceleration energy, dG/dqdd = Q: Gibbs (1879), Appell (1900), Popov. With Euler parameters
for rotations: Kane, Levinson (1985).
"""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.newton_euler import accelerated, outwards, without_accelerations
from sparsebody.classical.kernels.small_matrices import (
    Vector,
    accelerations,
    add,
    cross,
    difference,
    dot,
    forces,
    rotation,
    scaled,
    turned,
    turned_back,
    vector,
    zero_vector,
)


@kernel
def gibbs_appell(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = H qdd + h."""
    H, h = _equations(links, motion)
    return forces(H, h, motion.qdd)


@kernel
def gibbs_appell_forward(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,) of the same equations."""
    H, h = _equations(links, motion)
    return accelerations(H, h, motion.qdd)


@kernel
def _equations(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Return H (n, n), of which the lower triangle is filled, and h (n,).

    The acceleration energy of link k, m w.w / 2 + e.J e / 2 + (omega x J omega).e, is quadratic in
    qdd, since w = sum of beta_j qdd_j + w_0 and e = sum of alpha_j qdd_j + e_0. (Where the last
    term is printed with a factor 2 beside the halves, that is a misprint.)
    """
    n, kind = links.parent.size, motion.qd.dtype
    alpha, beta = np.zeros((n, n, 3), kind), np.zeros((n, n, 3), kind)
    omega, dw, dv = np.zeros((n, 3), kind), np.zeros((n, 3), kind), np.zeros((n, 3), kind)
    H, h = np.zeros((n, n), kind), np.zeros(n, kind)
    at_com, bias = np.empty((n, 3), kind), without_accelerations(links, motion)
    for k in range(n):
        w, e_0, a_0 = outwards(links, bias, k, omega, dw, dv)
        _fill_coefficients(links, motion, k, alpha, beta)
        c, I, m = vector(links.com[k]), rotation(links.inertia[k]), links.mass[k]
        torque = add(turned(I, e_0), cross(w, turned(I, w)))
        force = scaled(m, add(a_0, accelerated(w, e_0, c)))
        i = k
        while i >= 0:
            about = vector(alpha[k, i])
            along = add(vector(beta[k, i]), cross(about, c))
            at_com[i] = along
            turning, pushing = turned(I, about), scaled(m, along)
            h[i] += dot(about, torque) + dot(along, force)
            j = k
            while j >= i:
                H[j, i] += dot(vector(alpha[k, j]), turning) + dot(vector(at_com[j]), pushing)
                j = links.parent[j]
            i = links.parent[i]
    return H, h


@kernel
def _fill_coefficients(
    links: Links, motion: Motion, k: int, alpha: FloatArray, beta: FloatArray
) -> None:
    """Fill alpha[k, i], beta[k, i] (3,): accelerations of link k and its origin for qdd_i = 1."""
    p = links.parent[k]
    R, r = rotation(motion.rotation[k]), vector(motion.translation[k])
    alpha[k, k], beta[k, k] = links.subspace[k, :3], links.subspace[k, 3:]
    i = p
    while i >= 0:
        about = vector(alpha[p, i])
        alpha[k, i] = turned_back(R, about)
        beta[k, i] = turned_back(R, add(vector(beta[p, i]), cross(about, r)))
        i = links.parent[i]


@kernel
def kane(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,): partial velocities times forces of inertia, in base coordinates."""
    n, kind = links.parent.size, motion.qd.dtype
    frame, origin, axis = np.empty((n, 4), kind), np.empty((n, 3), kind), np.empty((n, 3), kind)
    w, dw, dv = np.zeros((n, 3), kind), np.zeros((n, 3), kind), np.zeros((n, 3), kind)
    tau = np.zeros(n, kind)
    for k in range(n):
        p = links.parent[k]
        if p >= 0:
            _combine(frame[p], motion.euler[k], frame[k])
            r = _rotated(frame[p], vector(motion.translation[k]))
            w_p, dw_p = vector(w[p]), vector(dw[p])
            origin[k] = add(vector(origin[p]), r)
            a = add(vector(dv[p]), accelerated(w_p, dw_p, r))
        else:
            frame[k], origin[k] = motion.euler[k], motion.translation[k]
            w_p, dw_p, a = zero_vector(links), zero_vector(links), zero_vector(links)
        z = _rotated(frame[k], vector(links.base[2]))
        relative, change = scaled(motion.qd[k], z), scaled(motion.qdd[k], z)
        if links.revolute[k]:
            w[k], dw[k] = add(w_p, relative), add(dw_p, add(change, cross(w_p, relative)))
        else:
            w[k], dw[k] = w_p, dw_p
            a = add(a, add(change, scaled(2, cross(w_p, relative))))
        axis[k], dv[k] = z, a
        com, I = vector(links.com[k]), rotation(links.inertia[k])
        w_k, dw_k, c = vector(w[k]), vector(dw[k]), _rotated(frame[k], com)
        dv_c = add(vector(dv[k]), accelerated(w_k, dw_k, c))
        w_own, dw_own = _rotated_back(frame[k], w_k), _rotated_back(frame[k], dw_k)
        torque = add(turned(I, dw_own), cross(w_own, turned(I, w_own)))
        push = scaled(links.mass[k], difference(dv_c, vector(motion.gravity)))
        center = add(vector(origin[k]), c)
        on_link = vector(motion.wrench[k, 3:])  # about the origin, so moved to the center
        moment = difference(vector(motion.wrench[k]), cross(com, on_link))
        torque = _rotated(frame[k], difference(torque, moment))
        push = difference(push, _rotated(frame[k], on_link))
        i = k
        while i >= 0:
            z = vector(axis[i])
            if links.revolute[i]:
                partial = cross(z, difference(center, vector(origin[i])))
                tau[i] += dot(z, torque) + dot(partial, push)
            else:
                tau[i] += dot(z, push)
            i = links.parent[i]
    return tau


@kernel
def _rotated(e: FloatArray, r: Vector) -> Vector:
    """Return r + 2 e4 (e x r) + 2 e x (e x r): Rodrigues' formula in Euler parameters e (4,).

    Printed forms with another sine in the second or third term are no rotations.
    """
    axis = vector(e)
    twice = scaled(2, cross(axis, r))
    return add(r, add(scaled(e[3], twice), cross(axis, twice)))


@kernel
def _rotated_back(e: FloatArray, r: Vector) -> Vector:
    """Return the same for the opposite rotation."""
    axis = vector(e)
    twice = scaled(2, cross(axis, r))
    return add(r, difference(cross(axis, twice), scaled(e[3], twice)))


@kernel
def _combine(first: FloatArray, second: FloatArray, both: FloatArray) -> None:
    """Fill the Euler parameters (4,) of one rotation followed, in its own axes, by another."""
    a, b = vector(first), vector(second)
    both[:3] = add(add(scaled(first[3], b), scaled(second[3], a)), cross(a, b))
    both[3] = first[3] * second[3] - dot(a, b)
