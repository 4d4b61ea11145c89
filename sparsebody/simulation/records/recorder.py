"""Recorders: where the samples of a run go while it runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.simulation.checkpoint import Checkpoint
from sparsebody.simulation.records.samples import Header, Sample
from sparsebody.simulation.records.trajectory import Event, Trajectory
from sparsebody.simulation.records.trajectory_files import (
    create_file,
    finish_file,
    hdf5_errors,
    load_trajectory,
    write_event,
)
from sparsebody.simulation.records.trajectory_structure import (
    CHECKPOINTS,
    EVENT_TYPE,
    EVENTS,
    OPTIONAL_CHANNELS,
)

_FLUSH_PERIOD = 0.5  # [s] of wall time
_BLOCK_BYTES = 1 << 22


class Recorder(Protocol):
    """What the time loop needs of a recorder."""

    def append(self, sample: Sample) -> None:
        """Keep one sample."""

    def note(self, event: Event) -> None:
        """Keep an event."""

    def is_flush_due(self) -> bool:
        """Tell whether it is time for a checkpoint."""

    def flush(self, checkpoint: Checkpoint) -> None:
        """Make all that was appended safe, with the checkpoint from which to go on."""

    def close(self, *, steps: int, wall_time: float, interrupted: bool) -> Trajectory:
        """Return the whole trajectory."""


class MemoryRecorder:
    """Keeps everything in memory."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._samples: list[Sample] = []
        self._events: list[Event] = []

    def append(self, sample: Sample) -> None:
        """Keep one sample; its arrays must not change any more."""
        self._samples.append(sample)

    def note(self, event: Event) -> None:
        """Keep an event."""
        self._events.append(event)

    def is_flush_due(self) -> bool:
        """Never: there is nothing safer than memory here."""
        return False

    def flush(self, checkpoint: Checkpoint) -> None:
        """Do nothing."""

    def close(self, *, steps: int, wall_time: float, interrupted: bool) -> Trajectory:
        """Return the trajectory."""
        header, n = self._header, len(self._samples)
        channels: dict[str, Any] = dict.fromkeys(OPTIONAL_CHANNELS)
        for name, shape in header.channels.items():
            rows = [sample[name] for sample in self._samples]
            channels[name] = np.array(rows, dtype=float).reshape(n, *shape)
        return Trajectory(
            **channels,
            events=tuple(self._events),
            name=header.name,
            body_names=header.body_names,
            joint_names=header.joint_names,
            options=header.options,
            conservative=header.conservative,
            interrupted=interrupted,
            steps=steps,
            wall_time=wall_time,
            source=header.source,
        )


class FileRecorder:
    """Appends blocks of samples to an HDF5 file that stays readable whatever happens.

    The file is in HDF5's single-writer-multiple-readers mode: a reader, or whoever comes after a
    killed run, sees every flushed block. Checkpoints go to two slots in turn, each with a
    checksum, so that one of them is always whole.
    """

    def __init__(self, path: Path, header: Header, checkpoint_size: int) -> None:
        create_file(path, header, checkpoint_size)
        self._open(path, header)

    @classmethod
    def resumed(cls, path: Path, header: Header) -> FileRecorder:
        """Append to a file that `files.rewind` has prepared."""
        recorder = cls.__new__(cls)
        recorder._open(path, header)
        return recorder

    def _open(self, path: Path, header: Header) -> None:
        self._path = path
        with hdf5_errors(path):
            self._file = h5py.File(path, "r+", libver="v110")
            self._file.swmr_mode = True
        self._datasets = {name: self._file[name] for name in header.channels}
        row_bytes = 8 * sum(int(np.prod(shape)) for shape in header.channels.values())
        capacity = max(1, min(1024, _BLOCK_BYTES // row_bytes))
        self._blocks: dict[str, FloatArray] = {
            name: np.empty((capacity, *shape)) for name, shape in header.channels.items()
        }
        self._capacity, self._filled, self._n_flushes = capacity, 0, 0
        self._events: list[Event] = []
        self._last_flush = time.monotonic()

    def append(self, sample: Sample) -> None:
        """Put one sample into the block, and the block into the file when it is full."""
        if self._filled == self._capacity:
            with hdf5_errors(self._path, self._file):
                self._write_block()
        for name, block in self._blocks.items():
            block[self._filled] = sample[name]
        self._filled += 1

    def note(self, event: Event) -> None:
        """Keep an event until the next flush."""
        self._events.append(event)

    def is_flush_due(self) -> bool:
        """Tell whether the file is half a second behind."""
        return time.monotonic() - self._last_flush > _FLUSH_PERIOD

    def flush(self, checkpoint: Checkpoint) -> None:
        """Write samples and events, and only then the checkpoint that counts on them."""
        with hdf5_errors(self._path, self._file):
            self._write_block()
            self._write_events()
            self._file.flush()
            slots = self._file[CHECKPOINTS]
            slots[self._n_flushes % len(slots)] = checkpoint.pack()
            slots.flush()
        self._n_flushes += 1
        self._last_flush = time.monotonic()

    def close(self, *, steps: int, wall_time: float, interrupted: bool) -> Trajectory:
        """Write what is left, close the file and return its content."""
        with hdf5_errors(self._path, self._file):
            self._write_block()
            self._write_events()
            self._file.flush()
            self._file.close()
        finish_file(self._path, steps=steps, wall_time=wall_time, interrupted=interrupted)
        return load_trajectory(self._path)

    def _write_block(self) -> None:
        n = self._filled
        if n == 0:
            return
        for name, block in self._blocks.items():
            dataset = self._datasets[name]
            first = dataset.shape[0]
            dataset.resize(first + n, axis=0)
            dataset[first:] = block[:n]
        self._filled = 0

    def _write_events(self) -> None:
        if not self._events:
            return
        dataset = self._file[EVENTS]
        rows = np.array([write_event(event) for event in self._events], dtype=EVENT_TYPE)
        first = dataset.shape[0]
        dataset.resize(first + len(rows), axis=0)
        dataset[first:] = rows
        self._events = []
