"""Vectors of three and rotations as tuples: what compiled kernels keep in registers.

A rotation is a tuple of its nine elements, row by row. Everything is inlined, so that no memory is
touched between a load and a store.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from sparsebody.arrays import FloatArray

Vector = tuple[float, float, float]
Triangle = tuple[float, float, float, float, float, float]  # lower one, row by row
Rotation = tuple[float, float, float, float, float, float, float, float, float]

INLINE: dict[str, Any] = {
    "cache": True,
    "forceinline": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
}


@njit(**INLINE)
def load_vector(array: FloatArray, first: int) -> Vector:
    """Return array[first : first + 3]."""
    return array[first], array[first + 1], array[first + 2]


@njit(**INLINE)
def store_vector(array: FloatArray, first: int, v: Vector) -> None:
    """Set array[first : first + 3]."""
    array[first] = v[0]
    array[first + 1] = v[1]
    array[first + 2] = v[2]


@njit(**INLINE)
def load_rotation(R: FloatArray) -> Rotation:
    """Return the elements of R (3, 3)."""
    return (
        R[0, 0],
        R[0, 1],
        R[0, 2],
        R[1, 0],
        R[1, 1],
        R[1, 2],
        R[2, 0],
        R[2, 1],
        R[2, 2],
    )


@njit(**INLINE)
def load9(rotations: FloatArray, i: int) -> Rotation:
    """Return row i of rotations (n, 9)."""
    return (
        rotations[i, 0],
        rotations[i, 1],
        rotations[i, 2],
        rotations[i, 3],
        rotations[i, 4],
        rotations[i, 5],
        rotations[i, 6],
        rotations[i, 7],
        rotations[i, 8],
    )


@njit(**INLINE)
def rotation_of(w: float, x: float, y: float, z: float) -> Rotation:
    """Return the rotation from body to world axes of a unit quaternion."""
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@njit(**INLINE)
def difference(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(**INLINE)
def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(**INLINE)
def scaled(factor: float, a: Vector) -> Vector:
    """Return factor a."""
    return factor * a[0], factor * a[1], factor * a[2]


@njit(**INLINE)
def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(**INLINE)
def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@njit(**INLINE)
def turned(R: Rotation, v: Vector) -> Vector:
    """Return R v."""
    return (
        R[0] * v[0] + R[1] * v[1] + R[2] * v[2],
        R[3] * v[0] + R[4] * v[1] + R[5] * v[2],
        R[6] * v[0] + R[7] * v[1] + R[8] * v[2],
    )


@njit(**INLINE)
def turned_back(R: Rotation, v: Vector) -> Vector:
    """Return R' v."""
    return (
        R[0] * v[0] + R[3] * v[1] + R[6] * v[2],
        R[1] * v[0] + R[4] * v[1] + R[7] * v[2],
        R[2] * v[0] + R[5] * v[1] + R[8] * v[2],
    )


@njit(**INLINE)
def between(A: Rotation, B: Rotation) -> Rotation:
    """Return A' B: from the axes of B to those of A, both given as seen from the world."""
    return (
        A[0] * B[0] + A[3] * B[3] + A[6] * B[6],
        A[0] * B[1] + A[3] * B[4] + A[6] * B[7],
        A[0] * B[2] + A[3] * B[5] + A[6] * B[8],
        A[1] * B[0] + A[4] * B[3] + A[7] * B[6],
        A[1] * B[1] + A[4] * B[4] + A[7] * B[7],
        A[1] * B[2] + A[4] * B[5] + A[7] * B[8],
        A[2] * B[0] + A[5] * B[3] + A[8] * B[6],
        A[2] * B[1] + A[5] * B[4] + A[8] * B[7],
        A[2] * B[2] + A[5] * B[5] + A[8] * B[8],
    )


@njit(**INLINE)
def load_triangle(array: FloatArray, i: int, first: int) -> Triangle:
    """Return array[i, first : first + 6]."""
    return (
        array[i, first],
        array[i, first + 1],
        array[i, first + 2],
        array[i, first + 3],
        array[i, first + 4],
        array[i, first + 5],
    )


@njit(**INLINE)
def lower_times(L: Triangle, v: Vector) -> Vector:
    """Return L v."""
    return (
        L[0] * v[0],
        L[1] * v[0] + L[2] * v[1],
        L[3] * v[0] + L[4] * v[1] + L[5] * v[2],
    )


@njit(**INLINE)
def upper_times(L: Triangle, v: Vector) -> Vector:
    """Return L' v."""
    return (
        L[0] * v[0] + L[1] * v[1] + L[3] * v[2],
        L[2] * v[1] + L[4] * v[2],
        L[5] * v[2],
    )
