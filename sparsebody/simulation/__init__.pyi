"""Public names of `sparsebody.simulation`, loaded at first use."""

# ruff: noqa: I001

# Runs, and what they take
from .simulate import simulate as simulate
from .callbacks import CONTROL_FUNCTION as CONTROL_FUNCTION
from .integrators import INTEGRATORS as INTEGRATORS
from .options import Method as Method, Output as Output, Recording as Recording, Solver as Solver
from .stabilization import STABILIZATIONS as STABILIZATIONS

# Results
from .trajectory import (
    Event as Event,
    StoppedSimulationError as StoppedSimulationError,
    Trajectory as Trajectory,
)
from .implicit.continuation import EquilibriumPath as EquilibriumPath, SpecialPoint as SpecialPoint
