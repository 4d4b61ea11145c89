"""A sphere on a plane."""

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
        error[first_row[j]] = r[j, 2]


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
            q[item] = r[j, axis - 3]
            drift[item] = axis_of_predecessor(E[j], axis - 3, velocity[j], W, item)


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
        row = first_row[j]
        drift[row] = axis_of_predecessor(E[j], 2, velocity[j], T, row)


@dataclass(frozen=True)
class PointOnPlane(JointType):
    """The origin of S stays in the xy plane of P; q is (quaternion of S in P, x [m], y [m]).

    The velocities are the angular velocity in S and the rates of x and y.
    """

    name: ClassVar[str] = "point-on-plane"
    n_velocities: ClassVar[int] = 5
    n_positions: ClassVar[int] = 6
    coordinate_units: ClassVar[tuple[str, ...]] = ("", "", "", "", "m", "m")
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate, _subspace)

    @property
    def scalar_positions(self) -> tuple[int, ...]:
        """The place of the point."""
        return (3, 4)

    @property
    def angles(self) -> tuple[int, ...]:
        """None."""
        return ()

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): the rotation q[:4] at the place (q[4], q[5]) in the plane."""
        return pose_transform(np.array([*q, 0.0]))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Quaternion of S in P and place in the plane."""
        return pose_coordinates(E, r)[:6]

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 5): three angular axes, and the x and y axes of P in S coordinates."""
        S = unit_columns(0, 1, 2, 3, 4)
        S[3:, 3:] = pose_parts(self, q)[0][:, :2]
        return S

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, 1): a force along the z axis of P."""
        T = np.zeros((6, 1))
        T[3:, 0] = pose_parts(self, q)[0][:, 2]
        return T
