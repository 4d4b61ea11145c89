"""Vectors of three as tuples, and small matrices, term by term as the papers count them.

Zeros and ones are multiplied, too. Vectors and rotations are tuples, which compiled code keeps in
registers; arrays hold them by rows.
"""

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, kernel

Vector = tuple[float, float, float]
Rotation = tuple[float, float, float, float, float, float, float, float, float]  # row by row

# --- vectors of three ---


@kernel
def vector(a: FloatArray) -> Vector:
    """Return what an array begins with as a tuple."""
    return a[0], a[1], a[2]


@kernel
def store(v: Vector, a: FloatArray) -> None:
    """Set what an array begins with; faster than a[:3] = v where it is compiled."""
    a[0], a[1], a[2] = v


@kernel
def rotation(R: FloatArray) -> Rotation:
    """Return the upper left (3, 3) of an array as a tuple."""
    return R[0, 0], R[0, 1], R[0, 2], R[1, 0], R[1, 1], R[1, 2], R[2, 0], R[2, 1], R[2, 2]


@kernel
def zero_vector(links: Links) -> Vector:
    """Return three zeros of the kind of number in use."""
    zero = links.base[3, 0]
    return zero, zero, zero


@kernel
def zeros_like(links: Links, array: FloatArray) -> FloatArray:
    """Return an array of such zeros."""
    zeros = np.empty(array.shape, array.dtype)
    zeros[...] = links.base[3, 0]
    return zeros


@kernel
def opposite(a: FloatArray) -> Vector:
    """Return -a: of gravity, the acceleration of the base that stands for it."""
    return -a[0], -a[1], -a[2]


@kernel
def difference(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def scaled(factor: float, a: Vector) -> Vector:
    """Return factor a."""
    return factor * a[0], factor * a[1], factor * a[2]


@kernel
def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def turned(R: Rotation, v: Vector) -> Vector:
    """Return R v."""
    return (
        R[0] * v[0] + R[1] * v[1] + R[2] * v[2],
        R[3] * v[0] + R[4] * v[1] + R[5] * v[2],
        R[6] * v[0] + R[7] * v[1] + R[8] * v[2],
    )


@kernel
def turned_back(R: Rotation, v: Vector) -> Vector:
    """Return R' v."""
    return (
        R[0] * v[0] + R[3] * v[1] + R[6] * v[2],
        R[1] * v[0] + R[4] * v[1] + R[7] * v[2],
        R[2] * v[0] + R[5] * v[1] + R[8] * v[2],
    )


# --- matrices and vectors of any size ---


@kernel
def applied(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return A b."""
    c = np.empty(A.shape[0], A.dtype)
    for i in range(A.shape[0]):
        c[i] = inner(A[i], b)
    return c


@kernel
def inner(a: FloatArray, b: FloatArray) -> float:
    """Return a . b."""
    total = a[0] * b[0]
    for i in range(1, a.size):
        total += a[i] * b[i]
    return total


# --- H qdd + h = tau, from the lower triangle of H ---


@kernel
def forces(H: FloatArray, h: FloatArray, qdd: FloatArray) -> FloatArray:
    """Return tau (n,)."""
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
    return b
