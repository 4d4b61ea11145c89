"""From which side a mechanism is drawn: in its plane of motion, or in three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray

_NAMES = ("x", "y", "z")
_PLANES = {0: (1, 2), 1: (0, 2), 2: (0, 1)}  # normal axis: horizontal and vertical axis
_FLAT = 1e-6  # out-of-plane extent or motion over the size that still counts as planar


@dataclass(frozen=True, eq=False)
class View:
    """The axes (2 or 3, 3) that a picture shows, and their labels."""

    axes: FloatArray
    labels: tuple[str, ...]

    @property
    def is_planar(self) -> bool:
        """Whether the picture is two-dimensional."""
        return len(self.axes) == 2

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the picture coordinates (..., 2 or 3) of points (..., 3)."""
        return np.asarray(points @ self.axes.T)

    def flipped(self) -> View:
        """Return the same plane with its axes exchanged."""
        return View(self.axes[::-1], self.labels[::-1])


SPACE = View(np.eye(3), ("x [m]", "y [m]", "z [m]"))


def choose_view(snapshots: Sequence[FloatArray], gravity: FloatArray) -> View:
    """Return the view of points (n, 3) seen at one or more instants.

    Planar where all points lie in one plane, or all move parallel to one; a coordinate plane that
    holds gravity comes first.
    """
    points = np.concatenate(snapshots)
    moves = np.concatenate([later - snapshots[0] for later in snapshots[1:]] or [points[:0]])
    for cloud in (points - points.mean(axis=0), moves):
        size = np.ptp(points, axis=0).max() if len(points) else 0.0
        if len(cloud) and size > 0.0 and (cloud is not moves or np.abs(moves).max() > _FLAT * size):
            view = _plane_of(cloud, size, gravity)
            if view is not None:
                return view
    return SPACE


def _plane_of(cloud: FloatArray, size: float, gravity: FloatArray) -> View | None:
    """Return the plane of vectors that all lie in one, None if they do not."""
    for normal in sorted((1, 2, 0), key=lambda axis: abs(gravity[axis]) > 0.0):
        if np.abs(cloud[:, normal]).max() < _FLAT * size:
            across, up = _PLANES[normal]
            labels = (f"{_NAMES[across]} [m]", f"{_NAMES[up]} [m]")
            return View(np.eye(3)[[across, up]], labels)
    _, values, axes = np.linalg.svd(cloud.T @ cloud)
    if np.sqrt(values[2] / len(cloud)) > _FLAT * size:
        return None
    normal_axis = axes[2]
    up_axis = -gravity if np.any(gravity) else np.array([0.0, 0.0, 1.0])
    up_axis = up_axis - normal_axis * (normal_axis @ up_axis)
    if np.linalg.norm(up_axis) < 1e-9:
        up_axis = axes[1]
    up_axis = up_axis / np.linalg.norm(up_axis)
    labels = ("across, in the plane [m]", "up, in the plane [m]")
    return View(np.stack([np.cross(up_axis, normal_axis), up_axis]), labels)
