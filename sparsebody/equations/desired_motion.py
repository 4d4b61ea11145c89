"""A desired motion at a state: the forces that it takes, and whether the joints allow it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.system_motion import SystemMotion, joint_ends, padded
from sparsebody.errors import MotionError
from sparsebody.model.system import State, System

TINY = 1e-300


class DesiredMotion(SystemMotion):
    """A system at a state with the accelerations (n_bodies, 6) that the bodies shall have."""

    def __init__(
        self,
        system: System,
        state: State,
        body_force: FloatArray | None,
        acceleration: FloatArray,
    ) -> None:
        super().__init__(system, state, body_force)
        self.acceleration = acceleration

    @cached_property
    def inertial(self) -> FloatArray:
        """(n_bodies, 6) I a."""
        a, system = self.acceleration, self.system
        force = np.empty_like(a)
        np.einsum("nij,nj->ni", system.inertia, a[:, :3], out=force[:, :3])
        np.multiply(system.mass[:, None], a[:, 3:], out=force[:, 3:])
        return force

    @cached_property
    def required(self) -> FloatArray:
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
    moving: SystemMotion,
    acceleration: FloatArray,
    joint: IntArray,
    rows: FloatArray,
    gamma: FloatArray,
) -> tuple[FloatArray, float]:
    """Return A a - gamma (m,), and the size that it is measured against."""
    if len(rows) == 0:
        return np.zeros(0), 1.0
    terms = rows * padded(acceleration)[joint_ends(moving.system, joint)]
    free_fall = np.abs(moving.applied / freedom_inertia(moving.system)).max()
    free = max(float(np.abs(acceleration).max()), float(free_fall))  # a rigid loop rests
    scale = max(np.abs(terms).max(), np.abs(gamma).max(), np.abs(rows).max() * free, TINY)
    return np.asarray(terms.sum(axis=(1, 2)) - gamma), float(scale)


def body_matrix(system: System, joint: IntArray, rows: FloatArray) -> csr_array:
    """Return rows (m, 2, 6) on the bodies of their joints as a matrix (m, 6 n_bodies)."""
    ends = joint_ends(system, joint)
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
    norm = np.einsum("mea,mea->m", rows**2, light[joint_ends(system, joint)])
    return np.sqrt(norm)
