"""Collocation methods in the time loop."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.equations.accelerations import joint_reactions
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import SimulationError
from sparsebody.model.system import State
from sparsebody.simulation.implicit.collocation import (
    CollocationState,
    CollocationSteps,
    Polynomials,
)
from sparsebody.simulation.implicit.implicit_stepper import HalvedSteps
from sparsebody.simulation.implicit.newton import StageMatrix
from sparsebody.simulation.implicit.step_equations import n_rows
from sparsebody.simulation.integrators import INTEGRATORS, Collocation, LocalError
from sparsebody.simulation.stepping import (
    Checkpoint,
    Problem,
    pack_state,
    state_size,
    unpack_state,
)
from sparsebody.simulation.trajectory import Event

_SHARE = 0.01  # of tolerances, that Newton's method may leave
_PRECISE = 1e-16  # of lengths, where no tolerance is given: as far as rounding lets it go
_N_SCALARS = 7  # of the memory


class CollocationStepper(HalvedSteps):
    """Takes steps of a collocation method; no decision on rank, whatever the pose.

    A step that Newton's method cannot take is taken in halves.
    """

    _now: CollocationState | None
    multiplier: FloatArray | None = None  # of compliant joints: these are rigid

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        system, options = problem.system, problem.options
        scheme = INTEGRATORS[options.method].scheme
        assert isinstance(scheme, Collocation)
        self._n_stages = s = len(scheme.node)
        solver = options.ordering, options.factorization
        self._matrix = StageMatrix(system, problem.state, scheme, *solver)
        self._method = CollocationSteps(problem, scheme, self._matrix)
        self._tolerance = (options.rtol, options.atol) if options.is_adaptive else None
        self.error_order = s + 1
        twists, rows = 6 * system.n_bodies, n_rows(system)
        self.memory_size = _N_SCALARS + 2 * state_size(system) + 2 * s * twists + (s + 2) * rows

    @property
    def now(self) -> CollocationState:
        """The newest values of the method."""
        assert self._now is not None
        return self._now

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        if self._now is None:
            self._now = CollocationState(state, *self._method.accelerations(state), None)

    def acceleration_at(self, state: State) -> FloatArray:
        """Return the accelerations (n_bodies, 6) at a consistent state."""
        return self._method.accelerations(state)[0]

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6) at a consistent state."""
        subspace = SystemMotion(self._system, state).constraint.subspace
        multiplier = self._method.accelerations(state)[1][: self._system.n_rows]
        return joint_reactions(self._system, state, subspace, -multiplier)

    @property
    def memory(self) -> FloatArray:
        """What else the next step depends on: the polynomials, and where factors were made."""
        now, method = self.now, self._method
        n, s = self._system.n_bodies, self._n_stages
        last = now.step or Polynomials(
            now.state,
            0.0,
            np.zeros((s, n, 6)),
            np.zeros((s + 1, n, 6)),
            np.zeros((s, n_rows(self._system))),
        )
        point = method.point or now
        scalars = [last.h, self._halvings, self._n_calm, method.is_whole]
        scalars += [method.point_step, method.contraction, method.n_coupled]
        newest = pack_state(last.start), last.displacement.ravel(), last.velocity[1:].ravel()
        made_at = pack_state(point.state), point.multiplier
        return np.concatenate([scalars, now.multiplier, *newest, last.multiplier.ravel(), *made_at])

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        system, method = self._system, self._method
        twists, m, s = 6 * system.n_bodies, n_rows(system), self._n_stages
        of_state = state_size(system)
        sizes = [_N_SCALARS, m, of_state, s * twists, s * twists, s * m, of_state]
        scalars, multiplier, start, Y, V, L, at, of_point = np.split(
            checkpoint.memory, np.cumsum(sizes)
        )
        h, halvings, calm, is_whole, point_step, method.contraction, n = map(float, scalars)
        method.n_coupled = int(n)
        self._halvings, self._n_calm, method.is_whole = int(halvings), int(calm), bool(is_whole)
        first = unpack_state(system, start)
        velocity = np.concatenate([first.velocity.ravel(), V]).reshape(s + 1, -1, 6)
        last = Polynomials(first, h, Y.reshape(s, -1, 6), velocity, L.reshape(s, m))
        self._now = CollocationState(
            checkpoint.state, checkpoint.acceleration, multiplier, last if h > 0.0 else None
        )
        if point_step > 0.0:
            point = CollocationState(
                unpack_state(system, at), checkpoint.acceleration, of_point, None
            )
            method.factorize(point, point_step)

    def last_events(self, time: float) -> list[Event]:
        """Return what is told at the end of a run."""
        del time
        return []

    def saved(self) -> tuple[CollocationState, int, int]:
        """Return what `restore` takes to undo steps."""
        return self.now, self._halvings, self._n_calm

    def restore(self, saved: tuple[CollocationState, int, int]) -> None:
        """Undo the steps since then."""
        self._now, self._halvings, self._n_calm = saved

    def local_error(self) -> LocalError | None:
        """Return the errors of the newest step."""
        return self._method.error

    def between(self, time: float) -> State:
        """Return the state at a time in the newest step."""
        assert self.now.step is not None
        return self._method.between(self.now.step, time)[0]

    def _step(self, time: float, h: float, halvings: int) -> None:
        self._now = self._method.step(self.now, h, time, self._accuracy())

    def _explained(self, error: SimulationError) -> str:
        if not self._matrix.is_redundant:
            return str(error)
        return f'{error}, or method="auto": rows depend on each other near this pose'

    def _accuracy(self) -> tuple[float, float]:
        """Return the errors that Newton's method may leave in poses and velocities [m, m/s]."""
        size = self._matrix.length
        if self._tolerance is None:
            return _PRECISE * size, np.inf
        rtol, atol = self._tolerance
        assert rtol is not None
        assert atol is not None
        speed = float(np.abs(self.state.velocity).max())
        return _SHARE * min(1.0, size) * (atol + rtol), _SHARE * (atol + rtol * speed)
