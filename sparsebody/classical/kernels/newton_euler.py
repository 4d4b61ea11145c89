"""Formulations by forces and partial velocities of links: Newton-Euler, Gibbs-Appell, Kane.

Recursive Newton-Euler in link coordinates: Luh, Walker, Paul (1980); Craig (2005), sec. 6.5. With
Cartesian tensors: Balafoutis, Patel, Misra (1988). In four stages, on spatial vectors: after
Vukobratovic, Stepanenko (1973). Forward dynamics from inverse dynamics and the inertia matrix:
Walker, Orin (1982). From the acceleration energy, dG/dqdd = Q: Gibbs (1879), Appell (1900), Popov.
From partial velocities, with Euler parameters for rotations: Kane, Levinson (1985).

A link has the angular velocity w, its rate dw, and the acceleration dv of its origin less gravity,
all in its own axes. In forward dynamics `motion.qdd` holds the joint forces tau. Zero, one and the
unit vectors come from the unit matrix `links.base`, so that kernels run on any kind of number.
"""

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel

Rates = tuple[FloatArray, FloatArray, FloatArray]  # w, dw, dv


@kernel
def luh_walker_paul(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,), by velocities and accelerations outwards and forces inwards."""
    rates, wrench = empty_rates(motion), np.empty_like(motion.wrench)
    for i in range(motion.qd.size):
        w, dw, dv = outwards(links, motion, i, rates)
        c, I = links.com[i], links.inertia[i]
        F = (accelerated(w, dw, c) + dv) * links.mass[i]
        wrench[i, :3] = I @ dw + cross(w, I @ w) + cross(c, F)
        wrench[i, 3:] = F
    return through_joints(links, motion, wrench)


@kernel
def empty_rates(motion: Motion) -> FloatArray:
    """Return (n, 3, 3), for w, dw and dv of the links: rates in their own axes at their origins."""
    return np.empty((motion.qd.size, 3, 3), motion.qd.dtype)


@kernel
def outwards(links: Links, motion: Motion, i: int, rates: FloatArray) -> Rates:
    """Fill and return the rates of link i."""
    p, carried = links.parent[i], -motion.gravity
    if p >= 0:
        carried = accelerated(rates[p, 0], rates[p, 1], motion.translation[i]) + rates[p, 2]
    return next_link(links, motion, i, carried, rates)


@kernel
def accelerated(w: FloatArray, dw: FloatArray, r: FloatArray) -> FloatArray:
    """Return dw x r + w x (w x r)."""
    return cross(dw, r) + cross(w, cross(w, r))


@kernel
def next_link(links: Links, motion: Motion, i: int, dv: FloatArray, rates: FloatArray) -> Rates:
    """Fill and return the rates; `dv`: the origin's acceleration as a point of its parent."""
    p, R = links.parent[i], motion.rotation[i]
    w, dw, dv = links.base[3, :3], links.base[3, :3], dv @ R
    if p >= 0:
        w, dw = rates[p, 0] @ R, rates[p, 1] @ R
    w, dw, dv = with_joint(links.revolute[i], motion.qd[i], motion.qdd[i], w, dw, dv)
    rates[i, 0], rates[i, 1], rates[i, 2] = w, dw, dv
    return w, dw, dv


@kernel
def with_joint(
    revolute: bool, qd: float, qdd: float, w: FloatArray, dw: FloatArray, dv: FloatArray
) -> Rates:
    """Return w, dw and dv of a link from those of its parent at its origin, all in link axes.

    Revolute: dw += w x z qd + z qdd, w += z qd; prismatic: dv += 2 w x z qd + z qdd.
    """
    if revolute:
        dw = np.array([dw[0] + w[1] * qd, dw[1] - w[0] * qd, dw[2] + qdd])
        w = np.array([w[0], w[1], w[2] + qd])
    else:
        twice = 2 * qd
        dv = np.array([dv[0] + w[1] * twice, dv[1] - w[0] * twice, dv[2] + qdd])
    return w, dw, dv


@kernel
def through_joints(links: Links, motion: Motion, wrench: FloatArray) -> FloatArray:
    """Return tau (n,) of wrenches (n, 6) on links; they become those of subtrees."""
    tau = np.empty_like(motion.qd)
    wrench -= motion.wrench
    for i in range(tau.size - 1, -1, -1):
        tau[i] = wrench[i, freedom(links, i)]
        carry_inwards(links, motion, i, wrench)
    return tau


@kernel
def carry_inwards(links: Links, motion: Motion, i: int, wrench: FloatArray) -> None:
    """Add the wrench (n, 6) on link i to that on its parent, about the parent's origin."""
    p, R = links.parent[i], motion.rotation[i]
    if p >= 0:
        f = R @ wrench[i, 3:]
        wrench[p, :3] += R @ wrench[i, :3] + cross(motion.translation[i], f)
        wrench[p, 3:] += f


@kernel
def freedom(links: Links, i: int) -> int:
    """Return the index of the joint force in a wrench: the moment about z, or the force along z."""
    return 2 if links.revolute[i] else 5


@kernel
def without_accelerations(links: Links, motion: Motion) -> Motion:
    """Return the motion with qdd = 0, whose inverse dynamics are the bias forces C."""
    frames = motion.rotation, motion.translation, motion.euler
    qdd = np.full_like(motion.qd, links.base[3, 0])
    return Motion(*frames, motion.qd, qdd, motion.wrench, motion.gravity)


@kernel
def balafoutis_patel_misra(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,); the tensor dw~ + w~ w~ takes the place of the nested cross products."""
    rates, wrench = empty_rates(motion), np.empty_like(motion.wrench)
    tensor = np.empty_like(rates)
    for i in range(motion.qd.size):
        p, carried = links.parent[i], -motion.gravity
        if p >= 0:
            carried = rates[p, 2] + tensor[p] @ motion.translation[i]
        w, dw, dv = next_link(links, motion, i, carried, rates)
        T, J, mc = _acceleration_tensor(w, dw), links.pseudo_inertia[i], links.moment[i]
        moment = np.empty_like(mc)  # the vector of T J - (T J)'
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            moment[a] = T[c] @ J[b, :3] - T[b] @ J[c, :3]
        tensor[i], wrench[i, :3] = T, moment + cross(mc, dv)
        wrench[i, 3:] = T @ mc + dv * links.mass[i]
    return through_joints(links, motion, wrench)


@kernel
def _acceleration_tensor(w: FloatArray, dw: FloatArray) -> FloatArray:
    """Return dw~ + w~ w~ (3, 3)."""
    tensor = np.empty((3, 3), w.dtype)
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    tensor[0] = -(yy + zz), xy - dw[2], xz + dw[1]
    tensor[1] = xy + dw[2], -(xx + zz), yz - dw[0]
    tensor[2] = xz - dw[1], yz + dw[0], -(xx + yy)
    return tensor


@kernel
def vukobratovic_stepanenko(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,); everything is a 6-vector or a 6x6 matrix in link coordinates."""
    n, dtype = links.parent.size, motion.qd.dtype
    X = np.empty((n, 6, 6), dtype)  # motions, from parent to link coordinates
    v, a = np.zeros((n, 6), dtype), np.zeros((n, 6), dtype)
    f, tau, base = np.empty((n, 6), dtype), np.empty(n, dtype), np.zeros(6, dtype)
    base[3:] = -motion.gravity
    for i in range(n):  # stage 1: velocities and accelerations
        p = links.parent[i]
        _fill_transform(links, motion, i, X[i])
        if p >= 0:
            v[i] = X[i] @ v[p]
            a[i] = X[i] @ a[p]
        else:
            a[i] = X[i] @ base
        rate = links.subspace[i] * motion.qd[i]
        v[i] += rate
        a[i] += links.subspace[i] * motion.qdd[i]
        a[i, :3] += cross(v[i], rate)  # v x rate, Featherstone (2008), (2.31)
        a[i, 3:] += cross(v[i], rate[3:]) + cross(v[i, 3:], rate)
    for i in range(n):  # stage 2: forces that accelerate the links
        f[i] = links.spatial_inertia[i] @ a[i]
        momentum = links.spatial_inertia[i] @ v[i]
        f[i, :3] += cross(v[i], momentum) + cross(v[i, 3:], momentum[3:])  # v x* momentum, (2.32)
        f[i, 3:] += cross(v[i], momentum[3:])
    for i in range(n - 1, -1, -1):  # stage 3: forces through the joints
        f[i] -= motion.wrench[i]
        p = links.parent[i]
        if p >= 0:
            f[p] += X[i].T @ f[i]
    for i in range(n):  # stage 4: along the joints
        tau[i] = links.subspace[i] @ f[i]
    return tau


@kernel
def _fill_transform(links: Links, motion: Motion, i: int, X: FloatArray) -> None:
    """Fill X (6, 6) = [E, 0; -E r x, E] with E = R'."""
    R, r = motion.rotation[i], motion.translation[i]
    X[:3, :3], X[3:, 3:], X[:3, 3:] = R.T, R.T, links.base[3, 0]
    for row in range(3):
        X[3 + row, :3] = cross(r, R[:, row])


# ---- forward dynamics by the inertia matrix ------------------------------------------------------


@kernel
def walker_orin_1(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); each column of H is one inverse dynamics without velocities and gravity."""
    n, zero = links.parent.size, links.base[3, 0]
    H, unit = np.empty((n, n), motion.qd.dtype), np.full_like(motion.qd, zero)
    qd, no_gravity = np.full_like(motion.qd, zero), np.full_like(motion.gravity, zero)
    no_wrench = np.full_like(motion.wrench, zero)
    frames = motion.rotation, motion.translation, motion.euler
    for j in range(n):
        unit[j] = links.base[3, 3]
        H[:, j] = luh_walker_paul(links, Motion(*frames, qd, unit, no_wrench, no_gravity))
        unit[j] = zero
    return _forward_dynamics(links, motion, H)


@kernel
def walker_orin_2(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); column j of H needs only the links that joint j moves."""
    n, dtype = links.parent.size, motion.qd.dtype
    H, moves = np.zeros((n, n), dtype), np.zeros(n, np.bool_)
    dw, dv = np.empty((n, 3), dtype), np.empty((n, 3), dtype)
    wrench = np.empty((n, 6), dtype)
    for j in range(n):
        for i in range(n):
            p = links.parent[i]
            moves[i] = i == j or (p >= j and moves[p])
            if not moves[i]:
                continue
            if i == j:  # from rest, by the joint
                dw[i], dv[i] = links.subspace[i, :3], links.subspace[i, 3:]
            else:
                R = motion.rotation[i]
                dw[i] = dw[p] @ R
                dv[i] = (dv[p] + cross(dw[p], motion.translation[i])) @ R
            c = links.com[i]
            F = (dv[i] + cross(dw[i], c)) * links.mass[i]
            wrench[i, :3] = links.inertia[i] @ dw[i] + cross(c, F)
            wrench[i, 3:] = F
        for i in range(n - 1, j - 1, -1):
            if moves[i]:
                H[i, j] = wrench[i, freedom(links, i)]
                if i > j:
                    carry_inwards(links, motion, i, wrench)
    return _forward_dynamics(links, motion, H)


@kernel
def walker_orin_3(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,); joint j moves its subtree of links as one composite rigid body."""
    n, dtype = links.parent.size, motion.qd.dtype
    H, wrench = np.zeros((n, n), dtype), np.empty((n, 6), dtype)
    mass, center, inertia = links.mass.copy(), links.com.copy(), links.inertia.copy()
    for j in range(n - 1, -1, -1):
        c, z = center[j], links.base[2, :3]
        if links.revolute[j]:
            F = cross(z, c) * mass[j]
            wrench[j, :3] = inertia[j] @ z + cross(c, F)
        else:
            F = z * mass[j]
            wrench[j, :3] = cross(c, F)
        wrench[j, 3:] = F
        i = j
        while i >= 0:
            H[j, i] = wrench[i, freedom(links, i)]
            p = links.parent[i]
            if p >= 0:
                wrench[p] = links.base[3, 0]
                carry_inwards(links, motion, i, wrench)
            i = p
        _add_composite(links, motion, j, mass, center, inertia)
    return _forward_dynamics(links, motion, H)


@kernel
def _forward_dynamics(links: Links, motion: Motion, H: FloatArray) -> FloatArray:
    """Return the solution of H qdd = tau - C, with C by inverse dynamics; `motion.qdd` is tau."""
    C = luh_walker_paul(links, without_accelerations(links, motion))
    return accelerations(H, C, motion.qdd)


@kernel
def _add_composite(
    links: Links, motion: Motion, j: int, mass: FloatArray, center: FloatArray, inertia: FloatArray
) -> None:
    """Add composite body j to its parent p: mass (n,), center (n, 3), inertia about it (n, 3, 3).

    I_p += R I_j R' + mu (d'd 1 - d d'), mu = m_j m_p / (m_j + m_p), d from center p to center j.
    """
    p = links.parent[j]
    if p < 0:
        return
    R, total = motion.rotation[j], mass[p] + mass[j]
    share = mass[j] / total
    d = R @ center[j] + motion.translation[j] - center[p]
    center[p] += d * share
    mu = share * mass[p]
    square = mu * (d @ d)
    for a in range(3):
        column = R @ (inertia[j] @ R[a])  # column a of R I R'
        for b in range(a, 3):
            inertia[p, b, a] += column[b]
            inertia[p, b, a] -= mu * d[b] * d[a]
            inertia[p, a, b] = inertia[p, b, a]
        inertia[p, a, a] += square
    mass[p] = total


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

    The acceleration energy of link k, m a.a / 2 + e.I e / 2 + (w x I w).e, is quadratic in qdd: its
    angular acceleration is e = sum of alpha_j qdd_j + e_0, that of its center of mass c
    a = sum of (beta_j + alpha_j x c) qdd_j + a_c, beta_j being that of its origin. Some prints have
    a factor 2 in the last term, by mistake.
    """
    n, dtype = links.parent.size, motion.qd.dtype
    alpha, beta = np.zeros((n, n, 3), dtype), np.zeros((n, n, 3), dtype)
    H, h, at_com = np.zeros((n, n), dtype), np.zeros(n, dtype), np.empty((n, 3), dtype)
    rates, bias = empty_rates(motion), without_accelerations(links, motion)
    for k in range(n):
        w, e_0, a_0 = outwards(links, bias, k, rates)
        _fill_coefficients(links, motion, k, alpha, beta)
        c, I, m = links.com[k], links.inertia[k], links.mass[k]
        torque = I @ e_0 + cross(w, I @ w)
        force = (a_0 + accelerated(w, e_0, c)) * m  # m a_c
        i = k
        while i >= 0:
            at_com[i] = beta[k, i] + cross(alpha[k, i], c)
            I_alpha, m_beta = I @ alpha[k, i], at_com[i] * m
            h[i] += alpha[k, i] @ torque + at_com[i] @ force
            j = k
            while j >= i:
                H[j, i] += alpha[k, j] @ I_alpha + at_com[j] @ m_beta
                j = links.parent[j]
            i = links.parent[i]
    return H, h


@kernel
def _fill_coefficients(
    links: Links, motion: Motion, k: int, alpha: FloatArray, beta: FloatArray
) -> None:
    """Fill alpha[k, i], beta[k, i] (3,): accelerations of link k and its origin for qdd_i = 1."""
    p, R, r = links.parent[k], motion.rotation[k], motion.translation[k]
    alpha[k, k], beta[k, k] = links.subspace[k, :3], links.subspace[k, 3:]
    i = p
    while i >= 0:
        alpha[k, i] = alpha[p, i] @ R
        beta[k, i] = (beta[p, i] + cross(alpha[p, i], r)) @ R
        i = links.parent[i]


@kernel
def kane(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,): partial velocities times inertia forces less applied ones, in base axes."""
    n, dtype = links.parent.size, motion.qd.dtype
    frame, origin, axis = np.empty((n, 4), dtype), np.empty((n, 3), dtype), np.empty((n, 3), dtype)
    w, dw, dv = np.zeros((n, 3), dtype), np.zeros((n, 3), dtype), np.zeros((n, 3), dtype)
    tau, zero = np.zeros(n, dtype), links.base[3, :3]
    for k in range(n):
        p = links.parent[k]
        if p >= 0:
            frame[k] = _combined(frame[p], motion.euler[k])
            r = _rotated(frame[p], motion.translation[k])
            w_p, dw_p = w[p], dw[p]
            origin[k] = origin[p] + r
            a = dv[p] + accelerated(w_p, dw_p, r)
        else:
            frame[k], origin[k] = motion.euler[k], motion.translation[k]
            w_p, dw_p, a = zero, zero, zero
        z = _rotated(frame[k], links.base[2, :3])
        z_qd, z_qdd = z * motion.qd[k], z * motion.qdd[k]
        if links.revolute[k]:
            w[k], dw[k] = w_p + z_qd, dw_p + (z_qdd + cross(w_p, z_qd))
        else:
            w[k], dw[k] = w_p, dw_p
            a = a + (z_qdd + cross(w_p, z_qd) * 2)
        axis[k], dv[k] = z, a
        com, I, c = links.com[k], links.inertia[k], _rotated(frame[k], links.com[k])
        w_own, dw_own = _rotated_back(frame[k], w[k]), _rotated_back(frame[k], dw[k])
        applied = motion.wrench[k, 3:]
        moment = motion.wrench[k, :3] - cross(com, applied)  # from the origin to the center
        torque = _rotated(frame[k], I @ dw_own + cross(w_own, I @ w_own) - moment)
        force = (a + accelerated(w[k], dw[k], c) - motion.gravity) * links.mass[k]
        force = force - _rotated(frame[k], applied)
        i, center = k, origin[k] + c
        while i >= 0:
            if links.revolute[i]:
                partial = cross(axis[i], center - origin[i])  # velocity of the center for qd_i = 1
                tau[i] += axis[i] @ torque + partial @ force
            else:
                tau[i] += axis[i] @ force
            i = links.parent[i]
    return tau


@kernel
def _rotated(e: FloatArray, r: FloatArray) -> FloatArray:
    """Return r + 2 e4 (e x r) + 2 e x (e x r): Rodrigues' formula in Euler parameters e (4,)."""
    twice = cross(e, r) * 2
    return r + (twice * e[3] + cross(e, twice))


@kernel
def _rotated_back(e: FloatArray, r: FloatArray) -> FloatArray:
    """Return r - 2 e4 (e x r) + 2 e x (e x r): the opposite rotation of `_rotated`."""
    twice = cross(e, r) * 2
    return r + (cross(e, twice) - twice * e[3])


@kernel
def _combined(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the Euler parameters (4,) of one rotation followed, in its own axes, by another."""
    a, b, both = first[:3], second[:3], np.empty_like(first)
    both[:3] = b * first[3] + a * second[3] + cross(a, b)
    both[3] = first[3] * second[3] - a @ b
    return both


# ---- cross products, and H qdd + h = tau from the lower triangle of H, as the papers count them --


@kernel
def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b, of vectors (3,)."""
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    return np.array([x, y, a[0] * b[1] - a[1] * b[0]])


@kernel
def forces(H: FloatArray, h: FloatArray, qdd: FloatArray) -> FloatArray:
    """Return tau (n,) = H qdd + h."""
    tau = h.copy()
    for i in range(h.size):
        for j in range(h.size):
            tau[i] += H[max(i, j), min(i, j)] * qdd[j]
    return tau


@kernel
def accelerations(H: FloatArray, h: FloatArray, tau: FloatArray) -> FloatArray:
    """Return qdd (n,) by L D L'; the lower triangle of H (n, n) is destroyed."""
    n, b = h.size, tau - h
    for k in range(n):
        for i in range(k + 1, n):
            factor = H[i, k] / H[k, k]
            H[i, k + 1 : i + 1] -= H[k + 1 : i + 1, k] * factor
            b[i] -= factor * b[k]
        H[k + 1 :, k] /= H[k, k]
        b[k] /= H[k, k]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            b[k] -= H[i, k] * b[i]
    return b
