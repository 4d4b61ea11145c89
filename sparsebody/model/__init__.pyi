"""Public names of `sparsebody.model`, loaded at first use."""

# ruff: noqa: I001

# Mechanisms
from .mechanism import (
    WORLD as WORLD,
    Mechanism as Mechanism,
)
from .bodies import (
    RigidBody as RigidBody,
    Frame as Frame,
    Frames as Frames,
    Box as Box,
    CompoundShape as CompoundShape,
    Cylinder as Cylinder,
    Mesh as Mesh,
    Polyline as Polyline,
    Sphere as Sphere,
)
from .connections import (
    Joint as Joint,
)
from .names import (
    numbered as numbered,
    interleaved as interleaved,
)

# Joint types and functions of time
from .joints import (
    JOINT_TYPES as JOINT_TYPES,
    ConstantDistance as ConstantDistance,
    Cylindrical as Cylindrical,
    Fixed as Fixed,
    Free as Free,
    Helical as Helical,
    JointType as JointType,
    Planar as Planar,
    PointOnLine as PointOnLine,
    PointOnPlane as PointOnPlane,
    Prismatic as Prismatic,
    Revolute as Revolute,
    Spherical as Spherical,
    Universal as Universal,
)
from .time_functions import (
    Polynomial as Polynomial,
    Sinusoid as Sinusoid,
    SmoothStep as SmoothStep,
)

# Compiled
from .system import (
    State as State,
    System as System,
)

# Files and gallery
from .files import (
    load_mechanism as load_mechanism,
    read_mechanism as read_mechanism,
    write_mechanism as write_mechanism,
)
from .gallery import (
    GALLERY as GALLERY,
    build as build,
)
from .robots import (
    read_robot as read_robot,
)
