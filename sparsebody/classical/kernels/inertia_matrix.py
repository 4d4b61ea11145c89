"""Forward dynamics from inverse dynamics and the inertia matrix. Walker, Orin (1982)."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.newton_euler import (
    along_joint,
    carry_inwards,
    luh_walker_paul,
    without_accelerations,
)
from sparsebody.classical.kernels.small_matrices import (
    Rotation,
    accelerations,
    add,
    cross,
    difference,
    dot,
    rotation,
    scaled,
    turned,
    turned_back,
    vector,
    zeros_like,
)


@kernel
def walker_orin_1(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); each column of H is one inverse dynamics without velocities and gravity."""
    n, kind = links.parent.size, motion.qd.dtype
    H, unit = np.empty((n, n), kind), zeros_like(links, motion.qd)
    rest, weightless = zeros_like(links, motion.qd), zeros_like(links, motion.gravity)
    unloaded = zeros_like(links, motion.wrench)
    frames = motion.rotation, motion.translation, motion.euler
    for j in range(n):
        unit[j] = links.base[3, 3]
        H[:, j] = luh_walker_paul(links, Motion(*frames, rest, unit, unloaded, weightless))
        unit[j] = links.base[3, 0]
    return _accelerations(links, motion, H)


@kernel
def walker_orin_2(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); column j of H needs only the links that joint j moves, and half of it."""
    n, kind = links.parent.size, motion.qd.dtype
    H, moves = np.zeros((n, n), kind), np.zeros(n, np.bool_)
    dw, dv = np.empty((n, 3), kind), np.empty((n, 3), kind)
    force, moment = np.empty((n, 3), kind), np.empty((n, 3), kind)
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
        c, z = vector(center[j]), vector(links.base[2])
        if links.revolute[j]:
            F = scaled(mass[j], cross(z, c))
            N = add(turned(rotation(inertia[j]), z), cross(c, F))
        else:
            F = scaled(mass[j], z)
            N = cross(c, F)
        force[j], moment[j] = F, N
        i = j
        while i >= 0:
            H[j, i] = along_joint(links, i, force, moment)
            p = links.parent[i]
            if p >= 0:
                force[p], moment[p] = links.base[3, 0], links.base[3, 0]
                carry_inwards(links, motion, i, force, moment)
            i = p
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
        alpha, a = vector(links.subspace[i]), vector(links.subspace[i, 3:])
    else:
        p, R = links.parent[i], rotation(motion.rotation[i])
        r, alpha = vector(motion.translation[i]), vector(dw[p])
        a = turned_back(R, add(vector(dv[p]), cross(alpha, r)))
        alpha = turned_back(R, alpha)
    c, I = vector(links.com[i]), rotation(links.inertia[i])
    F = scaled(links.mass[i], add(a, cross(alpha, c)))
    dw[i], dv[i] = alpha, a
    force[i], moment[i] = F, add(turned(I, alpha), cross(c, F))


@kernel
def _join(
    links: Links, motion: Motion, j: int, mass: FloatArray, center: FloatArray, inertia: FloatArray
) -> None:
    """Add composite body j to its parent: mass (n,), center (n, 3), inertia about it (n, 3, 3)."""
    p = links.parent[j]
    if p < 0:
        return
    R, own, total = rotation(motion.rotation[j]), vector(center[p]), mass[p] + mass[j]
    share = mass[j] / total
    gap = difference(add(turned(R, vector(center[j])), vector(motion.translation[j])), own)
    center[p] = add(own, scaled(share, gap))
    _add_turned(R, inertia[j], inertia[p])
    reduced = share * mass[p]
    for a in range(3):
        for b in range(a + 1):
            inertia[p, a, b] -= reduced * gap[a] * gap[b]
            inertia[p, b, a] = inertia[p, a, b]
    square = reduced * dot(gap, gap)
    for a in range(3):
        inertia[p, a, a] += square
    mass[p] = total


@kernel
def _add_turned(R: Rotation, I: FloatArray, total: FloatArray) -> None:
    """Add R I R' (3, 3), which is symmetric."""
    J = rotation(I)
    for b in range(3):
        column = turned(R, turned(J, (R[3 * b], R[3 * b + 1], R[3 * b + 2])))
        for a in range(b, 3):
            total[a, b] += column[a]
            total[b, a] = total[a, b]
