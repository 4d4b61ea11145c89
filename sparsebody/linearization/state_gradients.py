"""Adjoints of accelerations and projections: gradients by states, turned into earlier ones.

With the factors of [M A'; A 0] at a state, [M A'; A 0] [p; pi] = [g; 0] turns a gradient g

- by accelerations, M a + v x* M v - f - A' lambda = 0 and A a = gamma, into weights -p and -pi of
  changes of these equations;
- by a velocity v projected from v_o, M (v - v_o) + A' nu = 0 and A v = k, into the gradient M p by
  v_o, and the gradients of -pi' A v and -p' (M (v - v_o) + A' nu) by the pose and the inertias; by
  a projected pose likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from sparsebody._core import linearization as native
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import Evaluator, KrylovEvaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import SimulationError, SingularSystemError
from sparsebody.linearization.derivatives import GEOMETRY, Residuals, shapes_of
from sparsebody.model.system import State, System
from sparsebody.simulation.callbacks import Control
from sparsebody.simulation.stabilization import largest

_NOTHING = np.zeros(0)
_ROUNDING = 1e-9  # of gradients, relative to the largest of all
_DIAGONAL, _FIRST, _SECOND = [0, 1, 2], [0, 0, 1], [1, 2, 2]  # xx yy zz, then xy xz yz


class StateGradient(NamedTuple):
    """Gradients (n_bodies, 6) by twists, velocities and accelerations, accumulated in place."""

    twist: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    @classmethod
    def zero(cls, n_bodies: int) -> StateGradient:
        """Return zeros."""
        return cls(*np.zeros((3, n_bodies, 6)))


class LinearDynamics:
    """[M A'; A 0] with the factors of a ForwardDynamics, at the state moved to last."""

    def __init__(self, dynamics: ForwardDynamics) -> None:
        self.dynamics, n = dynamics, dynamics.system.n_bodies
        self._shape, self._n_rows = (n, 6), dynamics.system.n_rows
        self._state = dynamics.system.initial_state
        self._assembler: object = None
        self._assembly: object = None  # of the state
        self._axes = np.zeros((0, 0, 0))

    def move_to(self, state: State) -> None:
        """Solve by the factors at a state from here on."""
        if isinstance(self.dynamics.evaluator, KrylovEvaluator):
            raise SimulationError(
                f"at t = {state.time:.6g} s it is in doubt which constraint rows are dependent, "
                "and there are no factors for a gradient; begin at another pose"
            )
        if state is not self._state:
            self._state, self._assembly = state, None

    def accelerations(self, force: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return accelerations and multipliers at the state."""
        acceleration, multiplier = np.empty(self._shape), np.zeros(self._n_rows)
        self.dynamics.run(
            lambda solver: solver.accelerate(self._state, force, _NOTHING, acceleration, multiplier)
        )
        self._assembly = self.dynamics.evaluator.assembler.assembly
        return acceleration, multiplier

    def solve(
        self, force: FloatArray, size: float, row: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return p (n_bodies, 6) and pi (n_rows,) of [M A'; A 0] [p; pi] = [force; row].

        Zeros where the matrix is singular and `force` is a rounding error, relative to `size`.
        `row` is zero by default.
        """
        twist, dual = np.zeros(self._shape), np.zeros(self._n_rows)
        try:
            self.dynamics.run(lambda solver: self._solve(solver, force, row))
        except SingularSystemError:
            if not largest(force) <= _ROUNDING * size:
                raise  # else rounding errors, all there is in a mechanism without freedoms
            return twist, dual
        self.dynamics.evaluator.assembler.native.to_user_order(twist, dual)
        return twist, np.negative(dual, out=dual)

    def solve_across(
        self, force: FloatArray, size: float, other: State | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return p and pi of [M A'; A_o 0] [p; pi] = [force; 0], A_o of another pose near by.

        By two corrections with the factors at the state: the error is of third order in distance.
        """
        p, pi = self.solve(force, size)
        if other is None:
            return p, pi
        system, still = self.dynamics.system, np.zeros(self._shape)
        offset = constraint_errors(system, other.with_(velocity=still))[1]
        for _ in range(2):
            rate = constraint_errors(system, other.with_(velocity=p))[1] - offset
            change, multiplier = self.solve(still, size, -rate)
            p, pi = p + change, pi + multiplier
        return p, pi

    def _solve(self, solver: Evaluator, force: FloatArray, row: FloatArray | None) -> None:
        assembler = solver.assembler
        if assembler.assembly is not self._assembly:
            assembler.assemble(self._state, None, _NOTHING)
            self._assembly = assembler.assembly
        if assembler is not self._assembler:
            self._assembler, self._axes = assembler, assembler.unit_axes()
        right = np.zeros(len(assembler.right))
        free = right[: right.size - len(assembler.rows)].reshape(len(force), assembler.width)
        np.einsum("nia,na->ni", self._axes, force[assembler.bodies], out=free)
        if row is not None:
            right[right.size - len(assembler.rows) :] = row[assembler.rows]
        solver.solve(right, self._state.time)


class Adjoint:
    """Gradients by the parameters of a motion, accumulated backwards in time.

    By the geometry of joints, where it is asked for, as by others: each function below adds those of
    what it turns back.
    """

    def __init__(
        self, system: System, control: Control | None, with_geometry: bool = False
    ) -> None:
        self.system, self.control, self.with_geometry = system, control, with_geometry
        self.add_force_gradient: Callable[[float, FloatArray], None] = lambda time, gradient: None
        shapes = shapes_of(system)
        missing = () if with_geometry else GEOMETRY
        for name in ("position", "velocity", "prescribed_acceleration", *missing):
            del shapes[name]
        self.by_parameters = {name: np.zeros(shape) for name, shape in shapes.items()}
        self._sums = [(name, total) for name, total in self.by_parameters.items() if total.size]
        self.size = 0.0  # of the largest gradient by a state
        self._momentum_size = float(system.mass.max()) * system.typical_length  # of twists

    def run(self, gradient_at: Callable[[float], StateGradient | None]) -> StateGradient:
        """Return the gradient by the first state, given those by the states at all times."""
        raise NotImplementedError

    def linear(self, dynamics: ForwardDynamics) -> LinearDynamics:
        """Return that of dynamics, with all freedoms if frames may leave the bodies' subgroups."""
        is_reduced = self.with_geometry and (dynamics.is_planar or dynamics.reduced_bodies)
        return LinearDynamics(dynamics.unreduced if is_reduced else dynamics)

    def add(self, g: StateGradient, other: StateGradient | None) -> None:
        """Add the gradient of the objective by a state, if it depends on that."""
        if other is not None:
            for part, added in zip(g, other, strict=True):
                part += added
        self.size = max(self.size, *map(largest, g))

    def accelerated(
        self,
        at: LinearDynamics,
        state: State,
        g: StateGradient,
        motion: tuple[FloatArray, FloatArray],
    ) -> None:
        """Add gradients by the accelerations at a state to those by the state and parameters.

        `motion` are these accelerations and their multipliers.
        """
        y, z = at.solve(g.acceleration, self.size)
        by = self.residuals(state, *motion).vjp(-y, -z)
        g.twist[:] += by["position"]
        g.velocity[:] += by["velocity"]
        self.add_parameters(state.time, by)

    def residuals(
        self, state: State, acceleration: FloatArray, multiplier: FloatArray
    ) -> Residuals:
        """Return the residuals of a motion, with gradients by all parameters."""
        return Residuals(self.system, state, acceleration, multiplier, self.with_geometry)

    def add_parameters(self, time: float, by: Mapping[str, FloatArray]) -> None:
        """Add gradients by parameters, of which wrenches are those at a time."""
        for name, total in self._sums:
            total += by[name]
        self.add_force_gradient(time, by["force"])

    def force(self, state: State) -> FloatArray | None:
        """Return the wrenches of the control."""
        return None if self.control is None else self.control(state.time, state)

    def consistent(
        self, at: LinearDynamics, state: State, g: StateGradient, factors: State | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Turn the gradient by a consistent state into that by the state before its projection.

        The projection moves along M^-1 A_f', with the rows at the pose of `factors` if it is given.
        Returns p of the velocity and of the pose.
        """
        by_velocity, pi = at.solve_across(g.velocity, self.size, factors)
        g.twist[:] += self.of_rows(state, -pi, state.velocity)
        by_pose, pi = at.solve_across(g.twist, self.size, factors)
        self.add_errors(state, -pi)
        g.velocity[:] = momenta(self.system, by_velocity)
        g.twist[:] = momenta(self.system, by_pose)
        return by_velocity, by_pose

    def of_factors(
        self, at: LinearDynamics, state: State, change: FloatArray, p: FloatArray
    ) -> FloatArray:
        """Add gradients by inertias, and return that by the pose, of -p' (M change + A' nu)."""
        nu = at.solve(-momenta(self.system, change), self._momentum_size)[1]
        self.add_inertial(p, change)
        return self.of_rows(state, -nu, p)

    def add_inertial(self, p: FloatArray, change: FloatArray) -> None:
        """Add the gradients of -p' M change by masses and inertias."""
        both, parameters = p[:, :3, None] * change[:, None, :3], self.by_parameters
        parameters["mass"] -= np.einsum("ni,ni->n", p[:, 3:], change[:, 3:])
        parameters["inertia"][:, :3] -= both[:, _DIAGONAL, _DIAGONAL]
        parameters["inertia"][:, 3:] -= both[:, _FIRST, _SECOND] + both[:, _SECOND, _FIRST]

    def of_rows(self, state: State, multiplier: FloatArray, motion: FloatArray) -> FloatArray:
        """Return the gradient (n_bodies, 6) of multiplier' A motion by twists."""
        still = np.zeros_like(motion)
        at = state.with_(velocity=still), motion, np.zeros(self.system.n_rows)
        by = self.residuals(*at).vjp(still, multiplier)
        self._add_geometry(by)
        return by["position"]

    def add_errors(self, state: State, multiplier: FloatArray) -> None:
        """Add the gradients by geometry of multiplier' delta, of closed joints."""
        if self.with_geometry:
            still = np.zeros_like(state.velocity)
            at = self.residuals(state, still, np.zeros(self.system.n_rows))
            self._add_geometry(at.error_vjp(multiplier))

    def _add_geometry(self, by: Mapping[str, FloatArray]) -> None:
        for name in GEOMETRY if self.with_geometry else ():
            self.by_parameters[name] += by[name]


def momenta(system: System, velocity: FloatArray) -> FloatArray:
    """Return M velocity (n_bodies, 6)."""
    mass, inertia = np.ascontiguousarray(system.mass), np.ascontiguousarray(system.inertia)
    return native.momenta(mass, inertia, np.ascontiguousarray(velocity))


def force_cross(v: FloatArray, f: FloatArray) -> FloatArray:
    """Return v x* f (n, 6). Featherstone (2008), eq. (2.34)."""
    return native.force_cross(np.ascontiguousarray(v), np.ascontiguousarray(f))
