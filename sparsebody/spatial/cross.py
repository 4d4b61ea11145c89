"""The cross operators v x and v x* as 6 x 6 matrices: clear, and the oracle of the kernels."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.spatial.shapes import floats
from sparsebody.spatial.transform import skew


def motion_cross(velocity: ArrayLike) -> FloatArray:
    """Return v x: `motion_cross(v) @ m` is the rate of a motion vector m that moves with v.

    Parameters
    ----------
    velocity : (..., 6) float array
        Spatial velocities, angular part first [rad/s, m/s].

    Returns
    -------
    (..., 6, 6) float array
        [[w x, 0], [u x, w x]] with w the angular and u the linear part.

    Raises
    ------
    ShapeError
        If the last axis is not of length 6.

    References
    ----------
    Featherstone (2008), eq. (2.31).
    """
    v = floats(velocity, (6,), "velocity")
    matrix = np.zeros((*v.shape, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = skew(v[..., :3])
    matrix[..., 3:, :3] = skew(v[..., 3:])
    return matrix


def force_cross(velocity: ArrayLike) -> FloatArray:
    """Return v x* = -(v x)': `force_cross(v) @ f` is the rate of a force vector that moves with v.

    Parameters
    ----------
    velocity : (..., 6) float array
        Spatial velocities, angular part first [rad/s, m/s].

    Returns
    -------
    (..., 6, 6) float array
        [[w x, u x], [0, w x]] with w the angular and u the linear part.

    Raises
    ------
    ShapeError
        If the last axis is not of length 6.

    References
    ----------
    Featherstone (2008), eq. (2.32).
    """
    return -np.swapaxes(motion_cross(velocity), -2, -1)
