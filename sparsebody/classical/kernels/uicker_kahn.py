"""The Lagrangian of 4x4 matrices with all derivatives written out. Uicker (1965), Kahn (1969)."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.matrices import (
    accelerations,
    copy,
    forces,
    homogeneous,
    homogeneous_point,
    inner,
    multiply,
    multiply_by_transposed,
    multiply_from,
    multiply_vector,
    trace,
)


@kernel
def uicker_kahn(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = H qdd + (qd' C_i qd) + g."""
    H, h = _equations(links, motion)
    return forces(H, h, motion.qdd)


@kernel
def uicker_kahn_forward(links: Links, motion: Motion) -> FloatArray:
    """Return qdd (n,) of the same equations."""
    H, h = _equations(links, motion)
    return accelerations(H, h, motion.qdd)


@kernel
def _equations(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Return H (n, n) and all that does not depend on qdd (n,), link by link."""
    n, kind = links.parent.size, motion.qd.dtype
    A, dA, ddA, W = _transforms(links, motion)
    first, dW = np.empty((n, 4, 4), kind), np.empty((n, n, 4, 4), kind)
    ddW = np.empty((n, n, 4, 4), kind)
    from_k, half = np.empty((n, 4, 4), kind), np.empty((4, 4), kind)
    H, h = np.zeros((n, n), kind), np.zeros(n, kind)
    for j in range(n):
        multiply_from(W, links.parent[j], dA[j], first[j])
        k, inner_link = j, -1
        while k >= 0:  # from_k[k] is the transform from link j to link k
            if k == j:
                copy(links.base, from_k[k])
                copy(first[k], dW[j, k])
            else:
                if inner_link == j:
                    copy(A[j], from_k[k])
                else:
                    multiply(A[inner_link], from_k[inner_link], from_k[k])
                multiply(first[k], from_k[k], dW[j, k])
            k, inner_link = links.parent[k], k
        _second_derivatives(links, j, W, dA, ddA, from_k, dW, half, ddW)
        _add_link(links, motion, j, dW[j], ddW, H, h)
    return H, h


@kernel
def _transforms(
    links: Links, motion: Motion
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return A, its first and second derivatives, and W: (n, 4, 4) each."""
    n, kind = links.parent.size, motion.qd.dtype
    A, W = np.empty((n, 4, 4), kind), np.empty((n, 4, 4), kind)
    dA, ddA = np.empty((n, 4, 4), kind), np.empty((n, 4, 4), kind)
    homogeneous(links, motion, A)
    for i in range(n):
        multiply(A[i], links.generator[i], dA[i])
        multiply(dA[i], links.generator[i], ddA[i])
        multiply_from(W, links.parent[i], A[i], W[i])
    return A, dA, ddA, W


@kernel
def _second_derivatives(
    links: Links,
    j: int,
    W: FloatArray,
    dA: FloatArray,
    ddA: FloatArray,
    from_k: FloatArray,
    dW: FloatArray,
    half: FloatArray,
    ddW: FloatArray,
) -> None:
    """Fill ddW[k, l] = d2 W_j / dq_k dq_l, k not after l, both on the way to link j."""
    l = j
    while l >= 0:
        p = links.parent[l]
        k = l
        while k >= 0:
            if k == l:
                multiply_from(W, p, ddA[l], half)
            else:
                multiply(dW[p, k], dA[l], half)
            if l == j:
                copy(half, ddW[k, l])
            else:
                multiply(half, from_k[l], ddW[k, l])
            k = links.parent[k]
        l = p


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
    """Add what link j contributes: Tr(dW_i J dW_k'), Tr(dW_i J ddW_kl') qd_k qd_l, -m g' dW_i r."""
    kind = motion.qd.dtype
    left, product = np.empty((4, 4), kind), np.empty((4, 4), kind)
    r, moved = np.empty(4, kind), np.empty(4, kind)
    homogeneous_point(links, j, r)
    i = j
    while i >= 0:
        k = j
        while k >= 0:
            multiply(dW[i], links.pseudo_inertia[j], left)
            multiply_by_transposed(left, dW[k], product)
            H[i, k] += trace(product)
            l = j
            while l >= 0:
                multiply(dW[i], links.pseudo_inertia[j], left)
                multiply_by_transposed(left, ddW[min(k, l), max(k, l)], product)
                h[i] += trace(product) * motion.qd[k] * motion.qd[l]
                l = links.parent[l]
            k = links.parent[k]
        multiply_vector(dW[i], r, moved)
        h[i] -= links.mass[j] * inner(motion.gravity, moved)
        i = links.parent[i]
