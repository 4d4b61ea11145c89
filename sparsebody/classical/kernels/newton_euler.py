"""Equations of motion from those of the links, and the steps that other formulations share.

Recursive Newton-Euler in link coordinates: Luh, Walker, Paul (1980); Craig (2005), sec. 6.5. With
Cartesian tensors: Balafoutis, Patel, Misra (1988). In four stages, on spatial vectors: after
Vukobratovic, Stepanenko (1973). Forward dynamics from inverse dynamics and the inertia matrix:
Walker, Orin (1982). From the acceleration energy, dG/dqdd = Q: Gibbs (1879), Appell (1900), Popov.
From partial velocities, with Euler parameters for rotations: Kane, Levinson (1985).
"""

from typing import NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.small_matrices import (
    Rotation,
    Vector,
    accelerations,
    add,
    applied,
    cross,
    difference,
    dot,
    forces,
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


class Rates(NamedTuple):
    """Rates of the links, in their own axes."""

    w: FloatArray  # (n, 3) angular velocities
    dw: FloatArray  # (n, 3) and accelerations
    dv: FloatArray  # (n, 3) accelerations of the origins


@kernel
def luh_walker_paul(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,), by velocities and accelerations outwards and forces inwards."""
    n, kind = links.parent.size, motion.qd.dtype
    rates = Rates(np.empty((n, 3), kind), np.empty((n, 3), kind), np.empty((n, 3), kind))
    wrench = np.empty((n, 6), kind)
    for i in range(n):
        w_i, dw_i, dv_i = outwards(links, motion, i, rates)
        c, I = vector(links.com[i]), rotation(links.inertia[i])
        F = scaled(links.mass[i], add(accelerated(w_i, dw_i, c), dv_i))
        N = add(turned(I, dw_i), cross(w_i, turned(I, w_i)))
        store(add(N, cross(c, F)), wrench[i])
        store(F, wrench[i, 3:])
    return through_joints(links, motion, wrench)


@kernel
def outwards(links: Links, motion: Motion, i: int, rates: Rates) -> tuple[Vector, Vector, Vector]:
    """Fill and return row i of the rates."""
    p = links.parent[i]
    if p >= 0:
        turning = accelerated(
            vector(rates.w[p]), vector(rates.dw[p]), vector(motion.translation[i])
        )
        carried = add(turning, vector(rates.dv[p]))
    else:
        carried = opposite(motion.gravity)
    return next_link(links, motion, i, carried, rates)


@kernel
def accelerated(w: Vector, dw: Vector, r: Vector) -> Vector:
    """Return dw x r + w x (w x r)."""
    return add(cross(dw, r), cross(w, cross(w, r)))


@kernel
def next_link(
    links: Links, motion: Motion, i: int, carried: Vector, rates: Rates
) -> tuple[Vector, Vector, Vector]:
    """Fill and return row i; `carried`: the origin's acceleration as a point of its parent."""
    p, R = links.parent[i], rotation(motion.rotation[i])
    w_i, dw_i, dv_i = zero_vector(links), zero_vector(links), turned_back(R, carried)
    if p >= 0:
        w_i, dw_i = turned_back(R, vector(rates.w[p])), turned_back(R, vector(rates.dw[p]))
    w_i, dw_i, dv_i = with_joint(links.revolute[i], motion.qd[i], motion.qdd[i], w_i, dw_i, dv_i)
    store(w_i, rates.w[i])
    store(dw_i, rates.dw[i])
    store(dv_i, rates.dv[i])
    return w_i, dw_i, dv_i


@kernel
def with_joint(
    revolute: bool, qd: float, qdd: float, w: Vector, dw: Vector, dv: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return w, dw and dv of a link from those of its parent at its origin, all in link axes."""
    if revolute:
        dw = (dw[0] + w[1] * qd, dw[1] - w[0] * qd, dw[2] + qdd)
        w = (w[0], w[1], w[2] + qd)
    else:
        twice = 2 * qd
        dv = (dv[0] + w[1] * twice, dv[1] - w[0] * twice, dv[2] + qdd)
    return w, dw, dv


@kernel
def through_joints(links: Links, motion: Motion, wrench: FloatArray) -> FloatArray:
    """Return tau (n,) of wrenches (n, 6) on links; they become those of subtrees."""
    tau = np.empty(links.parent.size, motion.qd.dtype)
    wrench -= motion.wrench
    for i in range(tau.size - 1, -1, -1):
        tau[i] = wrench[i, freedom(links, i)]
        carry_inwards(links, motion, i, wrench)
    return tau


@kernel
def carry_inwards(links: Links, motion: Motion, i: int, wrench: FloatArray) -> None:
    """Add the wrench (n, 6) on link i to that on its parent, about the parent's origin."""
    p = links.parent[i]
    if p >= 0:
        R, r = rotation(motion.rotation[i]), vector(motion.translation[i])
        f = turned(R, vector(wrench[i, 3:]))
        m = add(turned(R, vector(wrench[i])), cross(r, f))
        store(add(vector(wrench[p]), m), wrench[p])
        store(add(vector(wrench[p, 3:]), f), wrench[p, 3:])


@kernel
def freedom(links: Links, i: int) -> int:
    """Return the component along the joint: the rotation about z, or the translation along it."""
    return 2 if links.revolute[i] else 5


@kernel
def without_accelerations(links: Links, motion: Motion) -> Motion:
    """Return the motion with qdd = 0, of which inverse dynamics makes the bias forces C."""
    frames = motion.rotation, motion.translation, motion.euler
    still = zeros_like(links, motion.qd)
    return Motion(*frames, motion.qd, still, motion.wrench, motion.gravity)


@kernel
def balafoutis_patel_misra(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,); the tensor dw~ + w~ w~ takes the place of the nested cross products."""
    n, kind = links.parent.size, motion.qd.dtype
    rates = Rates(np.empty((n, 3), kind), np.empty((n, 3), kind), np.empty((n, 3), kind))
    wrench, tensor = np.empty((n, 6), kind), np.empty((n, 3, 3), kind)
    for i in range(n):
        p = links.parent[i]
        if p >= 0:
            carried = turned(rotation(tensor[p]), vector(motion.translation[i]))
            carried = add(vector(rates.dv[p]), carried)
        else:
            carried = opposite(motion.gravity)
        w_i, dw_i, a = next_link(links, motion, i, carried, rates)
        _fill_acceleration_tensor(w_i, dw_i, tensor[i])
        T, mc = rotation(tensor[i]), vector(links.moment[i])
        store(add(_dual_moment(T, links.pseudo_inertia[i]), cross(mc, a)), wrench[i])
        store(add(turned(T, mc), scaled(links.mass[i], a)), wrench[i, 3:])
    return through_joints(links, motion, wrench)


@kernel
def _fill_acceleration_tensor(w: Vector, dw: Vector, tensor: FloatArray) -> None:
    """Fill dw~ + w~ w~ (3, 3)."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    tensor[0] = -(yy + zz), xy - dw[2], xz + dw[1]
    tensor[1] = xy + dw[2], -(xx + zz), yz - dw[0]
    tensor[2] = xz - dw[1], yz + dw[0], -(xx + yy)


@kernel
def _dual_moment(T: Rotation, J: FloatArray) -> Vector:
    """Return the vector of T J - (T J)', the moment of a body with pseudo-inertia J (4, 4)."""
    return (
        _element(T, J, 2, 1) - _element(T, J, 1, 2),
        _element(T, J, 0, 2) - _element(T, J, 2, 0),
        _element(T, J, 1, 0) - _element(T, J, 0, 1),
    )


@kernel
def _element(T: Rotation, J: FloatArray, row: int, column: int) -> float:
    first = 3 * row
    return T[first] * J[0, column] + T[first + 1] * J[1, column] + T[first + 2] * J[2, column]


@kernel
def vukobratovic_stepanenko(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,); everything is a 6-vector or a 6x6 matrix in link coordinates."""
    n, kind = links.parent.size, motion.qd.dtype
    X = np.empty((n, 6, 6), kind)  # motions, from parent to link coordinates
    v, a = np.zeros((n, 6), kind), np.zeros((n, 6), kind)
    f, tau, base = np.empty((n, 6), kind), np.empty(n, kind), np.zeros(6, kind)
    base[3:] = -motion.gravity
    for i in range(n):  # stage 1: velocities and accelerations
        p = links.parent[i]
        _fill_transform(links, motion, i, X[i])
        if p >= 0:
            v[i] = applied(X[i], v[p])
            a[i] = applied(X[i], a[p])
        else:
            a[i] = applied(X[i], base)
        rate = links.subspace[i] * motion.qd[i]
        v[i] += rate
        a[i] += links.subspace[i] * motion.qdd[i]
        _add_motion_cross(v[i], rate, a[i])
    for i in range(n):  # stage 2: forces that accelerate the links
        f[i] = applied(links.spatial_inertia[i], a[i])
        _add_force_cross(v[i], applied(links.spatial_inertia[i], v[i]), f[i])
    for i in range(n - 1, -1, -1):  # stage 3: forces through the joints
        f[i] -= motion.wrench[i]
        p = links.parent[i]
        if p >= 0:
            f[p] += applied(X[i].T, f[i])
    for i in range(n):  # stage 4: along the joints
        tau[i] = inner(links.subspace[i], f[i])
    return tau


@kernel
def _fill_transform(links: Links, motion: Motion, i: int, X: FloatArray) -> None:
    """Fill X (6, 6) = [E, 0; -E r x, E] with E = R'."""
    R, r = motion.rotation[i], motion.translation[i]
    X[:3, :3], X[3:, 3:], X[:3, 3:] = R.T, R.T, links.base[3, 0]
    for row in range(3):
        X[3 + row, :3] = cross(vector(r), vector(R[:, row]))


@kernel
def _add_motion_cross(v: FloatArray, u: FloatArray, total: FloatArray) -> None:
    """Add v x u. Featherstone (2008), (2.31)."""
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        total[a] += v[b] * u[c] - v[c] * u[b]
        total[3 + a] += v[b] * u[3 + c] - v[c] * u[3 + b] + v[3 + b] * u[c] - v[3 + c] * u[b]


@kernel
def _add_force_cross(v: FloatArray, f: FloatArray, total: FloatArray) -> None:
    """Add v x* f. Featherstone (2008), (2.32)."""
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        total[a] += v[b] * f[c] - v[c] * f[b] + v[3 + b] * f[3 + c] - v[3 + c] * f[3 + b]
        total[3 + a] += v[b] * f[3 + c] - v[c] * f[3 + b]


# ---- forward dynamics by the inertia matrix ------------------------------------------------------


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
    wrench = np.empty((n, 6), kind)
    for j in range(n):
        for i in range(n):
            p = links.parent[i]
            moves[i] = i == j or (p >= j and moves[p])
            if not moves[i]:
                continue
            if i == j:  # from rest, by the joint
                alpha, a = vector(links.subspace[i]), vector(links.subspace[i, 3:])
            else:
                R = rotation(motion.rotation[i])
                r, alpha = vector(motion.translation[i]), vector(dw[p])
                a = turned_back(R, add(vector(dv[p]), cross(alpha, r)))
                alpha = turned_back(R, alpha)
            c, I = vector(links.com[i]), rotation(links.inertia[i])
            F = scaled(links.mass[i], add(a, cross(alpha, c)))
            dw[i], dv[i] = alpha, a
            store(add(turned(I, alpha), cross(c, F)), wrench[i])
            store(F, wrench[i, 3:])
        for i in range(n - 1, j - 1, -1):
            if moves[i]:
                H[i, j] = wrench[i, freedom(links, i)]
                if i > j:
                    carry_inwards(links, motion, i, wrench)
    return _accelerations(links, motion, H)


@kernel
def walker_orin_3(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); joint j moves all links after it as one composite body."""
    n, kind = links.parent.size, motion.qd.dtype
    H, wrench = np.zeros((n, n), kind), np.empty((n, 6), kind)
    mass, center, inertia = links.mass.copy(), links.com.copy(), links.inertia.copy()
    for j in range(n - 1, -1, -1):
        c, z = vector(center[j]), vector(links.base[2])
        if links.revolute[j]:
            F = scaled(mass[j], cross(z, c))
            N = add(turned(rotation(inertia[j]), z), cross(c, F))
        else:
            F = scaled(mass[j], z)
            N = cross(c, F)
        store(N, wrench[j])
        store(F, wrench[j, 3:])
        i = j
        while i >= 0:
            H[j, i] = wrench[i, freedom(links, i)]
            p = links.parent[i]
            if p >= 0:
                wrench[p] = links.base[3, 0]
                carry_inwards(links, motion, i, wrench)
            i = p
        _join(links, motion, j, mass, center, inertia)
    return _accelerations(links, motion, H)


@kernel
def _accelerations(links: Links, motion: Motion, H: FloatArray) -> FloatArray:
    """Return the solution of H qdd = tau - C, with C by inverse dynamics; `motion.qdd` is tau."""
    C = luh_walker_paul(links, without_accelerations(links, motion))
    return accelerations(H, C, motion.qdd)


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


# ---- from partial velocities and accelerations of the links --------------------------------------


@kernel
def gibbs_appell(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = H qdd + h."""
    H, h = _equations(links, motion)
    return forces(H, h, motion.qdd)


@kernel
def gibbs_appell_forward(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,) = H^-1 (tau - h)."""
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
    rates = Rates(np.zeros((n, 3), kind), np.zeros((n, 3), kind), np.zeros((n, 3), kind))
    H, h = np.zeros((n, n), kind), np.zeros(n, kind)
    at_com, bias = np.empty((n, 3), kind), without_accelerations(links, motion)
    for k in range(n):
        w, e_0, a_0 = outwards(links, bias, k, rates)
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
    """Return r - 2 e4 (e x r) + 2 e x (e x r): the opposite rotation of `_rotated`."""
    axis = vector(e)
    twice = scaled(2, cross(axis, r))
    return add(r, difference(cross(axis, twice), scaled(e[3], twice)))


@kernel
def _combine(first: FloatArray, second: FloatArray, both: FloatArray) -> None:
    """Fill the Euler parameters (4,) of one rotation followed, in its own axes, by another."""
    a, b = vector(first), vector(second)
    both[:3] = add(add(scaled(first[3], b), scaled(second[3], a)), cross(a, b))
    both[3] = first[3] * second[3] - dot(a, b)
