"""Public names of `sparsebody.equations`, loaded at first use."""

# ruff: noqa: I001

# Forward
from .accelerations import Accelerations as Accelerations, SolveReport as SolveReport
from .initial_state import (
    StateChange as StateChange,
    consistent_state as consistent_state,
    state_changes as state_changes,
)

from .system_motion import (
    SystemMotion as SystemMotion,
    applied_forces as applied_forces,
    constraint_errors as constraint_errors,
)

# Inverse
from .inverse import (
    Actuation as Actuation,
    ActuatorForces as ActuatorForces,
    InverseMethod as InverseMethod,
    actuators_of as actuators_of,
)
