"""What is recorded of a state, and what must agree between a file and the run that resumes it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.energy import energy_and_momentum
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import TimeFunction
from sparsebody.simulation.constraint_errors import largest
from sparsebody.simulation.options import SimulationOptions

Sample = dict[str, Any]  # channel name -> number or array

_SAMPLED_TIMES = (0.0, 0.1, 0.7, 3.1)  # [s] where given functions of time are compared


@dataclass(frozen=True, eq=False)
class Header:
    """What a recording says about its run before the first record."""

    name: str
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    options: dict[str, Any]
    fingerprint: str  # of the System
    conservative: bool
    source: str | None
    channels: dict[str, tuple[int, ...]]  # shape of one record of each channel


def header(
    system: System, options: SimulationOptions, conservative: bool, source: str | None
) -> Header:
    """Return the header of a run."""
    return Header(
        system.name,
        tuple(system.body_names),
        tuple(system.joint_names),
        options.as_dict(),
        fingerprint(system),
        conservative,
        source,
        channel_shapes(system, options),
    )


def channel_shapes(system: System, options: SimulationOptions) -> dict[str, tuple[int, ...]]:
    """Return the shape of one record of each channel."""
    is_elastic = options.method in ("auto", "generalized-alpha")
    n = system.n_bodies
    shapes: dict[str, tuple[int, ...]] = {
        "time": (),
        "position": (n, 3),
        "orientation": (n, 4),
        "velocity": (n, 6),
        "coordinate": (len(system.coordinates.joint),),
        "kinetic_energy": (),
        "potential_energy": (),
        "momentum": (6,),
        "position_error": (),
        "velocity_error": (),
    }
    shapes |= {"elastic_energy": ()} if is_elastic else {}
    return shapes | ({"joint_wrench": (system.n_joints, 6)} if options.record_reactions else {})


def sample(
    system: System,
    state: State,
    multiplier: FloatArray | None,
    joint_wrench: Callable[[State], FloatArray] | None,
) -> Sample:
    """Return one record.

    Multipliers are those of compliant joints, which are open by delta = C lambda; `joint_wrench`
    computes the reactions where they are asked for.
    """
    now, momentum = energy_and_momentum(system, state)
    position_error, velocity_error = constraint_errors(system, state)
    record: Sample = {
        "time": state.time,
        "position": state.position,
        "orientation": state.orientation,
        "velocity": state.velocity,
        "coordinate": state.coordinate,
        "kinetic_energy": now.kinetic,
        "potential_energy": now.potential,
        "elastic_energy": 0.0 if multiplier is None else 0.5 * float(multiplier @ position_error),
        "momentum": momentum,
        "position_error": largest(position_error),
        "velocity_error": largest(velocity_error),
    }
    if joint_wrench is not None:
        record["joint_wrench"] = joint_wrench(state)
    return record


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
    joint, point, load = system.joint_forces, system.point_forces, system.external_forces
    elastic = system.elastic
    motions = tuple(f for f in system.coordinates.motion if f is not None)
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
        *(_sampled(motions), _sampled(joint.effort), _sampled(point.effort)),
    ]


def _sampled(functions: tuple[TimeFunction, ...]) -> FloatArray:
    return np.array([[f(time) for time in _SAMPLED_TIMES] for f in functions], dtype=float)
