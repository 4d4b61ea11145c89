"""Estimate of the errors of a motion in steps of a fixed size, whatever the method.

Three successive poses y, h apart, and their rates obey Simpson's rule corrected by derivatives,

    y_2 - y_0 = h/15 (7 y_0' + 16 y_1' + 7 y_2') + h^2/15 (y_0'' - y_2'') + O(h^7);

the defect is the error of the poses in these two steps, to leading order for methods up to order 4.
It is computed for some pairs of steps only, and stands for all steps since the pair before; the sum
is the estimate.

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

Sample = tuple[float, FloatArray, FloatArray, FloatArray]
"""Time [s], poses (n_bodies, 7), and their first and second derivatives."""


class StepErrors:
    """Estimated errors of poses [m], body by body, summed over the steps.

    Rotations are multiplied by the body's radius of gyration, sqrt(tr(I) / (2 m)).
    """

    def __init__(self, system: System, state: State) -> None:
        square = 0.5 * np.trace(system.inertia, axis1=1, axis2=2) / system.mass
        self._weight = np.ones((system.n_bodies, 7))  # of squares
        self._weight[:, 3:] = 4.0 * square[:, None]  # an angle is 2 |dq|
        self._first = _poses(state)
        self._samples: list[Sample] = []  # of the pair under way
        self.next_step = 0  # the first one that is in a pair again
        self._seen = state.time  # up to where errors are added
        self._error = np.zeros(system.n_bodies)
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
        n_pairs = (end - self._seen) / (end - start)
        self._error += n_pairs * defects(self._samples, self._weight)
        self._size = max(self._size, self._displacement(sample[1]))
        interval = min(step // _INTERVAL_RATIO, _LONGEST_INTERVAL)
        self.next_step, self._seen, self._samples = step + max(0, interval - 2), end, []
        if interval <= 2:
            self._samples.append(sample)  # which starts the next one

    def restart(self) -> None:
        """Discard the unfinished pair: the motion does not continue from its newest state."""
        self._samples = []

    @property
    def memory(self) -> FloatArray:
        """Return what `resume` needs (n_bodies + 3,); an unfinished pair is left out."""
        return np.append(self._error, [self._size, self.next_step, self._seen])

    def resume(self, memory: FloatArray) -> None:
        """Go on with the errors of the steps before a checkpoint."""
        self._error = memory[:-3].copy()
        self._size, next_step, self._seen = memory[-3:].tolist()
        self.next_step = int(next_step)
        self.restart()

    def relative_to_motion(self, end: State) -> tuple[float, float]:
        """Return the error up to a state over the largest displacement, and that [m]."""
        size = max(self._size, self._displacement(_poses(end)))
        return (largest(self._error) / size if size > 0.0 else 0.0), size

    def _displacement(self, poses: FloatArray) -> float:
        return largest(_lengths(poses - self._first, self._weight))


def defects(pair: list[Sample], weight: FloatArray) -> FloatArray:
    """Return the defects (n_bodies,) of poses in Simpson's rule over two steps.

    As lengths, by weights (n_bodies, 7) of squares; the smaller of the defects of the plain rule
    and of the corrected one, which is sharper where steps resolve the accelerations.
    """
    (start, y0, rate0, curvature0), (_, _, rate1, _), (end, y2, rate2, curvature2) = pair
    h, change, both = 0.5 * (end - start), y2 - y0, rate0 + rate2
    simpson = h / 3.0 * (both + 4.0 * rate1)
    corrected = h / 15.0 * (7.0 * both + 16.0 * rate1 + h * (curvature0 - curvature2))
    return np.minimum(_lengths(change - simpson, weight), _lengths(change - corrected, weight))


def _poses(state: State) -> FloatArray:
    return np.hstack([state.position, state.orientation])


def _lengths(vectors: FloatArray, weight: FloatArray) -> FloatArray:
    return np.sqrt(np.einsum("na,na,na->n", vectors, vectors, weight))
