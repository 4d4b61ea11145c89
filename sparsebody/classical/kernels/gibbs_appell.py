"""Equations from the acceleration energy, dG/dqdd = Q. Gibbs (1879), Appell (1900); Popov."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.matrices import accelerations, forces
from sparsebody.classical.kernels.newton_euler import accelerated, outwards, without_accelerations
from sparsebody.classical.kernels.vectors import (
    add,
    cross,
    dot,
    load_rotation,
    load_vector,
    scaled,
    store_vector,
    turned,
    turned_back,
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
    turning, pushing = np.empty((n, 3), kind), np.empty((n, 3), kind)
    at_com, bias = np.empty((n, 3), kind), without_accelerations(links, motion)
    for k in range(n):
        w, e_0, a_0 = outwards(links, bias, k, omega, dw, dv)
        _coefficients(links, motion, k, alpha, beta)
        c, I, m = load_vector(links.com[k], 0), load_rotation(links.inertia[k]), links.mass[k]
        w_0 = add(a_0, accelerated(w, e_0, c))
        torque = add(turned(I, e_0), cross(w, turned(I, w)))
        force = scaled(m, w_0)
        i = k
        while i >= 0:
            about, along = load_vector(alpha[k, i], 0), load_vector(beta[k, i], 0)
            along = add(along, cross(about, c))
            store_vector(at_com[i], 0, along)
            store_vector(turning[i], 0, turned(I, about))
            store_vector(pushing[i], 0, scaled(m, along))
            h[i] += dot(about, torque) + dot(along, force)
            j = k
            while j >= i:
                H[j, i] += dot(load_vector(alpha[k, j], 0), load_vector(turning[i], 0)) + dot(
                    load_vector(at_com[j], 0), load_vector(pushing[i], 0)
                )
                j = links.parent[j]
            i = links.parent[i]
    return H, h


@kernel
def _coefficients(
    links: Links, motion: Motion, k: int, alpha: FloatArray, beta: FloatArray
) -> None:
    """Fill alpha[k, i], beta[k, i] (3,): accelerations of link k and its origin for qdd_i = 1."""
    p = links.parent[k]
    R, r = load_rotation(motion.rotation[k]), load_vector(motion.translation[k], 0)
    alpha[k, k], beta[k, k] = links.subspace[k, :3], links.subspace[k, 3:]
    i = p
    while i >= 0:
        about = load_vector(alpha[p, i], 0)
        store_vector(alpha[k, i], 0, turned_back(R, about))
        along = add(load_vector(beta[p, i], 0), cross(about, r))
        store_vector(beta[k, i], 0, turned_back(R, along))
        i = links.parent[i]
