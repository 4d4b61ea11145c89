"""Joint types: their motion is one header each in core/joints, their words one class each here."""

from sparsebody.model.joints.base import JointType
from sparsebody.model.joints.types import (
    JOINT_TYPES,
    ConstantDistance,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)

__all__ = [
    "JOINT_TYPES",
    "ConstantDistance",
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "JointType",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]
