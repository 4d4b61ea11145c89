"""Lagrange's equations in 4x4 matrices, and in 3x3 rotations with positions.

    tau_i = sum over links j of Tr(dW_j/dq_i J_j (d2W_j/dt2)') - m_j g' dW_j/dq_i r_j,

with the transform W_j = A_1 ... A_j from link to base, dA_j/dq_j = A_j Q_j, the pseudo-inertia J_j
and the center of mass r_j. Uicker (1965) and Kahn (1969): all derivatives written out. Waters
(1979): W and its derivatives from link to link outwards. Hollerbach (1980), secs. III and IV: the
sums from link to link inwards as well.
"""

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.newton_euler import accelerations, forces


@kernel
def uicker_kahn(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = H qdd + h, where h_i = qd' C_i qd + g_i."""
    H, h = _equations(links, motion)
    return forces(H, h, motion.qdd)


@kernel
def uicker_kahn_forward(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,) = H^-1 (tau - h)."""
    H, h = _equations(links, motion)
    return accelerations(H, h, motion.qdd)


@kernel
def _equations(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Return H (n, n) and h (n,), all that does not depend on qdd, link by link."""
    n, dtype = links.parent.size, motion.qd.dtype
    A = homogeneous(links, motion)
    dA, ddA, W = np.empty_like(A), np.empty_like(A), np.empty_like(A)
    own, from_k = np.empty_like(A), np.empty_like(A)  # own: dW_j/dq_j
    dW, ddW = np.empty((n, n, 4, 4), dtype), np.empty((n, n, 4, 4), dtype)
    H, h = np.zeros((n, n), dtype), np.zeros(n, dtype)
    for i in range(n):
        dA[i] = A[i] @ links.generator[i]
        ddA[i] = dA[i] @ links.generator[i]
        W[i] = product_from(W, links.parent[i], A[i])
    for j in range(n):
        own[j] = product_from(W, links.parent[j], dA[j])
        k, inner_link = j, -1
        while k >= 0:  # from_k[k] is the transform from link j to link k
            if k == j:
                from_k[k], dW[j, k] = links.base, own[k]
            else:
                from_k[k] = A[j] if inner_link == j else A[inner_link] @ from_k[inner_link]
                dW[j, k] = own[k] @ from_k[k]
            k, inner_link = links.parent[k], k
        l = j
        while l >= 0:  # ddW[k, l] = d2 W_j / dq_k dq_l, k not after l, both on the path to link j
            p, k = links.parent[l], l
            while k >= 0:
                to_l = product_from(W, p, ddA[l]) if k == l else dW[p, k] @ dA[l]
                ddW[k, l] = to_l if l == j else to_l @ from_k[l]
                k = links.parent[k]
            l = p
        _add_link(links, motion, j, dW[j], ddW, H, h)
    return H, h


@kernel
def _add_link(
    links: Links,
    motion: Motion,
    j: int,
    dW: FloatArray,
    ddW: FloatArray,
    H: FloatArray,
    h: FloatArray,
) -> None:
    """Add the terms of link j: Tr(dW_i J dW_k'), Tr(dW_i J ddW_kl') qd_k qd_l, -m g' dW_i r."""
    i, J, r = j, links.pseudo_inertia[j], center_of_mass(links, j)
    while i >= 0:
        k = j
        while k >= 0:
            H[i, k] += np.trace(dW[i] @ J @ dW[k].T)
            l = j
            while l >= 0:
                change = dW[i] @ J @ ddW[min(k, l), max(k, l)].T
                h[i] += np.trace(change) * motion.qd[k] * motion.qd[l]
                l = links.parent[l]
            k = links.parent[k]
        h[i] -= links.mass[j] * (motion.gravity @ (dW[i] @ r)[:3])
        i = links.parent[i]


@kernel
def waters(links: Links, motion: Motion) -> FloatArray:
    """Return tau_i (n,), the sums of Tr(dW_j/dq_i J_j ddW_j') - m_j g' dW_j/dq_i r_j over j."""
    n, dtype = links.parent.size, motion.qd.dtype
    A, own, ddW = _outwards(links, motion)
    tau, dW_dq = np.zeros(n, dtype), np.empty((n, n, 4, 4), dtype)  # dW_j/dq_i
    for j in range(n):
        i, r = j, center_of_mass(links, j)
        while i >= 0:
            dW_dq[j, i] = own[j] if i == j else dW_dq[links.parent[j], i] @ A[j]
            tau[i] += np.trace(dW_dq[j, i] @ links.pseudo_inertia[j] @ ddW[j].T)
            tau[i] -= links.mass[j] * (motion.gravity @ (dW_dq[j, i] @ r)[:3])
            i = links.parent[i]
    return tau


@kernel
def hollerbach_4x4(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = Tr(dW_i/dq_i D_i) - g' dW_i/dq_i c_i, with D and c by recursion inwards."""
    n, dtype = links.parent.size, motion.qd.dtype
    A, own, ddW = _outwards(links, motion)
    D, tau = np.empty((n, 4, 4), dtype), np.empty(n, dtype)
    c = links.pseudo_inertia[:, 3].copy()  # of each link: (m r, m)
    for i in range(n):
        D[i] = links.pseudo_inertia[i] @ ddW[i].T
    for i in range(n - 1, -1, -1):
        tau[i] = np.trace(own[i] @ D[i]) - motion.gravity @ (own[i] @ c[i])[:3]
        p = links.parent[i]
        if p >= 0:
            D[p] += A[i] @ D[i]
            c[p] += A[i] @ c[i]
    return tau


@kernel
def _outwards(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A, dW_i/dq_i and the second time derivatives of W_i: (n, 4, 4) each."""
    A = homogeneous(links, motion)
    W, own = np.empty_like(A), np.empty_like(A)
    dW, ddW = np.zeros(A.shape, A.dtype), np.zeros(A.shape, A.dtype)
    for i in range(A.shape[0]):
        p, qd = links.parent[i], motion.qd[i]
        dA = A[i] @ links.generator[i]
        ddA = dA @ links.generator[i]
        W[i] = product_from(W, p, A[i])
        own[i] = product_from(W, p, dA)
        if p >= 0:
            dW[i] = dW[p] @ A[i]
            ddW[i] = ddW[p] @ A[i]
            ddW[i] += dW[p] @ dA * (2 * qd)
        dW[i] += own[i] * qd
        ddW[i] += product_from(W, p, ddA) * (qd * qd)
        ddW[i] += own[i] * motion.qdd[i]
    return A, own, ddW


@kernel
def hollerbach_3x3(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,), of revolute joints Tr(dW_i/dq_i D_i) - g' dW_i/dq_i c_i.

    D_i, e_i and c_i are the integrals of y a', a and y over the mass m of link i and its subtree,
    where y is a point's position in frame i and a its acceleration in base axes. Of prismatic
    joints tau is z . (e_i - m g).
    """
    n, dtype = links.parent.size, motion.qd.dtype
    W, ddW, acceleration = _rotations_outwards(links, motion)
    D, e, tau = np.empty((n, 3, 3), dtype), np.empty((n, 3), dtype), np.empty(n, dtype)
    c, m = links.moment.copy(), links.mass.copy()
    for i in range(n):
        D[i] = links.pseudo_inertia[i, :3, :3].copy() @ ddW[i].T + np.outer(c[i], acceleration[i])
        e[i] = ddW[i] @ c[i] + acceleration[i] * m[i]
    for i in range(n - 1, -1, -1):
        p, R, r = links.parent[i], motion.rotation[i], motion.translation[i]
        if links.revolute[i]:
            dW = W[i] @ links.generator[i, :3, :3].copy()
            tau[i] = (dW * D[i].T).sum() - motion.gravity @ (dW @ c[i])
        else:
            axis = W[i, :, 2].copy()
            tau[i] = axis @ e[i] - m[i] * (motion.gravity @ axis)
        if p >= 0:
            D[p] += R @ D[i]
            D[p] += np.outer(r, e[i])
            c[p] += R @ c[i] + r * m[i]
            e[p] += e[i]
            m[p] += m[i]
    return tau


@kernel
def _rotations_outwards(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rotations (n, 3, 3), their second derivatives, and origins' accelerations (n, 3)."""
    n, dtype = links.parent.size, motion.qd.dtype
    W, dW, ddW = np.empty((n, 3, 3), dtype), np.zeros((n, 3, 3), dtype), np.zeros((n, 3, 3), dtype)
    acceleration = np.zeros((n, 3), dtype)
    for i in range(n):
        p, R, Q = links.parent[i], motion.rotation[i], links.generator[i, :3, :3].copy()
        qd, qdd = motion.qd[i], motion.qdd[i]
        W[i] = product_from(W, p, R)
        if p >= 0:
            acceleration[i] = ddW[p] @ motion.translation[i] + acceleration[p]
            dW[i] = dW[p] @ R
            ddW[i] = ddW[p] @ R
        if links.revolute[i]:
            ddW[i] += dW[i] @ Q * (2 * qd)  # 2 dW_p/dt dR/dt, with dW = dW_p/dt R
            dW_dq = W[i] @ Q
            dW[i] += dW_dq * qd
            ddW[i] += dW_dq @ Q * (qd * qd)
            ddW[i] += dW_dq * qdd
        else:
            acceleration[i] += dW[i, :, 2] * (2 * qd) + W[i, :, 2] * qdd
    return W, ddW, acceleration


# --- homogeneous coordinates ---


@kernel
def product_from(W: FloatArray, parent: int, A: FloatArray) -> FloatArray:
    """Return W[parent] A, or A where the parent is the base."""
    return W[parent] @ A if parent >= 0 else A.copy()


@kernel
def homogeneous(links: Links, motion: Motion) -> FloatArray:
    """Return A (n, 4, 4), from link to parent coordinates."""
    A = np.empty((links.parent.size, 4, 4), motion.qd.dtype)
    A[:] = links.base
    A[:, :3, :3], A[:, :3, 3] = motion.rotation, motion.translation
    return A


@kernel
def center_of_mass(links: Links, i: int) -> FloatArray:
    """Return the center of mass of link i and 1, (4,)."""
    r = np.empty(4, links.com.dtype)
    r[:3], r[3] = links.com[i], links.base[3, 3]
    return r
