"""Forward dynamics from inverse dynamics and the inertia matrix. Walker, Orin (1982)."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.matrices import accelerations
from sparsebody.classical.kernels.newton_euler import (
    along_joint,
    carry_inwards,
    luh_walker_paul,
    without_accelerations,
    zeros_like,
)
from sparsebody.classical.kernels.vectors import (
    Rotation,
    Vector,
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
def walker_orin_1(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); each column of H is one inverse dynamics without velocities and gravity."""
    n, kind = links.parent.size, motion.qd.dtype
    H, unit = np.empty((n, n), kind), zeros_like(links, motion.qd)
    nothing, weightless = zeros_like(links, motion.qd), zeros_like(links, motion.gravity)
    unloaded = zeros_like(links, motion.wrench)
    for j in range(n):
        unit[j] = links.base[3, 3]
        still = Motion(
            motion.rotation,
            motion.translation,
            motion.euler,
            nothing,
            unit,
            unloaded,
            weightless,
        )
        H[:, j] = luh_walker_paul(links, still)
        unit[j] = links.base[3, 0]
    return _accelerations(links, motion, H)


@kernel
def walker_orin_2(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); column j of H needs only the links that joint j moves, and half of it."""
    n, kind = links.parent.size, motion.qd.dtype
    H = np.zeros((n, n), kind)
    dw, dv = np.empty((n, 3), kind), np.empty((n, 3), kind)
    force, moment = np.empty((n, 3), kind), np.empty((n, 3), kind)
    moves = np.zeros(n, np.bool_)
    for j in range(n):
        for i in range(n):
            p = links.parent[i]
            moves[i] = i == j or (p >= j and moves[p])
            if moves[i]:
                _accelerate(links, motion, i, i == j, dw, dv, force, moment)
        for i in range(n - 1, j - 1, -1):
            if moves[i]:
                H[i, j] = along_joint(links, i, force, moment)
                if i > j:
                    carry_inwards(links, motion, i, force, moment)
    return _accelerations(links, motion, H)


@kernel
def walker_orin_3(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); joint j moves all links after it as one composite body."""
    n, kind = links.parent.size, motion.qd.dtype
    H = np.zeros((n, n), kind)
    mass, center, inertia = links.mass.copy(), links.com.copy(), links.inertia.copy()
    force, moment = np.empty((n, 3), kind), np.empty((n, 3), kind)
    for j in range(n - 1, -1, -1):
        c, I = load_vector(center[j], 0), load_rotation(inertia[j])
        zero, one = links.base[3, 0], links.base[3, 3]
        z, m = (zero, zero, one), mass[j]
        if links.revolute[j]:
            F = scaled(m, cross(z, c))
            N = add(turned(I, z), cross(c, F))
        else:
            F = scaled(m, z)
            N = cross(c, F)
        store_vector(force[j], 0, F)
        store_vector(moment[j], 0, N)
        i = j
        while i >= 0:
            H[j, i] = along_joint(links, i, force, moment)
            _shift(links, motion, i, force, moment)
            i = links.parent[i]
        _join(links, motion, j, mass, center, inertia)
    return _accelerations(links, motion, H)


@kernel
def _accelerations(links: Links, motion: Motion, H: FloatArray) -> FloatArray:
    """Return the solution of H qdd = tau - C, with C by inverse dynamics; `motion.qdd` is tau."""
    C = luh_walker_paul(links, without_accelerations(links, motion))
    return accelerations(H, C, motion.qdd)


@kernel
def _accelerate(
    links: Links,
    motion: Motion,
    i: int,
    is_first: bool,
    dw: FloatArray,
    dv: FloatArray,
    force: FloatArray,
    moment: FloatArray,
) -> None:
    """Fill row i of accelerations from rest, and of force and moment (n, 3) of inertia."""
    if is_first:
        alpha = load_vector(links.subspace[i], 0)
        a = load_vector(links.subspace[i], 3)
    else:
        p, R = links.parent[i], load_rotation(motion.rotation[i])
        r, alpha = load_vector(motion.translation[i], 0), load_vector(dw[p], 0)
        a = turned_back(R, add(load_vector(dv[p], 0), cross(alpha, r)))
        alpha = turned_back(R, alpha)
    c, I = load_vector(links.com[i], 0), load_rotation(links.inertia[i])
    F = scaled(links.mass[i], add(a, cross(alpha, c)))
    store_vector(dw[i], 0, alpha)
    store_vector(dv[i], 0, a)
    store_vector(force[i], 0, F)
    store_vector(moment[i], 0, add(turned(I, alpha), cross(c, F)))


@kernel
def _shift(links: Links, motion: Motion, i: int, force: FloatArray, moment: FloatArray) -> None:
    """Fill the row of the parent with force and moment (n, 3) on link i."""
    p = links.parent[i]
    if p >= 0:
        force[p], moment[p] = links.base[3, 0], links.base[3, 0]
        carry_inwards(links, motion, i, force, moment)


@kernel
def _join(
    links: Links,
    motion: Motion,
    j: int,
    mass: FloatArray,
    center: FloatArray,
    inertia: FloatArray,
) -> None:
    """Add composite body j to its parent: mass (n,), center (n, 3), inertia about it (n, 3, 3)."""
    p = links.parent[j]
    if p < 0:
        return
    R = load_rotation(motion.rotation[j])
    c = add(turned(R, load_vector(center[j], 0)), load_vector(motion.translation[j], 0))
    own, m, total = load_vector(center[p], 0), mass[j], mass[p] + mass[j]
    share = m / total
    gap = (c[0] - own[0], c[1] - own[1], c[2] - own[2])
    store_vector(center[p], 0, add(own, scaled(share, gap)))
    _add_turned(R, inertia[j], inertia[p])
    reduced = share * mass[p]
    for a in range(3):
        for b in range(a + 1):
            moved = reduced * gap[a] * gap[b]
            inertia[p, a, b] -= moved
            if a != b:
                inertia[p, b, a] = inertia[p, a, b]
    square = reduced * dot(gap, gap)
    for a in range(3):
        inertia[p, a, a] += square
    mass[p] = total


@kernel
def _add_turned(R: Rotation, I: FloatArray, total: FloatArray) -> None:
    """Add R I R' (3, 3), which is symmetric, to `found`."""
    for b in range(3):
        row: Vector = (R[3 * b], R[3 * b + 1], R[3 * b + 2])
        column = turned(R, turned(load_rotation(I), row))
        for a in range(b, 3):
            total[a, b] += column[a]
            if a != b:
                total[b, a] = total[a, b]
