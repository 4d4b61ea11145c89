"""Vectors of three and rotations as tuples: what the kernels of the algorithms compute with."""

from __future__ import annotations

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import kernel

Vector = tuple[float, float, float]
Rotation = tuple[float, float, float, float, float, float, float, float, float]  # row by row


@kernel
def load_vector(array: FloatArray, first: int) -> Vector:
    """Return array[first : first + 3]."""
    return array[first], array[first + 1], array[first + 2]


@kernel
def store_vector(array: FloatArray, first: int, v: Vector) -> None:
    """Set array[first : first + 3]."""
    array[first] = v[0]
    array[first + 1] = v[1]
    array[first + 2] = v[2]


@kernel
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
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


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
