"""Public names of `sparsebody.spatial`, loaded at first use."""

# ruff: noqa: I001

from .transform import (
    force_cross as force_cross,
    motion_cross as motion_cross,
)

from .inertia import (
    box_inertia as box_inertia,
    check_inertia as check_inertia,
    cylinder_inertia as cylinder_inertia,
    inertia_parts as inertia_parts,
    rod_inertia as rod_inertia,
    spatial_inertia as spatial_inertia,
    sphere_inertia as sphere_inertia,
    symmetric_inverse as symmetric_inverse,
    transform_inertia as transform_inertia,
)

from .subspace import (
    apparent_inverse_inertia as apparent_inverse_inertia,
    decompose as decompose,
    is_direct_sum as is_direct_sum,
    orthogonal_complement as orthogonal_complement,
    split_force as split_force,
)

from .transform import (
    check_rotation as check_rotation,
    check_unit_quaternion as check_unit_quaternion,
    force_transform as force_transform,
    inverse_transform as inverse_transform,
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
