"""The recursions that spatial operators stand for. Rodriguez, Jain, Kreutz-Delgado (1992); Liu.

phi* x runs from the base to the tips, phi x from the tips to the base. Link i is the body k = n - i
of the papers, which number from the tip (1) to the base (n). Accelerations are derivatives of
velocities in inertial axes, taken about joint origins and expressed in link axes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.classical.links import Links, Motion
from sparsebody.spatial.tuples import (
    Rotation,
    add,
    cross,
    difference,
    load_rotation,
    load_vector,
    scaled,
    store_vector,
    turned,
    turned_back,
)


@njit(cache=True)
def operator_inverse(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = H phi [M phi* (H* qdd + a) + b]; wrenches from outside are part of b."""
    n, kind = links.parent.size, motion.qd.dtype
    w, a = np.zeros((n, 3), kind), np.zeros((n, 6), kind)
    alpha, f, tau = np.zeros((n, 6), kind), np.empty((n, 6), kind), np.empty(n, kind)
    coriolis(links, motion, w, a)
    for i in range(n):
        _carry_outwards(links, motion, i, alpha)
        _add(alpha[i], a[i])
        alpha[i, freedom(links, i)] += motion.qdd[i]
        gyroscopic(links, motion, i, w, f)
        _add_momentum_rate(links, i, alpha[i], f[i])
    for i in range(n - 1, -1, -1):
        tau[i] = f[i, freedom(links, i)]
        if links.parent[i] >= 0:
            _carry_inwards(links, motion, i, f)
    return tau


@njit(cache=True)
def operator_forward(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,) = (1 - H psi K)* D^-1 [tau - H psi (K tau + P a + b)] - K* psi* a.

    The articulated-body algorithm is how the factors of the inverse mass matrix are applied.
    """
    n, kind = links.parent.size, motion.qd.dtype
    w, a = np.zeros((n, 3), kind), np.zeros((n, 6), kind)
    alpha, z = np.zeros((n, 6), kind), np.empty((n, 6), kind)
    P, G = np.empty((n, 6, 6), kind), np.empty((n, 6), kind)
    qdd, work = np.empty(n, kind), np.empty((6, 6), kind)
    coriolis(links, motion, w, a)
    for i in range(n):
        P[i] = links.spatial_inertia[i]
        gyroscopic(links, motion, i, w, z)
    for i in range(n - 1, -1, -1):
        _add_product(P[i], a[i], z[i])
        j = freedom(links, i)
        D, innovation = P[i, j, j], motion.qdd[i] - z[i, j]
        for row in range(6):
            G[i, row] = P[i, row, j] / D
        qdd[i] = innovation / D
        if links.parent[i] >= 0:
            for row in range(6):
                z[i, row] += G[i, row] * innovation
            _project(P[i], j, G[i])
            _carry_inwards(links, motion, i, z)
            _carry_inertia(links, motion, i, P, work)
    for i in range(n):
        _carry_outwards(links, motion, i, alpha)
        for row in range(6):
            qdd[i] -= G[i, row] * alpha[i, row]
        _add(alpha[i], a[i])
        alpha[i, freedom(links, i)] += qdd[i]
    return qdd


@njit(cache=True)
def freedom(links: Links, i: int) -> int:
    """Return the component that H(k) takes: the rotation about z, or the translation along it."""
    return 2 if links.revolute[i] else 5


@njit(cache=True)
def coriolis(links: Links, motion: Motion, w: FloatArray, a: FloatArray) -> None:
    """Fill from zero angular velocities w (n, 3) and a = dphi*/dt V + dH*/dt qd (n, 6). Liu (2011), (6)."""
    for i in range(links.parent.size):
        p, qd = links.parent[i], motion.qd[i]
        if p >= 0:
            R, w_p = load_rotation(motion.rotation[i]), load_vector(w[p], 0)
            swing = cross(w_p, cross(w_p, load_vector(motion.translation[i], 0)))
            spin = turned_back(R, w_p)
            store_vector(w[i], 0, spin)
            store_vector(a[i], 3, turned_back(R, swing))
            if links.revolute[i]:
                a[i, 0], a[i, 1] = spin[1] * qd, -spin[0] * qd
            else:
                twice = 2.0 * qd
                a[i, 3] += spin[1] * twice
                a[i, 4] -= spin[0] * twice
        if links.revolute[i]:
            w[i, 2] += qd


@njit(cache=True)
def gyroscopic(links: Links, motion: Motion, i: int, w: FloatArray, b: FloatArray) -> None:
    """Fill row i of b (n, 6), dM/dt V - dphi/dt M V less the wrench from outside. Liu (2011), (6).

    About a joint's origin that is (w x J w, w x (w x m p)): the velocity of the origin drops out.
    """
    spin, mp = load_vector(w[i], 0), load_vector(links.moment[i], 0)
    moment = cross(spin, turned(load_rotation(links.spatial_inertia[i]), spin))
    force = cross(spin, cross(spin, mp))
    store_vector(b[i], 0, difference(moment, load_vector(motion.wrench[i], 0)))
    store_vector(b[i], 3, difference(force, load_vector(motion.wrench[i], 3)))


@njit(cache=True)
def _carry_outwards(links: Links, motion: Motion, i: int, alpha: FloatArray) -> None:
    """Fill row i of alpha (n, 6), zero so far, with phi*(k+1, k) alpha(k+1); the base has -g."""
    p, R = links.parent[i], load_rotation(motion.rotation[i])
    if p >= 0:
        spin, push = load_vector(alpha[p], 0), load_vector(alpha[p], 3)
        push = add(push, cross(spin, load_vector(motion.translation[i], 0)))
        store_vector(alpha[i], 0, turned_back(R, spin))
        store_vector(alpha[i], 3, turned_back(R, push))
    else:
        g = links.gravity
        store_vector(alpha[i], 3, turned_back(R, (-g[0], -g[1], -g[2])))


@njit(cache=True)
def _carry_inwards(links: Links, motion: Motion, i: int, f: FloatArray) -> None:
    """Add phi(k+1, k) f(k) to the force on the parent (n, 6)."""
    p, R = links.parent[i], load_rotation(motion.rotation[i])
    force = turned(R, load_vector(f[i], 3))
    moment = turned(R, load_vector(f[i], 0))
    moment = add(moment, cross(load_vector(motion.translation[i], 0), force))
    store_vector(f[p], 0, add(load_vector(f[p], 0), moment))
    store_vector(f[p], 3, add(load_vector(f[p], 3), force))


@njit(cache=True)
def _add_momentum_rate(links: Links, i: int, alpha: FloatArray, f: FloatArray) -> None:
    """Add M(k) alpha (6,) to f, without the products by what is zero in M(k)."""
    spin, push = load_vector(alpha, 0), load_vector(alpha, 3)
    J, mp = load_rotation(links.spatial_inertia[i]), load_vector(links.moment[i], 0)
    moment = add(turned(J, spin), cross(mp, push))
    force = difference(scaled(links.mass[i], push), cross(mp, spin))
    store_vector(f, 0, add(load_vector(f, 0), moment))
    store_vector(f, 3, add(load_vector(f, 3), force))


@njit(cache=True)
def _add(y: FloatArray, x: FloatArray) -> None:
    """Add x to y (6,)."""
    for row in range(6):
        y[row] += x[row]


@njit(cache=True)
def _add_product(P: FloatArray, x: FloatArray, y: FloatArray) -> None:
    """Add P x to y (6,)."""
    for row in range(6):
        for column in range(6):
            y[row] += P[row, column] * x[column]


@njit(cache=True)
def _project(P: FloatArray, j: int, G: FloatArray) -> None:
    """Replace P (6, 6) by (1 - G H) P, of which row and column j are zero, for H = e_j'."""
    U = P[j].copy()
    for row in range(6):
        for column in range(row + 1):
            P[row, column] -= G[row] * U[column]
            P[column, row] = P[row, column]


@njit(cache=True)
def _carry_inertia(
    links: Links, motion: Motion, i: int, P: FloatArray, turned_P: FloatArray
) -> None:
    """Add phi(k+1, k) P(k) phi*(k+1, k) to the inertia of the parent (n, 6, 6).

    The rotation gives Q = [A, B; B', C], and the shift by l [A + l~ B' + (B + l~ C) l~', B + l~ C;
    . , C].
    """
    p, R = links.parent[i], load_rotation(motion.rotation[i])
    Q, l = turned_P, load_vector(motion.translation[i], 0)
    _turn_inertia(R, P[i], Q)
    for c in range(3):
        shifted = add(load_vector(Q[3 + c], 0), cross(l, load_vector(Q[3 + c], 3)))
        along = cross(l, (Q[3, c], Q[4, c], Q[5, c]))
        store_vector(Q[c], 3, shifted)
        for row in range(c, 3):
            Q[row, c] += along[row]
        for row in range(3):
            P[p, 3 + c, row] += shifted[row]
            P[p, row, 3 + c] = P[p, 3 + c, row]
    for row in range(3):
        across = cross(l, (Q[0, 3 + row], Q[1, 3 + row], Q[2, 3 + row]))
        for c in range(row + 1):
            P[p, row, c] += Q[row, c] + across[c]
            P[p, c, row] = P[p, row, c]
            P[p, 3 + row, 3 + c] += Q[3 + row, 3 + c]
            P[p, 3 + c, 3 + row] = P[p, 3 + row, 3 + c]


@njit(cache=True)
def _turn_inertia(R: Rotation, P: FloatArray, Q: FloatArray) -> None:
    """Fill the lower triangle of blocks of Q with those of P, each turned: R (.) R'."""
    for first, second in ((0, 0), (3, 0), (3, 3)):
        for row in range(3):
            half = turned(R, load_vector(P[first + row], second))
            store_vector(Q[first + row], second, half)
        for column in range(second, second + 3):
            half = (Q[first, column], Q[first + 1, column], Q[first + 2, column])
            x = turned(R, half)
            Q[first, column], Q[first + 1, column], Q[first + 2, column] = x
