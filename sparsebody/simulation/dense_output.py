"""States between two others, by polynomials of degree 5 that fit y, y' and y'' at both."""

from __future__ import annotations

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.simulation.integrators.base import pose_derivatives


def interpolated(
    before: State, after: State, accelerations: tuple[FloatArray, FloatArray], time: float
) -> State:
    """Return the state at a time between two others, with their accelerations (n_bodies, 6).

    Of order 6 in poses y = (x, q). Hairer, Norsett, Wanner (1993), sec. II.6.
    """
    h, t = after.time - before.time, time - before.time
    (y, rate, curvature), (end, end_rate, end_curvature) = (
        (np.hstack([state.position, state.orientation]), *pose_derivatives(state, acceleration))
        for state, acceleration in zip((before, after), accelerations, strict=True)
    )
    gap = end - (y + h * rate + 0.5 * h * h * curvature)
    rate_gap = h * (end_rate - rate - h * curvature)
    curvature_gap = h * h * (end_curvature - curvature)
    c3 = 10.0 * gap - 4.0 * rate_gap + 0.5 * curvature_gap
    c4 = -15.0 * gap + 7.0 * rate_gap - curvature_gap
    c5 = 6.0 * gap - 3.0 * rate_gap + 0.5 * curvature_gap
    s = t / h
    pose = y + t * rate + 0.5 * t * t * curvature + s**3 * (c3 + s * (c4 + s * c5))
    speed = rate + t * curvature + s * s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)) / h
    still = np.zeros_like(pose)
    x, q = np.ascontiguousarray(pose[:, :3]), np.ascontiguousarray(pose[:, 3:])
    size = np.linalg.norm(q, axis=1, keepdims=True)
    speed[:, 3:] /= size
    coordinate = before.coordinate + s * (after.coordinate - before.coordinate)
    return State(*simulation.moved(x, q / size, speed, still, still, 0.0), coordinate, time)
