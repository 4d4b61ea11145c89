"""VTKHDF files of a trajectory: bodies, outlines and joints as polydata, one time step a record.

The layout is that of the VTKHDF specification, version 2.1, for a PartitionedDataSetCollection of
PolyData with Steps. Points move, so they are stored for every step; cells and whatever else stays
is stored once, and every step refers to it.
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

Moving = Mapping[str, FloatArray]  # point data of one block, (n_records, n_points, ...)


@dataclass(eq=False)
class _Block:
    """One polydata of the collection, with the same cells at all steps."""

    group: h5py.Group
    times: int
    n_points: int
    cells: Mapping[str, tuple[IntArray, IntArray]]
    fixed: Mapping[str, Any]  # data of points that stay
    shapes: Mapping[str, tuple[int, ...]]  # of those that move

    def __post_init__(self) -> None:
        group, times, n_points, shapes = self.group, self.times, self.n_points, self.shapes
        self._done = 0
        _set_type(group, "PolyData")
        group["NumberOfPoints"] = np.full(times, n_points)
        group.create_dataset("Points", (times * n_points, 3), "f8")
        for kind in _KINDS_OF_CELLS:
            offsets, connectivity = self.cells.get(kind, (np.zeros(1, int), np.zeros(0, int)))
            topology = group.create_group(kind)
            topology["NumberOfCells"] = np.full(times, len(offsets) - 1)
            topology["NumberOfConnectivityIds"] = np.full(times, len(connectivity))
            topology["Offsets"], topology["Connectivity"] = offsets, connectivity
        data = group.create_group("PointData")
        for name, values in self.fixed.items():
            data[name] = values
        for name, shape in shapes.items():
            data.create_dataset(name, (times * n_points, *shape), "f8")
        self._data, self._points = data, group["Points"]
        steps = group.create_group("Steps")
        steps.attrs["NSteps"] = times
        steps.create_dataset("Values", (times,), "f8")
        steps["PartOffsets"] = np.arange(times)
        steps["NumberOfParts"] = np.ones(times, dtype=int)
        steps["PointOffsets"] = n_points * np.arange(times)
        nothing = np.zeros((times, len(_KINDS_OF_CELLS)), dtype=int)
        steps["CellOffsets"] = steps["ConnectivityIdOffsets"] = nothing
        offsets = steps.create_group("PointDataOffsets")
        for name in (*self.fixed, *shapes):
            offsets[name] = n_points * np.arange(times) * (name in shapes)
        self._values = steps["Values"]

    def append(self, time: FloatArray, points: FloatArray, moving: Moving) -> None:
        """Write points (n_records, n_points, 3) and what moves with them."""
        n, first = len(time), self._done
        rows = slice(first * self.n_points, (first + n) * self.n_points)
        self._values[first : first + n] = time
        if self.n_points:
            self._points[rows] = points.reshape(-1, 3)
            for name, values in moving.items():
                self._data[name][rows] = values.reshape(n * self.n_points, *values.shape[2:])
        self._done += n


@dataclass(eq=False)
class VtkFile:
    """A .vtkhdf file of a trajectory with n records; a context manager of what writes them."""

    path: Path
    first: Trajectory
    n: int
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
        return _Block(group, self.n, **content)

    def _body_block(self) -> _Block:
        n, system = len(self.first.body_names), self.system
        fixed: dict[str, Any] = {"body": np.arange(n)}
        shapes: dict[str, tuple[int, ...]] = {"orientation": (4,), "velocity": (3,)}
        shapes |= {"angular_velocity": (3,)}
        if system is not None:
            fixed |= {"mass": system.mass, "size": equivalent_sides(system)}
            shapes["kinetic_energy"] = ()
        return self._block("bodies", cells=_vertices(n), fixed=fixed, shapes=shapes, n_points=n)

    def _joint_block(self, system: System) -> _Block:
        n, shapes = system.n_joints, dict[str, tuple[int, ...]]()
        fixed = {"joint": np.arange(n), "type": system.coordinate_types[0]}
        if self.first.joint_wrench is not None:
            shapes = {"force": (3,), "moment": (3,), "force_magnitude": (), "moment_magnitude": ()}
        return self._block("joints", cells=_vertices(n), fixed=fixed, shapes=shapes, n_points=n)

    @cached_property
    def _outline(self) -> Outline:
        run, system = self.first, self.system
        assert system is not None
        known = self.mechanism or files.mechanism_from_text(run.source or "", f"{run.path}, source")
        return mechanism_outline(known, system)

    def _outline_block(self) -> _Block:
        outline = self._outline
        straight = np.concatenate([outline.lines.body, outline.links.body])
        n_pairs, n_curves = len(straight) // 2, len(outline.beams.body) // 4
        sizes = np.concatenate([np.full(n_pairs, 2), np.full(n_curves, _CURVE_POINTS)])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        n = int(offsets[-1])
        body = np.concatenate([straight, np.full(n - len(straight), -1)])
        cells = {"Lines": (offsets, np.arange(n))}
        return self._block("outlines", cells=cells, fixed={"body": body}, shapes={}, n_points=n)

    # ---- records --------------------------------------------------------------------------------

    def append(self, block: Trajectory) -> None:
        """Write a block of records."""
        with trajectory_files.hdf5_errors(self.target, self._file):
            self._append(block)
            self._file.flush()

    def _append(self, block: Trajectory) -> None:
        system, velocity = self.system, world_velocities(block.orientation, block.velocity)
        moving = {
            "orientation": block.orientation,
            "velocity": velocity[..., 3:],
            "angular_velocity": velocity[..., :3],
        }
        if system is not None:
            w, u = block.velocity[..., :3], block.velocity[..., 3:]
            turning = np.einsum("tni,nij,tnj->tn", w, system.inertia, w)
            moving["kinetic_energy"] = 0.5 * (turning + system.mass * np.sum(u * u, axis=2))
        self._bodies.append(block.time, block.position, moving)
        if system is None:
            return
        states = [block.state(k) for k in range(len(block))]
        of = self._outline
        joints = np.stack([of.joints.at(state) for state in states])
        self._joints.append(block.time, joints, self._wrenches(system, block))
        lines = [
            np.concatenate([of.lines.at(one), of.links.at(one), of.beam_curves(one).reshape(-1, 3)])
            for one in states
        ]
        self._outlines.append(block.time, np.stack(lines), {})

    def _wrenches(self, system: System, block: Trajectory) -> Moving:
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

    m (b^2 + c^2) / 12 is that about x; sides whose square would be negative are zero.
    """
    moments = np.einsum("nii->ni", system.inertia) / system.mass[:, None]
    squares = 6.0 * (moments.sum(axis=1, keepdims=True) - 2.0 * moments)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _vertices(n: int) -> dict[str, tuple[IntArray, IntArray]]:
    return {"Vertices": (np.arange(n + 1), np.arange(n))}


def _set_type(group: h5py.Group, kind: str) -> None:
    group.attrs["Version"] = np.array(VERSION)
    group.attrs.create("Type", kind.encode("ascii"), dtype=f"S{len(kind)}")
