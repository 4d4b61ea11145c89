"""Compliant joints and elastic elements: constraint rows that give way, and frames on springs.

A compliance C of a joint's rows is split by its eigenvectors: along those of eigenvalue zero the
joint is rigid and keeps constraint rows, along the others it is a spring of the stiffness 1 / c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, IntArray, numbers
from sparsebody.errors import ModelError
from sparsebody.model.columns import repeated
from sparsebody.model.joints import JOINT_TYPES, Free, JointType

LOGARITHM = -1  # kind of an element whose deformation is the logarithm of the relative pose
_SYMMETRY_TOLERANCE = 1e-12  # relative to the largest entry
_ZERO_TOLERANCE = 1e-14  # of eigenvalues, relative to the largest one
_ROW_TOLERANCE = 1e-9  # of singular values of rows, which are about one
_NONE = np.broadcast_to(0.0, (1, 6, 6))  # of one joint, stored as those of several
_RIGID_PARTS = ("spherical", "planar", "cylindrical", "revolute", "prismatic")
# types whose rigid rows close exactly if those of the joint do

FRAMES = (  # of joints and elements, as kernels take them
    *("predecessor", "successor", "predecessor_rotation", "predecessor_point"),
    *("successor_rotation", "successor_point"),
)


@dataclass(frozen=True, eq=False)
class ElasticElements:
    """Compliant joints, bushings and beams: rows z = B (e - e_0) on forces z + D dz/dt.

    e (6,) is the position error of a joint type, or the logarithm on SE(3) of the pose of S seen
    from P, so that the energy is z'z / 2. Frames as in System.
    """

    names: tuple[str, ...]
    joint: IntArray  # (n,) the compliant joint, or -1
    predecessor: IntArray  # (n,) bodies, -1 for the world
    successor: IntArray
    predecessor_rotation: FloatArray  # (n, 3, 3)
    predecessor_point: FloatArray  # (n, 3)
    successor_rotation: FloatArray
    successor_point: FloatArray
    kind: IntArray  # (n,) of the joint type, or LOGARITHM
    parameter: FloatArray  # (n,) of the joint type
    n_rows: IntArray  # (n,)
    rest: FloatArray  # (n, 6) e_0
    root: FloatArray  # (n, 6, 6) B, zero beyond the rows
    damping: FloatArray  # (n, 6, 6) D, likewise

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All that kernels need."""
        numbers = self.kind, self.parameter, self.n_rows, self.rest, self.root, self.damping
        return (tuple(getattr(self, name) for name in FRAMES), *numbers)

    @property
    def beam_curves(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Bodies (n, 2) of the beams, the points (n, 4, 3) of Bezier curves, and lengths (n,) [m].

        The first two points of a curve are fixed in the predecessor, the others in the successor:
        the cubic with the ends and tangents of the beam.
        """
        length = np.linalg.norm(self.rest[:, 3:], axis=1)  # zero of bushings
        beam = np.flatnonzero((self.joint < 0) & (length > 0.0))
        length = length[beam]
        start, end = self.predecessor_point[beam], self.successor_point[beam]
        third = length[:, None] / 3.0
        after = start + third * self.predecessor_rotation[beam, :, 0]  # x is along the beam
        before = end - third * self.successor_rotation[beam, :, 0]
        bodies = np.stack([self.predecessor[beam], self.successor[beam]], axis=1)
        return bodies, np.stack([start, after, before, end], axis=1), length


# ---- what the user gives ------------------------------------------------------------------------


def row_matrices(
    names: Sequence[str], types: Sequence[JointType], type_index: IntArray, value: Any, what: str
) -> FloatArray:
    """(n, 6, 6) symmetric positive semidefinite matrices on the rows of joints, else zero.

    They are given as a number, an (n,), (n or 1, rows) or (n or 1, rows, rows) array, or a list of
    what n joints take; `what` is "compliance" or "damping". ModelError names the first joint whose
    matrix cannot be.
    """
    n = len(names)
    if n == 0 or (isinstance(value, int | float) and value == 0.0):
        return _NONE if n == 1 else np.broadcast_to(0.0, (n, 6, 6))
    rows = np.array([joint_type.n_constraints for joint_type in types])[type_index]
    entries = value if isinstance(value, list | tuple) or np.ndim(value) else [value]
    is_same = len(entries) == 1
    if not is_same and len(entries) != n:
        raise ModelError(
            f"joints {names[0]!r}, ...: {what} has {len(entries)} entries; give a number, or "
            f"{n} of what one joint takes"
        )
    if is_same and (rows == rows[0]).all():
        return repeated(_row_matrix(f"joint {names[0]!r}", entries[0], int(rows[0]), what), n)
    entries = [entries[0]] * n if is_same else entries
    each = zip(names, entries, rows.tolist(), strict=True)
    return np.array([_row_matrix(f"joint {name!r}", one, size, what) for name, one, size in each])


def _row_matrix(who: str, value: Any, size: int, what: str) -> FloatArray:
    """(6, 6) the matrix of one joint."""
    matrix = np.zeros((6, 6))
    matrix[:size, :size] = semidefinite(who, 0.0 if value is None else value, size, what)
    matrix.flags.writeable = False
    return matrix


def semidefinite(who: str, value: Any, size: int, what: str) -> FloatArray:
    """Return a (size, size) symmetric positive semidefinite matrix: number, diagonal or matrix.

    ModelError, by `who` and `what`, if it is none.
    """
    array = numbers(value, f"{who}: {what}")
    if array.shape not in ((), (size,), (size, size)):
        raise ModelError(
            f"{who}: {what} has shape {array.shape}; give a number, {size} numbers, one a row, or "
            f"a {size} x {size} matrix"
        )
    if not np.isfinite(array).all():
        raise ModelError(f"{who}: {what} is {array.tolist()}; every number must be finite")
    matrix = array if array.ndim == 2 else np.diag(np.broadcast_to(array, size))
    largest = float(np.abs(matrix).max(initial=0.0))
    if np.abs(matrix - matrix.T).max(initial=0.0) > _SYMMETRY_TOLERANCE * largest:
        raise ModelError(f"{who}: {what} is {array.tolist()}, not symmetric; give (C + C') / 2")
    # in units that make the diagonal one, so that rows in metres and in radians compare
    scale = np.sqrt(np.abs(np.diag(matrix)))
    unit = np.where(scale > 0.0, scale, np.sqrt(largest) if largest > 0.0 else 1.0)
    eigenvalues = np.linalg.eigvalsh(matrix / np.outer(unit, unit))
    if eigenvalues.min(initial=0.0) < -_SYMMETRY_TOLERANCE:
        raise ModelError(
            f"{who}: {what} is {array.tolist()}, not positive semidefinite (an eigenvalue of the "
            f"matrix scaled to unit diagonal is {eigenvalues.min():.3g}); give one that stores or "
            "dissipates energy"
        )
    return 0.5 * (matrix + matrix.T)


def plain_matrix(matrix: FloatArray) -> Any:
    """Return a matrix as a number, a list of its diagonal or a list of rows, as files hold it."""
    diagonal = np.diag(matrix)
    if (matrix != np.diag(diagonal)).any():
        return matrix.tolist()
    return diagonal.tolist() if (diagonal != diagonal[0]).any() else float(diagonal[0])


# ---- square roots and rigid parts ---------------------------------------------------------------


def square_root(stiffness: FloatArray) -> FloatArray:
    """Return B (m, n) of full rank m with B'B = K, a semidefinite (n, n) matrix."""
    values, vectors, unit = _scaled_eigenvectors(stiffness)
    keep = values > 0.0
    return np.asarray(np.sqrt(values[keep])[:, None] * vectors[:, keep].T * unit)


def split(
    who: str, joint_type: JointType, compliance: FloatArray, damping: FloatArray
) -> tuple[JointType, FloatArray, FloatArray]:
    """Return the rigid part of a compliant joint, a joint type, and B (m, rows) and D (m, m).

    ModelError if no joint type has the rows that are left rigid, or a compliance is too small.
    """
    n = joint_type.n_constraints
    C = compliance[:n, :n]
    values, vectors, unit = _scaled_eigenvectors(C)
    soft = values > 0.0
    rigid_type = _rigid_type(who, joint_type, (vectors[:, ~soft] / unit[:, None]).T)
    root = square_root(C)  # e = R' mu where C = R'R
    with np.errstate(over="ignore"):
        inverse = vectors[:, soft].T / np.sqrt(values[soft])[:, None] / unit
        stiffness = inverse.T @ inverse
    if not np.isfinite(stiffness).all():
        raise ModelError(f"{who}: compliance is {plain_matrix(C)}; give 0 for rigid rows")
    return rigid_type, inverse, root @ damping[:n, :n] @ root.T


def _scaled_eigenvectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return eigenvalues (n,), those of rounding zero, and vectors of U^-1 matrix U^-1, and U.

    U scales the diagonal to one, so that metres and radians compare.
    """
    scale = np.sqrt(np.diag(matrix))
    unit = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(matrix / np.outer(unit, unit))
    return np.where(values > _ZERO_TOLERANCE * values.max(initial=0.0), values, 0.0), vectors, unit


def _rigid_type(who: str, joint_type: JointType, rigid: FloatArray) -> JointType:
    """Return the joint type of the rigid rows, combinations (k, rows) of those of the joint."""
    n_rigid = len(rigid)
    if n_rigid == 0:
        return Free()
    rows = rigid @ joint_type.neutral_rows
    for name in _RIGID_PARTS:
        other = JOINT_TYPES[name]()
        both = np.vstack([rows, other.neutral_rows])
        if other.n_constraints == n_rigid == np.linalg.matrix_rank(both, tol=_ROW_TOLERANCE):
            return other
    raise ModelError(
        f"{who}: with this compliance {n_rigid} of {joint_type.n_constraints} rows stay rigid, "
        f"which are those of no {', '.join(_RIGID_PARTS)} joint; give every row a compliance, or "
        "zero to other ones"
    )
