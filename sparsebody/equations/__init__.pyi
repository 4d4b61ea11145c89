"""Public names of `sparsebody.equations`, loaded at first use."""

# ruff: noqa: I001

# Forward
from .accelerations import (
    Accelerations as Accelerations,
    SolveReport as SolveReport,
)
from .initial_state import (
    consistent_state as consistent_state,
)

# Inverse
from .actuators import (
    actuators_of as actuators_of,
)
from .inverse import (
    Actuation as Actuation,
    ActuatorForces as ActuatorForces,
    InverseMethod as InverseMethod,
)
