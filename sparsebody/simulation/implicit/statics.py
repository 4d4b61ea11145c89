"""Static equilibrium by damped Newton steps, and its equations.

    A' lambda = f(q, p),  delta(q, p) = 0,  z(q) = mu,   q <- q exp(d),

are the equations of an implicit step without inertia, with a load parameter p, the rows and forces
of elastic elements among A and lambda. Newton's matrix is that of a step, [K A'; A -C], where C of
rigid rows is far below all other compliances and only makes dependent rows regular; it takes no
part in the equations that are solved.

By Sylvester's law of inertia the negative pivots beyond one a row count the unstable directions:
[K + A'A / c, A'; A, -C] has the inertia of -C and of K + A'A / c + A' C^-1 A, which for small c and
C has as many negative eigenvalues as K on free motions, A d = 0. Every row is eliminated after its
bodies.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import block_array, bsr_array, csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from sparsebody.arrays import BriefRepr, FloatArray, IntArray
from sparsebody.dynamics.preparation import choose_solver
from sparsebody.equations import SystemMotion, consistent_state
from sparsebody.errors import ModelError, SimulationError
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.newton import SOLVERS, step_pattern
from sparsebody.simulation.implicit.step_equations import (
    StepEquations,
    extent_of,
    scaled_solver,
    uniform_compliance,
)

_ZERO_TOLERANCE = 1e-13  # of the largest stiffness over inertia: rounding of a zero eigenvalue
_BALANCE_REGULARIZATION, _BALANCE_PASSES = 1e-6, 3  # of normal equations with unit rows
_RIGID_COMPLIANCE = 1e-9  # of rigid rows, over a typical compliance of the mechanism


@dataclass(frozen=True, eq=False)
class StaticPoint:
    """A pose at rest, the forces in it, and the load parameter."""

    state: State
    multiplier: FloatArray  # (n_rows,) of joints, then of elastic elements
    parameter: float


Setter = Callable[[float], None]


class StaticEquations:
    """Residuals of equilibrium at a point, and their linearization.

    Parameters
    ----------
    system : System
        The mechanism.
    parameter : str, optional
        What the load parameter scales or sets: the name of an external force, "gravity", or the
        name of a joint with a prescribed coordinate, whose value it is.
    state : State
        Near which the sizes of forces are taken.

    Raises
    ------
    ModelError
        If there is no such parameter.
    """

    def __init__(self, system: System, state: State, parameter: str | None = None) -> None:
        loads = system.external_forces
        system = replace(
            system,
            gravity=system.gravity.copy(),
            external_forces=replace(loads, wrench=loads.wrench.copy()),
        )
        self.system, self.length = system, system.typical_length
        self._equations = StepEquations(system, uniform_compliance(system, state, 1.0), None)
        self._set, self.n_rows = self._setter(parameter), self._equations.n_rows
        units = np.repeat([self.length**2, 1.0], 3)
        # (6 n_bodies,) diagonal of M in shifts: bodies with radii of gyration of `length`, none so
        # light that what bears the others would run ahead of them
        mass = np.maximum(system.mass, _LEAST_MASS * system.mass.max())
        self.mass = (mass[:, None] * units).ravel()
        self.rigid = self._equations.compliance.diagonal
        self.evaluate(StaticPoint(state, np.zeros(self._equations.n_rows), 1.0))
        across = np.abs(self.tangent_stiffness(self.matrix())[0].diagonal()).reshape(-1, 6)[:, 3:]
        load = np.linalg.norm(SystemMotion(system, state).applied[:, 3:], axis=1).sum()
        self.stiffness = float(across.max() + load / self.length) or 1.0  # [N/m] a typical one
        self.rigid = _RIGID_COMPLIANCE / self.stiffness * self._equations.compliance.diagonal
        self._equations.compliance.entries[:] *= _RIGID_COMPLIANCE / self.stiffness
        self._order: IntArray | None = None

    # ---- the equations ----------------------------------------------------------------------

    def start(self, state: State, parameter: float = 0.0) -> StaticPoint:
        """Return a point at rest, with the forces of its stretches."""
        at_rest = state.with_(velocity=np.zeros_like(state.velocity))
        point = StaticPoint(at_rest, np.zeros(self._equations.n_rows), parameter)
        n = 6 * self.system.n_bodies + self.system.n_rows
        stretch = self.evaluate(point)[n:]
        return replace(point, multiplier=np.append(np.zeros(self.system.n_rows), stretch))

    def with_reactions(self, point: StaticPoint) -> StaticPoint:
        """Return the point with the forces of rigid rows that balance best, in least squares."""
        n, m = 6 * self.system.n_bodies, self.system.n_rows
        if m == 0:
            return point
        multiplier = point.multiplier.copy()
        multiplier[:m] = 0.0  # else states of self-stress remain
        residual = self.evaluate(replace(point, multiplier=multiplier))
        rows = self.matrix()[n : n + m, :n]
        unit = diags_array(1.0 / np.sqrt(self.mass))
        scaled = rows @ unit
        size = scaled.multiply(scaled).sum(axis=1)
        scaled = diags_array(1.0 / np.sqrt(size)) @ scaled
        bordered = block_array(
            [[eye_array(n), scaled.T], [scaled, -_BALANCE_REGULARIZATION * eye_array(m)]]
        )
        solve = scaled_solver(bordered, np.ones(n + m), "rows are not finite")
        force = residual[:n]
        for _ in range(_BALANCE_PASSES):  # the regularization keeps a part of weak rows' forces
            right = np.concatenate([-(unit @ force), np.zeros(m)])
            balance = solve(right)[n:].real / np.sqrt(size)
            multiplier[:m] += balance
            force = force + rows.T @ balance
        return replace(point, multiplier=multiplier)

    def evaluate(self, point: StaticPoint) -> FloatArray:
        """Return the residual (6 n_bodies + n_rows,) at a point, where `matrix` is then taken."""
        equations = self._equations
        equations.begin(point.state, velocity=0.0, multiplier=point.multiplier)
        self._set(point.parameter)
        equations.evaluate()
        rows, n = equations.row_residual.copy(), self.system.n_rows
        rows[:n] += self.rigid * equations.multiplier[:n]  # delta, without C lambda
        return np.concatenate([equations.force_residual.ravel(), rows])

    def matrix(self) -> csc_array:
        """Return [K A'; A -C] where the residual was evaluated last."""
        return self._equations.matrix(1.0)

    def moved(self, point: StaticPoint, change: FloatArray, dp: float = 0.0) -> StaticPoint:
        """Return the point after a change (6 n_bodies + n_rows,) of poses and forces, and of p."""
        equations, n = self._equations, 6 * self.system.n_bodies
        equations.begin(point.state, displacement=change[:n].reshape(-1, 6), velocity=0.0)
        self._set(point.parameter + dp)
        equations.evaluate()
        return StaticPoint(equations.state(), point.multiplier + change[n:], point.parameter + dp)

    def size(self, change: FloatArray) -> tuple[float, float]:
        """Return the largest rotation and translation [rad, m] in a change."""
        parts = change[: 6 * self.system.n_bodies].reshape(-1, 2, 3)
        turn, move = np.linalg.norm(parts, axis=2).max(axis=0)
        return float(turn), float(move)

    def scale(self, matrix: csc_array) -> FloatArray:
        """Return factors that bring rows and columns of [K A'; A -C] to similar sizes."""
        K, _ = self.tangent_stiffness(matrix)
        units = np.tile(np.repeat([self.length**2, 1.0], 3), self.system.n_bodies)
        # a thousandth of a typical stiffness keeps the scales of free motions finite
        diagonal = np.abs(K.diagonal()) + self.stiffness * units * 1e-3
        scale = np.ones(matrix.shape[0])
        scale[: len(diagonal)] = 1.0 / np.sqrt(diagonal)
        rows = matrix[len(diagonal) :, : len(diagonal)].multiply(scale[: len(diagonal)])
        size = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        scale[len(diagonal) :] = 1.0 / np.sqrt(np.where(size > 0.0, size, 1.0))
        return scale

    def acting(self, matrix: csc_array, point: StaticPoint) -> float:
        """Return the size of the forces that act: the largest of rows on a body, and weight [N].

        Magnitudes of the forces of rows are summed, so that it is not small where they balance.
        """
        n = len(self.mass)
        forces = abs(matrix[:n, n:]) @ np.abs(point.multiplier)
        weight = float(self.system.mass.max() * np.linalg.norm(self.system.gravity))
        return float(forces.reshape(-1, 6)[:, 3:].max(initial=0.0)) + weight

    def largest_rate(self, matrix: csc_array) -> float:
        """Return a bound of the eigenvalues of K in the metric of M [1/s^2], by sums of rows."""
        K, _ = self.tangent_stiffness(matrix)
        unit = diags_array(1.0 / np.sqrt(self.mass))
        return float(abs(unit @ K @ unit).sum(axis=1).max()) or 1.0

    # ---- stability --------------------------------------------------------------------------

    def tangent_stiffness(self, matrix: csc_array) -> tuple[csc_array, csc_array]:
        """Return K with the stiffness of elastic elements (6n, 6n), symmetric, and rigid rows."""
        n, m = 6 * self.system.n_bodies, self.system.n_rows
        K, elastic = matrix[:n, :n], matrix[n + m :, :n]
        return ((K + K.T) / 2.0 + elastic.T @ elastic).tocsc(), matrix[n : n + m, :n].tocsc()

    def n_unstable(self, matrix: csc_array, inertia: float = 0.0) -> int:
        """Return how many eigenvalues of K + inertia M on free motions are negative.

        Raises SimulationError if a pivot is zero.
        """
        K, rows = self.tangent_stiffness(matrix)
        K = K + diags_array(inertia * self.mass)
        penalized = K + rows.T @ diags_array(_RIGID_COMPLIANCE / self.rigid) @ rows
        least = _ZERO_TOLERANCE * max(1.0, float((np.abs(penalized.diagonal()) / self.mass).max()))
        for shift in (least, 1e2 * least, 1e4 * least):
            shifted = penalized + diags_array(shift * self.mass)
            signs = self._pivot_signs(
                block_array([[shifted, rows.T], [rows, diags_array(-self.rigid)]]).tocsr()
            )
            if signs is not None:
                return int(np.count_nonzero(signs < 0.0)) - rows.shape[0]
        raise SimulationError("pivots of the stiffness are zero; move the state a little")

    def _pivot_signs(self, bordered: csr_array) -> FloatArray | None:
        """Return the pivots of LDL', scaled, or None where one is zero."""
        scale = 1.0 / np.sqrt(np.abs(bordered.diagonal()))
        scale[len(self.mass) :] = 1.0
        order = self._elimination_order(bordered)
        scaled = (diags_array(scale) @ bordered @ diags_array(scale)).tocsr()[order][:, order]
        factors = splu(
            scaled.tocsc(),
            permc_spec="NATURAL",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        if (factors.perm_r != factors.perm_c).any():
            return None
        return np.asarray(factors.U.diagonal())

    def _elimination_order(self, bordered: csr_array) -> IntArray:
        """Return an order with each row after its bodies, and these as in implicit steps."""
        if self._order is None:
            n, pattern = len(self.mass), step_pattern(self.system, self._equations)
            blocks = choose_solver(pattern, "auto", SOLVERS[:2]).order
            bodies = blocks[blocks < self.system.n_bodies]
            position = np.full(bordered.shape[0], -1.0)
            position[(6 * bodies[:, None] + np.arange(6)).ravel()] = np.arange(n)
            rows = bordered[n:, :n].tocoo()
            np.maximum.at(position, n + rows.coords[0], position[rows.coords[1]] + 0.5)
            self._order = np.argsort(position, kind="stable")
        return self._order

    # ---- the parameter ----------------------------------------------------------------------

    def _setter(self, name: str | None) -> Setter:
        """Return the function that sets the parameter in the arrays of the equations."""
        if name is None:
            return lambda p: None
        system, equations = self.system, self._equations
        loads, tracked = system.external_forces, system.coordinates
        if name == "gravity":
            return _multiple(system.gravity)
        if name in loads.names:
            return _multiple(loads.wrench[loads.names.index(name)])
        joints = [system.joint_names[tracked.joint[item]] for item in tracked.prescribed]
        if name in joints:
            return lambda p: equations.prescribe(joints.index(name), p)
        raise ModelError(
            f"there is no parameter {name!r}; give 'gravity', the name of an external force or of "
            "a joint with a prescribed coordinate"
        )


def _multiple(array: FloatArray) -> Setter:
    """Return the function that sets an array to a multiple of its present values."""
    unit = array.copy()

    def put(parameter: float) -> None:
        array[...] = parameter * unit

    return put


# ---- equilibrium --------------------------------------------------------------------------------


_LEAST_MASS = 1e-3  # of the largest
_LARGEST_TURN = 0.2  # [rad] of a Newton step
_LARGEST_MOVE = 0.2  # of the mechanism's extent
_BALANCE_TOLERANCE = 1e-13  # residual forces, of those that act: rounding
_PERTURBATION = 1e-2  # of typical lengths, away from an unstable equilibrium
_MOST_SHIFTS = 60  # b M of a sequence, each twice the last, that make the matrix positive
_NEUTRAL_STIFFNESS = 1e-6  # of forces over a length, as a stiffness: well above rounding of it
_SHIFT = 1e-12  # sigma below zero, of the largest eigenvalue: zero may be one, of free bodies


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(BriefRepr):
    """A pose in which all forces balance."""

    state: State = field(repr=False)  # at rest
    n_unstable: int  # negative eigenvalues of K on free motions
    residual: float  # the largest force [N] or moment over a typical length left on a body
    iterations: int


def equilibrium(
    system: System,
    state: State | None = None,
    *,
    stable: bool = True,
    tolerance: float = 1e-10,
    max_iterations: int = 200,
) -> Equilibrium:
    """Return the static equilibrium near a state, at its time.

    Newton's method on A' lambda = f, with the matrix [K A'; A -C] of implicit steps without
    inertia. Where K is indefinite on free motions b M is added, the least b that makes it positive,
    so that the potential falls, as along the path of a slow motion with friction.

    Parameters
    ----------
    system : System
        The compiled mechanism: rigid, compliant and redundant joints, springs, bushings, beams.
    state : State, optional
        Where to begin; velocities do not matter. Default: the initial state.
    stable : bool
        False: take the nearest equilibrium, even if the potential has no minimum there.
    tolerance : float
        Of the last correction, over a typical length of the mechanism.
    max_iterations : int
        At most.

    Raises
    ------
    ModelError
        If `max_iterations` is less than one.
    SimulationError
        If none is found: bodies move freely, or it is too far.

    References
    ----------
    Kelley and Keyes (1998), SIAM J. Numer. Anal. 35:508, on pseudo-transient continuation.
    """
    if max_iterations < 1:
        raise ModelError(f"max_iterations is {max_iterations}; give one or more")
    start = consistent_state(system, state)
    equations = StaticEquations(system, start)
    extent = extent_of(system, start)
    point, shift, has_moved = equations.start(start), 0.0, False
    n = 6 * system.n_bodies
    for iteration in range(1, max_iterations + 1):
        point = equations.with_reactions(point)
        residual = equations.evaluate(point)
        matrix = equations.matrix()
        shift = _shift(equations, matrix, shift) if stable else 0.0
        acting = equations.acting(matrix, point)
        least = _NEUTRAL_STIFFNESS * acting / (system.mass.mean() * equations.length)
        change = -_solution(equations, matrix, residual, shift + least)
        turn, move = equations.size(change)
        size = equations.length * turn + move
        if not np.isfinite(size):
            break
        is_small = size < tolerance * equations.length
        moment, force = np.abs(residual[:n].reshape(-1, 2, 3)).max(axis=(0, 2))
        unbalanced = max(moment / equations.length, force) / (acting or 1.0)
        unbalanced = max(unbalanced, np.abs(residual[n:]).max(initial=0.0))
        is_rounding = iteration > 1 and unbalanced < _BALANCE_TOLERANCE  # the correction
        if is_small or is_rounding:
            if shift == 0.0 or has_moved or not _has_potential(system):
                last = equations.moved(point, change) if is_small else point
                parts = equations.evaluate(last)[:n].reshape(-1, 2, 3)
                largest = np.linalg.norm(parts, axis=2).max(axis=0)
                unbalanced = float(max(largest[0] / equations.length, largest[1]))
                n_unstable = equations.n_unstable(equations.matrix())
                return Equilibrium(last.state, n_unstable, unbalanced, iteration)
            has_moved = True  # away from a maximum of the potential
            change = np.zeros(len(residual))
            kick = np.random.default_rng(0).uniform(
                -_PERTURBATION, _PERTURBATION, (system.n_bodies, 2, 3)
            )
            change[:n] = (kick * [[1.0], [equations.length]]).ravel()
        else:
            change /= max(1.0, turn / _LARGEST_TURN, move / (_LARGEST_MOVE * extent))
        point = equations.moved(point, change)
    raise SimulationError(
        f"no equilibrium after {iteration} iterations (the last correction was {move:.1e} m, "
        f"{turn:.1e} rad); begin nearer to it, hold what moves freely, or follow a load from where "
        "the equilibrium is known"
    )


def _shift(equations: StaticEquations, matrix: csc_array, last: float) -> float:
    """Return a b >= 0 with which K + b M is positive on free motions, the least of a sequence."""
    if equations.n_unstable(matrix) == 0:
        return 0.0
    shift = last / 4.0 if last > 0.0 else 1e-6 * equations.largest_rate(matrix)
    for _ in range(_MOST_SHIFTS):
        if equations.n_unstable(matrix, shift) == 0:
            return shift
        shift *= 2.0
    raise SimulationError("no inertia makes the equations positive: a stiffness is not finite")


def _has_potential(system: System) -> bool:
    """Whether all loads have one: neither moments fixed in space nor forces that turn with bodies.

    Otherwise the inertia of K + K' does not decide on stability.
    """
    loads = system.external_forces
    return not (loads.wrench[loads.in_world, :3].any() or loads.wrench[~loads.in_world].any())


def _solution(
    equations: StaticEquations, matrix: csc_array, rhs: FloatArray, shift: float
) -> FloatArray:
    """Return the solution of [K + shift M, A'; A -C], scaled, by LU factors."""
    n_rows = len(rhs) - len(equations.mass)
    matrix = matrix + diags_array(np.append(shift * equations.mass, np.zeros(n_rows)))
    failure = (
        "the equations of equilibrium are singular: a body moves freely; hold it by a joint, "
        "a spring or a beam"
    )
    return scaled_solver(matrix, equations.scale(matrix), failure)(rhs).real


# ---- stability ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Vibrations(BriefRepr):
    """Eigenvalues of K on free motions, in the metric of M: those nearest to zero."""

    square: FloatArray  # (n,) [1/s^2], negative where the equilibrium is unstable
    mode: FloatArray  # (n, n_bodies, 6) twists in body coordinates, of unit M-norm


def vibrations(equations: StaticEquations, count: int) -> Vibrations:
    """Return the eigenvalues nearest to zero at the point evaluated last, by Lanczos steps.

    Those of the inverse of [K - sigma M, A'; A, -C] in the metric of M, sigma just below zero.
    """
    matrix = equations.matrix()
    K, rows = equations.tangent_stiffness(matrix)
    n = K.shape[0]
    if not 0 < count < n - rows.shape[0]:
        raise SimulationError(f"count is {count}; give 1 to {n - rows.shape[0] - 1}")
    inertia = equations.system.spatial_inertia
    index = np.arange(len(inertia) + 1)
    M = bsr_array((inertia, index[:-1], index), shape=(n, n)).tocsc()
    sigma = -_SHIFT * equations.largest_rate(matrix)
    bordered = block_array([[K - sigma * M, rows.T], [rows, diags_array(-equations.rigid)]])
    factors = splu(bordered.tocsc())
    padding = np.zeros(rows.shape[0])
    inverse = LinearOperator(
        (n, n), matvec=lambda x: factors.solve(np.concatenate([x.ravel(), padding]))[:n]
    )
    start = np.random.default_rng(0).standard_normal(n)
    _, basis = eigsh(K, count, M=M, sigma=sigma, OPinv=inverse, v0=start, which="LM")
    values, mixture = eigh(
        basis.T @ (K @ basis), basis.T @ (M @ basis)
    )  # Ritz values, without errors of the shift
    return Vibrations(values, (basis @ mixture).T.reshape(count, -1, 6))
