"""Paths of equilibria under a load parameter, past folds and with their bifurcations.

Pseudo-arclength continuation: predict along the tangent, correct in the plane across it. Keller
(1977), in Applications of Bifurcation Theory, p. 359; Allgower and Georg (2003), Introduction to
Numerical Continuation Methods, ch. 2 and 8.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import block_array, coo_array

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import SimulationError
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.statics import (
    StaticEquations,
    StaticPoint,
    Vibrations,
    vibrations,
)
from sparsebody.simulation.implicit.step_equations import scaled_solver
from sparsebody.simulation.trajectory import Trajectory
from sparsebody.simulation.trajectory_files import recorded

_MOST_CORRECTIONS = 12  # Newton iterations of a point on the path
_MOST_DAMPED_CORRECTIONS = 72  # of the first point, and of the last
_FEW_ITERATIONS, _MANY_ITERATIONS = 4, 8  # iterations after which steps become longer, or shorter
_LEAST_STEP = 1e-6  # step, of the first one
# Change of the step that locates a fold or a bifurcation, of the first one
_LOCATION_TOLERANCE = 1e-9
# Least change of a pose in the first step, in typical lengths, by which poses are scaled
_LEAST_POSE_CHANGE = 0.01
_END_DISTANCE = 1e-3  # in first steps: a point closer to the end is replaced by the end
_MOST_REFINEMENTS = 60
# Angle [rad] between successive tangents, and correction over step, above which steps are halved
_LARGEST_TURN = 0.3


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A fold, where the parameter turns back, or a bifurcation, where branches cross."""

    kind: str  # "fold" or "bifurcation"
    parameter: float
    state: State = field(repr=False)
    directions: FloatArray = field(repr=False)  # (k, n_bodies, 6) twists that leave a bifurcation
    point: StaticPoint = field(repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class EquilibriumPath(BriefRepr):
    """Points of equilibrium, in the order in which they were reached."""

    parameter: FloatArray  # (n,)
    states: tuple[State, ...] = field(repr=False)
    n_unstable: tuple[int, ...]  # negative eigenvalues of K on free motions
    special: tuple[SpecialPoint, ...]
    system: System = field(repr=False)

    @property
    def folds(self) -> tuple[SpecialPoint, ...]:
        """The folds, located."""
        return tuple(point for point in self.special if point.kind == "fold")

    @property
    def bifurcations(self) -> tuple[SpecialPoint, ...]:
        """The bifurcations, located."""
        return tuple(point for point in self.special if point.kind == "bifurcation")

    def motion(self) -> Trajectory:
        """Return the points as a motion at rest that can be played, a second from end to end."""
        times = np.linspace(0.0, 1.0, len(self.states))
        states = [s.with_(time=float(t)) for s, t in zip(self.states, times, strict=True)]
        return recorded(self.system, states, None, None)


def follow(
    system: System,
    parameter: str,
    *,
    start: float = 0.0,
    stop: float = 1.0,
    step: float | None = None,
    state: State | None = None,
    branch: SpecialPoint | None = None,
    direction: int = 0,
    sign: float = 1.0,
    max_points: int = 200,
) -> EquilibriumPath:
    """Follow equilibria from one value of a load parameter to another, along their whole path.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    parameter : str
        The name of an external force or "gravity", which the parameter multiplies; or the name of
        a joint with a prescribed coordinate, which the parameter is [rad, m]: then the path is one
        of poses that are held in equilibrium, or a kinematic path if there is no other freedom.
    start, stop : float
        Values of the parameter; the path ends where it first reaches `stop`.
    step : float, optional
        First step of the parameter; default: a fiftieth of the way. On a branch, the length of
        the first step in the units of the path.
    state : State, optional
        Near the first equilibrium; default: the consistent initial state.
    branch : SpecialPoint, optional
        Begin at this bifurcation of another path instead, along its `directions`.
    direction : int
        Which of these.
    sign : float
        The direction along it, 1 or -1.
    max_points : int
        Largest number of points.

    Returns
    -------
    EquilibriumPath
        With every fold and bifurcation located to about nine digits, where an eigenvalue of the
        stiffness passes zero: the inertia of the factors has changed.

    Raises
    ------
    SimulationError
        If there is no equilibrium to begin with, or Newton's method fails for steps however short.
    """
    if start == stop:
        raise SimulationError(f"start and stop are {start}; give two values of the parameter")
    first = consistent_state(system, state) if branch is None else branch.state
    equations = StaticEquations(system, first, parameter)
    step = (stop - start) / 50.0 if step is None else step
    if step == 0.0 or max_points < 2:
        raise SimulationError(
            f"step is {step} and max_points {max_points}; give a step towards stop, 2 points"
        )
    walk = _Walk(equations, abs(step), (start, stop))
    if branch is not None:
        twist = sign * branch.directions[direction].ravel()
        tangent = np.append(twist, np.zeros(equations.n_rows + 1))
        return walk.run(branch.point, tangent / walk.length(tangent), max_points, [branch])
    begin = walk.corrected(equations.start(first, start), None)[0]
    return walk.run(begin, walk.balanced(begin), max_points, [])


class _Walk:
    """Points and tangents of a path.

    A tangent (d, dlambda, dp), (6 n_bodies + n_rows + 1,), has unit length in the norm

        (1/n) sum(|d_angular|^2 + |d_linear|^2 / length^2) / s^2 + dp^2 / step^2,

    where s makes both parts equal at the beginning of the path: at a fold, dp is zero.
    """

    def __init__(self, equations: StaticEquations, step: float, ends: tuple[float, float]) -> None:
        self._equations, self._unit, self._stop = equations, step, ends[1]
        self._sign = np.sign(ends[1] - ends[0])
        n = equations.system.n_bodies
        weight = np.tile(np.repeat([1.0, 1.0 / equations.length**2], 3), n) / n
        rows = np.zeros(equations.n_rows)
        self._weight = np.concatenate([weight, rows, [1.0 / step**2]])

    # ---- one point --------------------------------------------------------------------------

    def corrected(
        self, point: StaticPoint, plane: FloatArray | None
    ) -> tuple[StaticPoint, int, float]:
        """Return the equilibrium at constant parameter, or in the plane across a tangent.

        And the iterations, and the length of all corrections.
        """
        equations = self._equations
        across = np.zeros(len(self._weight))
        across[-1] = self._unit**-1
        if plane is not None:
            across = self._weight * plane
        last, total = np.inf, np.zeros(len(across))
        most = _MOST_DAMPED_CORRECTIONS if plane is None else _MOST_CORRECTIONS
        for iteration in range(1, most + 1):
            residual = equations.evaluate(point)
            change = -self._bordered(point, across, np.append(residual, 0.0))
            turn, move = equations.size(change)
            size = turn + move / equations.length + abs(change[-1]) / self._unit
            if not size < 1e3:
                break
            if plane is None:
                change *= min(1.0, 0.2 / max(turn, move / equations.length, 1e-300))
            elif iteration > 2 and size > 2.0 * last:
                break
            point = equations.moved(point, change[:-1], change[-1])
            total += change
            if size < 1e-10:
                return point, iteration, self.length(total)
            last = size
        raise SimulationError(
            f"Newton's method finds no equilibrium at parameter {point.parameter:.6g}; begin "
            "nearer to one, or with a smaller step"
        )

    def _bordered(self, point: StaticPoint, across: FloatArray, rhs: FloatArray) -> FloatArray:
        """Return the solution of [K A' r; A -C r; across'], r the rate of the parameter."""
        equations = self._equations
        ahead = replace(point, parameter=point.parameter + 1.0)  # the residual is linear in it
        rate = equations.evaluate(ahead) - equations.evaluate(point)
        matrix = equations.matrix()
        scale = np.append(equations.scale(matrix), self._unit)
        column, row = coo_array(rate[:, None]), coo_array(across[None, :-1])
        corner = coo_array([[across[-1]]])
        failure = (
            f"the equations are singular at parameter {point.parameter:.6g}: a body moves freely, "
            "or the path begins at a bifurcation; hold it, or begin elsewhere"
        )
        bordered = block_array([[matrix, column], [row, corner]])
        return scaled_solver(bordered, scale, failure)(rhs).real

    def tangent(self, point: StaticPoint, across: FloatArray) -> FloatArray:
        """Return the unit tangent t of the path at a point, with across' t > 0."""
        self._equations.evaluate(point)
        rhs = np.append(np.zeros(len(across) - 1), 1.0)
        tangent = self._bordered(point, across, rhs)
        return tangent / self.length(tangent)

    def balanced(self, point: StaticPoint) -> FloatArray:
        """Return the first tangent, in units in which poses and parameter have equal parts."""
        towards_parameter = np.append(np.zeros(len(self._weight) - 1), 1.0)
        tangent = self.tangent(point, towards_parameter) * self._sign
        of_pose = self.length(np.append(tangent[:-1], 0.0)) / abs(tangent[-1]) * self._unit
        self._weight[:-1] /= max(of_pose, _LEAST_POSE_CHANGE) ** 2
        return tangent / self.length(tangent)

    def length(self, change: FloatArray) -> float:
        return float(np.sqrt(np.sum(self._weight * change**2)))

    def n_unstable(self, point: StaticPoint) -> int:
        self._equations.evaluate(point)
        return self._equations.n_unstable(self._equations.matrix())

    # ---- the path ---------------------------------------------------------------------------

    def run(
        self, point: StaticPoint, tangent: FloatArray, max_points: int, special: list[SpecialPoint]
    ) -> EquilibriumPath:
        """Return the path from a point until it passes the end."""
        sign, length = self._sign, 1.0
        points, unstable = [point], [self.n_unstable(point)]
        while len(points) < max_points:
            rate = sign * tangent[-1]
            if 0.0 < sign * (self._stop - point.parameter) < rate * length:
                length = sign * (self._stop - point.parameter) / rate
            following, next_tangent, reach, length = self._step(point, tangent, length)
            unstable.append(self.n_unstable(following))
            leaves_bifurcation = len(points) == 1 and bool(special)
            n_crossing = abs(unstable[-1] - unstable[-2])
            is_fold = bool(tangent[-1] * next_tangent[-1] < 0.0)
            if not leaves_bifurcation and (n_crossing or is_fold):
                special += self._special(point, tangent, reach, is_fold, n_crossing)
            point, tangent = following, next_tangent
            missing = self._stop - point.parameter
            is_over = abs(missing) < _END_DISTANCE * self._unit or sign * missing <= 0.0
            if is_over and abs(missing) < self._unit:
                point = self.corrected(replace(point, parameter=self._stop), None)[0]
            points.append(point)
            if is_over:
                break
        return EquilibriumPath(
            np.array([point.parameter for point in points]),
            tuple(point.state for point in points),
            tuple(unstable),
            tuple(special),
            self._equations.system,
        )

    def _step(
        self, point: StaticPoint, tangent: FloatArray, length: float
    ) -> tuple[StaticPoint, FloatArray, float, float]:
        """Return the next point, its tangent, the length of the step, and that of the next."""
        while length > _LEAST_STEP:
            try:
                following, iterations, deviation = self._at(point, tangent, length)
                next_tangent = self.tangent(following, self._weight * tangent)
            except SimulationError:
                length /= 2.0
                continue
            cosine = float(np.sum(self._weight * tangent * next_tangent))
            is_far = (
                np.arccos(np.clip(cosine, -1.0, 1.0)) > _LARGEST_TURN
                or deviation > _LARGEST_TURN * length
            )
            if is_far and length > 1e3 * _LEAST_STEP:
                length /= 2.0
                continue
            factor = (
                1.5
                if iterations <= _FEW_ITERATIONS
                else 0.5
                if iterations >= _MANY_ITERATIONS
                else 1.0
            )
            return following, next_tangent, length, factor * length
        raise SimulationError(
            f"the path cannot be followed beyond parameter {point.parameter:.6g}, however short "
            "the steps; look at the state there"
        )

    def _at(
        self, point: StaticPoint, tangent: FloatArray, length: float
    ) -> tuple[StaticPoint, int, float]:
        """Return the point of the path in the plane at this distance along a tangent."""
        change = length * tangent
        return self.corrected(self._equations.moved(point, change[:-1], change[-1]), tangent)

    # ---- folds and bifurcations -------------------------------------------------------------

    def _special(
        self, point: StaticPoint, tangent: FloatArray, reach: float, is_fold: bool, n_crossing: int
    ) -> Iterator[SpecialPoint]:
        """Locate folds and bifurcations up to a distance `reach` along the tangent of a point."""
        if is_fold:
            across = self._weight * tangent
            fold = self._located(
                point, tangent, reach, lambda other: float(self.tangent(other, across)[-1])
            )
            yield SpecialPoint("fold", fold.parameter, fold.state, np.zeros((0, 0, 6)), fold)
        if n_crossing > is_fold:
            location = self._located(point, tangent, reach, self._nearest_eigenvalue)
            modes = self._modes(location, n_crossing + 3)
            critical = np.argsort(np.abs(modes.square))[:n_crossing]  # least stiff
            yield SpecialPoint(
                "bifurcation", location.parameter, location.state, modes.mode[critical], location
            )

    def _located(
        self,
        point: StaticPoint,
        tangent: FloatArray,
        reach: float,
        function: Callable[[StaticPoint], float],
    ) -> StaticPoint:
        """Return the point where a function of the path is zero, by the Illinois method."""
        ends = [0.0, reach]
        location, last = self._at(point, tangent, reach)[0], 0
        values = [function(point), function(location)]
        for _ in range(_MOST_REFINEMENTS):
            if abs(ends[1] - ends[0]) < _LOCATION_TOLERANCE or values[0] == values[1]:
                break
            s = (ends[0] * values[1] - ends[1] * values[0]) / (values[1] - values[0])
            location = self._at(point, tangent, s)[0]
            value = function(location)
            side = 0 if value * values[0] > 0.0 else 1
            if abs(s - ends[side]) < _LOCATION_TOLERANCE:
                break
            ends[side], values[side] = s, value
            if side == last:
                values[1 - side] /= 2.0
            last = side
        return location

    def _nearest_eigenvalue(self, point: StaticPoint) -> float:
        square = self._modes(point, 4).square
        return float(square[np.argmin(np.abs(square))])

    def _modes(self, point: StaticPoint, n: int) -> Vibrations:
        """Return the n vibrations of lowest frequency at a point."""
        system = self._equations.system
        self._equations.evaluate(point)
        return vibrations(self._equations, max(1, min(n, 6 * system.n_bodies - system.n_rows - 1)))


__all__ = ["EquilibriumPath", "SpecialPoint", "follow"]
