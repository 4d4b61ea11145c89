"""The problem that all steppers solve, and checkpoints to go on from."""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State, System
from sparsebody.simulation.callbacks import Control
from sparsebody.simulation.options import SimulationOptions
from sparsebody.simulation.trajectory import Event

Note = Callable[[Event], None]

_N_SCALARS = 10


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion to compute, and the report of events on the way."""

    system: System
    state: State  # in which it begins
    options: SimulationOptions
    control: Control | None
    note: Note


@dataclass
class RankWatch:
    """State of the rank of the constraint rows."""

    analysis_state: State | None = None  # where it was analyzed; None: where the run began
    full_rank: int = 0  # the largest rank seen
    wait: int = 1  # steps between two attempts to reach the full rank again
    countdown: int = 0  # steps until the next attempt
    left_at: float = -math.inf  # time [s] of the newest analysis at a singular pose
    sine: float = math.inf  # smallest pivot of the factors at the newest state; NaN if unknown
    best_sine: float = 0.0  # largest of the rows in use since they were compared with others


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The run after a whole number of steps."""

    step: int
    state: State  # from which to go on: the step's, or one before a nearly singular pose
    acceleration: FloatArray  # (n_bodies, 6) first stage of the next step
    n_events: int
    wall_time: float  # [s]
    rank: RankWatch
    memory: FloatArray  # what else the stepper needs

    def pack(self) -> FloatArray:
        """Return the checkpoint as one row that ends with its checksum."""
        rank, analyzed = self.rank, self.rank.analysis_state
        scalars = [self.step, self.n_events, self.wall_time, rank.full_rank, rank.wait]
        scalars += [rank.countdown, analyzed is not None, rank.left_at, rank.sine, rank.best_sine]
        at = self.state if analyzed is None else analyzed
        row = packed(*scalars, self.state, self.acceleration, at, self.memory)
        return np.append(row, zlib.crc32(row.tobytes()))


def row_size(system: System, memory_size: int) -> int:
    """Return the length of a packed checkpoint of a stepper with so much memory."""
    return _N_SCALARS + 2 * state_size(system) + 6 * system.n_bodies + memory_size + 1


def unpack(system: System, row: FloatArray) -> Checkpoint | None:
    """Return the checkpoint of a row; None if it was written only in part, or never."""
    if len(row) < row_size(system, 0) or row[-1] != zlib.crc32(row[:-1].tobytes()) or not row.any():
        return None
    at = system.initial_state
    likes = *[0.0] * _N_SCALARS, at, at.velocity, at
    *scalars, state, acceleration, analysis, memory = unpacked(row[:-1], *likes)
    step, n_events, wall_time, full_rank, wait, countdown, analyzed, *others = scalars
    counts = int(full_rank), int(wait), int(countdown)
    rank = RankWatch(analysis if analyzed else None, *counts, *others)
    return Checkpoint(int(step), state, acceleration, int(n_events), wall_time, rank, memory)


def state_size(system: System) -> int:
    """Return of how many numbers a state is."""
    return 1 + 13 * system.n_bodies + len(system.coordinates.joint)


Part = State | FloatArray | float


def packed(*parts: Part) -> FloatArray:
    """Return the numbers of states, arrays and numbers, one after the other."""
    return np.concatenate([np.ravel(array) for part in parts for array in _arrays(part)])


def unpacked(row: FloatArray, *likes: Any) -> list[Any]:
    """Return such parts of a row, of the shapes of others, and what remains of it."""
    parts: list[Any] = []
    for like in likes:
        shapes = [np.shape(array) for array in _arrays(like)]
        *numbers, row = np.split(row, np.cumsum([math.prod(shape) for shape in shapes]))
        arrays: list[Any] = [
            part.reshape(shape).copy() for part, shape in zip(numbers, shapes, strict=True)
        ]
        if isinstance(like, State):
            time, position, orientation, velocity, coordinate = arrays
            parts.append(State(position, orientation, velocity, coordinate, float(time)))
        else:
            parts.append(float(arrays[0]) if isinstance(like, float) else arrays[0])
    return [*parts, row.copy()]


def _arrays(part: Part) -> tuple[Any, ...]:
    if isinstance(part, State):
        return part.time, part.position, part.orientation, part.velocity, part.coordinate
    return (part,)
