"""Tables of a trajectory: columns of energies, bodies, joints and reactions, with their units.

They are long: one row for each record, or for each record and body or joint, whose name is a
column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SimulationOptionError, check_name, required_package
from sparsebody.kinematics.joint_motion import joint_motion
from sparsebody.model import Mechanism, System
from sparsebody.model.files import mechanism_from_text
from sparsebody.model.joints import INFO
from sparsebody.simulation.trajectory import Trajectory
from sparsebody.spatial import quaternion_from_rotation, rotation_from_quaternion

Units = dict[str, str]
_AXES: Final = "xyz"
INSTALL: Final = "pip install 'sparsebody[tables]'"


@dataclass(frozen=True, eq=False)
class NameColumn:
    """A column of names, by their indices."""

    index: IntArray  # (n,) into `names`
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.index)

    def words(self) -> list[str]:
        """(n,) the names."""
        return [self.names[i] for i in self.index.tolist()]


Column = FloatArray | NameColumn
Columns = dict[str, Column]


def _vectors(name: str, unit: str) -> Units:
    return {f"{name}_{axis}": unit for axis in _AXES}


_ENERGY_UNITS: Final[Units] = {
    "time": "s",
    "kinetic_energy": "J",
    "potential_energy": "J",
    "elastic_energy": "J",
    "energy": "J",
    **_vectors("angular_momentum", "kg m^2/s"),
    **_vectors("momentum", "kg m/s"),
    "position_error": "rad, m",
    "velocity_error": "rad/s, m/s",
}
_BODY_UNITS: Final[Units] = {
    "time": "s",
    "body": "",
    **_vectors("position", "m"),
    **dict.fromkeys([f"orientation_{part}" for part in "wxyz"], ""),
    **_vectors("angular_velocity", "rad/s"),
    **_vectors("velocity", "m/s"),
}
_REACTION_UNITS: Final[Units] = {
    "time": "s",
    "joint": "",
    **_vectors("moment", "N m"),
    **_vectors("force", "N"),
}


def _energies(run: Trajectory, _: System | None) -> Columns:
    names = *_vectors("angular_momentum", ""), *_vectors("momentum", "")
    momentum = dict(zip(names, run.momentum.T, strict=True))
    columns = {name: momentum.get(name, getattr(run, name, None)) for name in _ENERGY_UNITS}
    return {name: column for name, column in columns.items() if column is not None}


def _long(
    run: Trajectory,
    what: str,
    items: Sequence[str],
    names: Sequence[str],
    values: FloatArray,
    **more: Column,
) -> Columns:
    """Return the columns time and item, some more, and those of values (n, items, names)."""
    n, size = values.shape[:2]
    return {
        "time": np.repeat(run.time, size),
        what: NameColumn(np.tile(np.arange(size, dtype=np.intp), n), items),
        **more,
        **{name: values[:, :, k].ravel() for k, name in enumerate(names)},
    }


def world_velocities(orientation: FloatArray, velocity: FloatArray) -> FloatArray:
    """Return spatial velocities (..., 6) in body coordinates, turned to world axes.

    The linear part is the velocity of the center of mass.
    """
    R = rotation_from_quaternion(orientation)
    parts = velocity.reshape(*velocity.shape[:-1], 2, 3)
    return np.asarray(np.einsum("...ij,...kj->...ki", R, parts).reshape(velocity.shape))


def _bodies(run: Trajectory, _: System | None) -> Columns:
    velocity = world_velocities(run.orientation, run.velocity)
    values = np.concatenate([run.position, run.orientation, velocity], axis=2)
    return _long(run, "body", run.body_names, list(_BODY_UNITS)[2:], values)


def _reactions(run: Trajectory, _: System | None) -> Columns:
    if run.joint_wrench is None:
        raise SimulationOptionError(
            f"{_source(run)} has no reactions of joints; simulate with "
            "record=Recording(reactions=True) or --record-reactions"
        )
    return _long(run, "joint", run.joint_names, list(_REACTION_UNITS)[2:], run.joint_wrench)


def _joints(run: Trajectory, system: System | None) -> Columns:
    assert system is not None
    values = np.stack([joint_coordinates(system, run, k) for k in range(len(run))])
    used, index = np.unique(system.coordinate_types[0], return_inverse=True)
    index = np.tile(index, len(run)).astype(np.intp)
    types = NameColumn(index, [INFO[kind].name for kind in used])
    names = coordinate_names(system)
    return _long(run, "joint", run.joint_names, names, values, type=types)


def coordinate_names(system: System) -> list[str]:
    """Return q0, q1, ... and v0, v1, ..., as many as the joint with the most has."""
    kinds = set(system.coordinate_types[0].tolist())
    sizes = [[INFO[kind].n_positions, INFO[kind].n_velocities] for kind in kinds]
    n_q, n_v = np.max(sizes, axis=0, initial=0).tolist() if sizes else (0, 0)
    return [*(f"q{k}" for k in range(n_q)), *(f"v{k}" for k in range(n_v))]


def joint_coordinates(system: System, run: Trajectory, record: int) -> FloatArray:
    """Return (n_joints, n_q + n_v) coordinates and velocities of all joints, NaN beyond them.

    By the types that joints were declared with. Angles are in (-pi, pi], except those that a
    spring, a damper, an actuator or a prescribed motion tracks, which count turns.
    """
    state, (kind, parameter) = run.state(record), system.coordinate_types
    motion = joint_motion(system, state)
    n_positions, n_velocities, n_scalars = (
        np.array([getattr(info, f"n_{what}") for info in INFO], dtype=np.intp)[kind]
        for what in ("positions", "velocities", "scalars")
    )
    n_q, n = int(n_positions.max(initial=0)), system.n_joints
    values = np.full((n, n_q + int(n_velocities.max(initial=0))), np.nan)
    joint = np.repeat(np.arange(n, dtype=np.intp), n_velocities)
    index = np.arange(len(joint)) - np.repeat(np.cumsum(n_velocities) - n_velocities, n_velocities)
    value, force, _ = motion.coordinates(system, joint, index)
    values[joint, n_q + index] = np.einsum("na,na->n", force, motion.velocity[joint])
    surplus = n_positions - n_velocities  # one where there is a quaternion
    is_scalar = index >= (n_velocities - n_scalars)[joint]
    values[joint[is_scalar], (index + surplus[joint])[is_scalar]] = value[is_scalar]
    turning = np.flatnonzero(surplus > 0)
    if len(turning):
        inverse = np.swapaxes(motion.rotation[turning], 1, 2)  # S to P
        values[turning, :4] = quaternion_from_rotation(inverse)
        placed = turning[n_scalars[turning] + 4 < n_positions[turning]]  # free, or at a distance
        position = motion.translation[placed]
        length, norm = parameter[placed], np.linalg.norm(position, axis=1)
        scale = np.where(length > 0.0, length / np.where(length > 0.0, norm, 1.0), 1.0)
        values[placed, 4:7] = position * scale[:, None]
    tracked = system.coordinates
    of = tracked.joint[tracked.is_angle], tracked.index[tracked.is_angle]
    values[of[0], of[1] + surplus[of[0]]] = state.coordinate[tracked.is_angle]
    return values


@dataclass(frozen=True)
class TableKind:
    """What a table holds."""

    summary: str
    columns: Callable[[Trajectory, System | None], Columns]
    units: Units  # of the columns that are known without a mechanism
    needs_mechanism: bool = False


TABLES: Final[dict[str, TableKind]] = {
    "energies": TableKind("energies, momenta and errors of each record", _energies, _ENERGY_UNITS),
    "bodies": TableKind("pose and velocity of each body", _bodies, _BODY_UNITS),
    "joints": TableKind(
        "coordinates of each joint", _joints, {"time": "s", "joint": "", "type": ""}, True
    ),
    "reactions": TableKind("wrench of each joint", _reactions, _REACTION_UNITS),
}


def _source(run: Trajectory) -> str:
    return repr(str(run.path)) if run.path else f"the trajectory of {run.name!r}"


def system_of(run: Trajectory, mechanism: Mechanism | None) -> System | None:
    """Return what moves: the given mechanism, or that in `source`; None if there is neither.

    SimulationOptionError if it has other bodies or joints than the trajectory.
    """
    if mechanism is None and run.source is None:
        return None
    known = mechanism or mechanism_from_text(run.source or "", f"{run.path}, source")
    system = known.compile()
    names = tuple(system.body_names), tuple(system.joint_names)
    if names != (tuple(run.body_names), tuple(run.joint_names)):
        raise SimulationOptionError(
            f"{_source(run)} has other bodies or joints than mechanism {known.name!r}; give the "
            "one that was simulated"
        )
    return system


def table_columns(run: Trajectory, table: str, system: System | None) -> tuple[Columns, Units]:
    """Return the columns of a table and their units.

    Raises UnknownNameError if there is no such table, SimulationOptionError if the trajectory
    lacks what it holds.
    """
    check_name(table, TABLES, "table")
    kind = TABLES[table]
    if kind.needs_mechanism and system is None:
        raise SimulationOptionError(
            f"{_source(run)} holds no mechanism, which table {table!r} needs; give the mechanism"
        )
    columns = kind.columns(run, system)
    by_type = dict.fromkeys(columns, "by type")
    return columns, {name: (by_type | kind.units)[name] for name in columns}


def data_frame(run: Trajectory, table: str, mechanism: Mechanism | None) -> Any:
    """Return a table as a DataFrame; `Trajectory.to_dataframe` is its public name."""
    check_name(table, TABLES, "table")
    pandas = required_package("pandas", "data frames need the pandas package", "tables")
    system = system_of(run, mechanism) if TABLES[table].needs_mechanism else None
    columns, units = table_columns(run, table, system)
    frame = pandas.DataFrame(
        {
            name: pandas.Categorical.from_codes(column.index, list(column.names))
            if isinstance(column, NameColumn)
            else column
            for name, column in columns.items()
        }
    )
    frame.attrs["units"] = units
    return frame
