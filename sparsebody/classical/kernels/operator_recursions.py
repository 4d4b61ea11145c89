"""The recursions that spatial operators stand for. Rodriguez, Jain, Kreutz-Delgado (1992).

phi* x runs from the base to the tips, phi x from the tips to the base. Link i is the body k = n - i
of the papers, which number from the tip (1) to the base (n). Accelerations are derivatives of
velocities in inertial axes, taken about joint origins and expressed in link axes.
"""

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.newton_euler import carry_inwards, cross, freedom, with_joint


@kernel
def operator_inverse(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = H phi [M phi* (H* qdd + a) + b]; wrenches from outside are part of b."""
    dtype = motion.qd.dtype
    a, b = velocity_terms(links, motion)
    alpha, tau = np.empty(a.shape, dtype), np.empty(motion.qd.shape, dtype)
    for i in range(tau.size):
        _carry_outwards(links, motion, i, alpha)
        alpha[i] += a[i]
        alpha[i, freedom(links, i)] += motion.qdd[i]
        _add_momentum_rate(links, i, alpha[i], b[i])
    for i in range(tau.size - 1, -1, -1):
        tau[i] = b[i, freedom(links, i)]
        carry_inwards(links, motion, i, b)
    return tau


@kernel
def operator_forward(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,) = (1 - H psi K)* D^-1 [tau - H psi (K tau + P a + b)] - K* psi* a."""
    dtype = motion.qd.dtype
    a, z = velocity_terms(links, motion)
    alpha, G = np.empty(a.shape, dtype), np.empty(a.shape, dtype)
    P, qdd = links.spatial_inertia.copy(), np.empty(motion.qd.shape, dtype)
    for i in range(qdd.size - 1, -1, -1):
        j = freedom(links, i)
        for row in range(6):
            z[i, row] += P[i, row] @ a[i]
            G[i, row] = P[i, row, j] / P[i, j, j]
        innovation = motion.qdd[i] - z[i, j]
        qdd[i] = innovation / P[i, j, j]
        if links.parent[i] >= 0:
            z[i] += G[i] * innovation
            carry_inwards(links, motion, i, z)
            _project(links, j, P[i], G[i])
            _carry_inertia(links, motion, i, P)
    for i in range(qdd.size):
        _carry_outwards(links, motion, i, alpha)
        qdd[i] -= G[i] @ alpha[i]
        alpha[i] += a[i]
        alpha[i, freedom(links, i)] += qdd[i]
    return qdd


@kernel
def velocity_terms(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Return a = dphi*/dt V + dH*/dt qd and b = dM/dt V - dphi/dt M V (n, 6). Liu (2011), (6).

    About a joint's origin b = (w x J w, w x (w x m p)), from which the velocity of the origin has
    dropped out; wrenches from outside are taken off.
    """
    a, b = np.full_like(motion.wrench, links.base[3, 0]), np.empty_like(motion.wrench)
    omega = np.empty_like(motion.translation)
    zero, still = links.base[3, 0], links.base[3, :3]
    for i in range(motion.qd.size):
        p, R = links.parent[i], motion.rotation[i]
        w, swing = still, still
        if p >= 0:
            w, swing = omega[p], cross(omega[p], cross(omega[p], motion.translation[i])) @ R
            w = w @ R
        w, spin, swing = with_joint(links.revolute[i], motion.qd[i], zero, w, still, swing)
        omega[i], a[i, :3], a[i, 3:] = w, spin, swing
        b[i, :3] = cross(w, links.spatial_inertia[i, :3, :3].copy() @ w)
        b[i, 3:] = cross(w, cross(w, links.moment[i]))
    return a, b - motion.wrench


@kernel
def _carry_outwards(links: Links, motion: Motion, i: int, alpha: FloatArray) -> None:
    """Fill row i of alpha (n, 6) with phi*(k+1, k) alpha(k+1); that of the base is -g."""
    p, R = links.parent[i], motion.rotation[i]
    if p >= 0:
        alpha[i, :3] = alpha[p, :3] @ R
        alpha[i, 3:] = (alpha[p, 3:] + cross(alpha[p], motion.translation[i])) @ R
    else:
        alpha[i, :3], alpha[i, 3:] = links.base[3, 0], -motion.gravity @ R


@kernel
def _add_momentum_rate(links: Links, i: int, alpha: FloatArray, f: FloatArray) -> None:
    """Add M(k) alpha to f (6,), without the products by what is zero in M(k)."""
    J, mp = links.spatial_inertia[i, :3, :3].copy(), links.moment[i]
    f[:3] += J @ alpha[:3] + cross(mp, alpha[3:])
    f[3:] += alpha[3:] * links.mass[i] - cross(mp, alpha)


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
def _carry_inertia(links: Links, motion: Motion, i: int, P: FloatArray) -> None:
    """Add phi(k+1, k) P(k) phi*(k+1, k) to the inertia of the parent (n, 6, 6).

    The rotation makes Q = [A, B; B', C] of P(k), and the shift by l adds l~ C to B and
    l~ B' + (B + l~ C) l~' to A.
    """
    p, l = links.parent[i], motion.translation[i]
    Q = _turned_inertia(motion.rotation[i], P[i])
    for c in range(3):
        b = Q[3:, c]
        for row in range(c, 3):
            Q[row, c] += _cross_at(row, l, b)
        Q[c, 3:] = Q[3 + c, :3] + cross(l, Q[3 + c, 3:])
    for row in range(3):
        b = Q[:3, 3 + row]
        for c in range(3):
            P[p, 3 + c, row] += Q[c, 3 + row]
            P[p, row, 3 + c] = P[p, 3 + c, row]
        for c in range(row + 1):
            P[p, row, c] += Q[row, c] + _cross_at(c, l, b)
            P[p, c, row] = P[p, row, c]
            P[p, 3 + row, 3 + c] += Q[3 + row, 3 + c]
            P[p, 3 + c, 3 + row] = P[p, 3 + row, 3 + c]


@kernel
def _turned_inertia(R: FloatArray, P: FloatArray) -> FloatArray:
    """Return the blocks A (lower triangle), B' and C of P (6, 6), each turned to R (.) R'."""
    Q = np.empty((6, 6), P.dtype)
    for first, second in ((0, 0), (3, 0), (3, 3)):
        for row in range(3):
            Q[first + row, second : second + 3] = R @ P[first + row, second : second + 3]
        for c in range(3):
            column = Q[first : first + 3, second + c].copy()
            for row in range(0 if first != second else c, 3):
                Q[first + row, second + c] = R[row] @ column
    Q[3, 4], Q[3, 5], Q[4, 5] = Q[4, 3], Q[5, 3], Q[5, 4]
    return Q


@kernel
def _cross_at(a: int, x: FloatArray, y: FloatArray) -> float:
    """Return component a of x × y."""
    b, c = (a + 1) % 3, (a + 2) % 3
    return x[b] * y[c] - x[c] * y[b]
