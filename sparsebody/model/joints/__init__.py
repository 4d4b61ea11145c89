"""Joint types: one file each, one line each in JOINT_TYPES."""

from sparsebody.model.joints.base import JointKernels, JointType
from sparsebody.model.joints.constant_distance import ConstantDistance
from sparsebody.model.joints.cylindrical import Cylindrical
from sparsebody.model.joints.fixed import Fixed
from sparsebody.model.joints.free import Free
from sparsebody.model.joints.helical import Helical
from sparsebody.model.joints.planar import Planar
from sparsebody.model.joints.point_on_line import PointOnLine
from sparsebody.model.joints.point_on_plane import PointOnPlane
from sparsebody.model.joints.prismatic import Prismatic
from sparsebody.model.joints.revolute import Revolute
from sparsebody.model.joints.spherical import Spherical
from sparsebody.model.joints.universal import Universal

JOINT_TYPES: dict[str, type[JointType]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
    "helical": Helical,
    "cylindrical": Cylindrical,
    "planar": Planar,
    "spherical": Spherical,
    "universal": Universal,
    "fixed": Fixed,
    "free": Free,
    "point-on-line": PointOnLine,
    "point-on-plane": PointOnPlane,
    "constant-distance": ConstantDistance,
}

__all__ = [
    "JOINT_TYPES",
    "ConstantDistance",
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "JointKernels",
    "JointType",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]
