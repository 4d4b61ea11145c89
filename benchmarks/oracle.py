"""Reference accelerations in extended precision, by a formulation that shares no code with ours.

Unknowns are the angular acceleration of each body and the acceleration of its center of mass, both
in world axes; constraints are written point by point and direction by direction from the poses.
Ladder, lattice and chain: SuperLU with partial pivoting, refined with residuals and solution in
`longdouble`; large lattices, which it would fill, CHOLMOD in METIS order, refined alike. Scissor
(dependent rows): its one equation of motion in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import (
    bsr_array,
    coo_array,
    csc_array,
    csc_matrix,
    csr_array,
    diags_array,
    eye_array,
)
from scipy.sparse.linalg import LinearOperator, SuperLU, onenormest, splu

from benchmarks.cases import Problem
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.system import System

Extended = np.longdouble
STEPS = 30  # of refinement at most
LARGE = 40_000  # unknowns of bodies
LARGE_LATTICE = 1000  # bodies
ACCURATE = 1e-15  # relative error with which CHOLMOD is believed
SINGULAR = 1e13  # condition from which on rows may depend on each other, and are to be left out
SHIFT = 1e-14  # of the Schur complement of the scaled matrix
WEAK_PIVOT = 1e-10  # of a row that depends on others, in the scaled matrix


@dataclass(frozen=True, eq=False)
class Reference:
    """Accelerations to compare with, and how far they can be trusted."""

    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates, angular first
    error: float  # relative size of the last correction
    kappa: float  # estimated 1-norm condition number of [1 A'; A 0], rows scaled to unit norm


@dataclass(frozen=True, eq=False)
class Motion:
    """Poses and velocities of all bodies, and of the world as the last one, in world axes."""

    rotation: np.ndarray  # (n + 1, 3, 3) body to world
    position: np.ndarray  # (n + 1, 3)
    angular: np.ndarray  # (n + 1, 3)
    linear: np.ndarray  # (n + 1, 3)


@dataclass(frozen=True, eq=False)
class Equations:
    """[D A'; A 0] (a, -lambda) = (force, rate), entries in extended precision."""

    inertia: np.ndarray  # (n, 3, 3) about the centers of mass, in world axes
    mass: np.ndarray  # (3 n,) each three times
    row: IntArray  # of the entries of A
    column: IntArray
    value: np.ndarray
    rate: np.ndarray  # (n_rows,)
    force: np.ndarray  # (6 n,)


def motion(problem: Problem) -> Motion:
    """Return the motion in extended precision."""
    state = problem.state
    n = len(state.position)
    rotation = np.zeros((n + 1, 3, 3), Extended)
    rotation[:n], rotation[n] = _rotations(state.orientation.astype(Extended)), np.eye(3)
    position, angular, linear = np.zeros((3, n + 1, 3), Extended)
    position[:n] = state.position
    velocity = state.velocity.astype(Extended)
    angular[:n] = _apply(rotation[:n], velocity[:, :3])
    linear[:n] = _apply(rotation[:n], velocity[:, 3:])
    return Motion(rotation, position, angular, linear)


def _rotations(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = (quaternion / np.sqrt((quaternion**2).sum(axis=1))[:, None]).T
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def _apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix * vector[:, None, :]).sum(axis=2)


# ---- equations -------------------------------------------------------------------------------


def equations(problem: Problem) -> Equations:
    """Return the equations of motion of all bodies, in world axes.

    Raises
    ------
    NotImplementedError
        For a joint type that the benchmarks do not use.
    """
    system, moving = problem.system, motion(problem)
    n = system.n_bodies
    R, omega = moving.rotation[:n], moving.angular[:n]
    inertia = np.einsum("nij,njk,nlk->nil", R, system.inertia.astype(Extended), R)
    force = np.zeros((n, 6), Extended)
    force[:, :3] = -np.cross(omega, _apply(inertia, omega))
    force[:, 3:] = system.mass.astype(Extended)[:, None] * system.gravity.astype(Extended)
    rows = _rows(system, moving)
    mass = np.repeat(system.mass.astype(Extended), 3)
    return Equations(inertia, mass, *rows, force.ravel())


def _rows(system: System, moving: Motion) -> tuple[IntArray, IntArray, np.ndarray, np.ndarray]:
    """Return row, column, value and right-hand side of the constraints on accelerations."""
    point, world = _joint_points(system, moving), _joint_axes(system, moving)
    kinds = np.array([joint_type.name for joint_type in system.joint_types])
    unknown = set(kinds) - {"spherical", "revolute", "point-on-plane"}
    if unknown:
        raise ValueError(f"the oracle has no rows for {', '.join(sorted(unknown))}")
    builder = RowBuilder(system, moving, point)
    for a in range(3):
        direction = np.broadcast_to(np.eye(3, dtype=Extended)[a], (len(kinds), 3))
        builder.point_rows(np.flatnonzero(kinds != "point-on-plane"), direction)
    on_plane = np.flatnonzero(kinds == "point-on-plane")
    builder.point_rows(on_plane, world[:, :, 2], fixed_in_world=True)
    for a in (0, 1):
        builder.turn_rows(np.flatnonzero(kinds == "revolute"), world[:, :, a])
    return builder.arrays()


def _joint_points(system: System, moving: Motion) -> np.ndarray:
    """(n_joints, 2, 3) arms from the centers of mass of predecessor and successor, world axes."""
    arms = [
        _apply(moving.rotation[body], point.astype(Extended))
        for body, point in (
            (system.predecessor, system.predecessor_point),
            (system.successor, system.successor_point),
        )
    ]
    return np.stack(arms, axis=1)


def _joint_axes(system: System, moving: Motion) -> np.ndarray:
    """(n_joints, 3, 3) axes of the predecessor's joint frame as columns, world axes."""
    rotation = moving.rotation[system.predecessor]
    return np.einsum("nij,njk->nik", rotation, system.predecessor_rotation.astype(Extended))


class RowBuilder:
    """Collects rows on the accelerations (angular, linear) of predecessor and successor."""

    def __init__(self, system: System, moving: Motion, arm: np.ndarray) -> None:
        self.n = system.n_bodies
        self.ends = np.stack([system.predecessor, system.successor], axis=1)
        self.moving, self.arm = moving, arm
        self.n_rows = 0
        self.entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.rates: list[np.ndarray] = []

    def point_rows(
        self, joints: IntArray, direction: np.ndarray, fixed_in_world: bool = False
    ) -> None:
        """The points of both bodies accelerate alike along `direction` (n_joints, 3).

        A direction that turns with the predecessor is only right where the points coincide.
        """
        if fixed_in_world and np.any(self.ends[joints, 0] >= 0):
            raise ValueError("the oracle knows planes that are fixed in the world only")
        e = direction[joints]
        rate = np.zeros(len(joints), Extended)
        for side, sign in ((0, -1), (1, 1)):
            body = self.ends[joints, side]
            arm, omega = self.arm[joints, side], self.moving.angular[body]
            rate -= sign * (e * np.cross(omega, np.cross(omega, arm))).sum(axis=1)
            self._add(body, 0, sign * np.cross(arm, e))
            self._add(body, 3, sign * e)
        self._finish(rate)

    def turn_rows(self, joints: IntArray, direction: np.ndarray) -> None:
        """No relative turning about `direction` (n_joints, 3), fixed in the predecessor."""
        e = direction[joints]
        first, second = (self.moving.angular[self.ends[joints, side]] for side in (0, 1))
        for side, sign in ((0, -1), (1, 1)):
            self._add(self.ends[joints, side], 0, sign * e)
        self._finish(-((second - first) * np.cross(first, e)).sum(axis=1))

    def _add(self, body: IntArray, part: int, value: np.ndarray) -> None:
        moving = body >= 0
        row = np.broadcast_to(self.n_rows + np.arange(len(body))[:, None], value.shape)
        column = 6 * body[:, None] + part + np.arange(3)
        self.entries.append((row[moving].ravel(), column[moving].ravel(), value[moving].ravel()))

    def _finish(self, rate: np.ndarray) -> None:
        self.rates.append(rate)
        self.n_rows += len(rate)

    def arrays(self) -> tuple[IntArray, IntArray, np.ndarray, np.ndarray]:
        """Return row, column, value and right-hand side."""
        row, column, value = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return row, column, value, np.concatenate(self.rates)


# ---- products in extended precision ----------------------------------------------------------


def constraint_product(equation: Equations, a: np.ndarray) -> np.ndarray:
    """Return A a."""
    result = np.zeros(len(equation.rate), Extended)
    np.add.at(result, equation.row, equation.value * a[equation.column])
    return result


def residual(equation: Equations, a: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what is missing in both equations for accelerations a and multipliers lam."""
    bodies = a.reshape(-1, 6)
    product = np.concatenate(
        [
            _apply(equation.inertia, bodies[:, :3]),
            equation.mass.reshape(-1, 3) * bodies[:, 3:],
        ],
        axis=1,
    ).ravel()
    pull = np.zeros(len(a), Extended)
    np.add.at(pull, equation.column, equation.value * lam[equation.row])
    return equation.force - product - pull, equation.rate - constraint_product(equation, a)


def relative_violation(problem: Problem, acceleration: FloatArray) -> float:
    """Return max |A a - rate| over the size of its terms: how well the joints are obeyed."""
    equation = equations(problem)
    a = to_world(problem, acceleration).ravel()
    if len(equation.rate) == 0:
        return 0.0
    size = np.abs(equation.value * a[equation.column]).max(initial=0.0)
    size = max(float(size), float(np.abs(equation.rate).max()))
    return float(np.abs(constraint_product(equation, a) - equation.rate).max()) / size


def to_world(problem: Problem, acceleration: FloatArray) -> np.ndarray:
    """Return (n, 6): angular, and classical acceleration of the center of mass, world axes."""
    moving = motion(problem)
    n = len(acceleration)
    R, extended = moving.rotation[:n], acceleration.astype(Extended)
    linear = _apply(R, extended[:, 3:]) + np.cross(moving.angular[:n], moving.linear[:n])
    return np.concatenate([_apply(R, extended[:, :3]), linear], axis=1)


def to_spatial(problem: Problem, world: np.ndarray) -> FloatArray:
    """Return spatial accelerations in body coordinates; the inverse of to_world."""
    moving = motion(problem)
    n = len(world)
    back = np.swapaxes(moving.rotation[:n], 1, 2)
    linear = world[:, 3:] - np.cross(moving.angular[:n], moving.linear[:n])
    return np.concatenate([_apply(back, world[:, :3]), _apply(back, linear)], axis=1).astype(float)


# ---- solutions -------------------------------------------------------------------------------


def reference(problem: Problem) -> Reference:
    """Return the accelerations of a problem of CASES to (much) more than double precision."""
    if problem.mechanism == "scissor":
        world = scissor_accelerations(problem)
        return Reference(to_spatial(problem, world), 1e-18, _scissor_kappa(problem))
    return solve(problem, equations(problem))


def scissor_reference(problem: Problem) -> FloatArray:
    """Return the accelerations of a scissor in closed form, without its condition."""
    return to_spatial(problem, scissor_accelerations(problem))


def solve(problem: Problem, equation: Equations) -> Reference:
    """Solve by SuperLU with partial pivoting, large lattices by CHOLMOD if that is installed."""
    n = len(equation.force)
    if problem.mechanism == "lattice" and problem.system.n_bodies > LARGE_LATTICE:
        found = _by_cholesky(problem, equation, n)
        if found is not None and found.error < ACCURATE and found.kappa < SINGULAR:
            return found
    factor = Factor(saddle_matrix(equation), n, _has_balls_alone(problem))
    return refined(problem, equation, factor)


def _by_cholesky(problem: Problem, equation: Equations, n: int) -> Reference | None:
    """Solve by CHOLMOD; None where it is not installed, or where rows depend on each other."""
    try:
        from sksparse.cholmod import CholmodError
    except ImportError:
        return None
    try:
        return refined(problem, equation, SchurFactor(saddle_matrix(equation), n))
    except CholmodError:
        return None


def refined(problem: Problem, equation: Equations, factor: Factor | SchurFactor) -> Reference:
    """Solve, and refine until the corrections stop shrinking."""
    n = len(equation.force)
    x = np.zeros(n + len(equation.rate), Extended)
    last = math.inf
    for _ in range(STEPS):
        missing = np.concatenate(residual(equation, x[:n], x[n:]))
        step = factor.solve(missing.astype(float))
        size = float(np.abs(step[:n]).max()) / (float(np.abs(x[:n]).max()) or 1.0)
        if size >= 0.5 * last and size < 1e-6:
            break
        x += step
        last = size
        if last < 1e-19:
            break
    return Reference(to_spatial(problem, x[:n].reshape(-1, 6)), last, factor.kappa())


def _has_balls_alone(problem: Problem) -> bool:
    """Tell whether no row is likely to depend on others, as those of hinges in loops do."""
    return {joint_type.name for joint_type in problem.system.joint_types} == {"spherical"}


class Factor:
    """LU factors of the double-precision matrix, rows and columns scaled, dependent rows left out.

    With COLAMD and partial pivoting a dependent row of a lattice ends in a pivot of 1e-16, while
    independent ones stay above 1e-9 (measured up to 8281 bodies, against singular values up to
    529). That fails for spatial scissors, which are therefore solved in closed form.
    """

    def __init__(self, K: csr_array, n_primal: int, is_regular: bool = False) -> None:
        scale, scaled = _scaled(K, n_primal)
        quick = _diagonal_pivots(scaled, n_primal) if is_regular else None
        factors, weak = quick or _all_pivots(scaled, n_primal)
        self.kept = np.flatnonzero(~weak)
        self.scale = scale[self.kept]
        self.matrix = scaled
        if weak.any():
            self.matrix = csc_array(scaled[self.kept][:, self.kept])
            factors = _partial_pivoting(self.matrix, n_primal)
        self.factors: SuperLU = factors

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve the unscaled system in double precision; zeros at rows that are left out."""
        x = np.zeros(len(right))
        x[self.kept] = self.scale * self.factors.solve(self.scale * right[self.kept])
        return x

    def kappa(self) -> float:
        """Estimate the 1-norm condition number of the scaled matrix. Higham (2002), ch. 15."""
        return condition(self.matrix, self.factors.solve)


class SchurFactor:
    """Cholesky factors of A D^-1 A' + a shift, which the refinement makes up for.

    Of lattices it leaves as little as dissection does; it squares the condition, which would be too
    much for ladders.
    """

    def __init__(self, K: csr_array, n_primal: int) -> None:
        from sksparse.cholmod import cholesky

        self.n_primal = n_primal
        self.scale, self.matrix = _scaled(K, n_primal)
        self.inverse = _blockwise_inverse(self.matrix[:n_primal, :n_primal])
        self.A = csr_array(self.matrix[n_primal:, :n_primal])
        schur = self.A @ self.inverse @ self.A.T
        shifted = schur + SHIFT * eye_array(schur.shape[0])
        self.factor = cholesky(csc_matrix(shifted), mode="supernodal", ordering_method="metis")

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve the unscaled system in double precision."""
        return self.scale * self._solve(self.scale * right)

    def _solve(self, right: FloatArray) -> FloatArray:
        n = self.n_primal
        free = self.inverse @ right[:n]
        y = self.factor(self.A @ free - right[n:])
        return np.concatenate([free - self.inverse @ (self.A.T @ y), y])

    def kappa(self) -> float:
        """Estimate the 1-norm condition number of the scaled matrix. Higham (2002), ch. 15."""
        return condition(self.matrix, self._solve)


def _scaled(K: csr_array, n_primal: int) -> tuple[FloatArray, csc_array]:
    """Return scales, and the matrix with ones on the primal diagonal and rows of A of unit norm."""
    inverse_root = 1.0 / np.sqrt(np.abs(K.diagonal()[:n_primal]))
    A = K[n_primal:, :n_primal] @ diags_array(inverse_root)
    norm = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    scale = np.concatenate([inverse_root, 1.0 / norm])
    return scale, csc_array(diags_array(scale) @ K @ diags_array(scale))


def _blockwise_inverse(inertia: csc_array) -> csr_array:
    """Return the inverse of a matrix of blocks of six rows."""
    blocks = bsr_array(inertia, blocksize=(6, 6))
    blocks.sort_indices()
    inverse = np.linalg.inv(blocks.data)
    return csr_array(bsr_array((inverse, blocks.indices, blocks.indptr), shape=inertia.shape))


def _diagonal_pivots(matrix: csc_array, n_primal: int) -> tuple[SuperLU, BoolArray] | None:
    """Factorize a large matrix in an order for symmetric ones; None where a pivot is weak.

    It is ten times faster, and what rounding it adds the refinement takes away.
    """
    if n_primal < LARGE:
        return None
    options = {"SymmetricMode": True}
    try:
        factors = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.1, options=options)
    except RuntimeError:
        return None
    weak = _weak_pivots(factors, n_primal)
    return None if weak.any() else (factors, weak)


def _all_pivots(matrix: csc_array, n_primal: int) -> tuple[SuperLU, BoolArray]:
    """Factorize, and tell which rows depend on others."""
    factors = _partial_pivoting(matrix, n_primal)
    return factors, _weak_pivots(factors, n_primal)


def _weak_pivots(factors: SuperLU, n_primal: int) -> BoolArray:
    weak = np.abs(factors.U.diagonal())[factors.perm_c] < WEAK_PIVOT
    weak[:n_primal] = False
    return weak


def _partial_pivoting(matrix: csc_array, n_primal: int) -> SuperLU:
    """Factorize; where a pivot is exactly zero, move the dual diagonal by a rounding error."""
    try:
        return splu(matrix, permc_spec="COLAMD", diag_pivot_thresh=1.0)
    except RuntimeError:
        shift = np.where(np.arange(matrix.shape[0]) < n_primal, 0.0, -1e-16)
        moved = csc_array(matrix + diags_array(shift))
        return splu(moved, permc_spec="COLAMD", diag_pivot_thresh=1.0)


def condition(matrix: csc_array, solve: Callable[[FloatArray], FloatArray]) -> float:
    """Estimate the 1-norm condition number of a symmetric matrix with what solves it."""
    inverse = LinearOperator(matrix.shape, matvec=solve, rmatvec=solve)
    largest_column = float(np.abs(matrix).sum(axis=0).max())
    if matrix.shape[0] < 5:
        return largest_column * float(np.abs(solve(np.eye(matrix.shape[0]))).sum(0).max())
    return largest_column * float(onenormest(inverse))


def saddle_matrix(equation: Equations) -> csr_array:
    """Return [D A'; A 0] in double precision."""
    n = len(equation.force)
    body = np.arange(n // 6)
    turning = np.broadcast_to(6 * body[:, None, None], (n // 6, 3, 3))
    row, column = turning + np.arange(3)[:, None], turning + np.arange(3)
    sliding = (6 * body[:, None] + np.arange(3, 6)).ravel()
    below = equation.row + n
    entries = [equation.inertia.ravel(), equation.mass, equation.value, equation.value]
    rows = [row.ravel(), sliding, below, equation.column]
    columns = [column.ravel(), sliding, equation.column, below]
    size = n + len(equation.rate)
    return coo_array(
        (np.concatenate(entries).astype(float), (np.concatenate(rows), np.concatenate(columns))),
        shape=(size, size),
    ).tocsr()


# ---- the scissor in closed form --------------------------------------------------------------


def scissor_accelerations(problem: Problem) -> np.ndarray:
    """Return (n, 6) in world axes from the one equation of motion of the gallery's scissor.

    With the bars' angle q: pair k has its centers at (L/2 cos q, (k + 1/2) L sin q), so that
    T = M(q) qd^2 / 2 with M = sum m ((L/2 sin q)^2 + ((k + 1/2) L cos q)^2) + J, and Lagrange's
    equation M qdd + M' qd^2 / 2 = sum m (g_x dx/dq + g_z dz/dq).
    """
    system, moving = problem.system, motion(problem)
    n = system.n_bodies
    R, m = moving.rotation[:n], system.mass.astype(Extended)
    J = np.einsum("nai,nij,naj->n", R[:, 1:2], system.inertia.astype(Extended), R[:, 1:2])
    c, s = np.abs(R[:, 0, 0]).mean(), R[:, 2, 0].mean()
    qd = np.abs(moving.angular[:n, 1]).mean()
    half = np.abs(system.successor_point[:, 0]).max().astype(Extended)  # L / 2
    pair = np.rint(moving.position[:n, 2] / (2 * half * s) - Extended(0.5))
    reach = (2 * pair + 1) * half  # z = reach sin q
    M = (m * ((half * s) ** 2 + (reach * c) ** 2) + J).sum()
    slope = (2 * m * (half**2 - reach**2) * s * c).sum()  # dM/dq
    gravity = system.gravity.astype(Extended)
    work = (m * (-gravity[0] * half * s + gravity[2] * reach * c)).sum()
    qdd = (work - slope * qd**2 / 2) / M
    world = np.zeros((n, 6), Extended)
    world[:, 1] = -np.sign(R[:, 0, 0]) * qdd
    world[:, 3] = -half * (s * qdd + c * qd**2)
    world[:, 5] = reach * (c * qdd - s * qd**2)
    return world


def _scissor_kappa(problem: Problem) -> float:
    """Condition of the equations in the plane, whose rows are independent; NaN beyond memory."""
    try:
        return _planar_kappa(problem)
    except (MemoryError, RuntimeError):  # SuperLU raises either
        return math.nan


def _planar_kappa(problem: Problem) -> float:
    equation = equations(problem)
    K = saddle_matrix(equation)
    n = len(equation.force)
    in_plane = np.flatnonzero(np.isin(np.arange(n) % 6, (1, 3, 5)))
    reach = np.asarray(abs(K[n:, :][:, in_plane]).sum(axis=1)).ravel()
    index = np.concatenate([in_plane, n + np.flatnonzero(reach > 1e-9)])
    return Factor(K[index][:, index], len(in_plane)).kappa()
