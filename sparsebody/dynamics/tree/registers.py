"""Rows of two-dimensional arrays as tuples, and the motion and force vectors made of them.

All vectors are in world axes, so that between two origins only a shift by d is needed.
"""

from __future__ import annotations

from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.spatial.tuples import INLINE, Rotation, Triangle, Vector, add, cross, dot


@njit(**INLINE)
def load3(array: FloatArray, i: int, first: int) -> Vector:
    """Return array[i, first : first + 3]."""
    return array[i, first], array[i, first + 1], array[i, first + 2]


@njit(**INLINE)
def store3(array: FloatArray, i: int, first: int, a: Vector) -> None:
    """Set array[i, first : first + 3]."""
    array[i, first] = a[0]
    array[i, first + 1] = a[1]
    array[i, first + 2] = a[2]


@njit(**INLINE)
def add3(array: FloatArray, i: int, first: int, a: Vector) -> None:
    """Add to array[i, first : first + 3]."""
    array[i, first] += a[0]
    array[i, first + 1] += a[1]
    array[i, first + 2] += a[2]


@njit(**INLINE)
def load_matrix(array: FloatArray, i: int, first: int) -> Rotation:
    """Return the matrix array[i, first : first + 9], row by row."""
    return (
        array[i, first],
        array[i, first + 1],
        array[i, first + 2],
        array[i, first + 3],
        array[i, first + 4],
        array[i, first + 5],
        array[i, first + 6],
        array[i, first + 7],
        array[i, first + 8],
    )


@njit(**INLINE)
def store_matrix(array: FloatArray, i: int, first: int, M: Rotation) -> None:
    """Set array[i, first : first + 9]."""
    for a in range(9):
        array[i, first + a] = M[a]


@njit(**INLINE)
def store6(array: FloatArray, i: int, first: int, T: Triangle) -> None:
    """Set array[i, first : first + 6]."""
    for a in range(6):
        array[i, first + a] = T[a]


@njit(**INLINE)
def product(A: Rotation, B: Rotation) -> Rotation:
    """Return A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@njit(**INLINE)
def rotated(R: Rotation, T: Triangle) -> Triangle:
    """Return the lower triangle of R T R', for a symmetric T."""
    x = T[0] * R[0] + T[1] * R[1] + T[3] * R[2]
    y = T[1] * R[0] + T[2] * R[1] + T[4] * R[2]
    z = T[3] * R[0] + T[4] * R[1] + T[5] * R[2]
    p = T[0] * R[3] + T[1] * R[4] + T[3] * R[5]
    q = T[1] * R[3] + T[2] * R[4] + T[4] * R[5]
    r = T[3] * R[3] + T[4] * R[4] + T[5] * R[5]
    u = T[0] * R[6] + T[1] * R[7] + T[3] * R[8]
    v = T[1] * R[6] + T[2] * R[7] + T[4] * R[8]
    w = T[3] * R[6] + T[4] * R[7] + T[5] * R[8]
    return (
        x * R[0] + y * R[1] + z * R[2],
        x * R[3] + y * R[4] + z * R[5],
        p * R[3] + q * R[4] + r * R[5],
        x * R[6] + y * R[7] + z * R[8],
        p * R[6] + q * R[7] + r * R[8],
        u * R[6] + v * R[7] + w * R[8],
    )


@njit(**INLINE)
def symmetric_times(T: Triangle, a: Vector) -> Vector:
    """Return T a for a symmetric T."""
    return (
        T[0] * a[0] + T[1] * a[1] + T[3] * a[2],
        T[1] * a[0] + T[2] * a[1] + T[4] * a[2],
        T[3] * a[0] + T[4] * a[1] + T[5] * a[2],
    )


@njit(**INLINE)
def times(B: Rotation, a: Vector) -> Vector:
    """Return B a."""
    return (
        B[0] * a[0] + B[1] * a[1] + B[2] * a[2],
        B[3] * a[0] + B[4] * a[1] + B[5] * a[2],
        B[6] * a[0] + B[7] * a[1] + B[8] * a[2],
    )


@njit(**INLINE)
def transposed_times(B: Rotation, a: Vector) -> Vector:
    """Return B' a."""
    return (
        B[0] * a[0] + B[3] * a[1] + B[6] * a[2],
        B[1] * a[0] + B[4] * a[1] + B[7] * a[2],
        B[2] * a[0] + B[5] * a[1] + B[8] * a[2],
    )


@njit(**INLINE)
def plus_scaled(a: Vector, factor: float, b: Vector) -> Vector:
    """Return a + factor b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@njit(**INLINE)
def negative(a: Vector) -> Vector:
    """Return -a."""
    return -a[0], -a[1], -a[2]


@njit(**INLINE)
def dot6(a: Vector, b: Vector, c: Vector, d: Vector) -> float:
    """Return the scalar product of the motion (a, b) and the force (c, d)."""
    return dot(a, c) + dot(b, d)


@njit(**INLINE)
def moved(w: Vector, u: Vector, d: Vector) -> Vector:
    """Return the linear part of the motion (w, u) at the origin moved by d: u + w x d."""
    return add(u, cross(w, d))


@njit(**INLINE)
def momentum(
    mass: float, com: Vector, inertia: Triangle, w: Vector, u: Vector
) -> tuple[Vector, Vector]:
    """Return I v (angular about the origin, linear) of a body with its center of mass at `com`."""
    speed = add(u, cross(w, com))
    linear = (mass * speed[0], mass * speed[1], mass * speed[2])
    return add(symmetric_times(inertia, w), cross(com, linear)), linear
