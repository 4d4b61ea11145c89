"""Collocation on SE(3) with joints closed in positions and velocities: index 2, stabilized.

    q = q_0 exp(y),  T(y) dy/dt = v - x,  M dv/dt + v x* M v - f + A' lambda = 0,
    delta(q) = 0,  A v = k,  J x + A' mu = 0,

with polynomials y and v that meet this at the nodes. x is zero but for the error of the method, and
J of Newton's matrix is as good a metric for it as M. So poses and velocities are of the order of
the method, 2 s - 1 for Radau IIA, and multipliers of order s.

References
----------
Gear, Leimkuhler and Gupta (1985), J. Comput. Appl. Math. 12:77; Hairer and Wanner (1996), Solving
Ordinary Differential Equations II, sec. IV.8 and VII.4; Iserles et al. (2000), Acta Numer. 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsebody._core import simulation as native
from sparsebody.arrays import FloatArray
from sparsebody.errors import SimulationError
from sparsebody.model.system import State, System
from sparsebody.simulation.control import Control
from sparsebody.simulation.implicit.compliance import uniform_compliance
from sparsebody.simulation.implicit.stage_matrix import StageMatrix, coupled_solve
from sparsebody.simulation.implicit.start import row_motion
from sparsebody.simulation.implicit.step_equations import StepEquations
from sparsebody.simulation.integrators.base import Collocation, LocalError

# Contractions up to which factors are reused, and beyond which a step is given up.
_FAST, _SLOW = 0.05, 0.8
_ROUNDING = 1e-11  # of lengths: slow convergence of smaller corrections is rounding
_COUPLED_ROUNDING = 1e-8  # likewise at singular poses
_MOST_ITERATIONS = 20
_MOST_COUPLED = 6  # steps, after which forces may be stiff rather than poses singular
_FARTHEST = 0.3  # largest correction, in lengths of the mechanism
_INSTANT = 1e-8  # [s]
_MOST_REFINEMENTS, _REFINED = 10, 1e-14  # of accelerations, and the change of them that ends it


@dataclass(frozen=True, eq=False)
class Polynomials:
    """The newest step, as its values at the nodes."""

    start: State
    h: float  # [s]
    displacement: FloatArray  # (s, n_bodies, 6) y
    velocity: FloatArray  # (s + 1, n_bodies, 6) v, that at the start first
    multiplier: FloatArray  # (s, n_rows)


@dataclass(frozen=True, eq=False)
class CollocationState:
    """The state at the end of a step, with the quantities that the next step starts from."""

    state: State
    acceleration: FloatArray  # (n_bodies, 6) dv/dt
    multiplier: FloatArray  # (n_rows,)
    step: Polynomials | None  # by which the state was reached


class CollocationSteps:
    """Steps of a collocation method, with Newton's `matrix`; row sizes are those at `state`."""

    def __init__(
        self,
        system: System,
        state: State,
        scheme: Collocation,
        matrix: StageMatrix,
        control: Control | None,
    ) -> None:
        self._system, self._scheme, self._matrix = system, scheme, matrix
        none = uniform_compliance(system, state, 0.0)
        self._stages = [StepEquations(system, none, control) for _ in scheme.node]
        self._n_joint_rows = system.n_rows
        self.is_whole = len(system.elastic) > 0  # each of Newton's matrices has its factors
        self.point: CollocationState | None = None  # where they were made, with `point_step`
        self.point_step, self.contraction = 0.0, 1.0
        self.n_coupled = 0  # steps in a row that did not do without the matrix of all stages
        self.n_iterations, self.n_factorizations = 0, 0
        self.error: LocalError | None = None
        self._noise = 0.0  # [m] what rounding leaves of Newton's corrections

    def step(
        self, now: CollocationState, h: float, time: float, accuracy: tuple[float, float]
    ) -> CollocationState:
        """Return the state after a step of `h` [s], at `time`.

        Newton's method ends at errors of poses and velocities [m, m/s] smaller than `accuracy`.
        Raises SimulationError if it does not converge.
        """
        if not h > 0.0:
            raise SimulationError("steps have become too short")
        self._begin(now, h, time)
        limit = min(accuracy[0], h * accuracy[1])
        for is_coupled in self._attempts(now, h):
            Y, L = self._predicted(now, h)
            X = np.zeros_like(Y)
            try:
                V, A = self._newton(now, h, Y, L, X, limit, is_coupled)
                break
            except SimulationError as error:
                failure = error
        else:
            self.point_step = 0.0
            raise failure
        self.n_coupled *= is_coupled
        self._set_error(now, h, Y, V)
        L = np.array([self._matrix.shortest(of_stage) for of_stage in L])
        state = self._stages[-1].state()
        step = Polynomials(now.state, h, Y, np.concatenate([now.state.velocity[None], V]), L)
        return CollocationState(state.with_(velocity=V[-1]), A[-1], L[-1], step)

    def factorize_within(self, now: CollocationState, h: float) -> None:
        """Make the factors at about the middle of a step, as predicted."""
        Y, L = self._predicted(now, h)
        k = int(np.argmin(np.abs(self._scheme.node - 0.5)))
        V, _ = self._velocities(now, h, Y, np.zeros_like(Y))
        stage = self._stages[k]
        stage.displacement[:], stage.velocity[:] = Y[k], V[k]
        stage.native.evaluate()
        self.factorize(CollocationState(stage.state(), now.acceleration, L[k], None), h)

    def factorize(self, at: CollocationState, h: float) -> None:
        """Make the factors at a state."""
        self._matrix.factorize(at.state, at.multiplier, h, self.is_whole)
        self.point, self.point_step = at, h
        self.n_factorizations += 1

    # ---- one step -----------------------------------------------------------------------------

    def _attempts(self, now: CollocationState, h: float) -> Iterator[bool]:
        """Factorize more and more exactly; yield whether all stages are to be coupled."""
        if self.point_step == h and self.contraction <= _FAST:
            yield False
        self.factorize_within(now, h)
        yield False
        self.n_coupled += 1
        if self.n_coupled > _MOST_COUPLED and not self.is_whole:
            self.is_whole = True
            self.factorize_within(now, h)
            yield False
            self.is_whole = False
            self.factorize_within(now, h)
        yield True

    def _begin(self, now: CollocationState, h: float, time: float) -> None:
        self._rates = []
        for node, stage in zip(self._scheme.node, self._stages, strict=True):
            at = time if node == 1.0 else now.state.time + node * h
            stage.start_from(now.state, at)
            self._rates.append(stage.prescribed_rates())

    def _predicted(self, now: CollocationState, h: float) -> tuple[FloatArray, FloatArray]:
        """Return displacements and multipliers at the nodes, extrapolated from the newest step."""
        node, last = self._scheme.node, now.step
        if last is None:
            V = now.state.velocity + (h * node)[:, None, None] * now.acceleration
            L = np.tile(now.multiplier, (len(node), 1))
        else:
            at = 1.0 + node * h / last.h
            V = np.array([self._mix(last.velocity, t, True) for t in at])
            L = np.array([self._mix(last.multiplier, t, False) for t in at])
        tableau = h * self._scheme.tableau
        Y = _each(tableau, V)
        return _each(tableau, self._apply(native.inverse_tangent_products, Y, V)), L

    def _mix(self, values: FloatArray, at: float, with_start: bool) -> FloatArray:
        return np.asarray(np.tensordot(self._scheme.weights(at, with_start), values, 1))

    def _apply(self, product: object, Y: FloatArray, V: FloatArray) -> FloatArray:
        shape = Y.shape
        return product(Y.reshape(-1, 6), np.ascontiguousarray(V).reshape(-1, 6)).reshape(shape)  # type: ignore[operator]

    def _velocities(
        self, now: CollocationState, h: float, Y: FloatArray, X: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return v and dv/dt at the nodes."""
        W = self._scheme.rates / h
        V = self._apply(native.tangent_products, Y, _each(W, Y)) + X
        return V, _each(W, V - now.state.velocity)

    def _newton(
        self,
        now: CollocationState,
        h: float,
        Y: FloatArray,
        L: FloatArray,
        X: FloatArray,
        accuracy: float,
        is_coupled: bool,
    ) -> tuple[FloatArray, FloatArray]:
        """Iterate on displacements, multipliers and corrections of velocities, in place."""
        size, contraction, self._noise = 0.0, 0.0, 0.0
        rounding = (_COUPLED_ROUNDING if is_coupled else _ROUNDING) * self._matrix.length
        for iteration in range(1, _MOST_ITERATIONS + 1):
            self.n_iterations += 1
            V, A = self._velocities(now, h, Y, X)
            force, row, rate = self._residuals(Y, V, A, L)
            if is_coupled:
                twist, multiplier = self._coupled_correction(h, force, row)
                slip = np.zeros_like(X)
            else:
                twist, multiplier, slip = self._correction(h, force, row, rate)
            Y += self._apply(native.inverse_tangent_products, Y, twist)
            L += multiplier
            X += self._slips(now, h, Y, L, X) if is_coupled else slip
            last, size = size, self._matrix.size(twist)
            if not size < _FARTHEST * self._matrix.length:
                raise SimulationError(
                    f"Newton's method goes {size:.1e} m at once; take smaller steps"
                )
            contraction = size / last if last > 0.0 else 0.0
            known = max(contraction, 0.01) if last > 0.0 else 1.0
            if size * known / (1.0 - min(known, 0.9)) < accuracy:
                break
            left = _MOST_ITERATIONS - iteration
            if size < rounding and (contraction > _SLOW or left == 0):
                self._noise = size
                break
            if contraction > _SLOW or size * contraction**left > max(accuracy, rounding):
                raise SimulationError("Newton's method converges slowly; take smaller steps")
        else:
            raise SimulationError(f"Newton's method does not converge (correction {size:.1e} m)")
        self.contraction = contraction
        return self._closed(now, h, Y, L, X)

    def _residuals(
        self, Y: FloatArray, V: FloatArray, A: FloatArray, L: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return those of forces, of positions, and of the velocities of joints."""
        force, row, rate = np.empty_like(Y), np.empty_like(L), np.empty_like(L)
        for k, stage in enumerate(self._stages):
            stage.displacement[:], stage.velocity[:], stage.acceleration[:] = Y[k], V[k], A[k]
            stage.multiplier[:] = L[k]
            stage.evaluate()
            force[k], row[k] = stage.force_residual, stage.row_residual
            stage.native.velocity_errors(self._rates[k], rate[k])
        return force, row, rate

    def _correction(
        self, h: float, force: FloatArray, row: FloatArray, rate: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        s = len(force)
        W = self._scheme.rates / h
        open_rate = rate - _each(W, row)
        open_rate[:, self._n_joint_rows :] = 0.0
        zero = np.zeros(force[0].size)
        slips = [self._matrix.solve(0, zero, of_stage) for of_stage in open_rate]
        slip = np.array([x.reshape(-1, 6) for x, _ in slips])
        values, P, inverse = self._scheme.modes
        twist, multiplier = np.zeros((s, force[0].size)), np.zeros(row.shape)
        flat = force.reshape(s, -1)
        for mode in range(len(values)):
            d, dl = self._matrix.solve(mode, inverse[mode] @ flat, inverse[mode] @ row)
            share = 1.0 if mode == 0 else 2.0
            twist += np.asarray(share * np.outer(P[:, mode], d).real, dtype=float)
            multiplier += np.asarray(share * np.outer(P[:, mode], dl).real, dtype=float)
        push = np.array([mu for _, mu in slips]) / self._matrix.rate**2
        multiplier += _each(W, push)
        return twist.reshape(force.shape), multiplier, slip

    def _coupled_correction(
        self, h: float, force: FloatArray, row: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return twists and multipliers by the matrix of all stages."""
        rhs = -np.concatenate([force.reshape(len(force), -1), row], axis=1)
        compliance = np.append(self._matrix.compliance, np.zeros(row.shape[1] - self._n_joint_rows))
        x = coupled_solve(self._stages, self._scheme.rates / h, compliance, rhs)
        twist, multiplier = np.split(x, [force[0].size], axis=1)
        return twist.reshape(force.shape), multiplier

    def _slips(
        self, now: CollocationState, h: float, Y: FloatArray, L: FloatArray, X: FloatArray
    ) -> FloatArray:
        """Return corrections of velocities by the matrices of the stages themselves."""
        V, A = self._velocities(now, h, Y, X)
        _, _, rate = self._residuals(Y, V, A, L)
        slip = np.empty_like(X)
        for k, stage in enumerate(self._stages):
            self._matrix.factorize(stage.state(), L[k], h, False)
            slip[k] = self._matrix.solve(0, np.zeros(X[k].size), rate[k])[0].reshape(-1, 6)
        return slip

    def _closed(
        self, now: CollocationState, h: float, Y: FloatArray, L: FloatArray, X: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return v and dv/dt at the nodes, with joints closed at the last one once more."""
        V, A = self._velocities(now, h, Y, X)
        end = self._stages[-1]
        end.displacement[:], end.velocity[:], end.acceleration[:] = Y[-1], V[-1], A[-1]
        end.multiplier[:] = L[-1]
        end.evaluate()
        rate = np.empty_like(L[-1])
        end.native.velocity_errors(self._rates[-1], rate)
        V[-1] += self._matrix.solve(0, np.zeros(V[-1].size), rate)[0].reshape(-1, 6)
        return V, A

    def _set_error(self, now: CollocationState, h: float, Y: FloatArray, V: FloatArray) -> None:
        """Hairer and Wanner (1996), (IV.8.20), of poses and velocities.

        Without what rounding, where poses are nearly singular, moves them by.
        """
        e, rate = self._scheme.error / h, self._matrix.rate
        velocity = now.state.velocity + np.tensordot(e, Y, 1)
        acceleration = now.acceleration + np.tensordot(e, V - now.state.velocity, 1)
        rows = np.zeros(self._stages[0].n_rows)
        pose, turning = (
            self._matrix.solve(0, -momentum.ravel(), rows)[0].reshape(-1, 6)
            for momentum in np.einsum(
                "nij,knj->kni",
                self._system.spatial_inertia,
                np.stack([acceleration + rate * velocity, rate * acceleration]),
            )
        )
        parts = np.concatenate([pose.reshape(-1, 2, 3), turning.reshape(-1, 2, 3)], axis=1)
        noise = self._noise * np.array([1.0 / self._matrix.length, 1.0])
        noise = np.concatenate([noise, rate * noise])
        errors = np.sqrt((parts**2).sum(axis=2).max(axis=0)) - noise
        self.error = LocalError(*map(float, errors.clip(0.0)))

    def between(self, step: Polynomials, time: float) -> tuple[State, FloatArray]:
        """Return the state and the multipliers at a time in a step, of its polynomials."""
        at, end = (time - step.start.time) / step.h, self._stages[-1]
        end.start_from(step.start, time)
        displacement = np.concatenate([np.zeros_like(step.displacement[:1]), step.displacement])
        end.displacement[:] = self._mix(displacement, at, True)
        end.velocity[:] = self._mix(step.velocity, at, True)
        end.native.evaluate()
        return end.state(), self._mix(step.multiplier, at, False)

    def accelerations(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return dv/dt and multipliers at a consistent state, refined.

        M dv/dt + A' lambda = f, A dv/dt = gamma, by the matrix of a step in which nothing moves.
        """
        equations, n = self._stages[-1], self._n_joint_rows
        rows = row_motion(self._system, state)
        self._matrix.factorize(state, np.zeros(equations.n_rows), _INSTANT, False)
        self.point_step = 0.0
        equations.start_from(state, state.time)
        equations.displacement[:] = equations.acceleration[:] = 0.0
        equations.velocity[:], equations.multiplier[:n] = state.velocity, 0.0
        equations.multiplier[n:] = rows.error[n:]
        b, opening = self._matrix.rate**2, np.zeros(equations.n_rows)
        for _ in range(_MOST_REFINEMENTS):
            equations.evaluate()
            gap = rows.product(equations.acceleration) - rows.acceleration
            opening[:n] = gap[:n] / b
            x, multiplier = self._matrix.solve(0, equations.force_residual.ravel(), opening)
            equations.acceleration += b * x.real.reshape(-1, 6)
            equations.multiplier[:n] += multiplier.real[:n]
            if b * np.abs(x).max() <= _REFINED * np.abs(equations.acceleration).max():
                break
        return equations.acceleration.copy(), equations.multiplier.copy()


def _each(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return sums of weights (s, s) times values (s, ...) over the nodes."""
    return np.asarray(np.tensordot(weights, values, 1))
