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
Steps with an event, or in parts, are all in pairs, and all steps where masses differ by a factor of
100: motions may turn in them in less time than a step, or in a few. What alternates in steps with
an event is taken for a vibration only as far as the mean of y'' in a pair, (y_0'' + 2 y_1'' +
y_2'') / 4, is that of the pair before.

Where implicit steps give rigid joints a compliance C, the difference that it makes to accelerations
is an error of rates, too: see `compliance_errors`. It is computed now and then, and where joints
bear more, and in between is in proportion to their elastic energy lambda' C lambda / 2, as the
moments C lambda x lambda are. Its means in pairs are added with their signs, and turn at the rate
omega of the whole mechanism, by mass and over time: that of light bodies that a pose whips on is
high for a moment only.

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
_LONGEST_WAIT = 1024  # steps between comparisons with rigid joints
_SINGULAR_FACTOR = 8  # times that wait after singular poses, which others may follow
_MEAN = np.array([0.25, 0.5, 0.25])  # without what alternates from step to step
_NOTHING = np.zeros(0)


class End(NamedTuple):
    """A state that a pair has."""

    state: State
    acceleration: FloatArray  # (n_bodies, 6)
    multiplier: FloatArray = _NOTHING  # (n_rows,) of joints that are meant to be rigid
    compliance: FloatArray = _NOTHING  # (n_rows,) of these


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
        self._weight, self._least_size = weight, _LEAST_MOTION * system.typical_length
        self._end_error = 0.0  # [m] by a motion in other steps
        # Of y'' (3, n_bodies, 7) at the ends of a pair, from those of rigid joints; None if a pose
        # is singular
        self.rigid_differences: Callable[[list[End]], FloatArray | None] | None = None
        self._pair: list[End] = []

    @property
    def next_step(self) -> int:
        """The first step that is in a pair again."""
        return self._native.next_step

    def add(self, step: int, end: End) -> None:
        """Add a state in a step, or at its end, as a sample of a pair."""
        if step < self.next_step:
            return
        native, (state, acceleration, *joints) = self._native, end
        self._pair = [*self._pair, end][-1 - native.n_samples() :]
        if self.rigid_differences is not None and native.is_due(step, *joints):
            differences, wait = self.rigid_differences(self._pair), min(step, _LONGEST_WAIT)
            if differences is None:
                wait *= _SINGULAR_FACTOR
            else:
                native.set_difference(np.einsum("k,kna->na", _MEAN, differences))
            native.compared(step, wait)
        motion = state.position, state.orientation, state.velocity
        native.add(step, state.time, motion, acceleration, *joints)

    def add_ends(
        self,
        first_step: int,
        states: States,
        acceleration: FloatArray,
        joints: tuple[FloatArray, FloatArray],
        end_at: Callable[[int], End],
    ) -> None:
        """Add the ends of several steps, with multipliers (k, n_rows) and compliances (n_rows,).

        `end_at` returns those that are compared with rigid joints.
        """
        native, (multiplier, compliance), n = self._native, joints, len(acceleration)
        if self.rigid_differences is None:
            multiplier, compliance = multiplier[:, :0], _NOTHING
        k = 0
        while k < n:
            position, orientation, velocity, _, time = states.chosen(slice(k, None))
            arrays = (position, orientation, velocity), acceleration[k:], multiplier[k:], compliance
            count = native.add_ends(first_step + k, time, *arrays)
            k += count
            if self.rigid_differences is not None:
                newest = min(count, native.n_samples())
                self._pair += [end_at(at) for at in range(k - newest, k)]
            if k < n:
                self.add(first_step + k, end_at(k))
                k += 1

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
        """Return what `resume` needs; an unfinished pair is left out."""
        return self._native.memory()

    def resume(self, memory: FloatArray) -> None:
        """Go on with the errors of the steps before a checkpoint."""
        self._native.resume(memory)
        self._pair = []

    def compare(self, end: State, other: State, share: float) -> None:
        """Take a share of how far two ends of the motion are apart as an error, at least."""
        turn = np.minimum(*(np.abs(end.orientation - s * other.orientation) for s in (1.0, -1.0)))
        change = np.concatenate([end.position - other.position, turn], axis=1)
        distance = np.sqrt(np.einsum("na,na->n", change**2, self._weight)).max(initial=0.0)
        self._end_error = share * float(distance)

    def relative_to_motion(self, end: State) -> tuple[float, bool]:
        """Return the error up to a state over the largest displacement, and whether that is small.

        Small ones, of less than 1e-4 of the mechanism's size, count as that large.
        """
        error, size = self._native.largest((end.position, end.orientation, end.velocity))
        error = max(error, self._end_error)
        return error / max(size, self._least_size), size < self._least_size
