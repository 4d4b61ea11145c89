"""Linearized equations of motion: the residuals of (8.64), and their rates by all that they hold.

    F(q, v, a, lambda, p) = M a + v x* M v - f(q, v, p) - A(q)' lambda = 0,
    r(q, v, a, p) = d/dt (A v) - b(p) = A(q) a - gamma(q, v) - b(p) = 0,

with q <- q exp(d) for twists d of the bodies in body coordinates, b the accelerations of prescribed
coordinates, and p forces, inertias and the numbers of springs. Rates by q, v and a come from dual
numbers in the native core; F and r are linear in most parameters.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import bsr_array, coo_array, csc_array, diags_array, eye_array, vstack

from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import add_joint_wrenches
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.kinematics.joint_motion import body_rotations, coordinate_motion, joint_motion
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.step_equations import Compliance, StepEquations

_SYMMETRIC = np.array([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)])  # Ixx Iyy Izz Ixy Ixz Iyz


@dataclass(frozen=True, eq=False)
class LinearEquations:
    """M a + D v + K q - A' lambda and A a + D_r v + K_r q, in changes of a motion.

    Forces of springs, compliant joints and beams are among D and K.
    """

    system: System
    state: State
    acceleration: FloatArray  # (n_bodies, 6) of the motion
    multiplier: FloatArray  # (n_rows,)
    stiffness: csc_array  # (6n, 6n) K, in body coordinates, moments first [N m/rad, N/m, ...]
    damping: csc_array  # (6n, 6n) D
    mass: csc_array  # (6n, 6n) M
    rows: csc_array  # (n_rows, 6n) A
    row_stiffness: csc_array  # (n_rows, 6n) K_r
    row_damping: csc_array  # (n_rows, 6n) D_r
    force_residual: FloatArray  # (6n,) F of the motion: zero but for rounding
    row_residual: FloatArray  # (n_rows,)

    @classmethod
    def at(
        cls,
        system: System,
        state: State,
        acceleration: FloatArray,
        multiplier: FloatArray,
        body_force: FloatArray | None = None,
    ) -> "LinearEquations":
        """Return those along a motion; `body_force` (n_bodies, 6) are wrenches in body axes."""
        n, m = 6 * system.n_bodies, system.n_rows
        control = None if body_force is None else lambda time, state: body_force
        equations = StepEquations(system, _no_compliance(system), control)
        equations.begin(state)
        equations.acceleration[:], equations.multiplier[:m] = acceleration, -multiplier
        equations.evaluate()
        equations.multiplier[m:] = equations.row_residual[m:]  # forces of stretches
        equations.evaluate()
        K, D, M = equations.parts()
        stretch = slice(n + m, None)
        on_bodies = K[:n, stretch]
        residual = np.zeros(m)
        i, j, *values = equations.native.assemble_acceleration_errors(residual)
        K_r, D_r, A = (coo_array((value, (i, j)), shape=(m, n)).tocsc() for value in values)
        residual[system.coordinates.row[system.coordinates.prescribed]] -= (
            equations.prescribed_accelerations()
        )
        return cls(
            *(system, state, acceleration, multiplier),
            (K[:n, :n] + on_bodies @ K[stretch, :n]).tocsc(),
            (D[:n, :n] + on_bodies @ D[stretch, :n]).tocsc(),
            M[:n, :n].tocsc(),
            *(A, K_r, D_r),
            equations.force_residual.ravel().copy(),
            residual,
        )

    def by_motion(self) -> dict[str, csc_array]:
        """Return the rates (6n + n_rows, 6n) of both residuals by poses and velocities."""
        position = vstack([self.stiffness, self.row_stiffness])
        velocity = vstack([self.damping, self.row_damping])
        return {"position": position.tocsc(), "velocity": velocity.tocsc()}

    def by_parameters(self) -> dict[str, csc_array]:
        """Return the rates (6n + n_rows, n_parameters) of both residuals by parameters."""
        n_rows, on_bodies = self.system.n_rows, self._forces_by_parameters()
        rates = {
            name: csc_array(vstack([rate, csc_array((n_rows, rate.shape[1]))]))
            for name, rate in on_bodies.items()
        }
        tracked = self.system.coordinates
        row = 6 * self.system.n_bodies + tracked.row[tracked.prescribed]
        entries = -np.ones(len(row)), (row, np.arange(len(row)))
        shape = 6 * self.system.n_bodies + n_rows, len(row)
        return rates | {"prescribed_acceleration": coo_array(entries, shape=shape).tocsc()}

    def _forces_by_parameters(self) -> dict[str, csc_array]:
        """Return the rates (6n, n_parameters) of F."""
        system, n, R = self.system, self.system.n_bodies, body_rotations(self.state)
        w, u = self.state.velocity[:, :3], self.state.velocity[:, 3:]
        turning, moving = self.acceleration[:, :3], self.acceleration[:, 3:]
        weight = moving + np.cross(w, u) - np.einsum("nji,j->ni", R, system.gravity)
        unit = np.zeros((6, 3, 3))
        unit[np.arange(6), *_SYMMETRIC.T] = unit[np.arange(6), *_SYMMETRIC[:, ::-1].T] = 1.0
        momentum = np.einsum("kij,nj->nki", unit, w)
        moment = np.einsum("kij,nj->nki", unit, turning) + np.cross(w[:, None], momentum)
        zero = np.zeros((n, 3, 6))
        by_mass = np.concatenate([np.zeros((n, 3)), weight], axis=1)[:, :, None]
        by_inertia = np.concatenate([moment.transpose(0, 2, 1), zero], axis=1)
        by_gravity = np.zeros((n, 6, 3))
        by_gravity[:, 3:] = -system.mass[:, None, None] * R.transpose(0, 2, 1)
        return {
            "force": csc_array(-eye_array(6 * n)),
            "mass": _block_diagonal(by_mass),
            "inertia": _block_diagonal(by_inertia),
            "gravity": csc_array(by_gravity.reshape(6 * n, 3)),
        } | self._by_springs()

    def _by_springs(self) -> dict[str, csc_array]:
        """Return the rates of F by the numbers of the springs on joint coordinates."""
        system, springs = self.system, self.system.joint_forces
        motion = joint_motion(system, self.state)
        coordinates = coordinate_motion(system, self.state, motion)
        q, qd = coordinates.value[springs.item], coordinates.rate[springs.item]
        joint = system.coordinates.joint[springs.item]
        wrench = np.zeros((len(joint), system.n_bodies, 6))
        for k, on_bodies in enumerate(wrench):  # tau = u - k (q - q_0) - d qd
            dual = coordinates.dual[springs.item[k], None]
            add_joint_wrenches(system, motion, joint[k : k + 1], dual, on_bodies)
        effort = csc_array(-wrench.reshape(len(joint), 6 * system.n_bodies).T)
        return {
            "effort": effort,
            "stiffness": csc_array(effort @ diags_array(springs.rest - q)),
            "rest": csc_array(effort @ diags_array(springs.stiffness)),
            "damping": csc_array(effort @ diags_array(-qd)),
        }

    @cached_property
    def applied(self) -> FloatArray:
        """(n_bodies, 6) all loads of the motion, weights included, in body coordinates."""
        return SystemMotion(self.system, self.state).applied


def _no_compliance(system: System) -> Compliance:
    first_entry = np.concatenate([[0], np.cumsum(np.diff(system.first_row) ** 2)])
    return Compliance(
        np.zeros(first_entry[-1]), first_entry.astype(np.intp), np.zeros(system.n_rows)
    )


def _block_diagonal(blocks: FloatArray) -> csc_array:
    """Return the matrix of blocks (n, i, j) along the diagonal."""
    n, height, width = blocks.shape
    index = np.arange(n + 1)
    shape = n * height, n * width
    return bsr_array((blocks, index[:-1], index), shape=shape).tocsc()
