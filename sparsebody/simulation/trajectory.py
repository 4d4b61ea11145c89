"""Trajectory: what is recorded of a motion, in memory or in an HDF5 file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from sparsebody.arrays import BriefRepr, FloatArray, IntArray
from sparsebody.dynamics.energy import spring_energies
from sparsebody.equations.system_motion import motion_records
from sparsebody.errors import SimulationError
from sparsebody.html_tables import html_curves, html_facts
from sparsebody.model import Mechanism, State, System
from sparsebody.model.system import States
from sparsebody.model.time_functions import TimeFunction
from sparsebody.simulation.options import SimulationOptions

Records = dict[str, FloatArray]  # k of each channel, by its name
# One record of each channel: its shape, in numbers or by the dataset of the names in it.
CHANNELS: Final[dict[str, tuple[int | str, ...]]] = {
    "time": (),
    "position": ("body_names", 3),
    "orientation": ("body_names", 4),
    "velocity": ("body_names", 6),
    "coordinate": ("coordinates",),
    "kinetic_energy": (),
    "potential_energy": (),
    "elastic_energy": (),
    "momentum": (6,),
    "position_error": (),
    "velocity_error": (),
    "joint_wrench": ("joint_names", 6),
}
STATE_CHANNELS = tuple(CHANNELS)[:5]
OPTIONAL_CHANNELS = ("elastic_energy", "joint_wrench")

_BLOCK_BYTES = 1 << 28  # of records in memory that are one array
_MOST_NUMBERS = 1 << 20  # in the ends of several steps
_SAMPLED_TIMES = (0.0, 0.1, 0.7, 3.1)  # [s] where given functions of time are compared


@dataclass(frozen=True)
class Event:
    """Something out of the ordinary that happened on the way."""

    time: float  # [s]
    kind: str  # such as "re-analysis", "rank in doubt", "passed pose", "interruption"
    message: str

    def __str__(self) -> str:
        return f"t = {self.time:.6g} s: {self.kind}: {self.message}"


def cause_of(error: Exception) -> str:
    """Return the message of an error without the advice that an event has already followed."""
    return str(error).split("; take smaller steps")[0]


class Summary(dict[str, Any]):
    """Counts and errors of a run, by name; printed as a table."""

    def __str__(self) -> str:
        return "\n".join(f"{name:<14}  {value}" for name, value in self.facts().items())

    def _repr_html_(self) -> str:
        return html_facts("Summary", self.facts())

    def facts(self) -> dict[str, str]:
        """Return the lines of the table by their names."""
        per_step = self["wall_time"] / max(self["steps"], 1)
        drift, error = self["energy_error"], self["estimated_error"]
        rows = {
            "mechanism": self["mechanism"],
            "time": f"{self['start']:.6g} to {self['end']:.6g} s",
            "steps": f"{self['steps']}, {self['records']} recorded",
            "wall time": f"{self['wall_time']:.3g} s, {1e3 * per_step:.3g} ms a step",
            "step errors": "not estimated"
            if error is None
            else f"estimated {error:.1e} of how far bodies moved",
            "energy": f"{self['energy_start']:.6g} J to {self['energy_end']:.6g} J",
            "energy error": "not defined: it is not constant" if drift is None else f"{drift:.1e}",
            "position error": f"{self['position_error']:.1e} at most [m, rad]",
            "velocity error": f"{self['velocity_error']:.1e} at most [m/s, rad/s]",
            "events": str(self["events"]),
        }
        return rows | ({"interrupted": "before its end"} if self["interrupted"] else {})


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
    elastic_energy: FloatArray | None  # (n,) in compliance of joints [J]; None if rigid
    momentum: FloatArray  # (n, 6) about the world's origin, angular first [kg m^2/s, kg m/s]
    position_error: FloatArray  # (n,) largest constraint error [rad, m]
    velocity_error: FloatArray  # (n,) [rad/s, m/s]
    joint_wrench: FloatArray | None  # (n, n_joints, 6) on the successor in S coordinates, if asked
    events: tuple[Event, ...]
    name: str  # of the mechanism
    body_names: Sequence[str]
    joint_names: Sequence[str]
    options: Mapping[str, Any]
    conservative: bool  # energy is constant: nothing prescribed, no effort, damper, load or control
    interrupted: bool  # stopped before the duration was over
    steps: int
    wall_time: float  # [s] spent in the time loop
    # of poses at the end, over how far bodies moved; None of adaptive steps, or where not recorded
    estimated_error: float | None = None
    source: str | None = None  # the mechanism file that it was made from
    path: Path | None = None  # where it is stored
    system: System | None = field(default=None, repr=False)  # that moved, if simulated just now

    def __len__(self) -> int:
        return len(self.time)

    def _html_facts(self) -> Mapping[str, object]:
        if not len(self):
            return self._brief_fields()
        energies = {"energy": self.energy, "kinetic energy": self.kinetic_energy}
        facts: dict[str, object] = {**self.summary().facts(), "bodies": len(self.body_names)}
        curves = html_curves(self.time, energies)
        return facts | ({"energy over time, kinetic dashed": curves} if curves else {})

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

    def equally_spaced(self, n: int) -> IntArray:
        """Return the indices of at most n records that are equally spaced in time.

        They begin with the first record, and for n > 1 end with the last. SimulationError if n is
        less than one, or there are no records.
        """
        if n < 1 or len(self) == 0:
            raise SimulationError(
                f"{n} of {len(self)} records are to be chosen; choose at least one, of a "
                "trajectory with records"
            )
        start, end = self.time[0], self.time[-1]
        times = np.linspace(start, end, min(n, len(self)))
        rounding = 1e-9 * (end - start)  # of times, far less than a step
        index = np.searchsorted(self.time, times - rounding).clip(max=len(self) - 1)
        return np.unique(index).astype(np.intp)

    def show(self, **options: Any) -> Any:
        """Show the motion as a 3-D page, in a notebook below the cell; see `sparsebody.show`."""
        from sparsebody.viewer.showing import show

        return show(self, **options)

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
        return self.relative_to_motion(np.abs(self.energy - self.energy[0]).max())

    def relative_to_motion(self, energy: float) -> float:
        """Return an energy relative to the energy that moves, zero if nothing does."""
        exchanged = np.abs(self.potential_energy - self.potential_energy[0]).max()
        scale = max(float(exchanged), float(np.abs(self.kinetic_energy).max()))
        noise = 64.0 * np.finfo(float).eps * float(np.abs(self.potential_energy).max())
        return float(energy) / scale if scale > noise else 0.0

    def summary(self) -> Summary:
        """Return counts and errors of the run, by name; printed, they are a table."""
        return Summary(
            mechanism=self.name,
            start=float(self.time[0]),
            end=float(self.time[-1]),
            steps=self.steps,
            records=len(self),
            wall_time=self.wall_time,
            interrupted=self.interrupted,
            estimated_error=self.estimated_error,
            energy_start=float(self.energy[0]),
            energy_end=float(self.energy[-1]),
            energy_error=self.energy_error,
            position_error=float(self.position_error.max()),
            velocity_error=float(self.velocity_error.max()),
            events=len(self.events),
        )

    def to_dataframe(self, table: str = "energies", mechanism: Mechanism | None = None) -> Any:
        """Return a table as a pandas DataFrame, one row for each record and body or joint.

        Parameters
        ----------
        table : {"energies", "bodies", "joints", "reactions"}
            Energies, momenta and errors of each record; poses and velocities of bodies;
            coordinates of joints; wrenches of joints, where they were recorded.
        mechanism : Mechanism, optional
            What moves, for "joints" where the trajectory has no `source`.

        Returns
        -------
        pandas.DataFrame
            Columns by name; ``attrs["units"]`` has their units.

        Raises
        ------
        UnknownNameError
            If there is no such table.
        SimulationError
            If the trajectory has no reactions, or no mechanism, and the table needs them.
        MissingDependencyError
            Without pandas.
        """
        from sparsebody.simulation.trajectory_tables import data_frame

        return data_frame(self, table, mechanism)

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
        from sparsebody.simulation.trajectory_reading import load_trajectory, recovered_trajectory

        return recovered_trajectory(Path(path)) if recover else load_trajectory(Path(path))


def _index(names: Sequence[str], name: str, what: str) -> int:
    if name not in names:
        raise SimulationError(f"the trajectory has no {what} {name!r}")
    return names.index(name)


class StoppedSimulationError(SimulationError):
    """The motion could not be continued; `trajectory` holds what was computed before."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


# ---- what is recorded ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Header:
    """Description of a run by its recording before the first record."""

    system: System
    options: SimulationOptions
    conservative: bool
    source: str | None

    @cached_property
    def channels(self) -> dict[str, tuple[int, ...]]:
        """The shape of one record of each channel."""
        system, options = self.system, self.options
        sizes = {"body_names": system.n_bodies, "joint_names": system.n_joints}
        sizes |= {"coordinates": len(system.coordinates.joint)}
        is_compliant = options.method in ("auto", "generalized-alpha")
        absent = set() if is_compliant else {"elastic_energy"}
        absent |= set() if options.record_reactions else {"joint_wrench"}
        return {
            name: tuple(size if isinstance(size, int) else sizes[size] for size in record)
            for name, record in CHANNELS.items()
            if name not in absent
        }


class Ends(NamedTuple):
    """The ends of k steps, in memory that further steps use again, or states in that of records."""

    states: States  # at k times
    acceleration: FloatArray  # (k, n_bodies, 6)
    multiplier: FloatArray  # (k, n_rows) of compliant joints, (k, 0) where all are rigid

    @property
    def n_steps(self) -> int:
        """Return k."""
        return len(self.acceleration)


class EndMemory:
    """Memory for the ends of several steps, which each call fills anew."""

    def __init__(self, system: System, n_rows: int = 0) -> None:
        n, n_coordinates = system.n_bodies, len(system.coordinates.joint)
        shapes = (n, 3), (n, 4), (n, 6), (n_coordinates,), (n, 6), (n_rows,)
        size = sum(math.prod(shape) for shape in shapes)
        self._most_steps = max(1, _MOST_NUMBERS // size)
        self._own: Any = tuple(np.empty((self._most_steps, *shape)) for shape in shapes)
        self.arrays = self._own  # of States without times, accelerations and multipliers

    def begin(self, times: FloatArray, out: States | None) -> FloatArray:
        """Choose memory of states for steps to these times, `out` if any; return the first ones.

        That is, those for which there is memory.
        """
        self.arrays = self._own if out is None else (*out[:4], *self._own[4:])
        return times[: min(self._most_steps, len(self.arrays[0]))]

    def ends(self, times: FloatArray) -> Ends:
        """Return the newest ends, at these times."""
        n = len(times)
        position, orientation, velocity, coordinate, acceleration, multiplier = self.arrays
        states = States(position[:n], orientation[:n], velocity[:n], coordinate[:n], times)
        return Ends(states, acceleration[:n], multiplier[:n])


def records_of(
    system: System,
    states: States,
    multiplier: FloatArray | None = None,
    joint_wrench: Callable[[State], FloatArray] | None = None,
) -> Records:
    """Return the records of k states.

    Where joints are compliant, their multipliers (k, n_rows) tell the energy that they store;
    `joint_wrench` computes the reactions where they are asked for.
    """
    of_motion = motion_records(system, states, multiplier)._asdict()
    potential = of_motion.pop("gravity_energy") + spring_energies(system, states)
    records: Records = states._asdict() | of_motion | {"potential_energy": potential}
    if joint_wrench is not None:
        wrenches = [joint_wrench(states.at(k)) for k in range(len(states.time))]
        records["joint_wrench"] = np.array(wrenches)
    return records


def fingerprint(system: System) -> str:
    """Return a hash of all that decides how the system moves, and of its names."""
    digest = hashlib.sha256()
    for part in (system.body_names, system.joint_names, system.joint_types):
        digest.update(repr(part).encode())
    for array in _numbers(system):
        digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(repr(array.shape).encode())
    return digest.hexdigest()


def _numbers(system: System) -> list[np.ndarray[Any, Any]]:
    def sampled(functions: Iterable[TimeFunction]) -> FloatArray:
        return np.array([[f(time) for time in _SAMPLED_TIMES] for f in functions], dtype=float)

    joint, point, load = system.joint_forces, system.point_forces, system.external_forces
    elastic = system.elastic
    motions = [f for f in system.coordinates.motion if f is not None]
    return [
        *(system.gravity, system.mass, system.inertia, system.center_of_mass),
        *(system.predecessor, system.successor, system.parameter, system.first_row),
        *(system.predecessor_rotation, system.predecessor_point),
        *(system.successor_rotation, system.successor_point),
        *(system.coordinates.joint, system.coordinates.index, system.coordinates.row),
        *(joint.item, joint.stiffness, joint.rest, joint.damping),
        *(point.first, point.second, point.first_point, point.second_point),
        *(point.stiffness, point.rest_length, point.damping),
        *(load.body, load.wrench, load.point, load.in_world),
        *((elastic.joint, *elastic.arrays[0], *elastic.arrays[1:]) if len(elastic) else ()),
        *(sampled(motions), sampled(joint.effort), sampled(point.effort)),
    ]


class Recorder:
    """Collects records in a block of memory."""

    def __init__(self, header: Header, n_records: int, most_bytes: int) -> None:
        """`n_records` are expected, or as many as a block needs."""
        size = 8 * sum(math.prod(shape) for shape in header.channels.values())
        self._header, self._capacity = header, max(1, min(n_records, most_bytes // size))
        self._block, self._filled = self._new_block(), 0
        self._events: list[Event] = []

    def _new_block(self) -> Records:
        channels = self._header.channels.items()
        return {name: np.empty((self._capacity, *shape)) for name, shape in channels}

    def free_states(self, n_before: int) -> States | None:
        """Return where states belong that come after so many records; None if the block is full."""
        first = self._filled + n_before
        if first >= self._capacity:
            return None
        return States._make(self._block[name][first:] for name in States._fields)

    def append(self, records: Records) -> None:
        """Copy records into the block, which is put away when it is full.

        States may be there already, see `free_states`.
        """
        n, done = len(records["time"]), 0
        while done < n:
            if self._filled == self._capacity:
                self._put_away()
            more = min(n - done, self._capacity - self._filled)
            for name, block in self._block.items():
                new = records[name][done : done + more]
                target = block[self._filled : self._filled + more]
                if not np.may_share_memory(new, target):
                    target[:] = new
            self._filled, done = self._filled + more, done + more

    def _put_away(self) -> None:
        """Make room in the block, which has records."""
        raise NotImplementedError

    def note(self, event: Event) -> None:
        """Keep an event."""
        self._events.append(event)


class MemoryRecorder(Recorder):
    """Keeps everything in memory."""

    def __init__(self, header: Header, n_records: int) -> None:
        super().__init__(header, n_records, _BLOCK_BYTES)
        self._full: list[Records] = []

    def _put_away(self) -> None:
        self._full.append(self._block)
        self._block, self._filled = self._new_block(), 0

    def is_flush_due(self) -> bool:
        """Never: there is nothing safer than memory here."""
        return False

    def flush(self, checkpoint: object) -> None:
        """Do nothing."""

    def close(
        self,
        *,
        steps: int,
        wall_time: float,
        interrupted: bool,
        estimated_error: float | None = None,
    ) -> Trajectory:
        """Return the trajectory."""
        header = self._header
        channels: dict[str, Any] = dict.fromkeys(OPTIONAL_CHANNELS)
        while self._block:  # not kept here besides the trajectory
            name, block = self._block.popitem()
            newest = block[: self._filled]
            before = [full.pop(name) for full in self._full]
            channels[name] = np.concatenate([*before, newest]) if before else newest
        return Trajectory(
            **channels,
            events=tuple(self._events),
            name=header.system.name,
            body_names=tuple(header.system.body_names),
            joint_names=tuple(header.system.joint_names),
            options=header.options.as_dict(),
            conservative=header.conservative,
            interrupted=interrupted,
            steps=steps,
            wall_time=wall_time,
            estimated_error=estimated_error,
            source=header.source,
            system=header.system,
        )
