"""The cross operators v x and v x* as 6 x 6 matrices: clear, and the oracle of the kernels."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, floats
from sparsebody.spatial.transform import skew


def motion_cross(velocity: ArrayLike) -> FloatArray:
    """Return v x (..., 6, 6): the rate of motion vectors m that move with v is v x m.

    [[w x, 0], [u x, w x]] with w the angular and u the linear part. RBDA eq. (2.31).
    """
    v = floats(velocity, (6,), "velocity")
    matrix = np.zeros((*v.shape, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = skew(v[..., :3])
    matrix[..., 3:, :3] = skew(v[..., 3:])
    return matrix


def force_cross(velocity: ArrayLike) -> FloatArray:
    """Return v x* = -(v x)': `force_cross(v) @ f` is the rate of a force vector that moves with v.

    [[w x, u x], [0, w x]] with w the angular and u the linear part. RBDA eq. (2.32).
    """
    return -np.swapaxes(motion_cross(velocity), -2, -1)
