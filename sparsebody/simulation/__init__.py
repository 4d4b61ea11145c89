"""Motion in time: integrators, stabilization, recording."""

from sparsebody.simulation.integrators import INTEGRATORS
from sparsebody.simulation.records.trajectory import Event, StoppedSimulationError, Trajectory
from sparsebody.simulation.simulate import simulate
from sparsebody.simulation.stabilization import STABILIZATIONS

__all__ = [
    "INTEGRATORS",
    "STABILIZATIONS",
    "Event",
    "StoppedSimulationError",
    "Trajectory",
    "simulate",
]
