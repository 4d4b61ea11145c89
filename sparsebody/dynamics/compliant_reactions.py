"""Reactions of slightly compliant joints: the only ones determined where constraints are redundant.

Joints a little compliant deform under the reactions, and of all that balance the bodies those occur
that store the least strain energy w' C w / 2, whatever the common scale of all C. Plain smallest
multipliers are those of equal compliances, one metre and one radian counting the same.

Wojtyra and Fraczek (2013), Multibody Syst. Dyn. 30:153, on redundant constraints and flexibility.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.assembly.constraint import ConstraintRows, kkt_structure
from sparsebody.equations.accelerations import minimum_norm, smallest_multipliers
from sparsebody.errors import AccuracyWarning, ModelError
from sparsebody.model import System, elasticity
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix

FORCE_TOLERANCE = 1e-9  # share of the forces
Compliance = Mapping[str | None, ArrayLike] | ArrayLike


@dataclass(frozen=True, eq=False)
class LeastEnergy:
    """The choice of multipliers that store the least strain energy in compliant joints."""

    compliance: Compliance  # [rad/(N m), m/N]; see joint_compliances


def uniform_compliance(length: float) -> FloatArray:
    """Return (6,) compliances for which a moment M counts as much as a force M / length [m].

    With a length typical of the mechanism, they do not depend on the unit of length.
    """
    if not length > 0.0:
        raise ModelError(f"the characteristic length is {length} m; it must be positive")
    return np.array([length**-2.0] * 3 + [1.0] * 3)


def joint_compliances(system: System, compliance: Compliance) -> FloatArray:
    """Return (n_joints, 6, 6) compliances [rad/(N m), m/N] in S axes about the origin of S.

    `compliance`: a number, (6,), (6, 6), torsional first, or these by joint names, where the key
    None stands for all joints not named. Raises ModelError for a joint that is not there, one
    without compliance, or a matrix that is not symmetric and positive definite.
    """
    if not isinstance(compliance, Mapping):
        compliance = {None: compliance}
    matrix = np.full((system.n_joints, 6, 6), np.nan)
    if None in compliance:
        matrix[:] = _matrix("joints not named", compliance[None])
    for name, value in compliance.items():
        if name is not None:
            matrix[system.joint(name)] = _matrix(f"joint {name!r}", value)
    missing = np.flatnonzero(np.isnan(matrix[:, 0, 0]) & (np.diff(system.first_row) > 0))
    if len(missing):
        raise ModelError(
            f"joint {system.joint_names[int(missing[0])]!r} has no compliance; name it, or give "
            "one for all joints not named under the key None"
        )
    return matrix


def _matrix(who: str, value: ArrayLike) -> FloatArray:
    """Return one compliance as a positive definite matrix."""
    matrix = elasticity.semidefinite(who, value, 6, "compliance")
    scale = np.sqrt(np.diag(matrix))
    unit = matrix / np.outer(scale, scale) if scale.all() else np.zeros((6, 6))
    if not np.linalg.eigvalsh(unit)[0] > 1e-12:
        raise ModelError(
            f"{who}: compliance is {np.asarray(value).tolist()}; it must be positive definite, "
            "small numbers standing for stiff directions"
        )
    return matrix


def least_energy(
    system: System, constraint: ConstraintRows, multiplier: FloatArray, compliance: FloatArray
) -> FloatArray:
    """Return the multipliers of least strain energy that exert the same forces as any (n_rows,).

    With T' C T = L L' for each joint, mu = L' lambda are the smallest for the rows L^-1 A. Warns of
    compliances (n_joints, 6, 6) that differ by too many decades.
    """
    rows, scaled = constraint.rows.copy(), multiplier.copy()
    roots, count = list[tuple[IntArray, FloatArray]](), np.diff(system.first_row)
    for c in np.unique(count[count > 0]):  # joints with c rows (n, c), L (n, c, c)
        joints = np.flatnonzero(count == c)
        index = system.first_row[joints][:, None] + np.arange(c)
        T = constraint.subspace[index]  # (n, c, 6)
        energy = T @ compliance[joints] @ np.swapaxes(T, 1, 2)
        root = np.asarray(np.linalg.cholesky(energy), dtype=float)
        roots.append((index, root))
        both = rows[index].reshape(*index.shape, -1)
        rows[index] = np.linalg.solve(root, both).reshape(*index.shape, 2, 6)
        scaled[index] = np.einsum("nab,na->nb", root, multiplier[index])
    structure = kkt_structure(system)
    smallest = smallest_multipliers(SaddleMatrix.of_rows(structure.pattern, rows), scaled)
    least = np.zeros_like(multiplier) if smallest is None else smallest
    for index, root in roots:
        transposed = np.swapaxes(root, 1, 2)
        least[index] = np.linalg.solve(transposed, least[index][:, :, None])[:, :, 0]
    matrix = structure.matrix(constraint)
    A = constraint_matrix(matrix)
    force, lost_force = A.T @ multiplier, A.T @ (multiplier - least)
    if np.abs(lost_force).max(initial=0.0) <= FORCE_TOLERANCE * np.abs(force).max(initial=0.0):
        return least
    warnings.warn(
        "compliances differ so much that reactions of least energy are not found accurately; they "
        "balance, but bring the compliances within sixteen decades or so of each other",
        AccuracyWarning,
        stacklevel=3,
    )
    return least + minimum_norm(matrix, multiplier - least)
