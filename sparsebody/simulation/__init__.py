"""Motion in time: integrators, stabilization, recording; in `implicit/` implicit steps, statics."""

from sparsebody.simulation.callbacks import CONTROL_FUNCTION
from sparsebody.simulation.implicit.continuation import EquilibriumPath, SpecialPoint
from sparsebody.simulation.integrators import INTEGRATORS
from sparsebody.simulation.options import Method, Output, Recording, Solver
from sparsebody.simulation.simulate import simulate
from sparsebody.simulation.stabilization import STABILIZATIONS
from sparsebody.simulation.trajectory import Event, StoppedSimulationError, Trajectory

__all__ = [
    "CONTROL_FUNCTION",
    "INTEGRATORS",
    "STABILIZATIONS",
    "EquilibriumPath",
    "Event",
    "Method",
    "Output",
    "Recording",
    "Solver",
    "SpecialPoint",
    "StoppedSimulationError",
    "Trajectory",
    "simulate",
]
