"""Public names of `sparsebody.kinematics`, loaded at first use."""

# ruff: noqa: I001

# Joints
from .joint_motion import coordinate_motion as coordinate_motion

# Bodies and points
from .joint_motion import (
    displaced as displaced,
    joint_positions as joint_positions,
    joint_velocities as joint_velocities,
    world_wrenches as world_wrenches,
    linear_accelerations as linear_accelerations,
    point_position as point_position,
    point_velocity as point_velocity,
)
