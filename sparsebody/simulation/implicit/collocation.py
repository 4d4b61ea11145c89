"""Collocation on SE(3) with joints closed in positions and velocities: index 2, stabilized.

    q = q_0 exp(y),  T(y) dy/dt = v - x,  M dv/dt + v x* M v - f + A' lambda = 0,
    delta(q) = 0,  A v = k,  J x + A' mu = 0,

with polynomials y and v that meet this at the nodes. x is zero up to the error of the method, and
J of Newton's matrix is as good a metric for it as M. So poses and velocities are of the order of
the method, 2 s - 1 for Radau IIA, and multipliers of order s.

References
----------
Gear, Leimkuhler and Gupta (1985), J. Comput. Appl. Math. 12:77; Hairer and Wanner (1996), Solving
Ordinary Differential Equations II, sec. IV.8 and VII.4; Iserles et al. (2000), Acta Numer. 9.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsebody._core import simulation as native
from sparsebody.arrays import FloatArray
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import SimulationError
from sparsebody.model.system import State
from sparsebody.simulation.implicit.generalized_alpha import row_motion
from sparsebody.simulation.implicit.implicit_stepper import HalvedSteps
from sparsebody.simulation.implicit.newton import SINGULAR, StageMatrix, coupled_solve
from sparsebody.simulation.implicit.step_equations import (
    Newest,
    StepEquations,
    n_rows,
    uniform_compliance,
)
from sparsebody.simulation.integrators import INTEGRATORS, Collocation, LocalError
from sparsebody.simulation.stabilization import largest
from sparsebody.simulation.stepping import Checkpoint, Problem, packed, state_size, unpacked
from sparsebody.simulation.trajectory import Event

# Contractions up to which factors are reused, and beyond which a step fails
_FAST_CONTRACTION, _SLOW_CONTRACTION = 0.05, 0.8
_ROUNDING_CORRECTION = 1e-11  # of lengths: slow convergence of smaller corrections is rounding
_COUPLED_ROUNDING_CORRECTION = 1e-8  # likewise at singular poses
_MOST_ITERATIONS = 20
_BEYOND_SINGULAR = 0.382  # of a step, by which it ends beyond a singular pose
_MOST_COUPLED_STEPS = 6  # steps, after which forces may be stiff rather than poses singular
_LARGEST_CORRECTION = 0.3  # largest correction, in lengths of the mechanism
_NEWTON_SHARE = 0.01  # of the tolerances: errors of Newton's method
_LEAST_CORRECTION = 1e-16  # of lengths, where no tolerance is given: as far as rounding lets it go
_N_SCALARS = 7  # of the memory
_SHORTEST_STEP = 1e-8  # [s]
# Refinements of accelerations, and the change of them that ends these
_MOST_REFINEMENTS, _REFINEMENT_TOLERANCE = 10, 1e-14
_ROW_RESIDUAL = 1e-12  # residual of A a = gamma, relative to accelerations


@dataclass(frozen=True, eq=False)
class Polynomials:
    """The newest step, as its values at the nodes."""

    start: State
    h: float  # [s]
    displacement: FloatArray  # (s, n_bodies, 6) y
    velocity: FloatArray  # (s + 1, n_bodies, 6) v, that at the start first
    multiplier: FloatArray  # (s, n_rows)


@dataclass(frozen=True, eq=False)
class CollocationState(Newest):
    """The state at the end of a step, with the quantities that the next step starts from."""

    step: Polynomials | None  # by which the state was reached


class CollocationSteps:
    """Steps of a collocation method, with Newton's `matrix`."""

    def __init__(self, problem: Problem, scheme: Collocation, matrix: StageMatrix) -> None:
        self.system, self.scheme, self.matrix = problem.system, scheme, matrix
        system, none = problem.system, uniform_compliance(problem.system, problem.state, 0.0)
        self._stages = [StepEquations(system, none, problem.control) for _ in scheme.node]
        self._n_joint_rows = system.n_rows
        self.by_mode = len(system.elastic) > 0  # factors of each of Newton's matrices
        self.point: CollocationState | None = None  # where they were made, with `point_step`
        self.point_step, self.contraction = 0.0, 1.0
        self.n_coupled = 0  # successive steps that needed the matrix of all stages
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
        self._now, self._h = now, h
        for node, stage in zip(self.scheme.node, self._stages, strict=True):
            stage.start_from(now.state, time if node == 1.0 else now.state.time + node * h)
        limit = min(accuracy[0], h * accuracy[1])
        for is_coupled in self._attempts():
            self._predict()
            try:
                V, A = self._newton(limit, is_coupled)
                break
            except SimulationError as error:
                failure = error
        else:
            self.point_step = 0.0
            raise failure
        self.n_coupled *= is_coupled
        self._set_error(V)
        state = self._stages[-1].state()
        L = np.array([self.matrix.without_self_stress(of_stage) for of_stage in self._L])
        step = Polynomials(now.state, h, self._Y, np.concatenate([now.state.velocity[None], V]), L)
        return CollocationState(state.with_(velocity=V[-1]), A[-1], L[-1], step)

    @property
    def ends_in_rounding(self) -> bool:
        """Whether rounding errors of the newest step are larger than at a regular pose."""
        return self._noise > _ROUNDING_CORRECTION * self.matrix.length

    def factorize(self, at: CollocationState, h: float) -> None:
        """Make the factors at a state."""
        self.matrix.factorize(at.state, at.multiplier, h, self.by_mode)
        self.point, self.point_step = at, h
        self.n_factorizations += 1

    # ---- one step: unknowns Y, L, and X, the corrections of velocities ------------------------

    def _attempts(self) -> Iterator[bool]:
        """Factorize more and more exactly; yield whether all stages are to be coupled."""
        if self.point_step == self._h and self.contraction <= _FAST_CONTRACTION:
            yield False
        self._factorize_within()
        yield False
        self.n_coupled += 1
        if self.n_coupled > _MOST_COUPLED_STEPS and not self.by_mode:
            self.by_mode = True
            self._factorize_within()
            yield False
            self.by_mode = False
            self._factorize_within()
        yield True

    def _factorize_within(self) -> None:
        """Make the factors at about the middle of the step, as predicted."""
        self._predict()
        k = int(np.argmin(np.abs(self.scheme.node - 0.5)))
        stage, (V, _) = self._stages[k], self._velocities()
        stage.displacement[:], stage.velocity[:] = self._Y[k], V[k]
        stage.native.evaluate()
        at = CollocationState(stage.state(), self._now.acceleration, self._L[k], None)
        self.factorize(at, self._h)

    def _predict(self) -> None:
        """Extrapolate displacements and multipliers at the nodes from the newest step."""
        node, now, h, last = self.scheme.node, self._now, self._h, self._now.step
        if last is None:
            V = now.state.velocity + (h * node)[:, None, None] * now.acceleration
            self._L = np.tile(now.multiplier, (len(node), 1))
        else:
            at = 1.0 + node * h / last.h
            V = np.array([self._mix(last.velocity, t, True) for t in at])
            self._L = np.array([self._mix(last.multiplier, t, False) for t in at])
        tableau = h * self.scheme.tableau
        Y = each_node(tableau, V)
        self._Y = each_node(tableau, self._apply(native.inverse_tangent_products, Y, V))
        self._X = np.zeros_like(self._Y)

    def _mix(self, values: FloatArray, at: float, with_start: bool) -> FloatArray:
        return np.asarray(np.tensordot(self.scheme.weights(at, with_start), values, 1))

    def _apply(self, product: object, Y: FloatArray, V: FloatArray) -> FloatArray:
        shape = Y.shape
        return product(Y.reshape(-1, 6), np.ascontiguousarray(V).reshape(-1, 6)).reshape(shape)  # type: ignore[operator]

    def _velocities(self) -> tuple[FloatArray, FloatArray]:
        """Return v and dv/dt at the nodes."""
        W = self.scheme.rates / self._h
        V = self._apply(native.tangent_products, self._Y, each_node(W, self._Y)) + self._X
        return V, each_node(W, V - self._now.state.velocity)

    def _newton(self, accuracy: float, is_coupled: bool) -> tuple[FloatArray, FloatArray]:
        """Iterate on the unknowns; return v and dv/dt at the nodes."""
        size, contraction, self._noise = 0.0, 0.0, 0.0
        rounding = (
            _COUPLED_ROUNDING_CORRECTION if is_coupled else _ROUNDING_CORRECTION
        ) * self.matrix.length
        for iteration in range(1, _MOST_ITERATIONS + 1):
            self.n_iterations += 1
            force, row, rate = self._residuals()
            if is_coupled:
                twist, multiplier = self._coupled_correction(force, row)
            else:
                twist, multiplier, slip = self._correction(force, row, rate)
            self._Y += self._apply(native.inverse_tangent_products, self._Y, twist)
            self._L += multiplier
            self._X += self._slips() if is_coupled else slip
            last, size = size, self.matrix.size(twist)
            if not size < _LARGEST_CORRECTION * self.matrix.length:
                raise SimulationError(
                    f"Newton's method goes {size:.1e} m at once; take smaller steps"
                )
            contraction = size / last if last > 0.0 else 0.0
            theta = max(contraction, 0.01) if last > 0.0 else 1.0
            if size * theta / (1.0 - min(theta, 0.9)) < accuracy:
                break
            n_remaining = _MOST_ITERATIONS - iteration
            if size < rounding and (contraction > _SLOW_CONTRACTION or n_remaining == 0):
                self._noise = size
                break
            if contraction > _SLOW_CONTRACTION or size * contraction**n_remaining > max(
                accuracy, rounding
            ):
                raise SimulationError("Newton's method converges slowly; take smaller steps")
        else:
            raise SimulationError(f"Newton's method does not converge (correction {size:.1e} m)")
        self.contraction = contraction
        V, A = self._velocities()
        rate = self._evaluate(-1, V, A)  # joints are closed at the last node once more
        V[-1] += self.matrix.solve(0, np.zeros(V[-1].size), rate)[0].reshape(-1, 6)
        return V, A

    def _evaluate(self, k: int, V: FloatArray, A: FloatArray) -> FloatArray:
        """Evaluate the equations of a stage; return the errors of its joints' velocities."""
        stage, rate = self._stages[k], np.empty_like(self._L[k])
        stage.displacement[:], stage.velocity[:], stage.acceleration[:] = self._Y[k], V[k], A[k]
        stage.multiplier[:] = self._L[k]
        stage.evaluate()
        stage.native.velocity_errors(stage.prescribed_rate, rate)
        return rate

    def _residuals(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return those of forces, of positions, and of the velocities of joints."""
        V, A = self._velocities()
        rate = np.array([self._evaluate(k, V, A) for k in range(len(V))])
        force = np.array([stage.force_residual for stage in self._stages])
        return force, np.array([stage.row_residual for stage in self._stages]), rate

    def _correction(
        self, force: FloatArray, row: FloatArray, rate: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return twists, multipliers and corrections of velocities by the matrix of each mode."""
        s = len(force)
        W = self.scheme.rates / self._h
        open_rate = rate - each_node(W, row)
        open_rate[:, self._n_joint_rows :] = 0.0
        zero = np.zeros(force[0].size)
        slips = [self.matrix.solve(0, zero, of_stage) for of_stage in open_rate]
        slip = np.array([x.reshape(-1, 6) for x, _ in slips])
        values, P, inverse = self.scheme.modes
        twist, multiplier = np.zeros((s, force[0].size)), np.zeros(row.shape)
        flat = force.reshape(s, -1)
        for mode in range(len(values)):
            d, dl = self.matrix.solve(mode, inverse[mode] @ flat, inverse[mode] @ row)
            share = 1.0 if mode == 0 else 2.0
            twist += np.asarray(share * np.outer(P[:, mode], d).real, dtype=float)
            multiplier += np.asarray(share * np.outer(P[:, mode], dl).real, dtype=float)
        push = np.array([mu for _, mu in slips]) / self.matrix.rate**2
        multiplier += each_node(W, push)
        return twist.reshape(force.shape), multiplier, slip

    def _coupled_correction(
        self, force: FloatArray, row: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return twists and multipliers by the matrix of all stages."""
        rhs = -np.concatenate([force.reshape(len(force), -1), row], axis=1)
        compliance = np.append(self.matrix.compliance, np.zeros(row.shape[1] - self._n_joint_rows))
        x = coupled_solve(self._stages, self.scheme.rates / self._h, compliance, rhs)
        twist, multiplier = np.split(x, [force[0].size], axis=1)
        return twist.reshape(force.shape), multiplier

    def transposed_correction(
        self, twist_bar: FloatArray, multiplier_bar: FloatArray, slip_bar: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the transpose of `_correction`, applied to gradients in its results.

        These are gradients in residuals of forces, positions and velocities; of multipliers and
        rows those of joints alone. The matrices count as symmetric: their skew parts are left out,
        as in the factors of Newton's method.
        """
        s, n = len(twist_bar), self._n_joint_rows
        W = self.scheme.rates / self._h
        values, P, inverse = self.scheme.modes
        flat, rows = twist_bar.reshape(s, -1), np.zeros((s, self._stages[0].n_rows))
        rows[:, :n] = multiplier_bar
        force, row = np.zeros(flat.shape), np.zeros(rows.shape)
        for mode in range(len(values)):
            of_mode = self.matrix.solve(mode, P[:, mode] @ flat, P[:, mode] @ rows)
            for total, part in zip((force, row), of_mode, strict=True):
                share = 1.0 if mode == 0 else 2.0
                total -= np.asarray(share * np.outer(inverse[mode], part).real, dtype=float)
        push = each_node(W.T, rows) / self.matrix.rate**2
        slips = zip(slip_bar.reshape(s, -1), push, strict=True)
        rate = -np.array([self.matrix.solve(0, *of_stage)[1] for of_stage in slips])
        rate[:, n:] = 0.0
        row -= each_node(W.T, rate)
        return force.reshape(twist_bar.shape), row[:, :n], rate[:, :n]

    def node_states(self, step: Polynomials, time: float) -> list[State]:
        """Return the states at the nodes of a step that ends at a time."""
        states = []
        for k, (node, stage) in enumerate(zip(self.scheme.node, self._stages, strict=True)):
            at = time if node == 1.0 else step.start.time + node * step.h
            stage.begin(
                step.start, at, displacement=step.displacement[k], velocity=step.velocity[k + 1]
            )
            stage.native.evaluate()
            states.append(stage.state())
        return states

    def factorize_at(self, at: CollocationState, h: float, by_mode: bool) -> None:
        """Have the factors for steps of `h` [s] that were made at a state."""
        is_there = at is self.point and (h, by_mode) == (self.point_step, self.by_mode)
        self.by_mode, self._h = by_mode, h
        if not is_there:
            self.factorize(at, h)

    def _slips(self) -> FloatArray:
        """Return corrections of velocities by the matrices of the stages themselves."""
        _, _, rate = self._residuals()
        slip = np.empty_like(self._X)
        for k, stage in enumerate(self._stages):
            self.matrix.factorize(stage.state(), self._L[k], self._h, False)
            slip[k] = self.matrix.solve(0, np.zeros(slip[k].size), rate[k])[0].reshape(-1, 6)
        return slip

    def _set_error(self, V: FloatArray) -> None:
        """Set the error estimate of poses and velocities, Hairer and Wanner (1996), (IV.8.20).

        Less the rounding errors of Newton's corrections, which grow near singular poses.
        """
        now, e, rate = self._now, self.scheme.error / self._h, self.matrix.rate
        velocity = now.state.velocity + np.tensordot(e, self._Y, 1)
        acceleration = now.acceleration + np.tensordot(e, V - now.state.velocity, 1)
        rows = np.zeros(self._stages[0].n_rows)
        pose, turning = (
            self.matrix.solve(0, -momentum.ravel(), rows)[0].reshape(-1, 6)
            for momentum in np.einsum(
                "nij,knj->kni",
                self.system.spatial_inertia,
                np.stack([acceleration + rate * velocity, rate * acceleration]),
            )
        )
        parts = np.concatenate([pose.reshape(-1, 2, 3), turning.reshape(-1, 2, 3)], axis=1)
        noise = self._noise * np.array([1.0 / self.matrix.length, 1.0])
        noise = np.concatenate([noise, rate * noise])
        errors = np.sqrt((parts**2).sum(axis=2).max(axis=0)) - noise
        self.error = LocalError(*map(float, errors.clip(0.0)))

    def between(self, step: Polynomials, time: float) -> tuple[State, FloatArray]:
        """Return the state and the multipliers at a time in a step, by its polynomials."""
        at, end = (time - step.start.time) / step.h, self._stages[-1]
        Y = np.concatenate([np.zeros_like(step.displacement[:1]), step.displacement])
        y, v = (self._mix(values, at, True) for values in (Y, step.velocity))
        end.begin(step.start, time, displacement=y, velocity=v)
        end.native.evaluate()
        return end.state(), self._mix(step.multiplier, at, False)

    def accelerations(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return dv/dt and multipliers at a consistent state, refined.

        M dv/dt + A' lambda = f, A dv/dt = gamma, by the matrix of a step in which nothing moves.
        """
        equations, n = self._stages[-1], self._n_joint_rows
        rows = row_motion(self.system, state)
        self.matrix.factorize(state, np.zeros(equations.n_rows), _SHORTEST_STEP, False)
        self.point_step = 0.0
        equations.begin(state, multiplier=np.append(np.zeros(n), rows.error[n:]))
        b, row_residual = self.matrix.rate**2, np.zeros(equations.n_rows)
        for _ in range(_MOST_REFINEMENTS):
            equations.evaluate()
            residual = rows.product(equations.acceleration) - rows.acceleration
            row_residual[:n] = residual[:n] / b
            x, multiplier = self.matrix.solve(0, equations.force_residual.ravel(), row_residual)
            equations.acceleration += b * x.real.reshape(-1, 6)
            equations.multiplier[:n] += multiplier.real[:n]
            if b * np.abs(x).max() <= _REFINEMENT_TOLERANCE * np.abs(equations.acceleration).max():
                break
        return equations.acceleration.copy(), equations.multiplier.copy()


def each_node(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return sums of weights (s, s) times values (s, ...) over the nodes."""
    return np.asarray(np.tensordot(weights, values, 1))


# ---- in the time loop ----------------------------------------------------------------------------


class CollocationStepper(HalvedSteps[CollocationState]):
    """Takes steps of a collocation method; no decision on rank, whatever the pose.

    A step that Newton's method cannot take is taken in halves.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        system, options = problem.system, problem.options
        scheme = INTEGRATORS[options.method].scheme
        assert isinstance(scheme, Collocation)
        self._n_stages = s = len(scheme.node)
        solver = options.ordering, options.factorization
        self.matrix = StageMatrix(system, problem.state, scheme, *solver)
        self.method = CollocationSteps(problem, scheme, self.matrix)
        self._tolerance = (options.rtol, options.atol) if options.is_adaptive else None
        self.error_order = s + 1
        twists, rows = 6 * system.n_bodies, n_rows(system)
        self.memory_size = _N_SCALARS + 2 * state_size(system) + 2 * s * twists + (s + 2) * rows

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        if self._now is None:
            self._now = CollocationState(state, *self.method.accelerations(state), None)

    def acceleration_at(self, state: State) -> FloatArray | None:
        """Return the accelerations (n_bodies, 6) at a consistent state, None at a singular pose.

        There A a = gamma has no solution.
        """
        acceleration, rows = self.method.accelerations(state)[0], row_motion(self._system, state)
        n = self._system.n_rows
        residual = largest(rows.product(acceleration)[:n] - rows.acceleration[:n])
        return acceleration if residual <= _ROW_RESIDUAL * largest(acceleration) else None

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6) at a consistent state."""
        multiplier = self.method.accelerations(state)[1][: self._system.n_rows]
        return SystemMotion(self._system, state).joint_reactions(-multiplier)

    @property
    def memory(self) -> FloatArray:
        """Numbers that the next step depends on: the polynomials, and where factors were made."""
        now, method, (Y, V, L) = self.now, self.method, self._shapes
        last = now.step or Polynomials(now.state, 0.0, Y, np.concatenate([V[:1], V]), L)
        point = method.point or now
        scalars = last.h, self._halvings, self._n_calm, method.by_mode
        of_factors = method.point_step, method.contraction, method.n_coupled
        newest = last.start, last.displacement, last.velocity[1:], last.multiplier
        made_at = point.state, point.multiplier
        return packed(*scalars, *of_factors, now.multiplier, *newest, *made_at)

    @property
    def _shapes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Zeros of the shapes of displacements, velocities and multipliers at the nodes."""
        twists = np.zeros((self._n_stages, self._system.n_bodies, 6))
        return twists, twists, np.zeros((self._n_stages, n_rows(self._system)))

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        method, (twists, _, multipliers) = self.method, self._shapes
        state, acceleration, row = checkpoint.state, checkpoint.acceleration, multipliers[0]
        likes = *[0.0] * _N_SCALARS, row, state, twists, twists, multipliers, state, row
        *scalars, multiplier, first, Y, V, L, at, of_point, _ = unpacked(checkpoint.memory, *likes)
        h, halvings, calm, by_mode, point_step, method.contraction, n = scalars
        method.n_coupled = int(n)
        self._halvings, self._n_calm, method.by_mode = int(halvings), int(calm), bool(by_mode)
        last = Polynomials(first, h, Y, np.concatenate([first.velocity[None], V]), L)
        self._now = CollocationState(state, acceleration, multiplier, last if h > 0.0 else None)
        if point_step > 0.0:
            method.factorize(CollocationState(at, acceleration, of_point, None), point_step)

    def last_events(self, time: float) -> list[Event]:
        """Return the events to report at the end of a run."""
        del time
        return []

    def local_error(self) -> LocalError | None:
        """Return the errors of the newest step."""
        return self.method.error

    def advance(self, time: float) -> State:
        """Return the state at `time`; raises SimulationError as `HalvedSteps.advance` does.

        A step that would end at a singular pose, where rounding errors are large, ends beyond it,
        and the state is taken from its polynomials.
        """
        if time < self.state.time:
            return self.between(time)
        before, h = self.saved(), time - self.state.time
        state = super().advance(time)
        if self._tolerance is not None or not self.method.ends_in_rounding:
            return state
        there = self.saved()
        self.restore(before)
        try:
            super().advance(time + _BEYOND_SINGULAR * h)
            step = self.now.step
            if step is not None and step.start.time < time:
                self._note(Event(time, "passed pose", "rows depend on each other near this pose"))
                return self.between(time)
        except SimulationError:
            pass
        self.restore(there)
        return state

    def between(self, time: float) -> State:
        """Return the state at a time in the newest step."""
        assert self.now.step is not None
        return self.method.between(self.now.step, time)[0]

    def _step(self, time: float, h: float, halvings: int) -> None:
        self._now = self.method.step(self.now, h, time, self._accuracy())

    def _explained(self, error: SimulationError) -> str:
        if self.matrix.is_redundant:
            return f'{error}, or method="auto": rows depend on each other near this pose'
        if SINGULAR in str(error):
            return f'{error}, or method="auto" if rows depend on each other'
        return str(error)

    def _accuracy(self) -> tuple[float, float]:
        """Return the errors that Newton's method may leave in poses and velocities [m, m/s]."""
        size = self.matrix.length
        if self._tolerance is None:
            return _LEAST_CORRECTION * size, np.inf
        rtol, atol = self._tolerance
        assert rtol is not None
        assert atol is not None
        speed = float(np.abs(self.state.velocity).max())
        return _NEWTON_SHARE * min(1.0, size) * (atol + rtol), _NEWTON_SHARE * (atol + rtol * speed)
