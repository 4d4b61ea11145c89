"""The orderings that come with CHOLMOD, for the joint-space Schur complement."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csc_matrix, identity

from sparsebody.arrays import IntArray
from sparsebody.errors import MissingDependencyError
from sparsebody.sparse.pattern import BlockPattern


def cholmod_amd(pattern: BlockPattern) -> IntArray:
    """Order the joints by approximate minimum degree, each body right before its first joint.

    Admissible. Two joints couple when they share a body: the pattern of T' P' I^-1 P T.

    Raises
    ------
    MissingDependencyError
        If scikit-sparse is not installed.

    References
    ----------
    Amestoy, Davis and Duff (1996); Chen, Davis, Hager and Rajamanickam (2008).
    """
    return _joints_ordered_by(pattern, "amd")


def cholmod_metis(pattern: BlockPattern) -> IntArray:
    """Order the joints by nested dissection (METIS), each body right before its first joint.

    Admissible. Best where the mechanism is a large lattice.

    Raises
    ------
    MissingDependencyError
        If scikit-sparse is not installed.

    References
    ----------
    Karypis and Kumar (1998); Chen, Davis, Hager and Rajamanickam (2008).
    """
    return _joints_ordered_by(pattern, "metis")


def _joints_ordered_by(pattern: BlockPattern, method: str) -> IntArray:
    """Return an order of all blocks that lists the joints as CHOLMOD would eliminate them.

    Joints weigh by as many rows as their sizes are in proportion: one each where all are equal.
    """
    try:
        from sksparse import cholmod
    except ImportError as error:
        raise MissingDependencyError(
            f"the ordering cholmod-{method} needs scikit-sparse: pip install 'sparsebody[cholmod]'"
        ) from error
    if pattern.n_dual == 0:
        return np.arange(pattern.n_primal, dtype=np.intp)
    sizes = pattern.block_sizes[pattern.n_primal :]
    joint_of_row = np.repeat(np.arange(pattern.n_dual), sizes // np.gcd.reduce(sizes))
    matrix = _schur_pattern(pattern, joint_of_row)
    row_order = cholmod.analyze(matrix, mode="supernodal", ordering_method=method).P()
    joints, first_row = np.unique(joint_of_row[row_order], return_index=True)
    return _with_bodies(pattern, joints[np.argsort(first_row)].astype(np.intp))


def _schur_pattern(pattern: BlockPattern, joint_of_row: IntArray) -> csc_matrix:
    """Return a positive definite matrix with the pattern of A D^-1 A', rows as many as weights."""
    ends = pattern.ends[joint_of_row]
    row, side = np.nonzero(ends >= 0)
    shape = (len(ends), max(pattern.n_primal, 1))
    touches = csc_array((np.ones(len(row)), (row, ends[row, side])), shape=shape)
    return csc_matrix(touches @ touches.T + identity(len(ends), format="csc"))


def _with_bodies(pattern: BlockPattern, joints: IntArray) -> IntArray:
    """Insert every body right before its first joint; bodies without joints come first."""
    place = np.empty(pattern.n_dual, dtype=np.intp)
    place[joints] = np.arange(pattern.n_dual)
    first_joint = np.full(pattern.n_primal, -1, dtype=np.intp)
    indptr, indices = pattern.adjacency
    jointed = np.flatnonzero(np.diff(indptr[: pattern.n_primal + 1]))
    its_joints = indices[: indptr[pattern.n_primal]] - pattern.n_primal
    if len(jointed):
        first_joint[jointed] = np.minimum.reduceat(place[its_joints], indptr[jointed])
    is_joint = np.arange(pattern.n_blocks) >= pattern.n_primal
    return np.lexsort((is_joint, np.concatenate([first_joint, place]))).astype(np.intp)
