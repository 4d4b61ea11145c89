"""The recursions that spatial operators stand for. Rodriguez, Jain, Kreutz-Delgado (1992).

phi* x runs from the base to the tips, phi x from the tips to the base. Link i is the body k = n - i
of the papers, which number from the tip (1) to the base (n). Accelerations are derivatives of
velocities in inertial axes, taken about joint origins and expressed in link axes.
"""

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.newton_euler import carry_inwards, freedom, with_joint
from sparsebody.classical.kernels.small_matrices import (
    Rotation,
    Vector,
    add,
    cross,
    difference,
    dot,
    inner,
    opposite,
    rotation,
    scaled,
    store,
    turned,
    turned_back,
    vector,
    zero_vector,
    zeros_like,
)


@kernel
def operator_inverse(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = H phi [M phi* (H* qdd + a) + b]; wrenches from outside are part of b."""
    kind = motion.qd.dtype
    a, b = velocity_terms(links, motion)
    alpha, tau = np.empty(a.shape, kind), np.empty(motion.qd.shape, kind)
    for i in range(tau.size):
        _carry_outwards(links, motion, i, alpha)
        alpha[i] += a[i]
        alpha[i, freedom(links, i)] += motion.qdd[i]
        _add_momentum_rate(links, i, vector(alpha[i]), vector(alpha[i, 3:]), b[i])
    for i in range(tau.size - 1, -1, -1):
        tau[i] = b[i, freedom(links, i)]
        carry_inwards(links, motion, i, b)
    return tau


@kernel
def operator_forward(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,) = (1 - H psi K)* D^-1 [tau - H psi (K tau + P a + b)] - K* psi* a."""
    kind = motion.qd.dtype
    a, z = velocity_terms(links, motion)
    alpha, G = np.empty(a.shape, kind), np.empty(a.shape, kind)
    P, qdd = links.spatial_inertia.copy(), np.empty(motion.qd.shape, kind)
    for i in range(qdd.size - 1, -1, -1):
        j = freedom(links, i)
        for row in range(6):
            z[i, row] += inner(P[i, row], a[i])
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
        qdd[i] -= inner(G[i], alpha[i])
        alpha[i] += a[i]
        alpha[i, freedom(links, i)] += qdd[i]
    return qdd


@kernel
def velocity_terms(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Return a = dphi*/dt V + dH*/dt qd and b = dM/dt V - dphi/dt M V (n, 6). Liu (2011), (6).

    About a joint's origin b = (w x J w, w x (w x m p)), from which the velocity of the origin has
    dropped out; wrenches from outside are taken off.
    """
    a, b = zeros_like(links, motion.wrench), np.empty(motion.wrench.shape, motion.qd.dtype)
    omega = np.empty((motion.qd.size, 3), motion.qd.dtype)
    zero, still = links.base[3, 0], zero_vector(links)
    for i in range(omega.shape[0]):
        p, R = links.parent[i], rotation(motion.rotation[i])
        w, swing = still, still
        if p >= 0:
            w = vector(omega[p])
            swing = turned_back(R, cross(w, cross(w, vector(motion.translation[i]))))
            w = turned_back(R, w)
        w, spin, swing = with_joint(links.revolute[i], motion.qd[i], zero, w, still, swing)
        store(w, omega[i])
        store(spin, a[i])
        store(swing, a[i, 3:])
        moment = cross(w, turned(rotation(links.spatial_inertia[i]), w))
        force = cross(w, cross(w, vector(links.moment[i])))
        store(difference(moment, vector(motion.wrench[i])), b[i])
        store(difference(force, vector(motion.wrench[i, 3:])), b[i, 3:])
    return a, b


@kernel
def _carry_outwards(links: Links, motion: Motion, i: int, alpha: FloatArray) -> None:
    """Fill row i of alpha (n, 6) with phi*(k+1, k) alpha(k+1); that of the base is -g."""
    p, R = links.parent[i], rotation(motion.rotation[i])
    if p >= 0:
        spin, push = vector(alpha[p]), vector(alpha[p, 3:])
        push = add(push, cross(spin, vector(motion.translation[i])))
        store(turned_back(R, spin), alpha[i])
        store(turned_back(R, push), alpha[i, 3:])
    else:
        store(zero_vector(links), alpha[i])
        store(turned_back(R, opposite(motion.gravity)), alpha[i, 3:])


@kernel
def _add_momentum_rate(links: Links, i: int, spin: Vector, push: Vector, f: FloatArray) -> None:
    """Add M(k) alpha to f (6,), without the products by what is zero in M(k)."""
    J, mp = rotation(links.spatial_inertia[i]), vector(links.moment[i])
    moment = add(turned(J, spin), cross(mp, push))
    force = difference(scaled(links.mass[i], push), cross(mp, spin))
    store(add(vector(f), moment), f)
    store(add(vector(f[3:]), force), f[3:])


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
    p, l = links.parent[i], vector(motion.translation[i])
    Q = _turned_inertia(rotation(motion.rotation[i]), P[i])
    for c in range(3):
        b = vector(Q[3:, c])
        for row in range(c, 3):
            Q[row, c] += _cross_at(row, l, b)
        store(add(vector(Q[3 + c]), cross(l, vector(Q[3 + c, 3:]))), Q[c, 3:])
    for row in range(3):
        b = vector(Q[:3, 3 + row])
        for c in range(3):
            P[p, 3 + c, row] += Q[c, 3 + row]
            P[p, row, 3 + c] = P[p, 3 + c, row]
        for c in range(row + 1):
            P[p, row, c] += Q[row, c] + _cross_at(c, l, b)
            P[p, c, row] = P[p, row, c]
            P[p, 3 + row, 3 + c] += Q[3 + row, 3 + c]
            P[p, 3 + c, 3 + row] = P[p, 3 + row, 3 + c]


@kernel
def _turned_inertia(R: Rotation, P: FloatArray) -> FloatArray:
    """Return the blocks A (lower triangle), B' and C of P (6, 6), each turned to R (.) R'."""
    Q = np.empty((6, 6), P.dtype)
    for first, second in ((0, 0), (3, 0), (3, 3)):
        for row in range(3):
            store(turned(R, vector(P[first + row, second:])), Q[first + row, second:])
        for c in range(3):
            column = vector(Q[first:, second + c])
            for row in range(0 if first != second else c, 3):
                R_row = R[3 * row], R[3 * row + 1], R[3 * row + 2]
                Q[first + row, second + c] = dot(R_row, column)
    Q[3, 4], Q[3, 5], Q[4, 5] = Q[4, 3], Q[5, 3], Q[5, 4]
    return Q


@kernel
def _cross_at(a: int, x: Vector, y: Vector) -> float:
    """Return component a of x × y."""
    b, c = (a + 1) % 3, (a + 2) % 3
    return x[b] * y[c] - x[c] * y[b]
