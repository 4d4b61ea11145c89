"""Spatial (6-D) vector algebra: rotations, transforms, inertia, subspaces; knows no mechanism.

Arrays may have any leading axes, written "..."; those of several arguments broadcast. ShapeError
names the argument whose last axes do not fit, ModelError the solid or body that cannot be. Vectors
are angular part first. RBDA is Featherstone (2008).
"""

from sparsebody.spatial.cross import force_cross, motion_cross
from sparsebody.spatial.inertia import (
    box_inertia,
    check_inertia,
    cylinder_inertia,
    inertia_parts,
    rod_inertia,
    spatial_inertia,
    sphere_inertia,
    symmetric_inverse,
    transform_inertia,
)
from sparsebody.spatial.subspace import (
    apparent_inverse_inertia,
    decompose,
    is_direct_sum,
    orthogonal_complement,
    split_force,
)
from sparsebody.spatial.transform import (
    check_rotation,
    check_unit_quaternion,
    force_transform,
    inverse_transform,
    plucker_parts,
    plucker_transform,
    quaternion_conjugate,
    quaternion_exponential,
    quaternion_from_rotation,
    quaternion_logarithm,
    quaternion_product,
    rotation_about,
    rotation_exponential,
    rotation_from_quaternion,
    rotation_logarithm,
    skew,
    unskew,
)

__all__ = [
    "apparent_inverse_inertia",
    "box_inertia",
    "check_inertia",
    "check_rotation",
    "check_unit_quaternion",
    "cylinder_inertia",
    "decompose",
    "force_cross",
    "force_transform",
    "inertia_parts",
    "inverse_transform",
    "is_direct_sum",
    "motion_cross",
    "orthogonal_complement",
    "plucker_parts",
    "plucker_transform",
    "quaternion_conjugate",
    "quaternion_exponential",
    "quaternion_from_rotation",
    "quaternion_logarithm",
    "quaternion_product",
    "rod_inertia",
    "rotation_about",
    "rotation_exponential",
    "rotation_from_quaternion",
    "rotation_logarithm",
    "skew",
    "spatial_inertia",
    "sphere_inertia",
    "split_force",
    "symmetric_inverse",
    "transform_inertia",
    "unskew",
]
