"""The recursions that spatial operators stand for. Rodriguez, Jain, Kreutz-Delgado (1992).

phi* x runs from the base to the tips, phi x from the tips to the base. Link i is the body k = n - i
of the papers, which number from the tip (1) to the base (n). Accelerations are derivatives of
velocities in inertial axes, taken about joint origins and expressed in link axes.
"""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.matrices import add_to, inner
from sparsebody.classical.kernels.newton_euler import (
    carry_inwards,
    opposite,
    with_joint,
    zero_vector,
    zeros_like,
)
from sparsebody.classical.kernels.vectors import (
    Rotation,
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
    turned_back,
)

_CANCELLED = 1e-13  # relative


@kernel
def operator_inverse(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = H phi [M phi* (H* qdd + a) + b]; wrenches from outside are part of b."""
    kind = motion.qd.dtype
    a, b = velocity_terms(links, motion)
    alpha, tau = np.empty(a.shape, kind), np.empty(motion.qd.shape, kind)
    for i in range(tau.size):
        _carry_outwards(links, motion, i, alpha)
        add_to(alpha[i], a[i])
        alpha[i, freedom(links, i)] += motion.qdd[i]
        _add_momentum_rate(links, i, alpha[i], b[i])
    for i in range(tau.size - 1, -1, -1):
        tau[i] = b[i, freedom(links, i)]
        carry_inwards(links, motion, i, b[:, 3:], b[:, :3])
    return tau


@kernel
def operator_forward(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,) = (1 - H psi K)* D^-1 [tau - H psi (K tau + P a + b)] - K* psi* a.

    The articulated-body algorithm is how the factors of the inverse mass matrix are applied.
    """
    kind = motion.qd.dtype
    a, z = velocity_terms(links, motion)
    alpha, G = np.empty(a.shape, kind), np.empty(a.shape, kind)
    P, work = links.spatial_inertia.copy(), np.empty((6, 6), kind)
    qdd = np.empty(motion.qd.shape, kind)
    for i in range(qdd.size - 1, -1, -1):
        j = freedom(links, i)
        for row in range(6):
            z[i, row] += inner(P[i, row], a[i])
            G[i, row] = P[i, row, j] / P[i, j, j]
        innovation = motion.qdd[i] - z[i, j]
        qdd[i] = innovation / P[i, j, j]
        if links.parent[i] >= 0:
            for row in range(6):
                z[i, row] += G[i, row] * innovation
            carry_inwards(links, motion, i, z[:, 3:], z[:, :3])
            _project(links, j, P[i], G[i])
            _carry_inertia(links, motion, i, P, work)
    for i in range(qdd.size):
        _carry_outwards(links, motion, i, alpha)
        qdd[i] -= inner(G[i], alpha[i])
        add_to(alpha[i], a[i])
        alpha[i, freedom(links, i)] += qdd[i]
    return qdd


@kernel
def free_joint(links: Links, motion: Motion) -> int:
    """Return the first link from the tips whose joint nothing resists, to rounding; -1 if none.

    There D = H P H* is what cancellation leaves of the sum of M(k) and all P of the children.
    """
    P, whole = links.spatial_inertia.copy(), links.spatial_inertia.copy()
    work, G = np.empty((6, 6)), np.empty(6)
    for i in range(P.shape[0] - 1, -1, -1):
        j = freedom(links, i)
        pivot, least = P[i, j, j], _CANCELLED * whole[i, j, j]
        if pivot <= least:
            return i
        if links.parent[i] >= 0:
            whole[i] = P[i]
            _carry_inertia(links, motion, i, whole, work)
            G[:] = P[i, :, j] / pivot
            _project(links, j, P[i], G)
            _carry_inertia(links, motion, i, P, work)
    return -1


@kernel
def freedom(links: Links, i: int) -> int:
    """Return the component that H(k) takes: the rotation about z, or the translation along it."""
    return 2 if links.revolute[i] else 5


@kernel
def velocity_terms(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Return a = dphi*/dt V + dH*/dt qd and b = dM/dt V - dphi/dt M V (n, 6). Liu (2011), (6).

    About a joint's origin b = (w x J w, w x (w x m p)), from which the velocity of the origin has
    dropped out; wrenches from outside are taken off.
    """
    a, b = zeros_like(links, motion.wrench), np.empty(motion.wrench.shape, motion.qd.dtype)
    omega = np.empty((motion.qd.size, 3), motion.qd.dtype)
    zero = links.base[3, 0]
    for i in range(omega.shape[0]):
        p, R = links.parent[i], load_rotation(motion.rotation[i])
        w, swing = zero_vector(links), zero_vector(links)
        if p >= 0:
            w = load_vector(omega[p], 0)
            swing = turned_back(R, cross(w, cross(w, load_vector(motion.translation[i], 0))))
            w = turned_back(R, w)
        w, spin, swing = with_joint(
            links.revolute[i], motion.qd[i], zero, w, zero_vector(links), swing
        )
        store_vector(omega[i], 0, w)
        store_vector(a[i], 0, spin)
        store_vector(a[i], 3, swing)
        moment = cross(w, turned(load_rotation(links.spatial_inertia[i]), w))
        force = cross(w, cross(w, load_vector(links.moment[i], 0)))
        store_vector(b[i], 0, difference(moment, load_vector(motion.wrench[i], 0)))
        store_vector(b[i], 3, difference(force, load_vector(motion.wrench[i], 3)))
    return a, b


@kernel
def _carry_outwards(links: Links, motion: Motion, i: int, alpha: FloatArray) -> None:
    """Fill row i of alpha (n, 6) with phi*(k+1, k) alpha(k+1); that of the base is -g."""
    p, R = links.parent[i], load_rotation(motion.rotation[i])
    if p >= 0:
        spin, push = load_vector(alpha[p], 0), load_vector(alpha[p], 3)
        push = add(push, cross(spin, load_vector(motion.translation[i], 0)))
        store_vector(alpha[i], 0, turned_back(R, spin))
        store_vector(alpha[i], 3, turned_back(R, push))
    else:
        store_vector(alpha[i], 0, zero_vector(links))
        store_vector(alpha[i], 3, turned_back(R, opposite(motion.gravity)))


@kernel
def _add_momentum_rate(links: Links, i: int, alpha: FloatArray, f: FloatArray) -> None:
    """Add M(k) alpha (6,) to f, without the products by what is zero in M(k)."""
    spin, push = load_vector(alpha, 0), load_vector(alpha, 3)
    J, mp = load_rotation(links.spatial_inertia[i]), load_vector(links.moment[i], 0)
    moment = add(turned(J, spin), cross(mp, push))
    force = difference(scaled(links.mass[i], push), cross(mp, spin))
    store_vector(f, 0, add(load_vector(f, 0), moment))
    store_vector(f, 3, add(load_vector(f, 3), force))


@kernel
def _project(links: Links, j: int, P: FloatArray, G: FloatArray) -> None:
    """Replace P (6, 6) by (1 - G H) P with H = e_j', so that row and column j are zero."""
    for row in range(6):
        for column in range(row + 1):
            if row != j and column != j:
                P[row, column] -= G[row] * P[j, column]
                P[column, row] = P[row, column]
    P[j], P[:, j] = links.base[3, 0], links.base[3, 0]


@kernel
def _carry_inertia(links: Links, motion: Motion, i: int, P: FloatArray, Q: FloatArray) -> None:
    """Add phi(k+1, k) P(k) phi*(k+1, k) to the inertia of the parent (n, 6, 6); Q is for work.

    The rotation makes Q = [A, B; B', C] of P(k), and the shift by l adds l~ C to B and
    l~ B' + (B + l~ C) l~' to A.
    """
    p, l = links.parent[i], load_vector(motion.translation[i], 0)
    _turn(load_rotation(motion.rotation[i]), P[i], Q)
    for c in range(3):
        b = (Q[3, c], Q[4, c], Q[5, c])
        for row in range(c, 3):
            Q[row, c] += _cross_at(row, l, b)
        shifted = add(load_vector(Q[3 + c], 0), cross(l, load_vector(Q[3 + c], 3)))
        store_vector(Q[c], 3, shifted)
    for row in range(3):
        b = (Q[0, 3 + row], Q[1, 3 + row], Q[2, 3 + row])
        for c in range(3):
            P[p, 3 + c, row] += Q[c, 3 + row]
            P[p, row, 3 + c] = P[p, 3 + c, row]
        for c in range(row + 1):
            P[p, row, c] += Q[row, c] + _cross_at(c, l, b)
            P[p, c, row] = P[p, row, c]
            P[p, 3 + row, 3 + c] += Q[3 + row, 3 + c]
            P[p, 3 + c, 3 + row] = P[p, 3 + row, 3 + c]


@kernel
def _turn(R: Rotation, P: FloatArray, Q: FloatArray) -> None:
    """Fill the blocks A (lower triangle), B' and C of Q with those of P, each as R (.) R'."""
    for first, second in ((0, 0), (3, 0), (3, 3)):
        for row in range(3):
            half = turned(R, load_vector(P[first + row], second))
            store_vector(Q[first + row], second, half)
        for c in range(3):
            column: Vector = (
                Q[first, second + c],
                Q[first + 1, second + c],
                Q[first + 2, second + c],
            )
            for row in range(0 if first != second else c, 3):
                R_row = (R[3 * row], R[3 * row + 1], R[3 * row + 2])
                Q[first + row, second + c] = dot(R_row, column)
    Q[3, 4], Q[3, 5], Q[4, 5] = Q[4, 3], Q[5, 3], Q[5, 4]


@kernel
def _cross_at(a: int, x: Vector, y: Vector) -> float:
    """Return component a of x × y."""
    b, c = (a + 1) % 3, (a + 2) % 3
    return x[b] * y[c] - x[c] * y[b]
