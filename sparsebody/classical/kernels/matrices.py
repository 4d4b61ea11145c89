"""Products of small matrices as the papers count them: term by term, zeros and ones included."""

from __future__ import annotations

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel


@kernel
def multiply(A: FloatArray, B: FloatArray, C: FloatArray) -> None:
    """Fill C = A B; C is neither A nor B."""
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            total = A[i, 0] * B[0, j]
            for k in range(1, A.shape[1]):
                total += A[i, k] * B[k, j]
            C[i, j] = total


@kernel
def multiply_by_transposed(A: FloatArray, B: FloatArray, C: FloatArray) -> None:
    """Fill C = A B'; C is neither A nor B."""
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = A[i, 0] * B[j, 0]
            for k in range(1, A.shape[1]):
                total += A[i, k] * B[j, k]
            C[i, j] = total


@kernel
def copy(A: FloatArray, C: FloatArray) -> None:
    """Fill the upper left of C with A."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = A[i, j]


@kernel
def homogeneous_point(links: Links, i: int, r: FloatArray) -> None:
    """Fill r (4,) with the center of mass of link i and 1."""
    for a in range(3):
        r[a] = links.com[i, a]
    r[3] = links.base[3, 3]


@kernel
def add_scaled(C: FloatArray, factor: float, B: FloatArray) -> None:
    """Add factor B to C."""
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] += factor * B[i, j]


@kernel
def add_to(c: FloatArray, b: FloatArray) -> None:
    """Add the vector b to c."""
    for i in range(b.size):
        c[i] += b[i]


@kernel
def multiply_vector(A: FloatArray, b: FloatArray, c: FloatArray) -> None:
    """Fill c = A b; c is not b."""
    for i in range(A.shape[0]):
        total = A[i, 0] * b[0]
        for k in range(1, A.shape[1]):
            total += A[i, k] * b[k]
        c[i] = total


@kernel
def multiply_transposed_vector(A: FloatArray, b: FloatArray, c: FloatArray) -> None:
    """Fill c = A' b; c is not b."""
    for i in range(A.shape[1]):
        total = A[0, i] * b[0]
        for k in range(1, A.shape[0]):
            total += A[k, i] * b[k]
        c[i] = total


@kernel
def inner(a: FloatArray, b: FloatArray) -> float:
    """Return a . b."""
    total = a[0] * b[0]
    for i in range(1, a.size):
        total += a[i] * b[i]
    return total


@kernel
def trace(A: FloatArray) -> float:
    """Return the sum of the diagonal."""
    total = A[0, 0]
    for i in range(1, A.shape[0]):
        total += A[i, i]
    return total


@kernel
def trace_of_product(A: FloatArray, B: FloatArray) -> float:
    """Return Tr(A B), of which only the diagonal is computed."""
    total = A[0, 0] * B[0, 0]
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            if i + k > 0:
                total += A[i, k] * B[k, i]
    return total


@kernel
def multiply_from(W: FloatArray, parent: int, A: FloatArray, C: FloatArray) -> None:
    """Fill C = W[parent] A, or A where the parent is the base."""
    if parent >= 0:
        multiply(W[parent], A, C)
    else:
        copy(A, C)


@kernel
def homogeneous(links: Links, motion: Motion, A: FloatArray) -> None:
    """Fill A (n, 4, 4), from link to parent coordinates."""
    for i in range(links.parent.size):
        copy(links.base, A[i])
        copy(motion.rotation[i], A[i])
        for a in range(3):
            A[i, a, 3] = motion.translation[i, a]


@kernel
def solve_symmetric(H: FloatArray, b: FloatArray) -> None:
    """Replace b by the solution of H x = b, by L D L' of the lower triangle, which is destroyed."""
    n = b.size
    for k in range(n):
        for i in range(k + 1, n):
            factor = H[i, k] / H[k, k]
            for j in range(k + 1, i + 1):
                H[i, j] -= factor * H[j, k]
            b[i] -= factor * b[k]
        for i in range(k + 1, n):
            H[i, k] /= H[k, k]
    for k in range(n):
        b[k] /= H[k, k]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            b[k] -= H[i, k] * b[i]


@kernel
def forces(H: FloatArray, h: FloatArray, qdd: FloatArray) -> FloatArray:
    """Return tau (n,) = H qdd + h, from the lower triangle of H (n, n)."""
    tau = h.copy()
    for i in range(h.size):
        for j in range(h.size):
            tau[i] += H[max(i, j), min(i, j)] * qdd[j]
    return tau


@kernel
def accelerations(H: FloatArray, h: FloatArray, tau: FloatArray) -> FloatArray:
    """Return qdd (n,) of H qdd + h = tau; the lower triangle of H (n, n) is destroyed."""
    qdd = tau.copy()
    for i in range(h.size):
        qdd[i] -= h[i]
    solve_symmetric(H, qdd)
    return qdd
