"""Bodies along the slowest mode of the graph."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.ordering.sweeps import better_way
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import landmark_distances

_DENSE = 60  # bodies up to which all eigenvectors are computed
_MODES = 4  # eigenvalues that are distinguished from zero and from each other
_EQUAL = 1e-4  # relative gap below which eigenvalues count as one


def spectral(pattern: BlockPattern) -> IntArray:
    """Sort the bodies of each connected part by the Fiedler vector of its Laplacian.

    Edges weigh as many as the joint has rows. A multiple eigenvalue has many Fiedler vectors: taken
    is the one nearest to the distances from a body at the periphery. Each joint follows its bodies:
    admissible. Of both directions the one that predicts less work.

    References
    ----------
    Barnard, Pothen and Simon (1995), Numer. Linear Algebra Appl. 2, 4; Fiedler (1973).
    """
    weight = _weights(pattern)
    n_parts, part = connected_components(weight, directed=False)
    distance = landmark_distances(pattern, 1)[:, 0]
    key = np.empty(pattern.n_primal)
    for k in range(n_parts):
        bodies = np.flatnonzero(part == k)
        key[bodies] = _fiedler_vector(weight[bodies][:, bodies], distance[bodies])
    bodies = np.lexsort((distance, np.round(key, 9), part)).astype(np.intp)
    return better_way(pattern, bodies)


def _weights(pattern: BlockPattern) -> csc_array:
    """Return the adjacency of the bodies, weighted by the rows of the joints between them."""
    inner = np.all(pattern.ends >= 0, axis=1) & (pattern.ends[:, 0] != pattern.ends[:, 1])
    ends, rows = pattern.ends[inner], pattern.block_sizes[pattern.n_primal :][inner].astype(float)
    at = np.r_[ends[:, 0], ends[:, 1]], np.r_[ends[:, 1], ends[:, 0]]
    return coo_array((np.r_[rows, rows], at), shape=(pattern.n_primal,) * 2).tocsc()


def _fiedler_vector(weight: csc_array, distance: FloatArray) -> FloatArray:
    """Return the mode (n,) of the least positive eigenvalue that is most like `distance`."""
    n = weight.shape[0]
    if n < 3:
        return distance
    laplacian = diags_array(weight.sum(axis=0)).tocsc() - weight
    if n <= _DENSE:
        values, modes = np.linalg.eigh(laplacian.toarray())
    else:
        shift = -1e-6 * weight.sum() / n  # keeps the shifted matrix regular
        start = distance - distance.mean()
        values, modes = eigsh(laplacian, k=_MODES, sigma=shift, which="LM", v0=start)
        sequence = np.argsort(values)
        values, modes = values[sequence], modes[:, sequence]
    same = np.flatnonzero(values[1:] < values[1] * (1 + _EQUAL)) + 1
    centered = distance - distance.mean()
    share = modes[:, same].T @ centered
    if np.linalg.norm(share) < 1e-6 * np.linalg.norm(centered):  # like none of them
        share = np.eye(len(same))[0]
    vector: FloatArray = modes[:, same] @ share
    return vector / np.abs(vector).max()
