"""Trajectory: what a simulation leaves, in memory or in an HDF5 file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.errors import SimulationError
from sparsebody.model.system import State


@dataclass(frozen=True)
class Event:
    """Something out of the ordinary that happened on the way."""

    time: float  # [s]
    kind: str  # such as "re-analysis", "rank in doubt", "passed pose", "interruption"
    message: str


def cause_of(error: Exception) -> str:
    """Return the message of an error without the advice that an event has already followed."""
    return str(error).split("; take smaller steps")[0]


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(BriefRepr):
    """States at n times, with energies and constraint errors.

    Body coordinates as in State: axes of the body frame, origin at the center of mass.
    """

    time: FloatArray  # (n,) [s]
    position: FloatArray  # (n, n_bodies, 3) centers of mass in the world [m]
    orientation: FloatArray  # (n, n_bodies, 4) unit quaternions (w, x, y, z), body to world
    velocity: FloatArray  # (n, n_bodies, 6) body coordinates, angular first [rad/s, m/s]
    coordinate: FloatArray  # (n, n_coordinates) tracked joint coordinates, whole turns included
    kinetic_energy: FloatArray  # (n,) [J]
    potential_energy: FloatArray  # (n,) of gravity and springs [J]
    elastic_energy: (
        FloatArray | None
    )  # (n,) that the compliance of joints stores [J]; None if rigid
    momentum: FloatArray  # (n, 6) about the world's origin, angular first [kg m^2/s, kg m/s]
    position_error: FloatArray  # (n,) largest constraint error [rad, m]
    velocity_error: FloatArray  # (n,) [rad/s, m/s]
    joint_wrench: FloatArray | None  # (n, n_joints, 6) on the successor in S coordinates, if asked
    events: tuple[Event, ...]
    name: str  # of the mechanism
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    options: Mapping[str, Any]
    conservative: bool  # no drive, effort, damper, external force or control: energy is constant
    interrupted: bool  # stopped before the duration was over
    steps: int
    wall_time: float  # [s] spent in the time loop
    source: str | None = None  # the mechanism file that it was made from
    path: Path | None = None  # where it is stored

    def __len__(self) -> int:
        return len(self.time)

    def state(self, index: int) -> State:
        """Return the recorded state `index` (negative: from the end)."""
        if not -len(self.time) <= index < len(self.time):
            raise SimulationError(f"there is no record {index}; the trajectory has {len(self)}")
        return State(
            self.position[index],
            self.orientation[index],
            self.velocity[index],
            self.coordinate[index],
            float(self.time[index]),
        )

    def body(self, name: str) -> int:
        """Return the index of a body."""
        return _index(self.body_names, name, "body")

    def joint(self, name: str) -> int:
        """Return the index of a joint."""
        return _index(self.joint_names, name, "joint")

    @property
    def energy(self) -> FloatArray:
        """(n,) kinetic, potential and elastic energy [J]."""
        energy = self.kinetic_energy + self.potential_energy
        return energy if self.elastic_energy is None else energy + self.elastic_energy

    @property
    def energy_error(self) -> float | None:
        """Largest change of the energy, relative to the energy that moves; None if driven.

        The energy that moves is the larger of the largest kinetic energy and the largest change
        of the potential energy, so that the choice of the zero level has no influence.
        """
        if not self.conservative:
            return None
        change = np.abs(self.energy - self.energy[0]).max()
        exchanged = np.abs(self.potential_energy - self.potential_energy[0]).max()
        scale = max(float(exchanged), float(np.abs(self.kinetic_energy).max()))
        noise = 64.0 * np.finfo(float).eps * float(np.abs(self.potential_energy).max())
        return float(change) / scale if scale > noise else 0.0

    def summary(self) -> dict[str, Any]:
        """Return the numbers that tell how the run went, by name."""
        return {
            "mechanism": self.name,
            "start": float(self.time[0]),
            "end": float(self.time[-1]),
            "steps": self.steps,
            "records": len(self),
            "wall_time": self.wall_time,
            "interrupted": self.interrupted,
            "energy_start": float(self.energy[0]),
            "energy_end": float(self.energy[-1]),
            "energy_error": self.energy_error,
            "position_error": float(self.position_error.max()),
            "velocity_error": float(self.velocity_error.max()),
            "events": len(self.events),
        }

    @staticmethod
    def load(path: str | Path, *, recover: bool = False) -> Trajectory:
        """Read a trajectory file, also one whose run was killed or is still under way.

        Parameters
        ----------
        path : path-like
            The file.
        recover : bool
            Take what can be read of a damaged file: the records before the first one that is not
            whole, NaN for other channels than those of states, no events. An event of kind
            "recovery" lists what is lost.

        Raises
        ------
        SimulationError
            If the file does not exist, is no trajectory or is damaged; it names the dataset and
            what is wrong with it.
        """
        from sparsebody.simulation.records.trajectory_files import load_trajectory

        return load_trajectory(Path(path), recover)


class StoppedSimulationError(SimulationError):
    """The motion could not be continued; `trajectory` holds what was computed before."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


def _index(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise SimulationError(f"the trajectory has no {what} {name!r}")
    return names.index(name)
