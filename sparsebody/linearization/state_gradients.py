"""Adjoints of accelerations and projections; x_bar is the gradient in x.

With the factors of [M A'; A 0] at a state, [M A'; A 0] [p; pi] = [g; 0] turns a gradient g

- in accelerations, M a + v x* M v - f - A' lambda = 0 and A a = gamma, into weights -p and -pi of
  changes of these equations;
- in a velocity v projected from v_o, M (v - v_o) + A' nu = 0 and A v = k, into the gradient M p in
  v_o, and the gradients of -pi' A v and -p' (M (v - v_o) + A' nu) in the pose and the inertias.

A pose q = q_o exp(t(f)), f = A_f' mu, that closes its joints, delta(q) = 0, has E dq = 0, E the
Jacobian of delta, and dq = Ad^-1 dq_o + B dt. A gradient g in its twist becomes the gradient

    p = (dt/df)' B' (g - E' kappa) in f,  kappa such that A_f p = 0,

and g - E' kappa, in the coordinates at q_o, in q_o.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from sparsebody._core import linearization as native
from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import Evaluator, KrylovEvaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import SimulationError, SingularSystemError
from sparsebody.linearization.derivatives import GEOMETRY, Residuals, shapes_of
from sparsebody.model.system import State
from sparsebody.simulation.stabilization import largest
from sparsebody.simulation.stepping import Problem
from sparsebody.sparse.saddle import Product

_NOTHING = np.zeros(0)
# Residuals of iterations, relative: sought, rounding if they no longer shrink, and too large
_SOLVED, _STALLED, _UNSOLVED = 1e-12, 1e-9, 1e-8
_MOST_ITERATIONS = 60
_STALL_RATE = 0.5  # residuals that shrink more slowly than this no longer do
_ROUNDING = 1e-9  # of gradients, relative to the largest of all


class StateGradient(NamedTuple):
    """Gradients (n_bodies, 6) in twists, velocities and accelerations, accumulated in place."""

    twist: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    @classmethod
    def zero(cls, n_bodies: int) -> StateGradient:
        """Return zeros."""
        return cls(*np.zeros((3, n_bodies, 6)))


class Displacement(NamedTuple):
    """The twists t = (w, u) from poses to others, x += R u and q <- q exp(w)."""

    twist: FloatArray  # (n_bodies, 6)
    transposed_jacobian: FloatArray  # (n_bodies, 6, 6) B', B the Jacobian of the end in them

    @classmethod
    def between(cls, start: State, end: State) -> Displacement:
        """Return the displacements from the poses of one state to those of another."""
        poses = ((state.position, state.orientation) for state in (start, end))
        return cls(*native.displacements(*poses))

    def to_start(self, force: FloatArray) -> FloatArray:
        """Return moments and forces (n_bodies, 6) in the axes of the start."""
        turn = self.transposed_jacobian[:, 3:, 3:]
        return (force.reshape(-1, 2, 3) @ np.swapaxes(turn, 1, 2)).reshape(-1, 6)

    def to_end(self, force: FloatArray) -> FloatArray:
        """Return moments and forces (n_bodies, 6) in the axes of the end."""
        return (force.reshape(-1, 2, 3) @ self.transposed_jacobian[:, 3:, 3:]).reshape(-1, 6)


Solution = tuple[FloatArray, FloatArray]  # (n_bodies, 6) and (n_rows,): accelerations, multipliers


class LinearDynamics:
    """[M A'; A 0] with the factors of a ForwardDynamics, at the state moved to last."""

    has_other_multipliers = False  # than those of the motion

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
        here, self._state = self._state, state
        if not (
            np.array_equal(state.position, here.position)
            and np.array_equal(state.orientation, here.orientation)
        ):
            self._assembly = None

    def accelerations(self, force: FloatArray | None) -> Solution:
        """Return accelerations and multipliers at the state."""
        acceleration, multiplier = np.empty(self._shape), np.zeros(self._n_rows)
        self.dynamics.run(
            lambda solver: solver.accelerate(self._state, force, _NOTHING, acceleration, multiplier)
        )
        self._assembly = self.dynamics.evaluator.assembler.assembly
        return acceleration, multiplier

    def solve(self, force: FloatArray, size: float, row: FloatArray | None = None) -> Solution:
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

    def put_in_plane(self, motion: FloatArray) -> None:
        """Project motions or forces (n, 6) onto the plane of a planar mechanism, in place."""
        normal = self.dynamics.evaluator.assembler.normal
        if normal is not None:
            angular, linear = motion[:, :3], motion[:, 3:]
            angular[:] = normal * np.einsum("ni,ni->n", normal, angular)[:, None]
            linear -= normal * np.einsum("ni,ni->n", normal, linear)[:, None]


class Adjoint:
    """Gradients in the parameters of a motion, accumulated backwards in time.

    Each method adds the gradients of the equations that it takes the adjoint of; those by the
    geometry of joints only `with_geometry`.
    """

    def __init__(self, problem: Problem, with_geometry: bool = False) -> None:
        system = self.system = problem.system
        self.control, self.with_geometry = problem.control, with_geometry
        self.add_force_gradient: Callable[[float, FloatArray], None] = lambda time, gradient: None
        shapes = shapes_of(system)
        missing = () if with_geometry else GEOMETRY
        for name in ("position", "velocity", "prescribed_acceleration", *missing):
            del shapes[name]
        self.by_parameters = {name: np.zeros(shape) for name, shape in shapes.items()}
        self._sums = [(name, total) for name, total in self.by_parameters.items() if total.size]
        self.size = 0.0  # of the largest gradient in a state
        self._momentum_size = float(system.mass.max()) * system.typical_length  # of twists

    def run(self, gradient_at: Callable[[float], StateGradient | None]) -> StateGradient:
        """Return the gradient in the first state, given those in the states at all times."""
        raise NotImplementedError

    def linear(self, dynamics: ForwardDynamics) -> LinearDynamics:
        """Return [M A'; A 0] of dynamics, with all freedoms if frames may leave their subgroups."""
        if not self.with_geometry or not (dynamics.is_planar or dynamics.reduced_bodies):
            return LinearDynamics(dynamics)
        linear = LinearDynamics(dynamics.unreduced)
        linear.has_other_multipliers = True
        return linear

    def add(self, g: StateGradient, other: StateGradient | None) -> None:
        """Add the gradient of the objective in a state, if it depends on that."""
        if other is not None:
            for part, added in zip(g, other, strict=True):
                part += added
        self.size = max(self.size, *map(largest, g))

    def accelerated(
        self, at: LinearDynamics, state: State, g: StateGradient, motion: Solution
    ) -> None:
        """Add gradients in the accelerations at a state to those in the state and parameters.

        `motion` are these accelerations and their multipliers.
        """
        if at.has_other_multipliers:
            motion = at.accelerations(self.force(state))
        y, z = at.solve(g.acceleration, self.size)
        vjp = self.residuals(state, *motion).vjp(-y, -z)
        g.twist[:] += vjp["position"]
        g.velocity[:] += vjp["velocity"]
        self.add_parameters(state.time, vjp)

    def residuals(self, state: State, a: FloatArray, lam: FloatArray) -> Residuals:
        """Return the residuals of a motion, with gradients in all parameters."""
        return Residuals(self.system, state, a, lam, self.with_geometry)

    def add_parameters(self, time: float, vjp: Mapping[str, FloatArray]) -> None:
        """Add gradients in parameters, of which wrenches are those at a time."""
        for name, total in self._sums:
            total += vjp[name]
        self.add_force_gradient(time, vjp["force"])

    def force(self, state: State) -> FloatArray | None:
        """Return the wrenches of the control."""
        return None if self.control is None else self.control(state.time, state)

    def consistent(self, at: LinearDynamics, state: State, g: StateGradient) -> Solution:
        """Turn the gradient in a consistent state into that in the state before its projection.

        The projection moves along M^-1 A'. Returns p of the velocity and of the pose.
        """
        velocity_bar, pi = at.solve(g.velocity, self.size)
        g.twist[:] += self.of_rows(state, -pi, state.velocity)
        g.velocity[:] = self.momenta(velocity_bar)
        pose_bar, pi = at.solve(g.twist, self.size)
        if self.with_geometry:
            self.errors_vjp(self.rows_at(state, np.zeros_like(pose_bar)), -pi)
        g.twist[:] = self.momenta(pose_bar)
        return velocity_bar, pose_bar

    def closing(
        self,
        at: LinearDynamics,
        factors: State,
        rows: Residuals,
        constant: FloatArray,
        back: FloatArray,
        g: FloatArray,
        scale: float,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return p = constant + back (g - E' kappa) with A_f p = 0, g - E' kappa, and kappa.

        A_f are rows at the pose of `factors`, E the closed ones of `rows`; `back` (n_bodies, 6,
        6) is (dt/df)' B', about `scale` M^-1. With M^-1 itself the same holds of velocities.
        """
        system, zero = self.system, np.zeros_like(g)
        at.move_to(factors)
        at_rest = constraint_errors(system, factors.with_(velocity=zero))[1]

        def multipliers(p: FloatArray) -> FloatArray:
            """Return those whose forces times M^-1 change A_f v as p does."""
            rate = constraint_errors(system, factors.with_(velocity=p))[1] - at_rest
            return at.solve(zero, self.size, -rate)[1] / scale

        def forces(kappa: FloatArray) -> FloatArray:
            rows.native.add_row_forces(np.ascontiguousarray(kappa), out := np.zeros_like(g))
            return out

        def effect(kappa: FloatArray) -> FloatArray:
            return product(back, forces(kappa))

        p = constant + product(back, g)
        right = multipliers(p)
        share = largest(effect(right)) / (largest(p) or 1.0)
        kappa = solve_near_identity(lambda kappa: multipliers(effect(kappa)), right, share=share)
        remaining = g - forces(kappa)
        at.put_in_plane(remaining)
        return constant + product(back, remaining), remaining, kappa

    def add_wrench(self, v: FloatArray, a: FloatArray, y: FloatArray, g: StateGradient) -> None:
        """Add the gradients of y' (M a + v x* M v)."""
        across = simulation.cross_products(v, y)
        g.acceleration[:] += self.momenta(y)
        g.velocity[:] -= force_cross(y, self.momenta(v))
        g.velocity[:] -= self.momenta(across)
        self.add_inertial(-y, a)
        self.add_inertial(across, v)

    def of_factors(
        self, at: LinearDynamics, state: State, change: FloatArray, p: FloatArray
    ) -> FloatArray:
        """Add gradients in inertias, and return that in the pose, of -p' (M change + A' nu)."""
        nu = at.solve(-self.momenta(change), self._momentum_size)[1]
        self.add_inertial(p, change)
        return self.of_rows(state, -nu, p)

    def momenta(self, velocity: FloatArray) -> FloatArray:
        """Return M velocity (n_bodies, 6)."""
        inertias = np.ascontiguousarray(self.system.mass), np.ascontiguousarray(self.system.inertia)
        return native.momenta(*inertias, np.ascontiguousarray(velocity))

    def add_inertial(self, p: FloatArray, change: FloatArray) -> None:
        """Add the gradients of -p' M change in masses and inertias."""
        of = self.by_parameters["mass"], self.by_parameters["inertia"]
        native.add_inertial_gradients(p, np.ascontiguousarray(change), *of)

    def rows_at(self, state: State, motion: FloatArray) -> Residuals:
        """Return residuals of which u . r is u' A motion."""
        at_rest = state.with_(velocity=np.zeros_like(motion))
        return self.residuals(at_rest, motion, np.zeros(self.system.n_rows))

    def of_rows(self, state: State, multiplier: FloatArray, motion: FloatArray) -> FloatArray:
        """Return the gradient (n_bodies, 6) of multiplier' A motion by twists."""
        return self.rows_vjp(self.rows_at(state, motion), multiplier)

    def rows_vjp(self, rows: Residuals, multiplier: FloatArray) -> FloatArray:
        """Return the gradient of multiplier' A motion in twists, and add those in geometry."""
        vjp = rows.vjp(np.zeros((self.system.n_bodies, 6)), multiplier)
        self._add_geometry(vjp)
        return vjp["position"]

    def errors_vjp(self, rows: Residuals, multiplier: FloatArray) -> None:
        """Add the gradients in geometry of multiplier' delta, of closed joints, of `rows_at`."""
        if self.with_geometry:
            self._add_geometry(rows.error_vjp(multiplier))

    def _add_geometry(self, vjp: Mapping[str, FloatArray]) -> None:
        for name in GEOMETRY if self.with_geometry else ():
            self.by_parameters[name] += vjp[name]


def solve_near_identity(
    product: Product, right: FloatArray, effect: Product = np.copy, share: float = 1.0
) -> FloatArray:
    """Return x of a linear equation whose matrix, given by its products, is near 1.

    By generalized conjugate residuals: the norm that decreases is that of `effect`, a linear map of
    the residual, in which alone the caller is interested. They end where that is rounding beside a
    quantity of which the effect of x is the part `share`. Eisenstat, Elman and Schultz (1983), SIAM
    J. Numer. Anal. 20:345.
    """
    x, residual, remaining = np.zeros_like(right), right.copy(), effect(right)
    directions = list[tuple[FloatArray, FloatArray, FloatArray]]()
    size = first = float(np.linalg.norm(remaining))
    while size * share > _SOLVED * first and len(directions) < _MOST_ITERATIONS:
        image = product(residual)
        new = residual.copy(), image, effect(image)
        for other in directions:
            along = np.vdot(other[2], new[2])
            for part, of_other in zip(new, other, strict=True):
                part -= along * of_other
        length = float(np.linalg.norm(new[2])) or 1.0
        step = np.vdot(new[2], remaining) / length**2
        for total, part, sign in zip((x, residual, remaining), new, (1.0, -1.0, -1.0), strict=True):
            total += sign * step * part
            part /= length
        directions.append(new)
        last, size = size, float(np.linalg.norm(remaining))
        if size * share <= _STALLED * first and size > _STALL_RATE * last:
            break
    if not size * share <= _UNSOLVED * first:
        raise SimulationError("iterations for a gradient do not converge; take smaller steps")
    return x


def product(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the products (n, 6) of matrices (n, 6, 6) and vectors (n, 6)."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def transported(start: State, end: State, force: FloatArray) -> FloatArray:
    """Return forces (n, 6) in the coordinates of bodies at the end in those at the start."""
    first, last = ((state.position, state.orientation) for state in (start, end))
    return native.transported_forces(first, last, force)


def force_cross(v: FloatArray, f: FloatArray) -> FloatArray:
    """Return v x* f (n, 6). Featherstone (2008), eq. (2.34)."""
    return native.force_cross(np.ascontiguousarray(v), np.ascontiguousarray(f))
