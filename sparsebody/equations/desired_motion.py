"""A wanted motion at a state: what the bodies need, and whether the joints allow it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import applied_forces, bias_forces
from sparsebody.assembly.constraint import ConstraintRows, constraint_rows
from sparsebody.errors import ModelError, MotionError, ShapeError
from sparsebody.kinematics.coordinates import CoordinateMotion, coordinate_motion
from sparsebody.kinematics.motion import JointMotion, joint_motion
from sparsebody.model.system import State, System

TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Moving:
    """A system at a state, with what several questions need computed once."""

    system: System
    state: State
    body_force: FloatArray | None  # (n_bodies, 6) additional, in body axes [N m, N]

    @cached_property
    def motion(self) -> JointMotion:
        """Relative motion at the joints."""
        return joint_motion(self.system, self.state)

    @cached_property
    def coordinates(self) -> CoordinateMotion:
        """Of the tracked coordinates."""
        return coordinate_motion(self.system, self.state, self.motion)

    @cached_property
    def constraint(self) -> ConstraintRows:
        """All constraint rows."""
        return constraint_rows(self.system, self.state, self.motion, self.coordinates)

    @cached_property
    def applied(self) -> FloatArray:
        """(n_bodies, 6) all given forces, gravity, springs and loads, in body coordinates."""
        force = applied_forces(self.system, self.state, self.motion, self.coordinates)
        return force if self.body_force is None else force + self.body_force

    @cached_property
    def bias(self) -> FloatArray:
        """(n_bodies, 6) v x* I v."""
        return bias_forces(self.system, self.state.velocity)


@dataclass(frozen=True, eq=False)
class Wanted(Moving):
    """The same with the accelerations that the bodies shall have."""

    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates

    @cached_property
    def inertial(self) -> FloatArray:
        """(n_bodies, 6) I a."""
        a, system = self.acceleration, self.system
        force = np.empty_like(a)
        np.einsum("nij,nj->ni", system.inertia, a[:, :3], out=force[:, :3])
        np.multiply(system.mass[:, None], a[:, 3:], out=force[:, 3:])
        return force

    @cached_property
    def needed(self) -> FloatArray:
        """(n_bodies, 6) what actuators and constraints must exert on each body."""
        return self.inertial + self.bias - self.applied

    def check_constraints(self, tolerance: float) -> float:
        """Return the violation; raise MotionError that names the worst joint if it is too large."""
        gap, scale = self._gaps()
        if len(gap) == 0:
            return 0.0
        k = int(np.argmax(np.abs(gap)))
        violation = float(abs(gap[k]) / scale)
        if violation <= tolerance:
            return violation
        system = self.system
        j = int(system.row_joint[k])
        tracked = system.coordinates
        is_drive = k in tracked.row[tracked.prescribed]
        unit = "rad/s^2" if self._turns(k) else "m/s^2"
        raise MotionError(
            f"the wanted accelerations violate {'the drive of ' if is_drive else ''}joint "
            f"{system.joint_names[j]!r} (row {k - int(system.first_row[j])}) by "
            f"{gap[k]:.4g} {unit}, {violation:.1e} of what is wanted where "
            f"{tolerance:.1e} is allowed; ask for accelerations that all joints allow, as "
            "driven_accelerations returns"
        )

    def _turns(self, row: int) -> bool:
        return not self.constraint.subspace[row, 3:].any()

    def _gaps(self) -> tuple[FloatArray, float]:
        rows = self.constraint
        return row_gaps(
            self, self.acceleration, self.system.row_joint, rows.rows, rows.acceleration
        )


def row_gaps(
    moving: Moving, acceleration: FloatArray, joint: IntArray, rows: FloatArray, asked: FloatArray
) -> tuple[FloatArray, float]:
    """Return A a less what is asked of it (m,), and what that is measured against."""
    if len(rows) == 0:
        return np.zeros(0), 1.0
    terms = rows * padded(acceleration)[row_ends(moving.system, joint)]
    given = np.abs(moving.applied / freedom_inertia(moving.system)).max()
    free = max(float(np.abs(acceleration).max()), float(given))  # a rigid loop rests
    scale = max(np.abs(terms).max(), np.abs(asked).max(), np.abs(rows).max() * free, TINY)
    return np.asarray(terms.sum(axis=(1, 2)) - asked), float(scale)


def padded(vectors: FloatArray) -> FloatArray:
    """Return the vectors of bodies (n, 6) with zeros for the world, which -1 means."""
    return np.concatenate([vectors, np.zeros((1, 6))])


def row_ends(system: System, joint: IntArray) -> IntArray:
    """Return (m, 2) predecessor and successor of the joints of rows."""
    return np.stack([system.predecessor[joint], system.successor[joint]], axis=1)


def body_matrix(system: System, joint: IntArray, rows: FloatArray) -> csr_array:
    """Return rows (m, 2, 6) on the bodies of their joints as a matrix (m, 6 n_bodies)."""
    ends = row_ends(system, joint)
    used = np.broadcast_to((ends >= 0)[:, :, None], rows.shape)
    row = np.broadcast_to(np.arange(len(ends))[:, None, None], rows.shape)
    column = 6 * ends[:, :, None] + np.arange(6)
    shape = (len(ends), 6 * system.n_bodies)
    return coo_array((rows[used], (row[used], column[used])), shape=shape).tocsr()


def freedom_inertia(system: System) -> FloatArray:
    """Return (n_bodies, 6) the diagonals of the inertias [kg m^2, kg]."""
    diagonal = np.empty((system.n_bodies, 6))
    diagonal[:, :3] = np.diagonal(system.inertia, axis1=1, axis2=2)
    diagonal[:, 3:] = system.mass[:, None]
    return diagonal


def freed_norms(system: System, joint: IntArray, rows: FloatArray) -> FloatArray:
    """Return (m,) norms of rows on their two bodies in units of the bodies' inertias."""
    light = np.concatenate([1.0 / freedom_inertia(system), np.zeros((1, 6))])
    norm = np.einsum("mea,mea->m", rows**2, light[row_ends(system, joint)])
    return np.sqrt(norm)


def checked_vectors(system: System, vectors: FloatArray, what: str) -> FloatArray:
    """Return (n_bodies, 6) numbers; raise ShapeError or ModelError that names a body otherwise."""
    found = np.ascontiguousarray(vectors, dtype=float)
    if found.shape != (system.n_bodies, 6):
        raise ShapeError(f"{what} is {found.shape}, not {(system.n_bodies, 6)}")
    finite = np.isfinite(found).all(axis=1)
    if not finite.all():
        name = system.body_names[int(np.argmin(finite))]
        raise ModelError(f"{what} of {name!r} is not finite; give six numbers")
    return found
