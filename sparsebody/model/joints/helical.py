"""Screw motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.checks import scalar
from sparsebody.model.joints.base import JointKernels, JointType, unit_columns
from sparsebody.model.joints.kernels import (
    offset_error,
    tilt_error,
    turn_angle,
    unit_dual,
)
from sparsebody.spatial import plucker_transform, rotation_about


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
        pitch = parameter[j]
        tilt_error(E[j], error, first_row[j])
        offset_error(E[j], r[j], error, first_row[j] + 2)
        # d6 - h d3; any turn of the thread is as good, so take the nearest
        slip = r[j, 2] / pitch - turn_angle(E[j])
        slip -= 2.0 * math.pi * math.floor(slip / (2.0 * math.pi) + 0.5)
        error[first_row[j] + 4] = pitch * slip


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
        j = joint[item]
        angle = turn_angle(E[j])  # the travel only counts the turns, so that dq/dt = W' v_J
        slip = r[j, 2] / parameter[j] - angle  # also where the thread is not quite closed
        q[item] = angle + 2.0 * math.pi * math.floor(slip / (2.0 * math.pi) + 0.5)
        unit_dual(W, item, 2)
        drift[item] = 0.0


@dataclass(frozen=True)
class Helical(JointType):
    """A screw on the common z axis; q is the angle [rad], pitch q the travel. RBDA table 4.1."""

    pitch: float  # [m/rad]

    name: ClassVar[str] = "helical"
    n_velocities: ClassVar[int] = 1
    n_positions: ClassVar[int] = 1
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pitch", scalar(self.pitch, "helical joint", "pitch"))
        if self.pitch == 0.0:
            raise ModelError(f"helical pitch is {self.pitch}; a screw without travel is a Revolute")

    @property
    def parameter(self) -> float:
        """The pitch [m/rad]."""
        return self.pitch

    @property
    def angles(self) -> tuple[int, ...]:
        """None: the travel tells the whole turns."""
        return ()

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): a rotation by q about z and a translation by pitch * q along it."""
        turn = rotation_about([0, 0, 1], q[0]).T
        return plucker_transform(turn, np.array([0.0, 0.0, self.pitch * q[0]]))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """The angle about z, whole turns included: they show in the travel."""
        return np.array([r[2] / self.pitch])

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 1): a turn about z with `pitch` of travel."""
        return np.array([[0.0, 0.0, 1.0, 0.0, 0.0, self.pitch]]).T

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, 5): d1, d2, d4, d5 and d6 - pitch d3."""
        T = unit_columns(0, 1, 3, 4, 5)
        T[2, 4] = -self.pitch
        return T

    def active_force_subspace(self, q: FloatArray) -> FloatArray:
        """T_a (6, 1): a torque about z."""
        return unit_columns(2)
