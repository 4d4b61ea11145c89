"""Energy along a trajectory: where it sits, and how it drifts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError
from sparsebody.model.system import System
from sparsebody.simulation.trajectory import Trajectory


@dataclass(frozen=True)
class EnergyDrift:
    """How the total energy of a conservative mechanism changes in a simulation."""

    largest: float  # largest distance from the first value [J]
    rate: float  # slope of the best line through the energy [W]
    relative: float  # `largest` in units of the energy that moves


def energy_drift(trajectory: Trajectory) -> EnergyDrift:
    """Return the drift of the energy.

    Raises
    ------
    ShapeError
        If the mechanism is driven, damped or loaded: its energy need not stay constant.
    """
    relative = trajectory.energy_error
    if relative is None:
        raise ShapeError(
            f"the energy of {trajectory.name!r} is not constant by itself: it is driven, damped "
            "or loaded; look at trajectory.energy instead"
        )
    change = trajectory.energy - trajectory.energy[0]
    return EnergyDrift(float(np.abs(change).max()), _slope(trajectory.time, change), relative)


def body_kinetic_energies(system: System, trajectory: Trajectory) -> FloatArray:
    """Return (n_records, n_bodies): v' I v / 2 of every body at every record [J]."""
    if trajectory.velocity.shape[1] != system.n_bodies:
        raise ShapeError(
            f"the trajectory has {trajectory.velocity.shape[1]} bodies, "
            f"system {system.name!r} has {system.n_bodies}"
        )
    angular, linear = trajectory.velocity[..., :3], trajectory.velocity[..., 3:]
    turning = np.einsum("tni,nij,tnj->tn", angular, system.inertia, angular)
    return np.asarray(0.5 * (turning + system.mass * np.einsum("tni,tni->tn", linear, linear)))


def _slope(time: FloatArray, value: FloatArray) -> float:
    """Slope of the line of least squares; zero for a single record."""
    centered = time - time.mean()
    spread = float(centered @ centered)
    return float(centered @ value) / spread if spread > 0.0 else 0.0
