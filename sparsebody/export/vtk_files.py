"""VTKHDF files of a trajectory: bodies, outlines and joints as polydata, one time step a record.

The layout is that of the VTKHDF specification, version 2.1, for a PartitionedDataSetCollection of
PolyData with Steps. Points move, so they are stored for every step; cells and constant data of
points are stored once, and every step refers to them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.kinematics.joint_motion import world_wrenches
from sparsebody.model import Mechanism, System, files
from sparsebody.model.joints import INFO
from sparsebody.plots.outline import Outline, mechanism_outline
from sparsebody.simulation import Trajectory, trajectory_files
from sparsebody.simulation.trajectory_tables import world_velocities

VERSION = (2, 1)
NAMES = "sparsebody"  # the group with the names, beside VTK's own
_KINDS_OF_CELLS = ("Vertices", "Lines", "Polygons", "Strips")
_CURVE_POINTS = 17  # of a beam

PointData = Mapping[str, FloatArray]  # (n_records, n_points, ...) each, by name


@dataclass(eq=False)
class _Block:
    """One polydata of the collection, with the same cells at all steps."""

    group: h5py.Group
    n_steps: int
    n_points: int
    cells: Mapping[str, tuple[IntArray, IntArray]]
    constant: Mapping[str, Any]  # data of points, (n_points, ...)
    shapes: Mapping[str, tuple[int, ...]]  # of data of points that change, at one point

    def __post_init__(self) -> None:
        group, n_steps, n_points, shapes = self.group, self.n_steps, self.n_points, self.shapes
        self._n_written = 0
        _set_type(group, "PolyData")
        group["NumberOfPoints"] = np.full(n_steps, n_points)
        group.create_dataset("Points", (n_steps * n_points, 3), "f8")
        for kind in _KINDS_OF_CELLS:
            offsets, connectivity = self.cells.get(kind, (np.zeros(1, int), np.zeros(0, int)))
            topology = group.create_group(kind)
            topology["NumberOfCells"] = np.full(n_steps, len(offsets) - 1)
            topology["NumberOfConnectivityIds"] = np.full(n_steps, len(connectivity))
            topology["Offsets"], topology["Connectivity"] = offsets, connectivity
        data = group.create_group("PointData")
        for name, values in self.constant.items():
            data[name] = values
        for name, shape in shapes.items():
            data.create_dataset(name, (n_steps * n_points, *shape), "f8")
        self._data, self._points = data, group["Points"]
        steps = group.create_group("Steps")
        steps.attrs["NSteps"] = n_steps
        steps.create_dataset("Values", (n_steps,), "f8")
        steps["PartOffsets"] = np.arange(n_steps)
        steps["NumberOfParts"] = np.ones(n_steps, dtype=int)
        steps["PointOffsets"] = n_points * np.arange(n_steps)
        zero = np.zeros((n_steps, len(_KINDS_OF_CELLS)), dtype=int)
        steps["CellOffsets"] = steps["ConnectivityIdOffsets"] = zero
        offsets = steps.create_group("PointDataOffsets")
        for name in (*self.constant, *shapes):
            offsets[name] = n_points * np.arange(n_steps) * (name in shapes)
        self._values = steps["Values"]

    def append(self, time: FloatArray, points: FloatArray, data: PointData) -> None:
        """Write points (n_records, n_points, 3) and their data that change."""
        n, first = len(time), self._n_written
        rows = slice(first * self.n_points, (first + n) * self.n_points)
        self._values[first : first + n] = time
        if self.n_points:
            self._points[rows] = points.reshape(-1, 3)
            for name, values in data.items():
                self._data[name][rows] = values.reshape(n * self.n_points, *values.shape[2:])
        self._n_written += n


@dataclass(eq=False)
class VtkFile:
    """A .vtkhdf file of a trajectory: entering it returns the function that appends records."""

    path: Path
    first: Trajectory  # its first records, for names and shapes
    n_records: int  # of all
    mechanism: Mechanism | None
    system: System | None
    target: Path  # that `path` will replace; errors name it

    def __enter__(self) -> Callable[[Trajectory], None]:
        with trajectory_files.hdf5_errors(self.target):
            self._file = h5py.File(self.path, "w", track_order=True)
        with trajectory_files.hdf5_errors(self.target, self._file):
            self._make_structure()
        return self.append

    def _make_structure(self) -> None:
        self._root = self._file.create_group("VTKHDF", track_order=True)
        _set_type(self._root, "PartitionedDataSetCollection")
        self._assembly = self._root.create_group("Assembly", track_order=True)
        run, names = self.first, self._file.create_group(NAMES)
        text = h5py.string_dtype()
        names.create_dataset("body_names", data=list(run.body_names), dtype=text)
        names.create_dataset("joint_names", data=list(run.joint_names), dtype=text)
        names.create_dataset("joint_types", data=[info.name for info in INFO], dtype=text)
        self._bodies = self._body_block()
        if self.system is not None:
            self._joints = self._joint_block(self.system)
            self._outlines = self._outline_block()

    def __exit__(self, *error: object) -> None:
        with trajectory_files.hdf5_errors(self.target):
            self._file.close()

    # ---- structure ------------------------------------------------------------------------------

    def _block(self, name: str, **content: Any) -> _Block:
        group = self._root.create_group(name)
        group.attrs["Index"] = len(self._assembly)
        self._assembly[name] = h5py.SoftLink(f"/VTKHDF/{name}")
        return _Block(group, self.n_records, **content)

    def _body_block(self) -> _Block:
        n, system = len(self.first.body_names), self.system
        constant: dict[str, Any] = {"body": np.arange(n)}
        shapes: dict[str, tuple[int, ...]] = {"orientation": (4,), "velocity": (3,)}
        shapes |= {"angular_velocity": (3,)}
        if system is not None:
            constant |= {"mass": system.mass, "size": equivalent_sides(system)}
            shapes["kinetic_energy"] = ()
        return self._block(
            "bodies", cells=_vertices(n), constant=constant, shapes=shapes, n_points=n
        )

    def _joint_block(self, system: System) -> _Block:
        n, shapes = system.n_joints, dict[str, tuple[int, ...]]()
        constant = {"joint": np.arange(n), "type": system.coordinate_types[0]}
        if self.first.joint_wrench is not None:
            shapes = {"force": (3,), "moment": (3,), "force_magnitude": (), "moment_magnitude": ()}
        return self._block(
            "joints", cells=_vertices(n), constant=constant, shapes=shapes, n_points=n
        )

    @cached_property
    def _outline(self) -> Outline:
        run, system = self.first, self.system
        assert system is not None
        source = f"{run.path}, source"
        mechanism = self.mechanism or files.mechanism_from_text(run.source or "", source)
        return mechanism_outline(mechanism, system)

    def _outline_block(self) -> _Block:
        outline = self._outline
        ends = np.concatenate([outline.lines.body, outline.links.body])  # two of each segment
        n_segments, n_curves = len(ends) // 2, len(outline.beams.body) // 4  # of 4 control points
        sizes = np.concatenate([np.full(n_segments, 2), np.full(n_curves, _CURVE_POINTS)])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        n = int(offsets[-1])
        body = np.concatenate([ends, np.full(n - len(ends), -1)])
        cells = {"Lines": (offsets, np.arange(n))}
        return self._block("outlines", cells=cells, constant={"body": body}, shapes={}, n_points=n)

    # ---- records --------------------------------------------------------------------------------

    def append(self, block: Trajectory) -> None:
        """Write a block of records."""
        with trajectory_files.hdf5_errors(self.target, self._file):
            self._append(block)
            self._file.flush()

    def _append(self, block: Trajectory) -> None:
        system, velocity = self.system, world_velocities(block.orientation, block.velocity)
        data = {
            "orientation": block.orientation,
            "velocity": velocity[..., 3:],
            "angular_velocity": velocity[..., :3],
        }
        if system is not None:
            w, u = block.velocity[..., :3], block.velocity[..., 3:]
            rotational = np.einsum("tni,nij,tnj->tn", w, system.inertia, w)
            data["kinetic_energy"] = 0.5 * (rotational + system.mass * np.sum(u * u, axis=2))
        self._bodies.append(block.time, block.position, data)
        if system is None:
            return
        states = [block.state(k) for k in range(len(block))]
        outline = self._outline
        joints = np.stack([outline.joints.at(state) for state in states])
        self._joints.append(block.time, joints, self._wrenches(system, block))
        lines = [
            np.concatenate(
                [
                    outline.lines.at(state),
                    outline.links.at(state),
                    outline.beam_curves(state).reshape(-1, 3),
                ]
            )
            for state in states
        ]
        self._outlines.append(block.time, np.stack(lines), {})

    def _wrenches(self, system: System, block: Trajectory) -> PointData:
        """Return forces and moments of joints on their successors, in world axes."""
        if block.joint_wrench is None:
            return {}
        wrench = world_wrenches(system, block, block.joint_wrench)
        moment, force = wrench[..., :3], wrench[..., 3:]
        return {
            "force": force,
            "moment": moment,
            "force_magnitude": np.linalg.norm(force, axis=2),
            "moment_magnitude": np.linalg.norm(moment, axis=2),
        }


def equivalent_sides(system: System) -> FloatArray:
    """Return (n_bodies, 3) sides of boxes that have the moments of inertia about the body axes [m].

    The moment of a box about x is m (b^2 + c^2) / 12; sides of negative squares are zero.
    """
    moments = np.einsum("nii->ni", system.inertia) / system.mass[:, None]
    squares = 6.0 * (moments.sum(axis=1, keepdims=True) - 2.0 * moments)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _vertices(n: int) -> dict[str, tuple[IntArray, IntArray]]:
    return {"Vertices": (np.arange(n + 1), np.arange(n))}


def _set_type(group: h5py.Group, kind: str) -> None:
    group.attrs["Version"] = np.array(VERSION)
    group.attrs.create("Type", kind.encode("ascii"), dtype=f"S{len(kind)}")
