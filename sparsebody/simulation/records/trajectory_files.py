"""Trajectory files: HDF5, one dataset per channel, one row per record."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import OutputError, SimulationOptionError, SparsebodyError
from sparsebody.model.system import System
from sparsebody.simulation.checkpoint import Checkpoint, unpack
from sparsebody.simulation.records.samples import Header
from sparsebody.simulation.records.trajectory import Event, Trajectory
from sparsebody.simulation.records.trajectory_structure import (
    ATTRIBUTES,
    CHANNELS,
    CHECKPOINTS,
    EVENT_TYPE,
    EVENTS,
    FORMAT,
    FORMAT_VERSION,
    OPTIONAL_CHANNELS,
    STATE_CHANNELS,
    check_readable,
    faults,
    first_damaged,
    is_left_open,
    missing_bytes,
)
from sparsebody.writing import write_errors

_CHUNK_BYTES = 1 << 18
_COPY_ROWS = 256

RECOVERY = "Trajectory.load(path, recover=True) and `sparsebody plot --recover` read the rest"


@contextmanager
def hdf5_errors(path: Path, file: h5py.File | None = None) -> Iterator[None]:
    """Raise OutputError, naming `path` and the reason, where HDF5 cannot write; give up `file`."""
    try:
        yield
    except SparsebodyError:
        raise
    except (OSError, RuntimeError) as error:
        if file:
            _give_up(file)
        code = re.search(r"errno = (\d+)", str(error))
        reason = os.strerror(int(code[1])) if code else str(error)
        raise OutputError(f"cannot write {str(path)!r}: {reason}") from error


def _give_up(file: h5py.File) -> None:
    """Close a file that cannot be written; what was flushed stays in it.

    HDF5 writes the rest when it closes, and crashes where that fails: let it write into memory.
    """
    has_memory_files = hasattr(os, "memfd_create")  # elsewhere than on Linux, the null device
    nowhere = os.memfd_create("rest") if has_memory_files else os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, file.id.get_vfd_handle())
    os.close(nowhere)
    file.close()


@contextmanager
def _opened_for_writing(path: Path) -> Iterator[h5py.File]:
    with hdf5_errors(path):
        file = h5py.File(path, "r+", libver="v110")
    try:
        with hdf5_errors(path, file):
            yield file
            file.flush()
    finally:
        with hdf5_errors(path, file):
            file.close()


def create_file(path: Path, header: Header, checkpoint_size: int) -> None:
    """Write a trajectory file without records; nothing can be added to its structure later."""
    content = _empty_file(header, checkpoint_size)
    with write_errors(path):
        try:
            path.write_bytes(content)
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _empty_file(header: Header, checkpoint_size: int) -> bytes:
    """Return the content of a trajectory file without records, made in memory."""
    with h5py.File("empty", "w", driver="core", backing_store=False, libver="v110") as file:
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
        file.flush()
        return bytes(file.id.get_file_image())


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
    with _opened_for_writing(path) as file:
        file.attrs.update({"steps": steps, "wall_time": wall_time, "interrupted": interrupted})


def write_event(event: Event) -> tuple[float, bytes, bytes]:
    """Return an event as a row of EVENT_TYPE."""
    return event.time, event.kind.encode()[:32], event.message.encode()[:480]


def load_trajectory(path: Path, recover: bool = False) -> Trajectory:
    """Read a trajectory file; `Trajectory.load` is its public name."""
    if recover:
        return recovered_trajectory(path)
    with open_trajectory(path) as file:
        n = _n_whole_records(file)
        channels: dict[str, Any] = dict.fromkeys(OPTIONAL_CHANNELS)
        channels |= {name: file[name][:n] for name in _channel_names(file)}
        if (damaged := first_damaged(channels)) < n:
            raise SimulationOptionError(
                f"{str(path)!r} is damaged: record {damaged} is no state; {RECOVERY}"
            )
        attributes = file.attrs
        steps, wall_time = int(attributes["steps"]), float(attributes["wall_time"])
        if steps < 0:  # killed: the checkpoint knows more
            steps, wall_time = _last_checkpoint(file)
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


def recovered_trajectory(path: Path) -> Trajectory:
    """Read what can be read of a damaged trajectory file."""
    with TemporaryDirectory() as folder:
        whole = path
        if path.is_file() and (missing := missing_bytes(path)):
            whole = Path(folder) / path.name
            shutil.copyfile(path, whole)
            os.truncate(whole, path.stat().st_size + missing)  # zeros are no state
        with _opened(whole, path) as file:
            return _recovered(file, path)


def _recovered(file: h5py.File, path: Path) -> Trajectory:
    lost = dict(faults(file))
    rows = {
        name: _readable_rows(file[name]) for name in CHANNELS if name in file and name not in lost
    }
    if absent := [name for name in STATE_CHANNELS if name not in rows]:
        raise SimulationOptionError(f"nothing of {str(path)!r} can be recovered: {lost[absent[0]]}")
    n = min(len(rows[name]) for name in STATE_CHANNELS)
    n = first_damaged({name: rows[name][:n] for name in STATE_CHANNELS})
    if n == 0:
        raise SimulationOptionError(f"nothing of {str(path)!r} can be recovered: no whole record")
    optional: dict[str, Any] = dict.fromkeys(OPTIONAL_CHANNELS)
    channels: dict[str, Any] = {
        name: _padded(rows[name], n) if name in rows else np.full((n, *record), np.nan)
        for name, record in CHANNELS.items()
        if name in rows or name not in OPTIONAL_CHANNELS
    }
    lost["records"] = f"records from {n} on are lost, if there were any"
    read = {name: file.attrs[name] for name in ATTRIBUTES if name not in lost}
    return Trajectory(
        **optional | channels,
        events=(Event(float(channels["time"][-1]), "recovery", "; ".join(lost.values())),),
        name=str(read.get("name", path.stem)),
        body_names=_names(file, lost, "body_names", channels["position"].shape[1]),
        joint_names=_names(file, lost, "joint_names", 0),
        options=json.loads(read.get("options", "{}")),
        conservative=bool(read.get("conservative", False)),
        interrupted=True,
        steps=max(n - 1, int(read.get("steps", -1))),
        wall_time=float(read.get("wall_time", np.nan)),
        source=None if "source" in lost else file["source"].asstr()[()] or None,
        path=path,
    )


def _readable_rows(dataset: h5py.Dataset) -> FloatArray:
    """Return the rows before the first one that HDF5 cannot read."""
    blocks = [np.empty((0, *dataset.shape[1:]))]
    for first in range(0, dataset.shape[0], _COPY_ROWS):
        try:
            blocks.append(dataset[first : first + _COPY_ROWS])
        except (OSError, RuntimeError):
            break
    return np.concatenate(blocks)


def _padded(rows: FloatArray, n: int) -> FloatArray:
    """Return n rows, with NaN for those that are not there."""
    missing = np.full((max(0, n - len(rows)), *rows.shape[1:]), np.nan)
    return np.concatenate([rows[:n], missing])


def _names(file: h5py.File, lost: dict[str, str], name: str, n: int) -> tuple[str, ...]:
    if name in lost:
        return tuple(f"{name.partition('_')[0]} {i}" for i in range(n))
    return tuple(file[name].asstr()[:])


@contextmanager
def open_trajectory(path: Path) -> Iterator[h5py.File]:
    """Open a trajectory file for reading, whether it was closed or not, its structure checked."""
    if path.is_file() and (missing := missing_bytes(path)) and not is_left_open(path):
        raise SimulationOptionError(
            f"{str(path)!r} was cut: {missing} bytes are missing; {RECOVERY}"
        )
    with _opened(path, path) as file:
        if fault := next(iter(faults(file)), None):
            raise SimulationOptionError(f"{str(path)!r} is damaged: {fault[1]}; {RECOVERY}")
        yield file


@contextmanager
def _opened(whole: Path, path: Path) -> Iterator[h5py.File]:
    """Open the file `whole`, which holds what is left of the one at `path`."""
    if not path.is_file():
        raise SimulationOptionError(f"there is no trajectory file {str(path)!r}")
    left_open = is_left_open(whole)
    if left_open:
        check_readable(whole, path)
    try:
        with h5py.File(whole, "r", swmr=left_open) as file:
            header = file.attrs.get("format"), file.attrs.get("format_version")
            if header != (FORMAT, FORMAT_VERSION):
                raise SimulationOptionError(
                    f"{str(path)!r} is no sparsebody trajectory of version {FORMAT_VERSION} "
                    f"(it says {header[0]!r}, version {header[1]!r})"
                )
            yield file
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        if isinstance(error, SparsebodyError):
            raise
        raise SimulationOptionError(
            f"{str(path)!r} cannot be read as a trajectory: {error}"
        ) from error


def read_checkpoint(path: Path, file: h5py.File, system: System, size: int) -> Checkpoint | None:
    """Return the newest whole checkpoint, None if there is none; `size` is that of one here."""
    if file[CHECKPOINTS].shape[1] != size:
        raise SimulationOptionError(
            f"cannot resume {str(path)!r}: its checkpoints are those of sparsebody "
            f"{file.attrs.get('sparsebody_version')}, which this version does not read; go on with "
            "that one, or give another output"
        )
    checkpoints = [unpack(system, row) for row in file[CHECKPOINTS][:]]
    whole = [checkpoint for checkpoint in checkpoints if checkpoint is not None]
    return max(whole, key=lambda checkpoint: checkpoint.step, default=None)


def check_same_run(path: Path, file: h5py.File, header: Header) -> None:
    """Raise SimulationOptionError unless the file is one of the same mechanism and options."""
    remedy = "; give another output, or overwrite it"
    if file.attrs["fingerprint"] != header.fingerprint:
        raise SimulationOptionError(
            f"cannot resume {str(path)!r}: it holds the motion of a mechanism "
            f"{file.attrs['name']!r} with other bodies, joints or numbers{remedy}"
        )
    older = {"reduction": "auto", "compliance": None, "spectral_radius": 0.7}
    stored = older | json.loads(file.attrs["options"])
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
    copy = path.with_name(path.name + ".resumed")
    try:
        _copy_until(checkpoint, path, copy, header)
    except OutputError:
        copy.unlink(missing_ok=True)
        raise
    os.replace(copy, path)


def _copy_until(checkpoint: Checkpoint, path: Path, copy: Path, header: Header) -> None:
    n_records = 1 + checkpoint.step // header.options["record_every"]
    with open_trajectory(path) as old:
        if _n_records(old) < n_records:
            raise SimulationOptionError(f"cannot resume {str(path)!r}: records are missing")
        create_file(copy, header, old[CHECKPOINTS].shape[1])
        with _opened_for_writing(copy) as new:
            for name in header.channels:
                _copy_rows(old[name], new[name], n_records)
            _copy_rows(old[EVENTS], new[EVENTS], checkpoint.n_events)
            new[CHECKPOINTS][:] = checkpoint.pack()
            new.attrs["created"] = old.attrs["created"]


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


def _n_whole_records(file: h5py.File) -> int:
    """Records that were written for sure: all of a run that is over, else up to a checkpoint."""
    if file.attrs["steps"] >= 0:
        return _n_records(file)
    if not file[CHECKPOINTS][:].any():
        return 0
    every = json.loads(file.attrs["options"])["record_every"]
    return min(_n_records(file), 1 + _last_checkpoint(file)[0] // every)


def _last_checkpoint(file: h5py.File) -> tuple[int, float]:
    """Return the steps and the wall time [s] of the newest checkpoint."""
    step, _, wall_time = max(file[CHECKPOINTS][:, :3].tolist())
    return int(step), wall_time


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
