"""Trajectory files written and resumed: HDF5, one dataset per channel, one row per record."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsebody.errors import OutputError, SimulationError, SimulationOptionError, SparsebodyError
from sparsebody.model.system import State, States, System
from sparsebody.simulation import trajectory_reading
from sparsebody.simulation.options import Recording, Solver, simulation_options
from sparsebody.simulation.stepping import Checkpoint, unpack
from sparsebody.simulation.trajectory import (
    Event,
    Header,
    MemoryRecorder,
    Recorder,
    Trajectory,
    fingerprint,
    records_of,
)
from sparsebody.writing import write_errors

_CHUNK_BYTES = 1 << 18  # of a dataset: four fit into HDF5's cache
_BLOCK_BYTES, _BLOCK_RECORDS = 1 << 22, 1024  # in memory before they are written
_NO_CHECKPOINT = 2  # numbers, too few to be a checkpoint: the file cannot be resumed
_FLUSH_PERIOD = 0.5  # [s] of wall time


@contextmanager
def hdf5_errors(path: Path, file: h5py.File | None = None) -> Iterator[None]:
    """Raise OutputError, naming `path` and the reason, where HDF5 cannot write; abandon `file`."""
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
    try:
        own_version = version("sparsebody")
    except PackageNotFoundError:  # used from a source tree
        own_version = "unknown"
    with h5py.File("empty", "w", driver="core", backing_store=False, libver="v110") as file:
        file.attrs.update(
            {
                "format": trajectory_reading.FORMAT,
                "format_version": trajectory_reading.FORMAT_VERSION,
                "sparsebody_version": own_version,
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "name": header.system.name,
                "options": json.dumps(header.options.as_dict()),
                "step": header.options.step,
                "fingerprint": fingerprint(header.system),
                "conservative": header.conservative,
                "interrupted": True,  # until the run is over
                "steps": -1,
                "wall_time": np.nan,
                "estimated_error": np.nan,
            }
        )
        text = h5py.string_dtype()
        file.create_dataset("source", data=header.source or "", dtype=text)  # may be large
        file.create_dataset("body_names", data=list(header.system.body_names), dtype=text)
        file.create_dataset("joint_names", data=list(header.system.joint_names), dtype=text)
        for name, shape in header.channels.items():
            _growing(file, name, shape, np.dtype("f8"))
        _growing(file, trajectory_reading.EVENTS, (), trajectory_reading.EVENT_TYPE)
        file.create_dataset(trajectory_reading.CHECKPOINTS, data=np.zeros((2, checkpoint_size)))
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


class FileRecorder(Recorder):
    """Appends blocks of records to an HDF5 file that stays readable whatever happens.

    The file is in HDF5's single-writer-multiple-readers mode: a reader, or whoever comes after a
    killed run, sees every flushed block. Checkpoints go to two slots in turn, each with a
    checksum, so that one of them is always whole.
    """

    def __init__(self, path: Path, header: Header, checkpoint_size: int | None = None) -> None:
        if checkpoint_size is not None:  # else append to a file that `rewind` has prepared
            create_file(path, header, checkpoint_size)
        super().__init__(header, _BLOCK_RECORDS, _BLOCK_BYTES)
        self._path, self._n_flushes = path, 0
        with hdf5_errors(path):
            self._file = h5py.File(path, "r+", libver="v110")
            self._file.swmr_mode = True
        self._datasets = {name: self._file[name] for name in header.channels}
        self._last_flush = time.monotonic()

    def _put_away(self) -> None:
        with hdf5_errors(self._path, self._file):
            self._write_block()

    def is_flush_due(self) -> bool:
        """Tell whether the file is half a second behind."""
        return time.monotonic() - self._last_flush > _FLUSH_PERIOD

    def flush(self, checkpoint: Callable[[], Checkpoint]) -> None:
        """Write records and events, and only then the checkpoint that refers to them."""
        with hdf5_errors(self._path, self._file):
            self._write_block()
            self._write_events()
            self._file.flush()
            slots = self._file[trajectory_reading.CHECKPOINTS]
            slots[self._n_flushes % len(slots)] = checkpoint().pack()
            slots.flush()
        self._n_flushes += 1
        self._last_flush = time.monotonic()

    def close(
        self,
        *,
        steps: int,
        wall_time: float,
        interrupted: bool,
        estimated_error: float | None = None,
    ) -> Trajectory:
        """Write what is left, close the file and return its content."""
        with hdf5_errors(self._path, self._file):
            self._write_block()
            self._write_events()
            self._file.flush()
            self._file.close()
        with _opened_for_writing(self._path) as file:
            error = np.nan if estimated_error is None else estimated_error
            numbers = {"steps": steps, "wall_time": wall_time, "estimated_error": error}
            file.attrs.update(numbers | {"interrupted": interrupted})
        return replace(trajectory_reading.load_trajectory(self._path), system=self._header.system)

    def _write_block(self) -> None:
        n = self._filled
        if n == 0:
            return
        for name, block in self._block.items():
            dataset = self._datasets[name]
            first = dataset.shape[0]
            dataset.resize(first + n, axis=0)
            dataset[first:] = block[:n]
        self._filled = 0

    def _write_events(self) -> None:
        if not self._events:
            return
        dataset = self._file[trajectory_reading.EVENTS]
        rows = np.array(
            [(e.time, *_event_texts(e)) for e in self._events],
            dtype=trajectory_reading.EVENT_TYPE,
        )
        first = dataset.shape[0]
        dataset.resize(first + len(rows), axis=0)
        dataset[first:] = rows
        self._events = []


def _event_texts(event: Event) -> list[bytes]:
    """Return kind and message of an event, cut to whole characters that fit into their columns."""
    sizes = {name: trajectory_reading.EVENT_TYPE[name].itemsize for name in ("kind", "message")}
    texts = [getattr(event, name).encode()[:size] for name, size in sizes.items()]
    return [text.decode(errors="ignore").encode() for text in texts]


# ---- resumed ------------------------------------------------------------------------------------


def check_same_run(path: Path, header: Header) -> None:
    """Raise SimulationOptionError unless the file is one of the same mechanism and options."""
    remedy = "; give another output, or overwrite it"
    with trajectory_reading.open_trajectory(path) as file:
        if file.attrs["fingerprint"] != fingerprint(header.system):
            raise SimulationOptionError(
                f"cannot resume {str(path)!r}: it holds the motion of a mechanism "
                f"{file.attrs['name']!r} with other bodies, joints or numbers{remedy}"
            )
        # options that files of earlier versions do not hold, with the values that these had
        defaults = {"reduction": "auto", "compliance": None, "spectral_radius": 0.7}
        stored = defaults | json.loads(file.attrs["options"])
    for name, value in header.options.as_dict().items():
        if stored.get(name) != value:
            raise SimulationOptionError(
                f"cannot resume {str(path)!r}: its {name.replace('_', ' ')} is "
                f"{stored.get(name)!r}, not {value!r}{remedy}"
            )


def checkpoint_of(path: Path, system: System, first: State, size: int) -> Checkpoint | None:
    """Return the newest whole checkpoint of a run from a first state; None if there is none.

    `size` is the length of a checkpoint of this version. Raises SimulationError if the run began
    with another state.
    """
    with trajectory_reading.open_trajectory(path) as file:
        if file[trajectory_reading.CHECKPOINTS].shape[1] != size:
            raise SimulationOptionError(
                f"cannot resume {str(path)!r}: its checkpoints are those of sparsebody "
                f"{file.attrs.get('sparsebody_version')}, which this version does not read; go on "
                "with that one, or give another output"
            )
        checkpoints = [unpack(system, row) for row in file[trajectory_reading.CHECKPOINTS][:]]
        whole = [checkpoint for checkpoint in checkpoints if checkpoint is not None]
        if not whole:
            return None
        for name in ("position", "orientation", "velocity", "time"):
            # the state is computed anew: by the same operations, up to rounding
            if not np.allclose(getattr(first, name), file[name][0], rtol=1e-12, atol=1e-12):
                raise SimulationError(
                    f"cannot resume {str(path)!r}: it began with another {name}; give the same "
                    "state, or another output"
                )
        return max(whole, key=lambda checkpoint: checkpoint.step)


def rewind(path: Path, header: Header, checkpoint: Checkpoint) -> None:
    """Cut a file back to its checkpoint, closed and ready to be appended to.

    A copy is made and takes the file's place when it is whole, so that nothing is ever lost.
    """
    copy = path.with_name(path.name + ".resumed")
    n = 1 + checkpoint.step // header.options.record_every
    try:
        with trajectory_reading.open_trajectory(path) as old:
            if trajectory_reading.n_records(old) < n:
                raise SimulationOptionError(f"cannot resume {str(path)!r}: records are missing")
            create_file(copy, header, old[trajectory_reading.CHECKPOINTS].shape[1])
            with _opened_for_writing(copy) as new:
                rows = dict.fromkeys(header.channels, n) | {
                    trajectory_reading.EVENTS: checkpoint.n_events
                }
                for name, n_rows in rows.items():
                    new[name].resize(n_rows, axis=0)
                    for first in range(0, n_rows, trajectory_reading.COPY_ROWS):
                        last = min(n_rows, first + trajectory_reading.COPY_ROWS)
                        new[name][first:last] = old[name][first:last]
                new[trajectory_reading.CHECKPOINTS][:] = checkpoint.pack()
                new.attrs["created"] = old.attrs["created"]
    except OutputError:
        copy.unlink(missing_ok=True)
        raise
    os.replace(copy, path)


def recorded(
    system: System, states: Sequence[State], path: Path | None, source: str | None
) -> Trajectory:
    """Return states as a trajectory, in memory or in a new file; its options are defaults."""
    step = states[1].time - states[0].time
    options = simulation_options(step, (1e-6, 1e-9), "rk4", Solver(), Recording())
    header = Header(system, options, conservative=False, source=source)
    recorder = (
        MemoryRecorder(header, len(states))
        if path is None
        else FileRecorder(path, header, _NO_CHECKPOINT)
    )
    for state in states:
        recorder.append(records_of(system, States.of(state)))
    return recorder.close(steps=len(states) - 1, wall_time=0.0, interrupted=False)
