"""The generalized-alpha method on SE(3), constraints of index 3 with compliance.

    q_1 = q_0 exp(y),  y   = h v_0 + h^2 ((1/2 - beta) a_0 + beta a_1),
                       v_1 = v_0 + h ((1 - gamma) a_0 + gamma a_1),
    (1 - alpha_m) a_1 + alpha_m a_0 = (1 - alpha_f) dv_1/dt + alpha_f dv_0/dt.

Of order 2 in poses, velocities and multipliers if a_0 approximates dv/dt at the time
(alpha_m - alpha_f) h to order 2.

References
----------
Chung and Hulbert (1993), J. Appl. Mech. 60:371, on the coefficients; Brüls, Cardona and Arnold
(2012), Mech. Mach. Theory 48:121, on Lie groups; Arnold, Brüls and Cardona (2015), Numer. Math.
129:149, on order and starting values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import SimulationError
from sparsebody.model.system import State
from sparsebody.simulation.implicit.newton import NewtonMatrix
from sparsebody.simulation.implicit.step_equations import StepEquations

_ACCURACY = 1e-6  # of Newton's method, relative to what accelerations contribute to the step
_FAST = 0.2  # contraction with which factors are kept
_SLOW = 0.5  # contraction by new factors at which they are given up
_ROUNDING = 1e-13  # relative to the length
_MOST_ITERATIONS = 20
_FARTHEST = 0.3  # lengths that a correction may go without leaving the branch of the motion


@dataclass(frozen=True)
class AlphaCoefficients:
    """The coefficients for a spectral radius at infinite frequency, from 0 to 1."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    @classmethod
    def of(cls, spectral_radius: float) -> AlphaCoefficients:
        """Return those of second order with the least dissipation of low frequencies."""
        alpha_m = (2.0 * spectral_radius - 1.0) / (spectral_radius + 1.0)
        alpha_f = spectral_radius / (spectral_radius + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        return cls(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)

    @property
    def shift(self) -> float:
        """The time, in steps, at which a approximates dv/dt."""
        return self.alpha_m - self.alpha_f

    def of_newton(self, h: float) -> tuple[float, float]:
        """Return b and c: d(dv/dt) = b dy and dv = c dy."""
        b = (1.0 - self.alpha_m) / ((1.0 - self.alpha_f) * self.beta * h * h)
        return b, self.gamma / (self.beta * h)


@dataclass(frozen=True, eq=False)
class AlphaState:
    """All that the method carries from one step to the next."""

    state: State
    acceleration: FloatArray  # (n_bodies, 6) dv/dt
    mean: FloatArray  # (n_bodies, 6) a of the method
    multiplier: FloatArray  # (n_rows,)


@dataclass(frozen=True)
class StepReport:
    """What a step took."""

    iterations: int
    factorizations: int
    contraction: float  # of the last Newton iteration
    correction: float  # the last one [m]


class GeneralizedAlpha:
    """Steps of the generalized-alpha method.

    Parameters
    ----------
    equations : StepEquations
        Of the mechanism.
    matrix : NewtonMatrix
        On the same arrays.
    spectral_radius : float
        At infinite frequency, from 0 (all oscillations that steps do not resolve vanish in one of
        them) to 1 (none does).
    length : float
        That makes an angle a distance [m].
    """

    def __init__(
        self,
        equations: StepEquations,
        matrix: NewtonMatrix,
        spectral_radius: float,
        length: float,
    ) -> None:
        self.coefficients = AlphaCoefficients.of(spectral_radius)
        self._equations, self._matrix, self._length = equations, matrix, length
        self._h = 0.0  # of the factors at hand; 0: none are to be kept
        self.factorized_at = self._point(0.0)

    def _arrays(self) -> tuple[FloatArray, ...]:
        """Return all that factors depend on."""
        e = self._equations
        return (
            *(e.start_position, e.start_orientation, e.start_coordinate),
            *(e.displacement, e.velocity, e.multiplier, e.known),
        )

    def _point(self, h: float) -> FloatArray:
        return np.concatenate([[h], *(array.ravel() for array in self._arrays())])

    def factorize_at(self, point: FloatArray) -> None:
        """Make the factors again that were made at such a `factorized_at`."""
        arrays = self._arrays()
        ends = np.cumsum([1, *(array.size for array in arrays)])
        for array, part in zip(arrays, np.split(point, ends)[1:-1], strict=True):
            array[...] = part.reshape(array.shape)
        if point[0] > 0.0:
            self._equations.evaluate_known()
            self._factorize(float(point[0]))

    def step(
        self, start: AlphaState, h: float, time: float, with_whole_matrix: bool = False
    ) -> tuple[AlphaState, StepReport]:
        """Return what is `h` [s] later, at `time`.

        Where Newton's method converges slowly by the factors, the whole matrix is factorized
        instead if that is allowed: it takes long.

        Raises
        ------
        SimulationError
            If Newton's method does not converge.
        """
        method, equations = self.coefficients, self._equations
        equations.start_from(start.state, time)
        self._predict(start, h)
        report = self._solve(h, self._accuracy(start, h), with_whole_matrix)
        velocity = start.state.velocity
        explicit = velocity + h * (1.0 - method.gamma) * start.mean
        end = AlphaState(
            equations.state(),
            equations.acceleration.copy(),
            (equations.velocity - explicit) / (h * method.gamma),
            equations.multiplier.copy(),
        )
        return end, report

    def _predict(self, start: AlphaState, h: float) -> None:
        """Begin with the accelerations and multipliers of the step before."""
        method, equations = self.coefficients, self._equations
        mean = (start.acceleration - method.alpha_m * start.mean) / (1.0 - method.alpha_m)
        both = (0.5 - method.beta) * start.mean + method.beta * mean
        equations.displacement[:] = h * start.state.velocity + h * h * both
        both = (1.0 - method.gamma) * start.mean + method.gamma * mean
        equations.velocity[:] = start.state.velocity + h * both
        equations.acceleration[:] = start.acceleration
        equations.multiplier[:] = start.multiplier

    def _solve(self, h: float, accuracy: float, with_whole_matrix: bool) -> StepReport:
        """Iterate; factors are made anew where they contract too slowly."""
        equations, matrix = self._equations, self._matrix
        b, c = self.coefficients.of_newton(h)
        n_factorizations, n_slow, contraction, last = 0, 0, 0.0, np.inf
        for iteration in range(1, _MOST_ITERATIONS + 1):
            equations.evaluate()
            if h != self._h or contraction > _FAST:
                n_slow = n_slow + 1 if n_factorizations and contraction > _SLOW else 0
                if n_slow > 2 and not with_whole_matrix:
                    break
                if n_slow > 2 or matrix.is_whole:
                    matrix.factorize_whole(b, c)
                else:
                    self._factorize(h)
                n_factorizations += 1
            matrix.solve()
            angle, distance = equations.native.correct(b, c, matrix.twist, matrix.multiplier)
            size = self._length * angle + distance
            if not size < _FARTHEST * self._length:
                break
            contraction = size / last if 0.0 < last < np.inf else 0.0
            if size * self._remaining(contraction) < accuracy:
                if matrix.is_whole:  # too much work to be kept
                    self._drop_factors()
                return StepReport(iteration, n_factorizations, contraction, size)
            last = size
        self._drop_factors()
        raise SimulationError(
            f"Newton's method does not converge (correction {size:.1e} m after {iteration} "
            "iterations); take smaller steps"
        )

    def _factorize(self, h: float) -> None:
        self._h, self.factorized_at = h, self._point(h)
        self._matrix.factorize(*self.coefficients.of_newton(h))

    def _drop_factors(self) -> None:
        self._h = self.factorized_at[0] = 0.0

    def _remaining(self, contraction: float) -> float:
        """Return the error after a correction, relative to it, of a linear convergence."""
        known = max(contraction, 0.01) if contraction > 0.0 else 1.0
        return known / (1.0 - min(known, 0.9))

    def _accuracy(self, start: AlphaState, h: float) -> float:
        """Return the error [m] at which the iteration ends."""
        size = self._length * np.abs(start.acceleration[:, :3]).max(initial=0.0)
        size += np.abs(start.acceleration[:, 3:]).max(initial=0.0)
        return float(_ACCURACY * h * h * size + _ROUNDING * self._length)
