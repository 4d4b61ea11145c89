"""Trajectory files: HDF5, one dataset per channel, one row per record."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import SimulationOptionError
from sparsebody.model.system import System
from sparsebody.simulation.checkpoint import Checkpoint, unpack
from sparsebody.simulation.samples import Header
from sparsebody.simulation.trajectory import Event, Trajectory

FORMAT = "sparsebody-trajectory"
FORMAT_VERSION = 1
CHECKPOINTS = "checkpoint"
EVENTS = "events"
EVENT_TYPE = np.dtype([("time", "f8"), ("kind", "S32"), ("message", "S480")])
_CHUNK_BYTES = 1 << 18
_COPY_ROWS = 256


def create_file(path: Path, header: Header, checkpoint_size: int) -> None:
    """Write a trajectory file without records; nothing can be added to its structure later."""
    with h5py.File(path, "w", libver="v110") as file:
        file.attrs.update(
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "sparsebody_version": _version(),
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "name": header.name,
                "options": json.dumps(header.options),
                "step": header.options["step"],
                "fingerprint": header.fingerprint,
                "conservative": header.conservative,
                "interrupted": True,  # until the run is over
                "steps": -1,
                "wall_time": np.nan,
            }
        )
        text = h5py.string_dtype()
        file.create_dataset("source", data=header.source or "", dtype=text)  # may be large
        file.create_dataset("body_names", data=list(header.body_names), dtype=text)
        file.create_dataset("joint_names", data=list(header.joint_names), dtype=text)
        for name, shape in header.channels.items():
            _growing(file, name, shape, np.dtype("f8"))
        _growing(file, EVENTS, (), EVENT_TYPE)
        file.create_dataset(CHECKPOINTS, data=np.zeros((2, checkpoint_size)))


def _growing(file: h5py.File, name: str, shape: tuple[int, ...], dtype: Any) -> None:
    """Add a dataset without rows, to which rows are appended."""
    if 0 in shape:  # chunks must not be empty
        chunk: tuple[int, ...] = (64, *(max(1, size) for size in shape))
    else:
        rows = max(1, min(1024, _CHUNK_BYTES // (dtype.itemsize * int(np.prod(shape)))))
        chunk = (rows, *shape)
    maximum = (None, *(size or None for size in shape))
    file.create_dataset(name, (0, *shape), dtype, maxshape=maximum, chunks=chunk)


def finish_file(path: Path, *, steps: int, wall_time: float, interrupted: bool) -> None:
    """Write how the run ended."""
    with h5py.File(path, "r+") as file:
        file.attrs.update({"steps": steps, "wall_time": wall_time, "interrupted": interrupted})


def write_event(event: Event) -> tuple[float, bytes, bytes]:
    """Return an event as a row of EVENT_TYPE."""
    return event.time, event.kind.encode()[:32], event.message.encode()[:480]


def load_trajectory(path: Path) -> Trajectory:
    """Read a trajectory file; `Trajectory.load` is its public name."""
    with open_trajectory(path) as file:
        n = _n_records(file)
        channels: dict[str, Any] = {"joint_wrench": None}
        channels |= {name: file[name][:n] for name in _channel_names(file)}
        attributes = file.attrs
        steps, wall_time = int(attributes["steps"]), float(attributes["wall_time"])
        if steps < 0:  # killed: the checkpoint knows more
            last = max(file[CHECKPOINTS][:, :3].tolist())
            steps, wall_time = int(last[0]), float(last[2])
        return Trajectory(
            **channels,
            events=_events(file),
            name=str(attributes["name"]),
            body_names=tuple(file["body_names"].asstr()[:]),
            joint_names=tuple(file["joint_names"].asstr()[:]),
            options=json.loads(attributes["options"]),
            conservative=bool(attributes["conservative"]),
            interrupted=bool(attributes["interrupted"]),
            steps=steps,
            wall_time=wall_time,
            source=file["source"].asstr()[()] or None,
            path=path,
        )


@contextmanager
def open_trajectory(path: Path) -> Iterator[h5py.File]:
    """Open a trajectory file for reading, whether it was closed or not."""
    if not path.is_file():
        raise SimulationOptionError(f"there is no trajectory file {str(path)!r}")
    file = _open_for_reading(path)
    with file:
        found = file.attrs.get("format"), file.attrs.get("format_version")
        if found != (FORMAT, FORMAT_VERSION):
            raise SimulationOptionError(
                f"{str(path)!r} is no sparsebody trajectory of version {FORMAT_VERSION} "
                f"(it says {found[0]!r}, version {found[1]!r})"
            )
        yield file


def _open_for_reading(path: Path) -> h5py.File:
    for swmr in (False, True):  # the second opens what a killed run left marked as open
        try:
            return h5py.File(path, "r", swmr=swmr)
        except OSError as error:
            reason = error
    raise SimulationOptionError(
        f"{str(path)!r} cannot be read as a trajectory: {reason}"
    ) from reason


def read_checkpoint(file: h5py.File, system: System) -> Checkpoint | None:
    """Return the newest whole checkpoint, None if there is none."""
    found = [unpack(system, row) for row in file[CHECKPOINTS][:]]
    whole = [checkpoint for checkpoint in found if checkpoint is not None]
    return max(whole, key=lambda checkpoint: checkpoint.step, default=None)


def check_same_run(path: Path, file: h5py.File, header: Header) -> None:
    """Raise SimulationOptionError unless the file is one of the same mechanism and options."""
    remedy = "; give another output, or overwrite it"
    if file.attrs["fingerprint"] != header.fingerprint:
        raise SimulationOptionError(
            f"cannot resume {str(path)!r}: it holds the motion of a mechanism "
            f"{file.attrs['name']!r} with other bodies, joints or numbers{remedy}"
        )
    stored = json.loads(file.attrs["options"])
    for name, value in header.options.items():
        if stored.get(name) != value:
            raise SimulationOptionError(
                f"cannot resume {str(path)!r}: its {name.replace('_', ' ')} is "
                f"{stored.get(name)!r}, not {value!r}{remedy}"
            )


def first_record(file: h5py.File) -> dict[str, FloatArray]:
    """Return the state that the run began with, by the names of State's fields."""
    return {name: file[name][0] for name in ("position", "orientation", "velocity", "time")}


def rewind(path: Path, header: Header, checkpoint: Checkpoint) -> None:
    """Cut a file back to its checkpoint, closed and ready to be appended to.

    Into a copy that then takes the file's place: until then, nothing is lost.
    """
    n_records = 1 + checkpoint.step // header.options["record_every"]
    copy = path.with_name(path.name + ".resumed")
    with open_trajectory(path) as old:
        if _n_records(old) < n_records:
            raise SimulationOptionError(f"cannot resume {str(path)!r}: records are missing")
        create_file(copy, header, old[CHECKPOINTS].shape[1])
        with h5py.File(copy, "r+", libver="v110") as new:
            for name in header.channels:
                _copy_rows(old[name], new[name], n_records)
            _copy_rows(old[EVENTS], new[EVENTS], checkpoint.n_events)
            new[CHECKPOINTS][:] = checkpoint.pack()
            new.attrs["created"] = old.attrs["created"]
    os.replace(copy, path)


def _copy_rows(old: h5py.Dataset, new: h5py.Dataset, n: int) -> None:
    new.resize(n, axis=0)
    for first in range(0, n, _COPY_ROWS):
        last = min(n, first + _COPY_ROWS)
        new[first:last] = old[first:last]


def _channel_names(file: h5py.File) -> list[str]:
    other = {EVENTS, CHECKPOINTS, "source", "body_names", "joint_names"}
    return [name for name in file if name not in other]


def _n_records(file: h5py.File) -> int:
    """Rows that every channel has: a kill can come between two of them."""
    return min(file[name].shape[0] for name in _channel_names(file))


def _events(file: h5py.File) -> tuple[Event, ...]:
    return tuple(
        Event(float(row["time"]), row["kind"].decode(), row["message"].decode())
        for row in file[EVENTS][:]
    )


def _version() -> str:
    try:
        return version("sparsebody")
    except PackageNotFoundError:  # used from a source tree
        return "unknown"
