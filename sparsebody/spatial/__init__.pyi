"""Public names of `sparsebody.spatial`, loaded at first use."""

# ruff: noqa: I001

from .inertia import (
    box_inertia as box_inertia,
    check_inertia as check_inertia,
    cylinder_inertia as cylinder_inertia,
    inertia_parts as inertia_parts,
    inertia_conditions as inertia_conditions,
    principal_moments as principal_moments,
    rod_inertia as rod_inertia,
    spatial_inertia as spatial_inertia,
    sphere_inertia as sphere_inertia,
    summed_inertias as summed_inertias,
    symmetric_inverse as symmetric_inverse,
    transform_inertia as transform_inertia,
)

from .transform import (
    check_unit_quaternion as check_unit_quaternion,
    force_cross as force_cross,
    force_transform as force_transform,
    inverse_transform as inverse_transform,
    motion_cross as motion_cross,
    orthogonal_complement as orthogonal_complement,
    plucker_parts as plucker_parts,
    plucker_transform as plucker_transform,
    quaternion_conjugate as quaternion_conjugate,
    quaternion_exponential as quaternion_exponential,
    quaternion_from_rotation as quaternion_from_rotation,
    quaternion_logarithm as quaternion_logarithm,
    quaternion_product as quaternion_product,
    rotation_about as rotation_about,
    rotation_exponential as rotation_exponential,
    rotation_from_quaternion as rotation_from_quaternion,
    rotation_logarithm as rotation_logarithm,
    skew as skew,
    unskew as unskew,
)
