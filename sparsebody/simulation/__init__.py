"""Motion in time: integrators, stabilization, recording."""

from sparsebody.simulation.integrators import INTEGRATORS
from sparsebody.simulation.simulate import simulate
from sparsebody.simulation.stabilization import STABILIZATIONS
from sparsebody.simulation.trajectory import Event, StoppedSimulationError, Trajectory

__all__ = [
    "INTEGRATORS",
    "STABILIZATIONS",
    "Event",
    "StoppedSimulationError",
    "Trajectory",
    "simulate",
]
