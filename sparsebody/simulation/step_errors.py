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

References
----------
Davis and Rabinowitz (1984), Methods of Numerical Integration, chapter 2.
"""

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State, System
from sparsebody.simulation.integrators import pose_derivatives
from sparsebody.simulation.stabilization import largest

# Steps from one pair to the next: a sixth of the steps so far, so that short motions are sampled
# densely, and at most 1024
_INTERVAL_RATIO, _LONGEST_INTERVAL = 6, 1024
_UNEQUAL = 1e-6  # largest relative difference between the two steps of a pair
# kappa t^2 of a motion that begins with a constant jerk, which lets nothing grow
_JERK_GROWTH = 2.0
_RESOLVED_GROWTH = 0.4  # largest kappa t^2 in a time t from pair to pair that pairs resolve
_LEAST_DECAY = 1e-6  # of errors of rates between two pairs
_LEAST_MOTION = 1e-4  # of the mechanism's size
_TINY = np.finfo(float).tiny

Sample = tuple[float, FloatArray, FloatArray, FloatArray]
"""Time [s], poses (n_bodies, 7), and their first and second derivatives."""


class StepErrors:
    """Estimated errors of poses [m] and of their rates [m/s], body by body.

    Rotations are multiplied by the body's radius of gyration, sqrt(tr(I) / (2 m)).
    """

    def __init__(self, system: System, state: State) -> None:
        square = 0.5 * np.trace(system.inertia, axis1=1, axis2=2) / system.mass
        self._weight = np.ones((system.n_bodies, 7))  # of squares
        self._weight[:, 3:] = 4.0 * square[:, None]  # an angle is 2 |dq|
        self._mass, self._first = system.mass, _poses(state)
        self._least_size = _LEAST_MOTION * system.typical_length
        self._samples: list[Sample] = []  # of the pair under way
        self.next_step = 0  # the first one that is in a pair again
        self._begin = self._seen = state.time  # up to where errors are added
        self._error, self._rate_error = np.zeros((2, system.n_bodies))
        self._size = 0.0

    def add(self, step: int, state: State, acceleration: FloatArray) -> None:
        """Add a state in a step, or at its end, as a sample of a pair."""
        if step < self.next_step:
            return
        sample = state.time, _poses(state), *pose_derivatives(state, acceleration)
        self._samples.append(sample)
        if len(self._samples) < 3:
            return
        start, middle, end = (sample[0] for sample in self._samples)
        if abs(start + end - 2.0 * middle) > _UNEQUAL * (end - start):
            del self._samples[0]
            return
        self._grow(end - self._seen, end - start)
        self._size = max(self._size, self._displacement(sample[1]))
        interval = min(step // _INTERVAL_RATIO, _LONGEST_INTERVAL)
        self.next_step, self._seen, self._samples = step + max(0, interval - 2), end, []
        if interval <= 2:
            self._samples.append(sample)  # which starts the next one

    def _grow(self, duration: float, h: float) -> None:
        """Add the errors of a duration [s] by those of a pair of steps of together h [s]."""
        error, rate_error = (part * duration / h for part in defects(self._samples, self._weight))
        age = self._samples[2][0] - self._begin
        omega, kappa = turning(self._samples, self._weight, self._mass, age, duration)
        decay = np.maximum(duration * omega, _LEAST_DECAY)
        mean = -np.expm1(-decay) / decay  # of exp(-omega t)
        u, growth = self._rate_error, duration * kappa * self._error
        self._rate_error = np.exp(-decay) * u + mean * rate_error + growth
        self._error += error + duration * (mean * u + (1.0 - mean) / decay * rate_error)

    def restart(self) -> None:
        """Discard the unfinished pair: the motion does not continue from its newest state."""
        self._samples = []

    @property
    def memory(self) -> FloatArray:
        """Return what `resume` needs (2 n_bodies + 3,); an unfinished pair is left out."""
        numbers = [self._size, self.next_step, self._seen]
        return np.concatenate([self._error, self._rate_error, numbers])

    def resume(self, memory: FloatArray) -> None:
        """Go on with the errors of the steps before a checkpoint."""
        self._error, self._rate_error = memory[:-3].reshape(2, -1).copy()
        self._size, next_step, self._seen = memory[-3:].tolist()
        self.next_step = int(next_step)
        self.restart()

    def relative_to_motion(self, end: State) -> tuple[float, bool]:
        """Return the error up to a state over the largest displacement, and whether that is small.

        Small ones, of less than 1e-4 of the mechanism's size, count as that large.
        """
        size = max(self._size, self._displacement(_poses(end)))
        return largest(self._error) / max(size, self._least_size), size < self._least_size

    def _displacement(self, poses: FloatArray) -> float:
        return largest(_lengths(poses - self._first, self._weight))


def defects(pair: list[Sample], weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the errors (n_bodies,) of poses and of their rates in two steps.

    As lengths, by weights (n_bodies, 7) of squares, and by the rule with the smaller defect.
    """
    (start, y0, rate0, curvature0), (_, y1, rate1, curvature1), (end, y2, rate2, curvature2) = pair
    h, change, rates = 0.5 * (end - start), y2 - y0, rate0 + rate2
    of_pose = (
        change - h / 15.0 * (7.0 * rates + 16.0 * rate1 + h * (curvature0 - curvature2)),
        change - h / 3.0 * (rates + 4.0 * rate1),
    )
    change, bend, curvatures = rate2 - rate0, (y0 - 2.0 * y1 + y2) / h, curvature0 + curvature2
    of_rate = (
        1.5 * (change - 8.0 / 3.0 * bend - h / 9.0 * (curvatures - 8.0 * curvature1)),
        2.0 * (change - bend - h / 4.0 * (curvatures + 2.0 * curvature1)),
    )
    first, second = (
        np.minimum(*(_lengths(defect, weight) for defect in rules)) for rules in (of_pose, of_rate)
    )
    return first, second


def turning(
    pair: list[Sample], weight: FloatArray, mass: FloatArray, age: float, duration: float
) -> tuple[FloatArray, float]:
    """Return omega (n_bodies,) [1/s] and kappa [1/s^2] of the motion in two steps.

    They end `age` [s] after the motion began, and stand for a `duration` [s].
    """
    _, poses, rates, curvatures = (np.array(values) for values in zip(*pair, strict=True))
    path, turn = np.diff(poses, axis=0), np.diff(curvatures, axis=0)
    squares, away, turns = (
        np.einsum("kna,kna,na->n", first, second, weight)
        for first, second in ((path, path), (path, turn), (turn, turn))
    )
    power = np.einsum("na,na,na->n", rates[1], curvatures[1], weight)
    kappa = float(mass @ away / max(mass @ squares, _TINY))
    if mass @ power > 0.0 and _JERK_GROWTH / age**2 < kappa < _RESOLVED_GROWTH / duration**2:
        return np.zeros(len(mass)), kappa
    return (turns / np.maximum(squares, _TINY)) ** 0.25, 0.0


def _poses(state: State) -> FloatArray:
    return np.hstack([state.position, state.orientation])


def _lengths(vectors: FloatArray, weight: FloatArray) -> FloatArray:
    return np.sqrt(np.einsum("na,na,na->n", vectors, vectors, weight))
