"""Forward dynamics of trees by the articulated-body algorithm. Featherstone (2008), ch. 7.

A joint of several freedoms is eliminated one freedom after the other, as Gauss would: what is left
of the inertia yields to the freedoms eliminated before. A driven freedom is not eliminated; its
known acceleration is part of the drift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, MASS, PARENT, Links
from sparsebody.dynamics.tree.motion import CENTER, OFFSET, TENSOR, TreeMotion
from sparsebody.dynamics.tree.recursive_newton_euler import bias_force
from sparsebody.dynamics.tree.registers import (
    dot6,
    load3,
    load_matrix,
    moved,
    plus_scaled,
    store3,
    store6,
    store_matrix,
    symmetric_times,
    times,
    transposed_times,
)
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.spatial.tuples import (
    INLINE,
    Rotation,
    Triangle,
    Vector,
    add,
    cross,
    difference,
    load_triangle,
)

A, B, D, P = 0, 6, 15, 21  # columns of Articulated.body: [A B; B' D], and the bias force
U, INVERSE, REST = 0, 6, 7  # columns of Articulated.freedom


class Articulated(NamedTuple):
    """Articulated inertias and bias forces, and what the elimination of each freedom leaves."""

    body: FloatArray  # (n, 27) lower triangle A, B, lower triangle D, p; world axes
    freedom: FloatArray  # (n_velocities, 8) U = I^A S, 1 / (S' U), u = tau - S' p
    acceleration: FloatArray  # (n, 6) true ones, in world axes about the links' origins


def empty_articulated(tree: SpanningTree) -> Articulated:
    """Return arrays of the right shapes."""
    n, n_v = tree.n_bodies, tree.n_velocities
    return Articulated(np.zeros((n, 27)), np.zeros((n_v, 8)), np.zeros((n, 6)))


NO_DRIVES = np.zeros(0, dtype=np.bool_)


def forward_dynamics_tree(
    tree: SpanningTree, motion: TreeMotion, tau: FloatArray, force: FloatArray | None = None
) -> FloatArray:
    """Return qdd (n_velocities,) of the tree, its loop joints exerting nothing.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    motion : TreeMotion
        Of its links.
    tau : (n_velocities,) float array
        Forces of the tree joints [N m, N].
    force : (n_bodies, 6) float array, optional
        Other forces on the links besides gravity, as from `link_forces`.

    References
    ----------
    Featherstone (2008), table 7.1.
    """
    qdd = np.empty(tree.n_velocities)
    given = np.zeros((0, 6)) if force is None else force
    articulated_body(tree.links, motion, tau, given, NO_DRIVES, empty_articulated(tree), qdd)
    return qdd


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def articulated_body(
    links: Links,
    motion: TreeMotion,
    tau: FloatArray,
    force: FloatArray,
    is_driven: BoolArray,
    work: Articulated,
    qdd: FloatArray,
) -> None:
    """Fill qdd, and the accelerations of the links.

    `force` (n, 6), or (0, 6) for none; `is_driven` (n_velocities,), or (0,) for none: where it is
    true qdd is given, not sought.
    """
    table, constants, S = links.integers, links.constants, motion.subspace
    body, freedom, acceleration = work.body, work.freedom, work.acceleration
    n, has_force, has_drives = constants.shape[0], force.shape[0] > 0, is_driven.shape[0] > 0
    for i in range(n):
        mass = constants[i, MASS]
        com, tensor = load3(motion.inertia, i, CENTER), load_triangle(motion.inertia, i, TENSOR)
        w, u = load3(motion.velocity, i, 0), load3(motion.velocity, i, 3)
        moment, push = bias_force(mass, com, tensor, w, u)
        if has_force:
            moment = difference(moment, load3(force, i, 0))
            push = difference(push, load3(force, i, 3))
        store6(body, i, A, about_origin(mass, com, tensor))
        store_matrix(body, i, B, first_moment(mass, com))
        store6(body, i, D, (mass, 0.0, mass, 0.0, 0.0, mass))
        store3(body, i, P, moment)
        store3(body, i, P + 3, push)
    for i in range(n - 1, -1, -1):
        a, b, d = load_triangle(body, i, A), load_matrix(body, i, B), load_triangle(body, i, D)
        c_w, c_u = load3(motion.drift, i, 0), load3(motion.drift, i, 3)
        first, last = table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]
        if has_drives:
            for k in range(first, last):
                if is_driven[k]:
                    c_w = plus_scaled(c_w, qdd[k], load3(S, k, 0))
                    c_u = plus_scaled(c_u, qdd[k], load3(S, k, 3))
        moment = add(load3(body, i, P), add(symmetric_times(a, c_w), times(b, c_u)))
        push = add(load3(body, i, P + 3), add(transposed_times(b, c_w), symmetric_times(d, c_u)))
        for k in range(first, last):
            if has_drives and is_driven[k]:
                continue
            s_w, s_u = load3(S, k, 0), load3(S, k, 3)
            if s_u[0] == 0.0 and s_u[1] == 0.0 and s_u[2] == 0.0:  # hinges and balls
                U_n, U_f = symmetric_times(a, s_w), transposed_times(b, s_w)
            else:
                U_n = add(symmetric_times(a, s_w), times(b, s_u))
                U_f = add(transposed_times(b, s_w), symmetric_times(d, s_u))
            inverse = 1.0 / dot6(s_w, s_u, U_n, U_f)
            rest = tau[k] - dot6(s_w, s_u, moment, push)
            store3(freedom, k, U, U_n)
            store3(freedom, k, U + 3, U_f)
            freedom[k, INVERSE], freedom[k, REST] = inverse, rest
            moment = plus_scaled(moment, rest * inverse, U_n)
            push = plus_scaled(push, rest * inverse, U_f)
            a, b, d = without(a, b, d, U_n, U_f, inverse)
        p = table[i, PARENT]
        if p >= 0:
            offset = load3(motion.place, i, OFFSET)
            a, b = shifted(a, b, d, offset)
            for e in range(6):
                body[p, A + e] += a[e]
                body[p, D + e] += d[e]
            for e in range(9):
                body[p, B + e] += b[e]
            moment = add(moment, cross(offset, push))
            for e in range(3):
                body[p, P + e] += moment[e]
                body[p, P + 3 + e] += push[e]
    gravity = (links.gravity[0], links.gravity[1], links.gravity[2])
    for i in range(n):
        p = table[i, PARENT]
        a_w, a_u = (0.0, 0.0, 0.0), (-gravity[0], -gravity[1], -gravity[2])
        if p >= 0:
            a_w = load3(acceleration, p, 0)
            a_u = moved(a_w, load3(acceleration, p, 3), load3(motion.place, i, OFFSET))
        first, last = table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]
        for k in range(last - 1, first - 1, -1):
            if has_drives and is_driven[k]:
                continue
            gap = freedom[k, REST] - dot6(a_w, a_u, load3(freedom, k, U), load3(freedom, k, U + 3))
            qdd[k] = gap * freedom[k, INVERSE]
            a_w = plus_scaled(a_w, qdd[k], load3(S, k, 0))
            a_u = plus_scaled(a_u, qdd[k], load3(S, k, 3))
        if has_drives:
            for k in range(first, last):
                if is_driven[k]:
                    a_w = plus_scaled(a_w, qdd[k], load3(S, k, 0))
                    a_u = plus_scaled(a_u, qdd[k], load3(S, k, 3))
        store3(acceleration, i, 0, add(a_w, load3(motion.drift, i, 0)))
        store3(acceleration, i, 3, add(a_u, load3(motion.drift, i, 3)))
    for i in range(n):  # the recursion has felt gravity as an acceleration of the world
        for e in range(3):
            acceleration[i, 3 + e] += gravity[e]


@njit(**INLINE)
def about_origin(mass: float, com: Vector, tensor: Triangle) -> Triangle:
    """Return A = I_c + m (c.c 1 - c c'). Featherstone (2008), eq. (2.63)."""
    x, y, z = com
    return (
        tensor[0] + mass * (y * y + z * z),
        tensor[1] - mass * x * y,
        tensor[2] + mass * (x * x + z * z),
        tensor[3] - mass * x * z,
        tensor[4] - mass * y * z,
        tensor[5] + mass * (x * x + y * y),
    )


@njit(**INLINE)
def first_moment(mass: float, com: Vector) -> Rotation:
    """Return B = m c x."""
    x, y, z = mass * com[0], mass * com[1], mass * com[2]
    return 0.0, -z, y, z, 0.0, -x, -y, x, 0.0


@njit(**INLINE)
def without(
    a: Triangle, b: Rotation, d: Triangle, n: Vector, f: Vector, inverse: float
) -> tuple[Triangle, Rotation, Triangle]:
    """Return [a b; b' d] - U U' / (S' U), U = (n, f)."""
    m0, m1, m2 = inverse * n[0], inverse * n[1], inverse * n[2]
    g0, g1, g2 = inverse * f[0], inverse * f[1], inverse * f[2]
    return (
        (
            a[0] - m0 * n[0],
            a[1] - m1 * n[0],
            a[2] - m1 * n[1],
            a[3] - m2 * n[0],
            a[4] - m2 * n[1],
            a[5] - m2 * n[2],
        ),
        (
            b[0] - m0 * f[0],
            b[1] - m0 * f[1],
            b[2] - m0 * f[2],
            b[3] - m1 * f[0],
            b[4] - m1 * f[1],
            b[5] - m1 * f[2],
            b[6] - m2 * f[0],
            b[7] - m2 * f[1],
            b[8] - m2 * f[2],
        ),
        (
            d[0] - g0 * f[0],
            d[1] - g1 * f[0],
            d[2] - g1 * f[1],
            d[3] - g2 * f[0],
            d[4] - g2 * f[1],
            d[5] - g2 * f[2],
        ),
    )


@njit(**INLINE)
def shifted(a: Triangle, b: Rotation, d: Triangle, r: Vector) -> tuple[Triangle, Rotation]:
    """Return a + (r x b')' + r x B' and B = b + r x d: [a b; b' d] about the origin at -r."""
    x, y, z = r
    B = (
        b[0] + y * d[3] - z * d[1],
        b[1] + y * d[4] - z * d[2],
        b[2] + y * d[5] - z * d[4],
        b[3] + z * d[0] - x * d[3],
        b[4] + z * d[1] - x * d[4],
        b[5] + z * d[3] - x * d[5],
        b[6] + x * d[1] - y * d[0],
        b[7] + x * d[2] - y * d[1],
        b[8] + x * d[4] - y * d[3],
    )
    return (
        a[0] + y * (b[2] + B[2]) - z * (b[1] + B[1]),
        a[1] + y * B[5] - z * B[4] + z * b[0] - x * b[2],
        a[2] + z * (b[3] + B[3]) - x * (b[5] + B[5]),
        a[3] + y * B[8] - z * B[7] + x * b[1] - y * b[0],
        a[4] + z * B[6] - x * B[8] + x * b[4] - y * b[3],
        a[5] + x * (b[7] + B[7]) - y * (b[6] + B[6]),
    ), B
