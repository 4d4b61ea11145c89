"""Estimate of the errors of a motion in steps of a fixed size, whatever the method.

Three successive poses y, h apart, and their rates obey Hermite's rules

    y_2 - y_0 = h/15 (7 y_0' + 16 y_1' + 7 y_2') + h^2/15 (y_0'' - y_2'') + O(h^7),
    y_2' - y_0' = 8/(3h) (y_0 - 2 y_1 + y_2) + h/9 (y_0'' - 8 y_1'' + y_2'') + O(h^7);

the defects d and, times -3/2 in the second rule, w are the errors of the poses and of their rates
in these two steps, to leading order for methods up to order 4. Where steps do not resolve the
accelerations, other rules have smaller defects: Simpson's, and for rates, times 2,

    y_2' - y_0' = 1/h (y_0 - 2 y_1 + y_2) + h/4 (y_0'' + 2 y_1'' + y_2'') + O(h^5),

in which those that alternate from step to step cancel. Errors of rates become errors of poses until
accelerations turn them, at the rate omega of the motion itself, or grow where its accelerations
lead away from where it was. So the errors e of poses and u of rates are

    e' = d' + u,   u' = w' - omega u + kappa e,   omega^2 = |y_2'' - y_0''| / |y_2 - y_0|,

omega body by body, kappa = <y_2'' - y_0'', y_2 - y_0> / |y_2 - y_0|^2 of the whole mechanism where
the motion speeds up, pairs resolve it, and no jerk explains it, with omega = 0; zero elsewhere.
Defects are computed for some pairs of steps only, and stand for all steps since the pair before.
Steps with an event, or in parts, are all in pairs: motions may turn in them in less time than a
step. What alternates in them is taken for a vibration only as far as the mean of y'' in a pair,
(y_0'' + 2 y_1'' + y_2'') / 4, is that of the pair before.

Where implicit steps give rigid joints a compliance C, the difference that it makes to accelerations
is an error of rates, too: see `compliance_errors`. It is computed now and then, and in between is
in proportion to their elastic energy lambda' C lambda / 2, as the moments C lambda x lambda are.

References
----------
Davis and Rabinowitz (1984), Methods of Numerical Integration, chapter 2.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.model.system import State, States, System, body_arrays

_PAIR = 3  # ends of two steps
_LEAST_MOTION = 1e-4  # of the mechanism's size
_FIRST_LOOK, _LONGEST_WAIT = 16, 1024  # steps to, and between, comparisons with rigid joints
# How many times that wait after singular poses, which others may follow; where vibrations hide a
# difference that lasts; and the growth of the elastic energy after which the next one follows
_SINGULAR_FACTOR, _VIBRATION_FACTOR, _ENERGY_GROWTH = 8.0, 0.5, 4.0


class End(NamedTuple):
    """A state that a pair has."""

    state: State
    acceleration: FloatArray  # (n_bodies, 6)
    elastic_energy: float = 0.0  # [J] of joints that are meant to be rigid


class StepErrors:
    """Estimated errors of poses [m] and of their rates [m/s], body by body.

    Rotations are multiplied by the body's radius of gyration, sqrt(tr(I) / (2 m)). The native class
    has the samples of the pair under way, and the sums.
    """

    def __init__(self, system: System, state: State) -> None:
        square = 0.5 * np.trace(system.inertia, axis1=1, axis2=2) / system.mass
        weight = np.ones((system.n_bodies, 7))  # of squares
        weight[:, 3:] = 4.0 * square[:, None]  # an angle is 2 |dq|
        poses = body_arrays(system, state)
        self._native = simulation.StepErrors(weight, system.mass, poses, state.time)
        self._least_size = _LEAST_MOTION * system.typical_length
        self._weight = weight
        # Of y'' (3, n_bodies, 7) at the ends of a pair, from those of rigid joints; None if a pose
        # is singular
        self.rigid_differences: Callable[[list[End]], FloatArray | None] | None = None
        self._pair: list[End] = []
        self._next_look, self._energy = _FIRST_LOOK, 0.0  # [J] in the newest comparison

    @property
    def next_step(self) -> int:
        """The first step that is in a pair again."""
        return self._native.next_step

    def add(self, step: int, end: End) -> None:
        """Add a state in a step, or at its end, as a sample of a pair."""
        if step < self.next_step:
            return
        native, (state, acceleration, _) = self._native, end
        self._pair = [*self._pair, end][-1 - native.n_samples() :]
        if len(self._pair) == _PAIR:
            self._look(step)
        native.add(
            step, state.time, (state.position, state.orientation, state.velocity), acceleration
        )

    def add_ends(
        self,
        first_step: int,
        states: States,
        acceleration: FloatArray,
        end_at: Callable[[int], End],
    ) -> None:
        """Add the ends of several steps; `end_at` returns those that are in pairs."""
        if self.rigid_differences is None:
            position, orientation, velocity, _, time = states
            motion = position, orientation, velocity
            self._native.add_ends(first_step, time, motion, acceleration)
            return
        k = 0
        while k < len(acceleration):
            self.add(first_step + k, end_at(k))
            k = max(k + 1, self.next_step - first_step)

    def _look(self, step: int) -> None:
        """Compare a pair with rigid joints, if that is due, and scale the newest difference."""
        energies = [end.elastic_energy for end in self._pair]
        energy = sum(energies) / _PAIR
        is_due = step >= self._next_look or energy > _ENERGY_GROWTH * self._energy > 0.0
        if self.rigid_differences is not None and min(energies) > 0.0 and is_due:
            differences, times = self.rigid_differences(self._pair), _SINGULAR_FACTOR
            if differences is not None:
                lasting = self._lasting(differences)
                self._native.set_difference(lasting)
                self._energy, times = energy, 1.0 if lasting.any() else _VIBRATION_FACTOR
            self._next_look = step + int(times * min(step, _LONGEST_WAIT))
        scale = energy / self._energy if self._energy > 0.0 else 0.0
        self._native.difference_scale = min(scale, _ENERGY_GROWTH)

    def _lasting(self, differences: FloatArray) -> FloatArray:
        """Return how large differences (3, n_bodies, 7) are at least, without vibrations."""
        start, middle, end = differences
        mean, bend = (start + middle + end) / 3.0, 0.5 * (start - 2.0 * middle + end)
        parts = np.array([mean, start - mean, middle - mean, end - mean, bend])
        size, *spread, alternation = np.sqrt(np.einsum("kna,na->kn", parts**2, self._weight))
        return np.maximum(size - np.max(spread, axis=0) - alternation, 0.0)

    def begin_pair(self, step: int, end: End) -> None:
        """Begin a pair at a state at once: what follows is no step like those before."""
        if self._native.begin_pair(step, end.state.time):
            self.add(step, end)

    def restart(self) -> None:
        """Discard the unfinished pair: the motion does not continue from its newest state."""
        self._native.restart()
        self._pair = []

    @property
    def memory(self) -> FloatArray:
        """Return what `resume` needs (3 n_bodies + 5,); an unfinished pair is left out."""
        return np.append(self._native.memory(), [self._next_look, self._energy])

    def resume(self, memory: FloatArray) -> None:
        """Go on with the errors of the steps before a checkpoint."""
        self._native.resume(memory[:-2])
        self._next_look, self._energy = max(_FIRST_LOOK, int(memory[-2])), float(memory[-1])
        self._pair = []

    def relative_to_motion(self, end: State) -> tuple[float, bool]:
        """Return the error up to a state over the largest displacement, and whether that is small.

        Small ones, of less than 1e-4 of the mechanism's size, count as that large.
        """
        error, size = self._native.largest((end.position, end.orientation, end.velocity))
        return error / max(size, self._least_size), size < self._least_size
