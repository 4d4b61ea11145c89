"""Constraint forces: wrenches at the joints, and the smallest multipliers where rows depend."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.sparse import csc_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.system import System

REACTIONS = ("minimum-norm", "basic")  # where multipliers are not unique
_PROXIMAL = 1e-11  # damping of A'A, the columns of A scaled to unit norm


def joint_wrenches(system: System, subspace: FloatArray, multiplier: FloatArray) -> FloatArray:
    """Return T lambda (n_joints, 6): the constraint wrench on the successor, in S coordinates.

    Prescribed coordinates are constraint rows, so the wrench contains the force of the drive.
    """
    wrench = np.zeros((system.n_joints, 6))
    _add_rows(system.row_joint, subspace, multiplier, wrench)
    return wrench


@njit(cache=True)
def _add_rows(
    joint: IntArray, subspace: FloatArray, multiplier: FloatArray, wrench: FloatArray
) -> None:
    for k in range(joint.size):
        for a in range(6):
            wrench[joint[k], a] += subspace[k, a] * multiplier[k]


def minimum_norm(rows: csc_array, multiplier: FloatArray) -> FloatArray:
    """Return the smallest multipliers that exert the same forces on the bodies.

    Proximal steps lambda += A (A'A + mu)^-1 (f - A' lambda) from lambda = 0 stay in the range of
    A, so what they converge to, in three to five of them, is the solution of least norm.

    Parameters
    ----------
    rows : (n_rows, n_freedoms) sparse array
        A, all constraint rows, dependent ones included.
    multiplier : (n_rows,) float array
        Any multipliers that exert the right forces f = A' lambda.

    References
    ----------
    Carpentier, Budhiraja and Mansard (2021), sec. III; Rockafellar (1976).
    """
    square = np.asarray(rows.multiply(rows).sum(axis=0)).ravel()
    scale = 1.0 / np.sqrt(np.where(square > 0.0, square, 1.0))  # units, and small bodies beside
    rows = (rows @ diags_array(scale)).tocsc()  # large ones, do not change what is sought
    force = rows.T @ multiplier
    normal = (rows.T @ rows).tocsc()
    factor = splu(
        normal + _PROXIMAL * eye_array(normal.shape[0], format="csc"),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,  # it is positive definite
        options={"SymmetricMode": True},
    )
    smallest, rest, size = np.zeros_like(multiplier), force, float(np.abs(force).max(initial=0.0))
    while size > 0.0:
        trial = smallest + rows @ factor.solve(rest)
        rest = force - rows.T @ trial
        trial_size = float(np.abs(rest).max())
        if not trial_size < 0.5 * size:
            break
        smallest, size = trial, trial_size
    return smallest
