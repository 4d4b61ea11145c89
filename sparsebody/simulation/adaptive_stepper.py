"""Steps as long as their local errors allow, and states in between for records.

Hairer, Norsett, Wanner (1993), sec. II.4 on step sizes and II.6 on dense output.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.equations.initial_state import mechanism_size
from sparsebody.errors import SimulationError, SingularSystemError
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.model.system import State
from sparsebody.simulation.auto_stepper import AutoStepper, OuterStepper
from sparsebody.simulation.implicit.collocation_stepper import CollocationStepper
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper
from sparsebody.simulation.integrators import LocalError, interpolated
from sparsebody.simulation.stepper import Stepper
from sparsebody.simulation.stepping import (
    Checkpoint,
    Problem,
    pack_state,
    state_size,
    unpack_state,
)
from sparsebody.simulation.trajectory import Event

Inner = Stepper | ImplicitStepper | CollocationStepper | AutoStepper

_SAFETY, _SHORTEST, _LONGEST = 0.9, 0.2, 5.0  # factors from one step to the next
_SAME = 1.2  # a factor up to which the step stays what it is
_BEYOND = 1.3  # factor of a step that ended at a singular pose
_MOST_IN_VAIN = 2  # shorter steps without smaller errors
_TINY = 1e-13  # of a step, relative to the time
_FIRST = 0.1  # of the time that a motion takes for a radian, or its own size


class AdaptiveStepper(OuterStepper):
    """Steps of another stepper with local errors of at most atol + rtol times what there is.

    That is one radian and the mechanism's size for poses, and the largest velocities.
    """

    _inner: Inner

    def __init__(self, problem: Problem, make_inner: Callable[[Problem], Inner]) -> None:
        options, system = problem.options, problem.system
        self._system = system
        assert options.rtol is not None
        assert options.atol is not None
        self._size, self._rtol, self._atol = mechanism_size(system), options.rtol, options.atol
        self._note, self._n_noted = problem.note, 0
        self._inner = make_inner(replace(problem, note=self._take_note))
        self._h, self._n_steps = 0.0, [0, 0]  # taken, and rejected
        self._before: tuple[State, FloatArray] | None = None
        forces = system.joint_forces.item, system.point_forces.first
        self._has_springs = len(system.elastic) + sum(map(len, forces)) > 0

    def _take_note(self, event: Event) -> None:
        self._n_noted += 1
        self._note(event)

    @property
    def memory_size(self) -> int:
        """The length of `memory`."""
        own = state_size(self._system) + 6 * self._system.n_bodies + 3
        return self._inner.memory_size + own

    @property
    def memory(self) -> FloatArray:
        """What else the next step and the next record depend on."""
        state, acceleration = self._before or (self.state, self.acceleration)
        own = pack_state(state), acceleration.ravel(), [self._h, *self._n_steps]
        return np.concatenate([self._inner.memory, *own])

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        self._inner.start(state)
        self._h = self._first_step()

    def restart(self, state: State) -> None:
        """Go on from another state."""
        self._inner.restart(state)
        self._before, self._h = None, min(self._h, self._first_step())

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        n = self._inner.memory_size
        self._inner.resume(replace(checkpoint, memory=checkpoint.memory[:n]))
        own, (self._h, *counts) = np.split(checkpoint.memory[n:], [-3])
        self._n_steps = [int(count) for count in counts]
        split = len(own) - checkpoint.acceleration.size
        acceleration = own[split:].reshape(checkpoint.acceleration.shape)
        self._before = unpack_state(self._system, own[:split]), acceleration

    def last_events(self, time: float) -> list[Event]:
        """Return what is told at the end of a run."""
        message = "{} steps, and {} with errors too large".format(*self._n_steps)
        return [*self._inner.last_events(time), Event(time, "adaptive steps", message)]

    def advance(self, time: float) -> State:
        """Return the state at `time`, from where steps reach at least as far.

        Raises SingularSystemError or SimulationError if the motion does not go on however short the
        step is.
        """
        while self.state.time < time:
            self._step()
        if self.state.time == time or self._before is None:
            return self.state
        if isinstance(self._inner, CollocationStepper) and self._has_springs:
            return self._inner.between(time)  # stiff ones have accelerations full of rounding
        before, acceleration = self._before
        between = interpolated(before, self.state, (acceleration, self.acceleration), time)
        between = self._inner.closed(between)
        if len(between.coordinate):
            motion = coordinate_motion(self._system, between, joint_motion(self._system, between))
            between = between.with_(coordinate=motion.value)
        return between

    def _step(self) -> None:
        """Take a step that is short enough."""
        inner, h, factor = self._inner, self._h, 1.0
        inner.nominal = h
        last_norm, n_in_vain = math.inf, 0
        while True:
            before, saved, n_noted = (inner.state, inner.acceleration), inner.saved(), self._n_noted
            is_last_resort = h < _TINY * max(abs(before[0].time), 1.0)
            try:
                inner.advance(before[0].time + h)
            except (SingularSystemError, SimulationError):
                if is_last_resort:
                    raise
                factor = _SHORTEST
            else:
                if inner.state.time <= before[0].time:  # a singular pose, to be passed
                    h *= _BEYOND
                    continue
                error = inner.local_error()
                norm = 0.0 if error is None else self._norm(error)
                factor = self._factor(norm)
                if norm <= 1.0 or is_last_resort or self._n_noted > n_noted:
                    break
                n_in_vain += norm >= last_norm
                if n_in_vain == _MOST_IN_VAIN:  # rounding, larger the shorter the step is
                    factor = self._h / h
                    break
                last_norm = norm
            inner.restore(saved)
            self._n_steps[1] += 1
            h *= min(factor, _SAFETY)
            inner.nominal = h
        self._before = before
        self._n_steps[0] += 1
        self._h = h if 1.0 <= factor < _SAME else h * factor

    def _factor(self, norm: float) -> float:
        """Return how much longer the next step is to be."""
        if not norm < math.inf:
            return _SHORTEST
        best = _SAFETY * norm ** (-1.0 / self._inner.error_order) if norm > 0.0 else _LONGEST
        return min(max(best, _SHORTEST), _LONGEST)

    def _norm(self, error: LocalError) -> float:
        velocity = np.abs(self.state.velocity)
        sizes = 1.0, self._size, velocity[:, :3].max(), velocity[:, 3:].max()
        shares = [e / (self._atol + self._rtol * s) for e, s in zip(error, sizes, strict=True)]
        return float(max(shares)) if all(map(math.isfinite, shares)) else math.inf

    def _first_step(self) -> float:
        """Return a step that is short for any motion with these velocities and accelerations."""
        (turning, moving), (angular, linear) = (
            (np.abs(a[:, :3]).max(), np.abs(a[:, 3:]).max() / self._size)
            for a in (self.state.velocity, self.acceleration)
        )
        rate = float(max(turning, moving, np.sqrt(max(angular, linear))))
        return _FIRST * self._rtol**0.25 / rate if rate > 0.0 else 1e-3
