"""Motion of the joints, constraint rows and forces of a system at a state."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from threading import RLock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from sparsebody._core import dynamics, model, simulation
from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import bias_forces, elastic_motion
from sparsebody.assembly.constraint import ConstraintRows, constraint_rows
from sparsebody.errors import ModelError, ShapeError
from sparsebody.kinematics import joint_motion as kinematics
from sparsebody.model.system import State, States, System, body_arrays, with_joints
from sparsebody.model.time_functions import is_constant

_JOINT_ERRORS: WeakKeyDictionary[System, simulation.JointErrors] = WeakKeyDictionary()
_TABLES: WeakKeyDictionary[System, Any] = WeakKeyDictionary()
_TRACKED: WeakKeyDictionary[System, LoadsAndRows] = WeakKeyDictionary()
_TRACKED_IN_USE = RLock()  # values of functions are those of one time; they may ask back


def joint_table(system: System) -> Any:
    """Return the joints as kernels see them, in arrays of which they may keep views."""
    kinds = system.joint_kind, system.first_row, system.parameter
    return (_plain(*system.joint_frames), *_plain(*kinds), _plain(*system.subspaces))


def system_tables(system: System) -> Any:
    """Return joints, coordinates, springs, elastic elements and loads as kernels see them."""
    if system in _TABLES:
        return _TABLES[system]
    tracked, springs = system.coordinates, system.joint_forces
    forces, (frames, *elastic) = system.external_forces, system.elastic.arrays
    tables = _TABLES[system] = (
        joint_table(system),
        _plain(
            *(tracked.joint, tracked.index, tracked.row, tracked.is_angle), *system.coordinate_types
        ),
        _plain(springs.item, springs.stiffness, springs.rest, springs.damping),
        _plain(*system.point_forces.springs),
        (_plain(*frames), *_plain(*elastic)),
        _plain(forces.body, forces.wrench, forces.point, forces.in_world),
    )
    return tables


class LoadsAndRows:
    """Rows of A and gamma of all joints of a system, and its loads besides gravity."""

    def __init__(self, system: System) -> None:
        self._system = system
        tracked, springs, lines = system.coordinates, system.joint_forces, system.point_forces
        self.rows, self.gamma = np.zeros((system.n_rows, 2, 6)), np.zeros(system.n_rows)
        self._n = np.cumsum([len(tracked.prescribed), len(springs.item), len(lines.first)])
        self.functions = np.zeros((self._n[-1], 3))
        efforts = *springs.effort, *lines.effort
        # Whether `functions` (n, 3), values and derivatives of functions of time, never change
        self.are_constant = len(tracked.prescribed) == 0 and all(map(is_constant, efforts))
        if self.are_constant:
            self.set_time(0.0)
        self.native = dynamics.LoadsAndRows(
            system_tables(system), self.functions, self.rows, self.gamma
        )

    def functions_at(self, times: Sequence[float]) -> FloatArray:
        """Return (k, n_functions, 3) prescribed motions and efforts at k times."""
        prescribed, on_joints, n = self._n
        values = np.zeros((len(times), n, 3))
        if prescribed:
            values[:, :prescribed] = kinematics.prescribed_motions(self._system, times)
        if on_joints > prescribed:
            values[:, prescribed:on_joints, 0] = self._system.joint_forces.efforts_at(times)
        if n > on_joints:
            values[:, on_joints:, 0] = self._system.point_forces.efforts_at(times)
        return values

    def set_time(self, time: float) -> None:
        """Set `functions` to those at a time."""
        self.functions[:] = self.functions_at([time])[0]

    def fill(self, state: State) -> None:
        """Fill `rows` and `gamma` at a state with contiguous arrays, and `functions` then."""
        self.set_time(state.time)
        self.native.fill_rows(body_arrays(self._system, state))

    def add_loads(self, state: State, load: FloatArray) -> None:
        """Add the loads (n_bodies, 6) after `fill` at the same state.

        Raises ModelError if the points of a spring coincide.
        """
        bad = self.native.add_loads(body_arrays(self._system, state), state.coordinate, load)
        self._system.point_forces.check_directions(bad)


def constraint_errors(
    system: System, state: State, threads: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return the position and the velocity errors (n_rows,) of all constraint rows.

    Position errors are zero where joints close [rad, m]: Featherstone (2008), 8.27. Those of
    prescribed coordinates hold differences from their motions, angles modulo turns.
    """
    poses = body_arrays(system, state)
    laid_out = _JOINT_ERRORS.get(system)  # of a time loop
    if laid_out is None:
        errors = simulation.row_errors(joint_table(system), poses, threads)
    else:
        errors = laid_out.at(poses)
    tracked = system.coordinates
    if len(tracked.prescribed):
        with _TRACKED_IN_USE:
            native = _of_tracked(system, state.time).native
            native.fill_errors(poses, tracked.row[tracked.prescribed], *errors)
    return errors


class MotionRecords(NamedTuple):
    """What records tell of a motion at k times, without the energies of springs."""

    kinetic_energy: FloatArray  # (k,) [J]
    gravity_energy: FloatArray  # (k,) [J]
    momentum: FloatArray  # (k, 6) about the world's origin, in world axes
    position_error: FloatArray  # (k,) the largest of `constraint_errors`
    velocity_error: FloatArray  # (k,)
    elastic_energy: FloatArray  # (k,) of compliant joints [J]


def motion_records(
    system: System, states: States, multiplier: FloatArray | None = None
) -> MotionRecords:
    """Return energies, momenta and the largest errors at k times.

    Joints that are compliant, with multipliers lambda (k, n_rows), store lambda' C lambda / 2, as C
    lambda are the position errors; without any, zero.
    """
    if multiplier is None:
        multiplier = np.zeros((0, system.n_rows))
    bodies, joints = (system.mass, system.inertia, system.gravity), joint_errors(system)
    rows = system.coordinates.row[system.coordinates.prescribed]
    terms, functions = None, np.zeros((0, 0, 3))
    with _TRACKED_IN_USE if len(rows) > 0 else nullcontext():
        if len(rows) > 0:
            times = states.time.tolist()
            of_tracked = _of_tracked(system, times[0])
            terms, functions = of_tracked.native, of_tracked.functions_at(times)
        momenta, *errors = simulation.motion_records(
            bodies, joints, terms, rows, functions, states[:3], multiplier
        )
    return MotionRecords(*momenta, *errors)


def damping_powers(system: System, states: States) -> FloatArray:
    """Return (k,) the power that dampers take at k times [W]; forces use `coordinate`."""
    if not system.has_loads:
        return np.zeros(len(states.time))
    with _TRACKED_IN_USE:  # efforts are the same at the velocities and at rest
        terms = _of_tracked(system, float(states.time[0]))
        power, bad = simulation.damping_powers(terms.native, states[:3], states.coordinate)
    system.point_forces.check_directions(bad)
    return power


def _of_tracked(system: System, time: float) -> LoadsAndRows:
    """Return the loads, and the rows of joints with tracked coordinates, functions at a time."""
    if system not in _TRACKED:
        joints = np.unique(system.coordinates.joint)
        _TRACKED[system] = LoadsAndRows(with_joints(system, joints))
    of_tracked = _TRACKED[system]
    of_tracked.set_time(time)
    return of_tracked


def model_loads(system: System, state: State) -> FloatArray:
    """Return the forces of the model except gravity, (n_bodies, 6) in body coordinates.

    External forces, springs, dampers and efforts on joints and between points, elastic elements.
    Raises ModelError if the points of a point force coincide, or an effort is not finite.
    """
    force = np.zeros((system.n_bodies, 6))
    if system.has_loads:
        with _TRACKED_IN_USE:
            _of_tracked(system, state.time).add_loads(state, force)
    return force


def applied_forces(system: System, state: State) -> FloatArray:
    """Return P T_a tau + f_x (n_bodies, 6) in body coordinates: gravity and `model_loads`."""
    force, rotation = model_loads(system, state), kinematics.body_rotations(state)
    force[:, 3:] += system.mass[:, None] * np.einsum("nij,i->nj", rotation, system.gravity)
    return force


def joint_errors(system: System) -> simulation.JointErrors:
    """Return the joints as time loops see them, in views of the system's arrays."""
    if system not in _JOINT_ERRORS:
        _JOINT_ERRORS[system] = simulation.JointErrors(joint_table(system))
    return _JOINT_ERRORS[system]


def _plain(*arrays: np.ndarray[Any, Any]) -> Any:
    """Return contiguous arrays, which native code may keep views of."""
    return tuple(map(np.ascontiguousarray, arrays))


class SystemMotion:
    """A system at a state; joint motion, constraint rows and forces are computed when needed.

    `body_force` (n_bodies, 6) are additional wrenches about the centers of mass in body axes [N m,
    N]; joint motion and constraint rows may use `threads`.
    """

    def __init__(
        self, system: System, state: State, body_force: FloatArray | None = None, threads: int = 1
    ) -> None:
        self.system, self.state, self.body_force = system, state, body_force
        self._threads = threads

    def at(self, state: State) -> SystemMotion:
        """Return the motion of this system, under this force, at another state."""
        return SystemMotion(self.system, state, self.body_force, self._threads)

    @cached_property
    def joints(self) -> kinematics.JointMotion:
        """Relative motion at all joints."""
        return kinematics.joint_motion(self.system, self.state, self._threads)

    @cached_property
    def coordinates(self) -> kinematics.CoordinateMotion:
        """The motion of the tracked coordinates."""
        return kinematics.coordinate_motion(self.system, self.state, self.joints)

    @cached_property
    def constraint(self) -> ConstraintRows:
        """All constraint rows, on the bodies."""
        return constraint_rows(
            self.system, self.state, self.joints, self.coordinates, self._threads
        )

    @property
    def subspace(self) -> FloatArray:
        """(n_rows, 6) T' in S coordinates, which few joint types let vary."""
        varies = len(self.system.coordinates.prescribed) or len(self.system.varying_joints)
        return self.constraint.subspace if varies else self.system.subspace

    @cached_property
    def _errors(self) -> tuple[FloatArray, FloatArray]:
        return constraint_errors(self.system, self.state, self._threads)

    def row_sizes(self, length: float) -> FloatArray:
        """Return (n_rows,) position errors of a rotation by 1 rad or a translation by `length`."""
        moment, force = np.hsplit(self.subspace, 2)
        return np.asarray(np.linalg.norm(moment, axis=1) + length * np.linalg.norm(force, axis=1))

    @property
    def position_error(self) -> FloatArray:
        """(n_rows,) [rad, m]."""
        return self._errors[0]

    @property
    def velocity_error(self) -> FloatArray:
        """(n_rows,) A v less the prescribed rates [rad/s, m/s]."""
        return self._errors[1]

    def joint_wrenches(self, multiplier: FloatArray) -> FloatArray:
        """Return T lambda (n_joints, 6): the constraint wrench on the successor, in S coordinates.

        Prescribed coordinates are constraint rows, so the wrench contains the force of the drive.
        """
        rows = self.system.first_row, self.subspace
        return model.joint_wrenches(*rows, multiplier, self._threads)

    def joint_reactions(self, multiplier: FloatArray) -> FloatArray:
        """Return the wrenches (n_joints, 6) on successors: T lambda, and those of compliant rows.

        The wrenches are in S coordinates.
        """
        wrench, elastic = self.joint_wrenches(multiplier), self.system.elastic
        own = elastic.joint >= 0
        if own.any():
            motion = elastic_motion(self.system, self.state)
            on_body = -np.einsum("ni,nia->na", motion.force, motion.rows[:, :, 1])
            moment = on_body[:, :3] - np.cross(elastic.successor_point, on_body[:, 3:])
            in_body = np.stack([moment, on_body[:, 3:]], axis=1)
            in_joint = np.einsum("nij,nsi->nsj", elastic.successor_rotation, in_body).reshape(-1, 6)
            np.add.at(wrench, elastic.joint[own], in_joint[own])
        return wrench

    def stabilization(self, T: float) -> FloatArray:
        """Return Baumgarte's terms (n_rows,), which are added to gamma. Featherstone, (8.22)."""
        return -2.0 / T * self.velocity_error - self.position_error / T**2

    @cached_property
    def applied(self) -> FloatArray:
        """(n_bodies, 6) all applied forces: gravity, springs, loads, in body coordinates."""
        force = applied_forces(self.system, self.state)
        return force if self.body_force is None else force + self.body_force

    @cached_property
    def bias(self) -> FloatArray:
        """(n_bodies, 6) v x* I v."""
        return bias_forces(self.system, self.state.velocity)


def checked_vectors(system: System, vectors: FloatArray, name: str) -> FloatArray:
    """Return (n_bodies, 6) numbers; raise ShapeError or ModelError that names a body otherwise."""
    checked = np.ascontiguousarray(vectors, dtype=float)
    if checked.shape != (system.n_bodies, 6):
        raise ShapeError(f"{name} is {checked.shape}, not {(system.n_bodies, 6)}")
    finite = np.isfinite(checked).all(axis=1)
    if not finite.all():
        body = system.body_names[int(np.argmin(finite))]
        raise ModelError(f"{name} of {body!r} is not finite; give six numbers")
    return checked


def padded(vectors: FloatArray) -> FloatArray:
    """Return arrays of bodies (n, ...) with zeros for the world, which -1 means."""
    return np.concatenate([vectors, np.zeros((1, *vectors.shape[1:]))])
