"""Trajectory files read: their structure, checked before anything of them is used, and content.

HDF5 checks its own metadata by checksums, but tells a reader nothing of what is missing, retyped
or cut off, and waits for minutes for the rest of a file that a killed run has left open.
"""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import h5py
import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import SimulationOptionError, SparsebodyError
from sparsebody.simulation.trajectory import (
    CHANNELS,
    OPTIONAL_CHANNELS,
    STATE_CHANNELS,
    Event,
    Trajectory,
)

FORMAT = "sparsebody-trajectory"
FORMAT_VERSION = 1
CHECKPOINTS = "checkpoint"
EVENTS = "events"
EVENT_TYPE = np.dtype([("time", "f8"), ("kind", "S32"), ("message", "S480")])

TEXTS: Final = {"source": 0, "body_names": 1, "joint_names": 1}  # datasets of text: dimensions
TABLES: Final = {  # the other datasets: their types, and the shapes of their rows
    **{name: (np.dtype("f8"), record) for name, record in CHANNELS.items()},
    EVENTS: (EVENT_TYPE, ()),
    CHECKPOINTS: (np.dtype("f8"), ("numbers",)),
}
ATTRIBUTES: Final[dict[str, tuple[type, ...]]] = {
    "name": (str,),
    "created": (str,),
    "fingerprint": (str,),
    "options": (str,),
    "conservative": (bool, np.bool_),
    "interrupted": (bool, np.bool_),
    "steps": (int, np.integer),
    "wall_time": (float, np.floating),
    "estimated_error": (float, np.floating),
}
OPTIONAL_ATTRIBUTES = ("estimated_error",)
QUATERNION_TOLERANCE: Final = 1e-6  # of a recorded quaternion's length; rounding makes it 1e-15

RECOVERY: Final = (
    "Trajectory.load(path, recover=True) and `sparsebody plot --recover` read the rest"
)
COPY_ROWS = 256  # at a time
BLOCK_BYTES = 1 << 23  # of records that are read at once

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SECONDS_TO_OPEN = 10
_OPEN_FOR_WRITING = 1  # bit of the consistency flags
# Format specification of HDF5 3.0, II.A: superblock, versions 2 and 3.
_SUPERBLOCK = struct.Struct("<8sBBBBQQQ")  # signature, version, sizes, flags, base, extension, end


def missing_bytes(path: Path) -> int:
    """Return how many bytes a file is shorter than it says."""
    head = _head(path)
    if len(head) < _SUPERBLOCK.size or not head.startswith(_HDF5_SIGNATURE):
        raise SimulationOptionError(
            f"{str(path)!r} cannot be read as a trajectory: it is no HDF5 file"
        )
    _, version, size_of_offsets, *_, end = _SUPERBLOCK.unpack(head)
    if version not in (2, 3) or size_of_offsets != 8:  # not written here
        return 0
    return max(0, int(end) - path.stat().st_size)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_SUPERBLOCK.size)


def is_left_open(path: Path) -> bool:
    """Tell whether a file is being written, or its run was killed."""
    return bool(_head(path)[11] & _OPEN_FOR_WRITING)


def check_readable(whole: Path, path: Path) -> None:
    """Raise SimulationOptionError if HDF5 cannot walk through a file that was left open.

    `whole` is read, and `path` named in the error.

    It looks a hundred times, in growing intervals, for the whole of what it finds damaged, and
    nothing interrupts it: so another process looks first. Its time begins when it has started,
    which takes long on a busy machine.
    """
    program = (
        "import h5py, signal, sys\n"
        f"signal.alarm({_SECONDS_TO_OPEN})\n"
        "with h5py.File(sys.argv[1], 'r', swmr=True) as file:\n"
        "    file.visititems(lambda name, item: list(item.attrs) and None)\n"
    )
    command = [sys.executable, "-c", program, str(whole)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = result.stderr.strip().rsplit("\n", 1)[-1]
        if result.returncode == -signal.SIGALRM:
            reason = f"HDF5 finds no end in {_SECONDS_TO_OPEN} s"
        raise SimulationOptionError(f"{str(path)!r} was left open and is damaged: {reason}")


def faults(file: h5py.File) -> Iterator[tuple[str, str]]:
    """Yield the name of everything that is missing or of a wrong type, and what is wrong."""
    for name, kinds in ATTRIBUTES.items():
        if name in OPTIONAL_ATTRIBUTES and name not in file.attrs:
            continue
        try:
            value = file.attrs[name]
        except KeyError:
            yield name, f"its attribute {name!r} is missing"
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            yield name, f"its attribute {name!r} cannot be read: {error}"
        else:
            if not isinstance(value, kinds):
                wrong = f"is {value!r}, not of type {kinds[0].__name__}"
                yield name, f"its attribute {name!r} {wrong}"
            elif name == "options" and (fault := _options_fault(str(value))):
                yield name, f"its attribute 'options' {fault}"
    for name, dimensions in TEXTS.items():
        if fault := _text_fault(_dataset(file, name), dimensions):
            yield name, f"its dataset {name!r} {fault}"
    for name in TABLES:
        if not (name in OPTIONAL_CHANNELS and name not in file) and (
            fault := _table_fault(file, name)
        ):
            yield name, f"its dataset {name!r} {fault}"


def first_damaged(channels: dict[str, Any]) -> int:
    """Return the first record whose state is none; the number of records if all are sound."""
    time, orientation = channels["time"], channels["orientation"]
    sound = np.isfinite(time)
    sound[1:] &= time[1:] > time[:-1]
    for name in STATE_CHANNELS:
        sound &= np.isfinite(channels[name]).all(axis=tuple(range(1, channels[name].ndim)))
    with np.errstate(over="ignore"):
        length = np.sqrt((orientation**2).sum(axis=2))
    sound &= (np.abs(length - 1.0) <= QUATERNION_TOLERANCE).all(axis=1)
    return len(sound) if sound.all() else int(np.argmin(sound))


def _options_fault(text: str) -> str:
    try:
        options = json.loads(text)
    except ValueError as error:
        return f"is no JSON: {error}"
    if not isinstance(options, dict):
        return "is no JSON object"
    for name, kinds in (("record_every", (int,)), ("step", (int, float))):
        value = options.get(name)
        if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0:
            return f"says {name} = {value!r}, which is no positive number"
    return ""


def _dataset(file: h5py.File, name: str) -> h5py.Dataset | None:
    try:
        item = file.get(name)
    except (OSError, RuntimeError, KeyError, ValueError):
        return None
    return item if isinstance(item, h5py.Dataset) else None


def _table_fault(file: h5py.File, name: str) -> str:
    dataset, (dtype, record) = _dataset(file, name), TABLES[name]
    if dataset is None:
        return "is missing"
    if dataset.dtype != dtype or dataset.ndim != 1 + len(record):
        layout = f"{dataset.ndim} dimensions of {dataset.dtype}"
        return f"has {layout}, not {1 + len(record)} of {dtype}"
    if name == CHECKPOINTS and min(dataset.shape) < 2:
        return "is too small"
    for size, of in zip(dataset.shape[1:], record, strict=True):
        names = _dataset(file, of) if isinstance(of, str) else None
        expected = of if names is None or names.ndim != 1 else names.shape[0]
        if isinstance(expected, int) and size != expected:
            return f"has records of {size}, not {expected}"
    return ""


def _text_fault(dataset: h5py.Dataset | None, dimensions: int) -> str:
    if dataset is None:
        return "is missing"
    if h5py.check_string_dtype(dataset.dtype) is None or dataset.ndim != dimensions:
        return f"has {dataset.ndim} dimensions of {dataset.dtype}, not {dimensions} of text"
    try:
        dataset.asstr()[()]
    except (OSError, RuntimeError, ValueError) as error:
        return f"cannot be read: {error}"
    return ""


# ---- content ------------------------------------------------------------------------------------


def load_trajectory(path: Path) -> Trajectory:
    """Read a trajectory file; `Trajectory.load` is its public name."""
    with open_trajectory(path) as file:
        return _records(file, path, 0, _n_whole_records(file))


@contextmanager
def opened_blocks(path: Path) -> Iterator[tuple[int, Iterator[Trajectory]]]:
    """Yield the number of records of a file, and its records in blocks of a few megabytes.

    SimulationOptionError as for `load_trajectory`; that of a damaged record comes with its block.
    """
    with open_trajectory(path) as file:
        n = _n_whole_records(file)
        yield n, _blocks(file, path, n)


def _blocks(file: h5py.File, path: Path, n: int) -> Iterator[Trajectory]:
    row = sum(8 * int(np.prod(file[name].shape[1:])) for name in _channel_names(file))
    size = max(1, BLOCK_BYTES // row)
    last_time = -np.inf
    for first in range(0, max(n, 1), size):
        block = _records(file, path, first, min(n, first + size))
        if len(block) and not block.time[0] > last_time:
            raise _damaged(path, first)
        last_time = block.time[-1] if len(block) else last_time
        yield block


def _damaged(path: Path, record: int) -> SimulationOptionError:
    return SimulationOptionError(
        f"{str(path)!r} is damaged: record {record} is no state; {RECOVERY}"
    )


def _records(file: h5py.File, path: Path, first: int, last: int) -> Trajectory:
    """Return the records from `first` to before `last`."""
    channels: dict[str, Any] = dict.fromkeys(OPTIONAL_CHANNELS)
    channels |= {name: file[name][first:last] for name in _channel_names(file)}
    if (damaged := first_damaged(channels)) < last - first:
        raise _damaged(path, first + damaged)
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
        estimated_error=_estimated_error(attributes),
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
    read = {
        name: file.attrs[name] for name in ATTRIBUTES if name in file.attrs and name not in lost
    }
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
        estimated_error=_estimated_error(read),
        source=None if "source" in lost else file["source"].asstr()[()] or None,
        path=path,
    )


def _readable_rows(dataset: h5py.Dataset) -> FloatArray:
    """Return the rows before the first one that HDF5 cannot read."""
    blocks = [np.empty((0, *dataset.shape[1:]))]
    for first in range(0, dataset.shape[0], COPY_ROWS):
        try:
            blocks.append(dataset[first : first + COPY_ROWS])
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


def _channel_names(file: h5py.File) -> list[str]:
    other = {EVENTS, CHECKPOINTS, "source", "body_names", "joint_names"}
    return [name for name in file if name not in other]


def n_records(file: h5py.File) -> int:
    """Rows that every channel has: a kill can come between two of them."""
    return min(file[name].shape[0] for name in _channel_names(file))


def _n_whole_records(file: h5py.File) -> int:
    """Records that were written for sure: all of a run that is over, else up to a checkpoint."""
    if file.attrs["steps"] >= 0:
        return n_records(file)
    if not file[CHECKPOINTS][:].any():
        return 0
    every = json.loads(file.attrs["options"])["record_every"]
    return min(n_records(file), 1 + _last_checkpoint(file)[0] // every)


def _last_checkpoint(file: h5py.File) -> tuple[int, float]:
    """Return the steps and the wall time [s] of the newest checkpoint."""
    step, _, wall_time = max(file[CHECKPOINTS][:, :3].tolist())
    return int(step), wall_time


def _estimated_error(attributes: Mapping[str, Any]) -> float | None:
    error = float(attributes.get("estimated_error", np.nan))
    return error if np.isfinite(error) else None


def _events(file: h5py.File) -> tuple[Event, ...]:
    return tuple(
        Event(float(row["time"]), row["kind"].decode(), row["message"].decode())
        for row in file[EVENTS][:]
    )
