"""Sweeps through the bodies: small bandwidth, small profile, few rows in flight, slowest modes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from sparsebody._core import graph
from sparsebody._core import ordering as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import cuthill_mckee, landmark_distances, primal_graph


def with_joints(pattern: BlockPattern, bodies: IntArray) -> IntArray:
    """Return the order with every joint right after the later of its bodies. Admissible.

    Of several joints the one to the earliest body comes first, one to the world before all.
    """
    return graph.with_dual_blocks(bodies, pattern.ends)


def better_way(pattern: BlockPattern, bodies: IntArray) -> IntArray:
    """Return the order along `bodies` or along their reverse, whichever predicts less work."""
    ways = [with_joints(pattern, way) for way in (bodies, bodies[::-1])]
    return min(ways, key=lambda order: ordering_metrics(pattern, order).flops)


def reverse_cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Reverse the breadth-first order of the bodies, then put each joint after its bodies.

    Admissible. The search goes from the periphery towards the world, so that elimination begins
    there: what stands on the ground loses fewer digits than what hangs from nothing. Cuthill and
    McKee (1969); George (1971).
    """
    return with_joints(pattern, cuthill_mckee(pattern, towards_world=True)[::-1])


def sloan(pattern: BlockPattern) -> IntArray:
    """Take next, of the bodies near those taken, one that is far from the end and adds little.

    Each joint follows its bodies: admissible. Of both directions the one that predicts less work.
    Sloan (1986), Int. J. Numer. Methods Eng. 23, 2.
    """
    sequence = kernels.sloan(primal_graph(pattern), cuthill_mckee(pattern))
    return better_way(pattern, sequence)


_STARTS = 4  # bodies to start from in each connected part


def pathwidth_sweep(pattern: BlockPattern) -> IntArray:
    """Take next the body, of those next to the ones taken, after which the fewest rows are cut.

    A front holds the joints between bodies taken and bodies not yet taken: the greatest number of
    their rows, over the sweep, is the weighted cut width, and bounds the vertex separation of the
    graph of joints (its pathwidth). Bodies that were reached first come first among equal ones.
    Several starts are tried. Each joint follows its bodies: admissible. Kinnersley (1992) for
    pathwidth as vertex separation; Diaz, Petit and Serna (2002) for surveys of layouts; the greedy
    rule is King's (1970), for rows instead of nodes.
    """
    joint_sizes, sequence = pattern.block_sizes[pattern.n_primal :], cuthill_mckee(pattern)
    orders = [
        better_way(
            pattern, kernels.pathwidth_sweep(pattern.ends, joint_sizes, sequence, start, _STARTS)
        )
        for start in range(_STARTS)
    ]
    return min(orders, key=lambda order: ordering_metrics(pattern, order).flops)


def level_sweep(pattern: BlockPattern) -> IntArray:
    """Eliminate level by level: its bodies, the joints inside it, the joints to the next level.

    Levels are those of a breadth-first search from one body at the periphery, or from it and one of
    its neighbours; bodies in a level follow Cuthill and McKee. A joint to the world follows its
    body. The narrowest band wins, then the smallest profile, both in blocks, then the larger start.
    In large mechanisms only some neighbours are tried.

    Not admissible: a joint comes before its body in the next level, and has a regular pivot only if
    the bodies up to its level, with all others fixed, have independent constraints.

    On a ladder this is Featherstone (2008), fig. 8.4: half-bandwidth 3, 5 n - 2 blocks for n rungs.
    Cuthill and McKee (1969); George and Liu (1979) for the search for a body at the periphery.
    """
    return kernels.level_sweep(pattern.n_primal, pattern.ends)


_DENSE = 60  # bodies up to which all eigenvectors are computed
_MODES = 4  # eigenvalues that are distinguished from zero and from each other
_EQUAL = 1e-4  # relative gap below which eigenvalues count as one


def spectral(pattern: BlockPattern) -> IntArray:
    """Sort the bodies of each connected part by the Fiedler vector of its Laplacian.

    Edges weigh as many as the joint has rows. A multiple eigenvalue has many Fiedler vectors: taken
    is the one nearest to the distances from a body at the periphery. Each joint follows its bodies:
    admissible. Of both directions the one that predicts less work. Barnard, Pothen and Simon
    (1995), Numer. Linear Algebra Appl. 2, 4; Fiedler (1973).
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
