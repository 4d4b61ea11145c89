"""The public names; the modules they stand in are loaded at first use."""

from .analysis.advice import advise, apply_advice
from .analysis.determined_reactions import determined_reactions
from .certificates.certifying import certify
from .corpus.index import read_corpus
from .corpus.write import write_corpus
from .dynamics.compliant_reactions import uniform_compliance
from .dynamics.forward import ForwardDynamics
from .dynamics.inverse_dynamics import InverseDynamics, driven_accelerations
from .dynamics.mobility import Mobility, count_mobility
from .equations.accelerations import Accelerations
from .equations.initial_state import consistent_state
from .equations.inverse import Actuation, ActuatorForces
from .errors import SparsebodyError
from .kinematics.poses import (
    displaced,
    linear_accelerations,
    point_position,
    point_velocity,
)
from .methods import forward_dynamics, inverse_dynamics
from .model.bodies import Box, Cylinder, Polyline, RigidBody, Sphere
from .model.connections import Joint
from .model.files import load_mechanism, read_mechanism, write_mechanism
from .model.frames import Frame, Frames
from .model.gallery import build
from .model.joints import (
    JOINT_TYPES,
    ConstantDistance,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointType,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from .model.mechanism import WORLD, Mechanism
from .model.names import numbered
from .model.system import State, System
from .model.time_functions import Polynomial, Sinusoid, SmoothStep
from .ordering import register_ordering
from .simulation import Trajectory, simulate
from .sparse.pattern import BlockPattern
from .sparse.pattern_files import read_order, read_pattern, write_order

__version__: str

__all__ = [
    "JOINT_TYPES",
    "WORLD",
    "Accelerations",
    "Actuation",
    "ActuatorForces",
    "BlockPattern",
    "Box",
    "ConstantDistance",
    "Cylinder",
    "Cylindrical",
    "Fixed",
    "ForwardDynamics",
    "Frame",
    "Frames",
    "Free",
    "Helical",
    "InverseDynamics",
    "Joint",
    "JointType",
    "Mechanism",
    "Mobility",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Polyline",
    "Polynomial",
    "Prismatic",
    "Revolute",
    "RigidBody",
    "Sinusoid",
    "SmoothStep",
    "SparsebodyError",
    "Sphere",
    "Spherical",
    "State",
    "System",
    "Trajectory",
    "Universal",
    "advise",
    "apply_advice",
    "build",
    "certify",
    "consistent_state",
    "count_mobility",
    "determined_reactions",
    "displaced",
    "driven_accelerations",
    "forward_dynamics",
    "inverse_dynamics",
    "linear_accelerations",
    "load_mechanism",
    "numbered",
    "point_position",
    "point_velocity",
    "read_corpus",
    "read_mechanism",
    "read_order",
    "read_pattern",
    "register_ordering",
    "simulate",
    "uniform_compliance",
    "write_corpus",
    "write_mechanism",
    "write_order",
]
