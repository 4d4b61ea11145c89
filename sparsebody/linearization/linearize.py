"""Linearization about a motion or a pose at rest: the residuals of (8.64), and their derivatives.

    F(q, v, a, lambda, p) = M a + v x* M v - f(q, v, p) - A(q)' lambda = 0,
    r(q, v, a, p) = d/dt (A v) - b(p) = A(q) a - gamma(q, v) - b(p) = 0,

with q <- q exp(d) for twists d of the bodies in body coordinates, b the accelerations of prescribed
coordinates, and p forces, inertias and constants of springs. Derivatives in q, v and a come from
dual numbers in the native core; F and r are linear in most parameters. At rest, with q = N z on
what the joints allow, the minimal form is

    N'M N d2z/dt2 + N'D N dz/dt + N'K N z = N'B u,   y = C N z;

about a motion `Linearization.state_space` has the terms of v and a besides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lstsq, null_space
from scipy.signal import StateSpace
from scipy.sparse import coo_array, csc_array, hstack, vstack

from sparsebody import errors
from sparsebody.arrays import FloatArray, IntArray, offsets
from sparsebody.assembly.body_forces import add_joint_wrenches
from sparsebody.dynamics import ForwardDynamics
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.equations import SystemMotion, consistent_state
from sparsebody.kinematics.joint_motion import JointMotion, body_rotations, joint_motion
from sparsebody.linearization.spring_stretches import springs_as_stretches
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.step_equations import Compliance, StepEquations
from sparsebody.spatial import motion_cross

_MOST_VELOCITIES = 6000  # of bodies, for a minimal form: a dense matrix of 300 MB


@dataclass(frozen=True)
class JointCoordinate:
    """The effort on a joint coordinate as an input, its value as an output."""

    joint: str
    index: int = 0  # which coordinate


@dataclass(frozen=True)
class BodyPoint:
    """A force at a point of a body as an input, the displacement of the point as an output."""

    body: str
    direction: tuple[float, float, float]  # in world axes; its length multiplies force and output
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)  # in the user's frame of the body [m]


Port = JointCoordinate | BodyPoint | str  # the name of a joint: its first coordinate


@dataclass(frozen=True, eq=False)
class Linearization:
    """M a + D v + K q - A' lambda and A a + D_r v + K_r q, in changes of a motion.

    Compliant joints, bushings and beams have forces mu = Z q + Z_d dq/dt on their relative
    displacements, in units in which their stiffness is one. They add Z' Z to K and Z' Z_d to D of
    all other forces. Springs have rows of Z too, times their stiffness in Z' alone.
    """

    system: System
    state: State
    acceleration: FloatArray  # (n_bodies, 6) of the motion
    multiplier: FloatArray  # (n_rows,)
    other_stiffness: csc_array  # (6n, 6n) K without Z' Z [N m/rad, N/m, ...]
    other_damping: csc_array  # (6n, 6n) D without Z' Z_d
    on_stretches: csc_array  # (6n, e) Z', times the stiffness of springs
    stretches: csc_array  # (e, 6n) Z, with the geometric stiffness where there is damping
    stretch_damping: csc_array  # (e, 6n) Z_d
    mass: csc_array  # (6n, 6n) M
    rows: csc_array  # (n_rows, 6n) A
    row_stiffness: csc_array  # (n_rows, 6n) K_r
    row_damping: csc_array  # (n_rows, 6n) D_r
    independent_rows: IntArray  # indices of a maximal set of independent rows of A
    force_residual: FloatArray  # (6n,) F of the motion: zero but for rounding
    row_residual: FloatArray  # (n_rows,)

    @classmethod
    def at(cls, system: System, state: State, body_force: FloatArray | None = None) -> Self:
        """Return the linearization at a state under wrenches (n_bodies, 6) in body axes."""
        dynamics = ForwardDynamics(system, state, reactions="basic", formulation=SPATIAL)
        solution = dynamics(state, body_force=body_force)
        acceleration, multiplier = solution.acceleration, solution.multiplier
        independent_rows = np.setdiff1d(np.arange(system.n_rows), dynamics.redundant_rows)
        n, m = 6 * system.n_bodies, system.n_rows
        control = None if body_force is None else lambda time, state: body_force
        constant, k, w = springs_as_stretches(system, state)
        first_entry = offsets(np.diff(system.first_row) ** 2)
        rigid = Compliance(np.zeros(first_entry[-1]), first_entry, np.zeros(m))
        equations = StepEquations(constant, rigid, control)
        equations.begin(state)
        equations.acceleration[:], equations.multiplier[:m] = acceleration, -multiplier
        equations.evaluate()
        equations.multiplier[m:] = equations.row_residual[m:]  # forces of stretches
        equations.evaluate()
        K, D, M = equations.parts()
        stretch = slice(n + m, None)
        residual = np.zeros(m)
        i, j, *values = equations.native.assemble_acceleration_errors(residual)
        K_r, D_r, A = (coo_array((value, (i, j)), shape=(m, n)).tocsc() for value in values)
        driven = system.coordinates
        residual[driven.row[driven.prescribed]] -= driven.motions(state.time)[:, 2]
        return cls(
            *(system, state, acceleration, multiplier),
            *(K[:n, :n].tocsc(), D[:n, :n].tocsc()),
            hstack([K[:n, stretch], w.T * k], format="csc"),
            vstack([K[stretch, :n], w], format="csc"),
            vstack([D[stretch, :n], csc_array(w.shape)], format="csc"),
            M[:n, :n].tocsc(),
            *(A, K_r, D_r),
            independent_rows,
            equations.force_residual.ravel().copy(),
            residual,
        )

    @cached_property
    def stiffness(self) -> csc_array:
        """(6n, 6n) K in body coordinates, moments first."""
        return csc_array(self.other_stiffness + self.on_stretches @ self.stretches)

    @cached_property
    def damping(self) -> csc_array:
        """(6n, 6n) D in body coordinates, moments first."""
        return csc_array(self.other_damping + self.on_stretches @ self.stretch_damping)

    # ---- inputs and outputs -----------------------------------------------------------------

    def port_rows(self, ports: Sequence[Port]) -> csc_array:
        """Return the rates (n_ports, 6n) of coordinates and of points along their directions.

        Transposed they are the wrenches of unit efforts and forces. Raises ModelError for a joint,
        coordinate or body that is not there, or a direction or point that is not a finite vector.
        """
        if isinstance(ports, Port):
            raise errors.ModelError(f"ports are {ports!r}; give a list of them: [{ports!r}]")
        rows = np.zeros((len(ports), self.system.n_bodies, 6))
        motion = joint_motion(self.system, self.state)
        for row, port in zip(rows, ports, strict=True):
            if isinstance(port, BodyPoint):
                self._fill_point(port, row)
            elif isinstance(port, str | JointCoordinate):
                at = JointCoordinate(port) if isinstance(port, str) else port
                dual = self._coordinate_dual(at, motion)
                joint = np.array([self.system.joint(at.joint)])
                add_joint_wrenches(self.system, motion, joint, dual[None], row)
            else:
                raise errors.ModelError(
                    f"{port!r} is no port; give the name of a joint, a JointCoordinate or a "
                    "BodyPoint"
                )
        return csc_array(rows.reshape(len(ports), 6 * self.system.n_bodies))

    def _coordinate_dual(self, at: JointCoordinate, motion: JointMotion) -> FloatArray:
        j = self.system.joint(at.joint)
        kind = self.system.joint_types[j]
        q = kind.coordinates(motion.rotation[j], motion.translation[j])
        dual = kind.active_force_subspace(q)
        if at.index not in range(dual.shape[1]):
            raise errors.ModelError(
                f"joint {at.joint!r} has {dual.shape[1]} coordinates, none of index {at.index!r}"
            )
        return np.asarray(dual[:, at.index])

    def _fill_point(self, port: BodyPoint, row: FloatArray) -> None:
        i = self.system.body(port.body)
        point, direction = (np.asarray(v, dtype=float) for v in (port.point, port.direction))
        for name, vector in (("point", point), ("direction", direction)):
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise errors.ModelError(
                    f"the {name} of a port on body {port.body!r} is {vector}; give three finite "
                    "numbers"
                )
        if not direction.any():
            raise errors.ModelError(
                f"the direction of a port on body {port.body!r} is zero; give a unit vector"
            )
        arm = point - self.system.center_of_mass[i]
        along = body_rotations(self.state)[i].T @ direction
        row[i] = np.concatenate([np.cross(arm, along), along])

    def state_space(self, inputs: Sequence[Port], outputs: Sequence[Port]) -> StateSpace:
        """Return the minimal form x = (z, dz/dt) of small deviations from a motion, or from rest.

        Deviations q, twists in body coordinates, are N z of `allowed_motions`, z = P q with
        P = (N'M N)^-1 N'M constant in body coordinates; so A and B are of this instant of a motion,
        and constant if it is steady. With dq/dt = dv - v x q, and W q the derivative of A v in q,

            A dv = -W q = (A (v x q) - D_r q) / 2,   d2z/dt2 = P (da - a x q - v x dq/dt),
            P da = (N'M N)^-1 N' (B u - K q - D dv).

        D_r q = W q + (dA/dt) q by the product rule; as A is the derivative of the constraint
        errors, their second derivatives commute up to the Lie bracket, (dA/dt) q = W q + A (v x q).

        Parameters
        ----------
        inputs, outputs : sequence of JointCoordinate, BodyPoint or str
            Efforts [N m, N] and forces [N]; coordinates [rad, m] and displacements [m], both as
            differences from the motion.

        Raises
        ------
        ModelError
            If joints or bodies are not there, or there are too many freedoms.
        """
        N = self.allowed_motions()
        n, factor = N.shape[1], cho_factor(N.T @ (self.mass @ N))
        P = cho_solve(factor, (self.mass @ N).T)
        crossed, dv = self._crossed(self.state.velocity, N), self._velocity_changes(N, P)
        force = N.T @ (self.stiffness @ N + self.damping @ dv)
        by_z = cho_solve(factor, force) + P @ (
            self._crossed(self.acceleration, N) + self._crossed(self.state.velocity, dv - crossed)
        )
        by_rate = cho_solve(factor, N.T @ (self.damping @ N)) + P @ crossed
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-by_z, -by_rate]])
        B = cho_solve(factor, N.T @ self.port_rows(inputs).T.toarray())
        C = np.hstack([self.port_rows(outputs) @ N, np.zeros((len(outputs), n))])
        return StateSpace(A, np.vstack([np.zeros_like(B), B]), C, np.zeros((len(C), B.shape[1])))

    def _velocity_changes(self, N: FloatArray, P: FloatArray) -> FloatArray:
        """Return the derivative (6n, n_freedoms) of dv in z at dz/dt = P (dv - v x N z) = 0."""
        velocity, rows = self.state.velocity, self.rows[self.independent_rows]
        crossed = self._crossed(velocity, N)
        if not velocity.any():
            return crossed
        change = (rows @ crossed - self.row_damping[self.independent_rows] @ N) / 2.0
        root = 1.0 / np.sqrt(self.mass.diagonal())
        particular = root[:, None] * lstsq(rows.multiply(root).toarray(), change)[0]
        return np.asarray(particular + N @ (P @ (crossed - particular)))

    def _crossed(self, velocity: FloatArray, x: FloatArray) -> FloatArray:
        """Return v x m of velocities (n_bodies, 6) and motions (6n, k)."""
        motions = x.reshape(len(velocity), 6, -1)
        return np.asarray(motion_cross(velocity) @ motions).reshape(x.shape)

    def allowed_motions(self) -> FloatArray:
        """Return a dense basis N (6n, n_freedoms) of A q = 0, N' diag(M) N = 1."""
        if self.mass.shape[0] > _MOST_VELOCITIES:
            raise errors.ModelError(
                f"a minimal form is dense: {self.system.n_bodies} bodies have more than "
                f"{_MOST_VELOCITIES} velocities; use the sparse M, D, K and A"
            )
        root = 1.0 / np.sqrt(self.mass.diagonal())
        rows = self.rows[self.independent_rows].multiply(root)
        return np.asarray(root[:, None] * null_space(rows.toarray()))

    @cached_property
    def applied(self) -> FloatArray:
        """(n_bodies, 6) all loads of the motion, weights included, in body coordinates."""
        return SystemMotion(self.system, self.state).applied


def linearize(
    system: System, state: State | None = None, *, body_force: FloatArray | None = None
) -> Linearization:
    """Return the linearized equations of motion about a state.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        At rest or in motion; default: the consistent initial state.
    body_force : (n_bodies, 6) float array, optional
        Additional wrenches about the centers of mass in body axes, moment first [N m, N].

    Returns
    -------
    Linearization
        Sparse M, D, K and A in twists of the bodies in body coordinates, and `state_space`.
    """
    return Linearization.at(
        system, consistent_state(system) if state is None else state, body_force
    )
