"""The public names; the modules they stand in are loaded at first use."""

# ruff: noqa: I001

# Mechanisms
from .model.mechanism import (
    WORLD as WORLD,
    Mechanism as Mechanism,
)
from .model.bodies import (
    Box as Box,
    CompoundShape as CompoundShape,
    Cylinder as Cylinder,
    Frame as Frame,
    Frames as Frames,
    Mesh as Mesh,
    Polyline as Polyline,
    RigidBody as RigidBody,
    Sphere as Sphere,
)
from .model.connections import (
    Joint as Joint,
)
from .model.names import (
    numbered as numbered,
)
from .model.joints import (
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
from .model.time_functions import (
    Polynomial as Polynomial,
    Sinusoid as Sinusoid,
    SmoothStep as SmoothStep,
)
from .model.gallery import (
    build as build,
)
from .model.files import (
    load_mechanism as load_mechanism,
    read_mechanism as read_mechanism,
    write_mechanism as write_mechanism,
)

# Compiled, and where it is
from .model.system import (
    State as State,
    System as System,
)
from .equations.initial_state import (
    StateChange as StateChange,
    consistent_state as consistent_state,
    state_changes as state_changes,
)
from .kinematics.joint_motion import (
    displaced as displaced,
    joint_positions as joint_positions,
    joint_velocities as joint_velocities,
    linear_accelerations as linear_accelerations,
    point_position as point_position,
    point_velocity as point_velocity,
    world_wrenches as world_wrenches,
)

# Accelerations and forces
from .dynamics.forward import (
    ForwardDynamics as ForwardDynamics,
)
from .dynamics.preparation import (
    Formulation as Formulation,
)
from .methods import (
    forward_dynamics as forward_dynamics,
    inverse_dynamics as inverse_dynamics,
)
from .equations.accelerations import (
    Accelerations as Accelerations,
)
from .dynamics.inverse_dynamics import (
    InverseDynamics as InverseDynamics,
    driven_accelerations as driven_accelerations,
)
from .equations.inverse import (
    Actuation as Actuation,
    ActuatorForces as ActuatorForces,
)
from .dynamics.compliant_reactions import (
    LeastEnergy as LeastEnergy,
    uniform_compliance as uniform_compliance,
)
from .dynamics.kkt_matrix import (
    KKTMatrix as KKTMatrix,
    kkt_matrix as kkt_matrix,
)
from .tree.joint_space import (
    JointSpace as JointSpace,
    joint_space as joint_space,
)

# Motion in time
from .simulation import (
    Method as Method,
    Output as Output,
    Recording as Recording,
    Solver as Solver,
    Trajectory as Trajectory,
    simulate as simulate,
)

# Forces in balance
from .simulation.implicit.statics import (
    equilibrium as equilibrium,
)
from .simulation.implicit.continuation import (
    follow as follow,
)

# Motions near a motion
from .linearization import (
    BodyPoint as BodyPoint,
    JointCoordinate as JointCoordinate,
    buckling_loads as buckling_loads,
    derivatives as derivatives,
    frequency_response as frequency_response,
    linearize as linearize,
    modes as modes,
    simulate_with_pullback as simulate_with_pullback,
)

# Seen
from .viewer.showing import (
    show as show,
)

# What is known before anything moves
from .dynamics.mobility import (
    Mobility as Mobility,
    count_mobility as count_mobility,
)
from .analysis.reactions import (
    determined_reactions as determined_reactions,
)
from .analysis.advice import (
    advise as advise,
    apply_advice as apply_advice,
)

# Orders and matrices
from .sparse.pattern import (
    BlockPattern as BlockPattern,
)
from .ordering import (
    register_ordering as register_ordering,
)
from .analysis.cost_prediction import (
    CostPrediction as CostPrediction,
    predict_cost as predict_cost,
)
from .analysis.order_comparison import (
    compare_algorithms as compare_algorithms,
)
from .analysis.cycle_bases import (
    compare_loop_bases as compare_loop_bases,
)
from .certificates.certificate import (
    certify as certify,
)
from .corpus.corpus_files import (
    read_corpus as read_corpus,
    write_corpus as write_corpus,
)
from .sparse.matrix_files import (
    read_order as read_order,
    read_pattern as read_pattern,
    write_order as write_order,
)

# Files for other programs
from .export.trajectory_export import (
    export_trajectory as export_trajectory,
)
from .export.robot_files import (
    write_robot as write_robot,
)

# Errors
from .errors import (
    SparsebodyError as SparsebodyError,
)

__version__: str
