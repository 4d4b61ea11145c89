"""Time integrators, on poses as curves in R^7: coefficients, steps, and the table INTEGRATORS.

"rk4" is a Runge-Kutta-Nystrom method of four stages; "variational" and "variational-4" are
compositions of RATTLE, symplectic, and with the momenta of the symmetries of a mechanism kept: the
energy of a conservative motion errs by O(h^2), or O(h^4), but does not drift, however long it goes
on. "generalized-alpha" and "radau-iia" solve for the state at the end, `simulation/implicit`.

References
----------
Nystrom (1925); Hairer, Norsett, Wanner (1993), sec. II.4, II.6, II.7, II.14; Hairer and Wanner
(1996), sec. IV.5 and IV.8; Hairer, Lubich, Wanner (2006), Geometric Numerical Integration, sec. V.3
and chapter IX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.model.system import State

Stage = Callable[[State], tuple[State, FloatArray]]
"""From a state to the nearest state at which accelerations are taken, and these (n_bodies, 6)."""

Step = Callable[[Stage, State, FloatArray, float], State]
"""step(stage, state, acceleration, h): the state a time h [s] later.

`acceleration` (n_bodies, 6) is that at `state`.
"""


@dataclass(frozen=True, eq=False)
class Tableau:
    """Coefficients of an explicit method of Runge, Kutta and Nystrom for y'' = f(y, y').

    Row k makes the poses y + c h y' + (c h)^2 / 2 sum(pose[k] y'') and their rates
    y' + c h sum(rate[k] y'') of the next stage, of all y'' so far, c = node[k]; the last row makes
    the end of the step.
    """

    node: FloatArray  # (s,)
    pose: FloatArray  # (s, s)
    rate: FloatArray  # (s, s)
    error: FloatArray  # (s + 1,) weights of all y'', and of that at the end, in the error of y' / h
    open_stages: Tableau | None = None  # the method in its place where stages are not projected

    @cached_property
    def arrays(self) -> tuple[FloatArray, ...]:
        """The coefficients as native steps take them."""
        return self.node, self.pose, self.rate, self.error

    def step(self, stage: Stage, state: State, acceleration: FloatArray, h: float) -> State:
        """Return the state a time h [s] later.

        `stage` may project stages onto the constraints; `ExplicitSteps` does so natively.
        """
        rate, curvature = pose_derivatives(state, acceleration)
        curvatures, end = [curvature], state
        for k, node in enumerate(self.node):
            if k > 0:
                curvatures.append(pose_derivatives(*stage(end))[1])
            means = weighted(self.pose[k], curvatures), weighted(self.rate[k], curvatures)
            end = moved(state, rate, *means, node * h)
        return end


@dataclass(frozen=True, eq=False)
class SemiImplicitEuler:
    """Steps of `semi_implicit_euler_step`, compiled, with their ends closed."""


@dataclass(frozen=True, eq=False)
class Composition:
    """Steps of RATTLE, which is compiled, one after the other: a symplectic method.

    Symmetric ones have even orders. Where it does not converge, near singular poses, single steps
    are those of "rk4".
    """

    parts: FloatArray  # (n,) of a step; their sum is 1


@dataclass(frozen=True, eq=False)
class Collocation:
    """Polynomials of degree s that meet the equations at s nodes, the last of which is the end."""

    node: FloatArray  # (s,) in (0, 1], the last one 1

    @cached_property
    def tableau(self) -> FloatArray:
        """(s, s) A: integrals from 0 to node i of the Lagrange polynomial of node j."""
        powers = np.arange(len(self.node))
        integral = self.node[:, None] ** (powers + 1) / (powers + 1)
        return np.asarray(integral @ np.linalg.inv(self.node[:, None] ** powers))

    @cached_property
    def rates(self) -> FloatArray:
        """(s, s) W, the inverse of the tableau: h y' = W (y - y_0)."""
        return np.asarray(np.linalg.inv(self.tableau))

    @cached_property
    def modes(self) -> tuple[NDArray[np.complex128], NDArray[np.complex128], FloatArray]:
        """The eigenvalues of W, the real one first, one of each complex pair, P and P^-1 for them.

        Of W = sum(P value P^-1), twice the real part of complex ones.
        """
        value, P = np.linalg.eig(self.rates)
        chosen = [int(k) for k in np.argsort(np.abs(value.imag)) if value[k].imag > -1e-12]
        return value[chosen], P[:, chosen], np.linalg.inv(P)[chosen]

    @cached_property
    def error(self) -> FloatArray:
        """(s,) e: h f(y_0) + e'(y - y_0) is w times the error of order s, w the real eigenvalue."""
        first = self.modes[0][0].real
        powers = np.arange(1, len(self.node) + 1)
        moments = 1.0 / powers - (powers == 1) / first
        weights = np.linalg.solve((self.node[:, None] ** (powers - 1)).T, moments)
        return np.asarray(first * (weights - self.tableau[-1]) @ self.rates)

    def weights(self, at: float, with_start: bool) -> FloatArray:
        """Return the weights of values at the nodes, or at 0 and the nodes, in that at `at`."""
        node = np.append(0.0, self.node) if with_start else self.node
        powers = np.arange(len(node))
        return np.asarray(np.linalg.solve((node[:, None] ** powers).T, at**powers))


class LocalError(NamedTuple):
    """Largest errors of poses and velocities in a step."""

    angle: float  # [rad]
    distance: float  # [m]
    turning: float  # [rad/s]
    moving: float  # [m/s]

    @classmethod
    def of_curvature(cls, error: FloatArray, h: float) -> LocalError:
        """Return those of an error (n_bodies, 7) of the mean y'' of a step."""
        moving = h * float(np.linalg.norm(error[:, :3], axis=1).max(initial=0.0))
        turning = 2.0 * h * float(np.linalg.norm(error[:, 3:], axis=1).max(initial=0.0))
        return cls(h * turning, h * moving, turning, moving)


ExplicitScheme = Tableau | Composition | SemiImplicitEuler


@dataclass(frozen=True, eq=False)
class Integrator:
    """A row of INTEGRATORS whose steps are explicit."""

    step: Step
    order: int  # the error at a fixed time falls with this power of the step
    scheme: ExplicitScheme | None = None  # of steps that are compiled

    @property
    def is_symplectic(self) -> bool:
        """Whether errors of the energy swing, and say nothing of those of the motion."""
        return isinstance(self.scheme, Composition | SemiImplicitEuler)


@dataclass(frozen=True, eq=False)
class ImplicitIntegrator:
    """A row of INTEGRATORS whose steps solve for the state at their end."""

    order: int
    scheme: Collocation | None = None  # None: the generalized-alpha method
    closes_velocities: bool = False  # that of index 2, of rigid joints


# ---- poses as curves ----------------------------------------------------------------------------


def pose_derivatives(state: State, acceleration: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return y' and y'' (n_bodies, 7) of the poses y = (x, q).

    The center of mass moves with x' = R u, the unit quaternion with q' = q (0, w) / 2.
    """
    return simulation.pose_derivatives(state.orientation, state.velocity, acceleration)


def weighted(weights: FloatArray, curvatures: list[FloatArray]) -> FloatArray:
    """Return the weighted sum of the first y'' (n_bodies, 7)."""
    return np.asarray(sum(w * c for w, c in zip(weights, curvatures, strict=False)))


def moved(
    state: State, rate: FloatArray, pose_curvature: FloatArray, rate_curvature: FloatArray, h: float
) -> State:
    """Return the state at y + h y' + h^2 C / 2 and y' + h c, quaternions normalized.

    With rate y', pose_curvature C and rate_curvature c (n_bodies, 7).
    """
    moved = simulation.moved(
        state.position, state.orientation, rate, pose_curvature, rate_curvature, h
    )
    return State(*moved, state.coordinate, state.time + h)


def interpolated(
    before: State,
    after: State,
    accelerations: tuple[FloatArray | None, FloatArray | None],
    time: float,
) -> State:
    """Return the state at a time between two others, with their accelerations (n_bodies, 6).

    By the polynomials of degree 5 that fit y, y' and y'' at both: of order 6. Each acceleration
    that is None, as at a singular pose, lowers the degree by one.
    """
    h, t = after.time - before.time, time - before.time
    (y, rate, curvature), (end, end_rate, end_curvature) = (
        (
            np.hstack([state.position, state.orientation]),
            *pose_derivatives(state, state.velocity if acceleration is None else acceleration),
        )
        for state, acceleration in zip((before, after), accelerations, strict=True)
    )
    growth = 6.0 * (rate + end_rate - 2.0 * (end - y) / h) / h  # of y'', without terms of degree 5
    is_known = [acceleration is not None for acceleration in accelerations]
    if not is_known[0]:
        curvature = end_curvature - growth if is_known[1] else (end_rate - rate) / h - 0.5 * growth
    if not is_known[1]:
        end_curvature = curvature + growth
    # remainders of Taylor's polynomial of degree 2, at the end
    pose_remainder = end - (y + h * rate + 0.5 * h * h * curvature)
    rate_remainder = h * (end_rate - rate - h * curvature)
    curvature_remainder = h * h * (end_curvature - curvature)
    c3 = 10.0 * pose_remainder - 4.0 * rate_remainder + 0.5 * curvature_remainder
    c4 = -15.0 * pose_remainder + 7.0 * rate_remainder - curvature_remainder
    c5 = 6.0 * pose_remainder - 3.0 * rate_remainder + 0.5 * curvature_remainder
    s = t / h
    pose = y + t * rate + 0.5 * t * t * curvature + s**3 * (c3 + s * (c4 + s * c5))
    speed = rate + t * curvature + s * s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)) / h
    still = np.zeros_like(pose)
    x, q = np.ascontiguousarray(pose[:, :3]), np.ascontiguousarray(pose[:, 3:])
    size = np.linalg.norm(q, axis=1, keepdims=True)
    speed[:, 3:] /= size
    coordinate = before.coordinate + s * (after.coordinate - before.coordinate)
    return State(*simulation.moved(x, q / size, speed, still, still, 0.0), coordinate, time)


# ---- the methods --------------------------------------------------------------------------------


def semi_implicit_euler_step(
    stage: Stage, state: State, acceleration: FloatArray, h: float
) -> State:
    """Return the state after h: first the velocity, then the pose with the new velocity.

    Keeps the energy of oscillations bounded, where the explicit method lets it grow.
    """
    faster = state.with_(velocity=state.velocity + h * acceleration)
    rate, _ = pose_derivatives(faster, acceleration)
    still = np.zeros_like(rate)
    return moved(state, rate, still, still, h).with_(velocity=faster.velocity)


OPEN_STAGES = Tableau(
    node=np.array([3 / 10, 2 / 3, 1, 1]),
    pose=np.array(
        [
            [1, 0, 0, 0],
            [3 / 22, 19 / 22, 0, 0],
            [888 / 3025, 5 / 11, 762 / 3025, 0],
            [2 / 9, 50 / 99, 3 / 11, 0],
        ]
    ),
    rate=np.array(
        [
            [1, 0, 0, 0],
            [-19 / 36, 55 / 36, 0, 0],
            [37 / 30, -91 / 66, 63 / 55, 0],
            [1 / 9, 250 / 693, 9 / 22, 5 / 42],
        ]
    ),
    error=np.array([1 / 18, -100 / 693, 3 / 22, 5 / 42, -1 / 6]),
)
"""Order 4 for second-order equations, with small errors where stages stay open. Methods of four
stages and order 4 (Hairer, Norsett, Wanner (1993), sec. II.1 and II.14) have two free nodes, and
two free weights of poses: these make the errors of 17 gallery mechanisms small, 0.64 of those of
Kutta's 3/8 rule in the geometric mean. The second stage is off the motion by O(h^3), which the
others make up for; the error is that of the embedded formula of order 3."""

RK4 = Tableau(
    node=np.array([1 / 2, 1 / 2, 1, 1]),
    pose=np.array(
        [[1, 0, 0, 0], [2 / 3, 1 / 3, 0, 0], [1 / 6, 0, 5 / 6, 0], [1 / 3, 1 / 3, 1 / 3, 0]]
    ),
    rate=np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1 / 6, 1 / 3, 1 / 3, 1 / 6]]),
    error=np.array([0, 0, 0, 1 / 6, -1 / 6]),
    open_stages=OPEN_STAGES,
)
"""Order 4 for second-order equations. Velocities are those of the classical method; poses of stages
use the accelerations as well: they have errors of h^3 and h^4 instead of h^2, and so have joints.
The last stage and the end of the step differ by an error of order 3."""

RATTLE = Composition(np.ones(1))
_OUTER = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
SUZUKI = Composition(np.array([_OUTER, _OUTER, 1.0 - 4.0 * _OUTER, _OUTER, _OUTER]))
"""Order 4. Suzuki (1990), Phys. Lett. A 146:319."""

RADAU_IIA = Collocation(np.array([(4.0 - 6.0**0.5) / 10.0, (4.0 + 6.0**0.5) / 10.0, 1.0]))
"""Order 5, for precise and for stiff motions. Ehle (1969)."""

INTEGRATORS: dict[str, Integrator | ImplicitIntegrator] = {
    "semi-implicit-euler": Integrator(
        semi_implicit_euler_step, order=1, scheme=SemiImplicitEuler()
    ),
    "rk4": Integrator(RK4.step, order=4, scheme=RK4),
    "variational": Integrator(RK4.step, order=2, scheme=RATTLE),
    "variational-4": Integrator(RK4.step, order=4, scheme=SUZUKI),
    "generalized-alpha": ImplicitIntegrator(order=2),
    "generalized-alpha-2": ImplicitIntegrator(order=2, closes_velocities=True),
    "radau-iia": ImplicitIntegrator(order=5, scheme=RADAU_IIA),
}
