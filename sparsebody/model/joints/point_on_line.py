"""A sphere in a cylinder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import (
    JointKernels,
    JointType,
    pose_coordinates,
    pose_parts,
    pose_transform,
    unit_columns,
)
from sparsebody.model.joints.kernels import axis_of_predecessor, unit_dual


@njit(cache=True)
def _error(
    joints: IntArray,
    first_row: IntArray,
    E: FloatArray,
    r: FloatArray,
    parameter: FloatArray,
    error: FloatArray,
) -> None:
    for j in joints:
        error[first_row[j]] = r[j, 0]
        error[first_row[j] + 1] = r[j, 1]


@njit(cache=True)
def _coordinate(
    items: IntArray,
    joint: IntArray,
    index: IntArray,
    E: FloatArray,
    r: FloatArray,
    parameter: FloatArray,
    velocity: FloatArray,
    q: FloatArray,
    W: FloatArray,
    drift: FloatArray,
) -> None:
    for item in items:
        j, axis = joint[item], index[item]
        drift[item] = 0.0
        q[item] = 0.0
        if axis < 3:
            unit_dual(W, item, axis)
        else:
            q[item] = r[j, 2]
            drift[item] = axis_of_predecessor(E[j], 2, velocity[j], W, item)


@njit(cache=True)
def _subspace(
    joints: IntArray,
    first_row: IntArray,
    E: FloatArray,
    r: FloatArray,
    velocity: FloatArray,
    T: FloatArray,
    drift: FloatArray,
) -> None:
    for j in joints:
        for axis in range(2):
            row = first_row[j] + axis
            drift[row] = axis_of_predecessor(E[j], axis, velocity[j], T, row)


@dataclass(frozen=True)
class PointOnLine(JointType):
    """The origin of S stays on the z axis of P; q is (quaternion of S in P, height [m]).

    The velocities are the angular velocity in S and the rate of the height.
    """

    name: ClassVar[str] = "point-on-line"
    n_velocities: ClassVar[int] = 4
    n_positions: ClassVar[int] = 5
    coordinate_units: ClassVar[tuple[str, ...]] = ("", "", "", "", "m")
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate, _subspace)

    @property
    def scalar_positions(self) -> tuple[int, ...]:
        """The place of the point."""
        return (3,)

    @property
    def angles(self) -> tuple[int, ...]:
        """None."""
        return ()

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): the rotation q[:4] at height q[4]."""
        return pose_transform(np.array([*q[:4], 0.0, 0.0, q[4]]))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Quaternion of S in P and height on the line."""
        return pose_coordinates(E, r)[[0, 1, 2, 3, 6]]

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 4): three angular axes, and the z axis of P in S coordinates."""
        S = unit_columns(0, 1, 2, 3)
        S[3:, 3] = pose_parts(self, q)[0][:, 2]
        return S

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, 2): forces along the x and y axes of P."""
        T = np.zeros((6, 2))
        T[3:] = pose_parts(self, q)[0][:, :2]
        return T
