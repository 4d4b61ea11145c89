"""Accelerations and constraint forces; the smallest ones where constraints are redundant."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, csc_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ConvergenceWarning, ModelError
from sparsebody.factorization.krylov import Operator, least_norm
from sparsebody.html_tables import largest_norm
from sparsebody.model.system import State, System
from sparsebody.tolerances import FORCE_TOLERANCE, MULTIPLIER_TOLERANCE


@dataclass(frozen=True)
class SolveReport:
    """Steps and residual of an iterative solve."""

    method: str
    iterations: int
    residual: float  # relative, of the rows, or of their least-squares equations
    converged: bool


@dataclass(frozen=True, eq=False, repr=False)
class Accelerations(BriefRepr):
    """The solution of the body-level system. Featherstone (2008), eq. (8.64)."""

    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates, angular first
    multiplier: FloatArray  # (n_rows,) lambda of every constraint row [N m, N]
    joint_wrench: FloatArray  # (n_joints, 6) T lambda, on the successor, in S coordinates
    residual: float  # relative; of the independent rows kept and the bodies' equations
    dropped_residual: float  # largest, of dropped rows, relative to unconstrained motion
    solver: SolveReport | None = None  # of an iterative solve

    def _html_facts(self) -> Mapping[str, object]:
        angular, linear = (largest_norm(part) for part in np.split(self.acceleration, 2, axis=1))
        moment, force = (largest_norm(part) for part in np.split(self.joint_wrench, 2, axis=1))
        facts: dict[str, object] = {
            "bodies": len(self.acceleration),
            "largest acceleration": f"{linear:.4g} m/s^2, {angular:.4g} rad/s^2, spatial",
            "constraint rows": len(self.multiplier),
            "largest joint reaction": f"{force:.4g} N, {moment:.4g} N m",
            "residual": f"{self.residual:.1e}, of left-out rows {self.dropped_residual:.1e}",
        }
        return facts if self.solver is None else facts | {"solver": self.solver}


REACTIONS = ("minimum-norm", "basic")  # where multipliers are not unique
_PROXIMAL_TERM = 1e-11  # damping of A'A, the columns of A scaled to unit norm
_KRYLOV_TERM = 1e-15  # the same in a matrix that is not A'A


def check_baumgarte(time_constant: float | None) -> None:
    """Raise ModelError unless it is positive, or None for no stabilization."""
    if time_constant is not None and not time_constant > 0.0:
        raise ModelError(f"the Baumgarte time constant is {time_constant}; it must be positive")


def joint_reactions(
    system: System, state: State, subspace: FloatArray, multiplier: FloatArray, threads: int = 1
) -> FloatArray:
    """Return those of `SystemMotion.joint_reactions`."""
    del subspace, threads
    return SystemMotion(system, state).joint_reactions(multiplier)


def minimum_norm(rows: csc_array, multiplier: FloatArray) -> FloatArray:
    """Return the smallest multipliers that exert the same forces A' lambda on the bodies.

    `rows`: A (n_rows, n_freedoms), dependent ones included; `multiplier` (n_rows,): any that exerts
    the right forces. These multipliers are returned, with a ConvergenceWarning, where A is so
    ill-conditioned that the smallest ones cannot be computed, as on scissor lifts of 10^4 pairs.
    """
    smallest = smallest_multipliers(rows, multiplier)
    if smallest is not None:
        return smallest
    warnings.warn(
        "rounding hides which multipliers are the smallest: they are those of the rows kept; take "
        "reactions='basic' to ask for these",
        ConvergenceWarning,
        stacklevel=2,
    )
    return multiplier


def smallest_multipliers(rows: csc_array, multiplier: FloatArray) -> FloatArray | None:
    """Return the least multipliers with the same forces A' lambda; None if rounding hides them.

    Proximal steps lambda += A (A'A + mu)^-1 (f - A' lambda) from lambda = 0 stay in the range of
    A, so what they converge to, in three to five of them, is the solution of least norm. Where A
    is so ill-conditioned that they do not, Krylov steps find it with factors of [1 A; A' -mu] and a
    far smaller mu. Carpentier, Budhiraja and Mansard (2021), sec. III; Rockafellar (1976).
    """
    square = np.asarray(rows.multiply(rows).sum(axis=0)).ravel()
    scale = 1.0 / np.sqrt(np.where(square > 0.0, square, 1.0))  # units, and small bodies beside
    rows = (rows @ diags_array(scale)).tocsc()  # large ones, do not change what is sought
    force = rows.T @ multiplier
    largest = float(np.abs(force).max(initial=0.0))
    noise = MULTIPLIER_TOLERANCE * max(largest, float(np.abs(multiplier).max(initial=0.0)))
    for method in (_by_proximal_steps, lambda A, f: least_norm(_transposed(A), f, largest).x):
        smallest = method(rows, force)
        residual = float(np.abs(force - rows.T @ smallest).max(initial=0.0))
        if residual <= FORCE_TOLERANCE * largest + noise:
            return smallest
    return None


def _by_proximal_steps(rows: csc_array, force: FloatArray) -> FloatArray:
    normal = (rows.T @ rows).tocsc()
    factor = splu(
        normal + _PROXIMAL_TERM * eye_array(normal.shape[0], format="csc"),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,  # it is positive definite
        options={"SymmetricMode": True},
    )
    smallest, residual, size = np.zeros(rows.shape[0]), force, float(np.abs(force).max(initial=0.0))
    while size > 0.0:
        trial = smallest + rows @ factor.solve(residual)
        residual = force - rows.T @ trial
        trial_size = float(np.abs(residual).max())
        if not trial_size < 0.5 * size:
            break
        smallest, size = trial, trial_size
    return smallest


def _transposed(rows: csc_array) -> Operator:
    """Return the operator A' of `least_norm`, and (A'A + mu)^-1 by factors of [1 A; A' -mu]."""
    n, shift = rows.shape[0], _KRYLOV_TERM * eye_array(rows.shape[1])
    factor = splu(block_array([[eye_array(n), rows], [rows.T, -shift]], format="csc"))

    def precondition(gap: FloatArray) -> FloatArray:
        return np.asarray(-factor.solve(np.concatenate([np.zeros(n), gap]))[n:])

    return Operator(rows.T.tocsr().dot, rows.tocsr().dot, precondition)
