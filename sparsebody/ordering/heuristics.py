"""Heuristics: tree parts from the leaves, minimum degree and fill, sweeps, dissection."""

from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any, Concatenate, ParamSpec, TypeAlias

import networkx as nx
import numpy as np
from scipy.sparse import coo_array, csc_array, csc_matrix, csr_array, diags_array, identity, linalg
from scipy.sparse.csgraph import connected_components

from sparsebody._core import graph
from sparsebody._core import ordering as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import required_package
from sparsebody.sparse import pattern as graphs
from sparsebody.sparse.elimination_tree import ordering_metrics, postordered, repair, tree_parts
from sparsebody.sparse.pattern import BlockPattern, Blocks

P = ParamSpec("P")
CoreOrdering: TypeAlias = Callable[Concatenate[BlockPattern, P], IntArray]

# ---- minimum degree ------------------------------------------------------------------------------


def leaves_then(order_core: CoreOrdering[P]) -> CoreOrdering[P]:
    """Strip tree parts from the leaves, each outer body and then its joint; then order the core.

    Makes an ordering of whole patterns from one of their cores, and is admissible if that one is.
    Baraff (1996); Featherstone (2008), ch. 7 for the articulated-body algorithm.
    """

    @wraps(order_core)
    def ordering(pattern: BlockPattern, /, *args: P.args, **options: P.kwargs) -> IntArray:
        outer, stripped = tree_parts(pattern)
        if len(stripped) == 0:
            return order_core(pattern, *args, **options)
        joint_of = np.empty(pattern.n_primal, dtype=np.intp)  # of each stripped body
        joint_of[outer[outer >= 0]] = pattern.n_primal + np.flatnonzero(outer >= 0)
        parts = np.column_stack([stripped, joint_of[stripped]]).ravel()
        core = np.delete(np.arange(pattern.n_blocks), parts)
        n = pattern.n_primal - len(stripped)
        inner = pattern.part(core[:n], core[n:] - pattern.n_primal)
        order = np.concatenate([parts, core[order_core(inner, *args, **options)]])
        return postordered(pattern, order)

    return ordering


def natural(pattern: BlockPattern) -> IntArray:
    """Eliminate all bodies, then all joints, as numbered. Featherstone (2008), eq. (8.64).

    Admissible. After the bodies Delassus' matrix T' P' I^-1 P T is left, their Schur complement.
    """
    return np.arange(pattern.n_blocks, dtype=np.intp)


def minimum_degree(pattern: BlockPattern) -> IntArray:
    """Eliminate next the admissible block that couples to the fewest scalar rows.

    A joint waits for both its bodies or, in a tree part, for its outer body. Admissible. Degrees
    are the upper bounds of the approximate minimum degree method, with its absorption of elements
    and its mass elimination. Amestoy, Davis and Duff (1996); Davis (2006), sec. 7.1.
    """
    return in_phases(pattern, np.zeros(pattern.n_blocks, dtype=np.intp))


def in_phases(pattern: BlockPattern, phase: IntArray) -> IntArray:
    """Return an order by minimum degree, equivalent to one with lower `phase` (n_blocks,) first.

    It is a postorder of the same fill-in. No joint's phase is lower than those of the bodies that
    it waits for. Liu (1989), SIAM J. Sci. Stat. Comput. 10:1136; Davis (2006), sec. 7.1.
    """
    n, outer = pattern.n_primal, tree_parts(pattern)[0]
    awaited = np.zeros(pattern.n_blocks, dtype=np.intp)
    awaited[n:] = np.where(outer >= 0, 1, np.diff(pattern.adjacency[0])[n:])
    blocks = pattern.adjacency, pattern.block_sizes
    return kernels.minimum_degree(*blocks, n, awaited, outer, phase)


def unconstrained_minimum_degree(pattern: Blocks, phase: IntArray | None = None) -> IntArray:
    """Eliminate next the block that couples to the fewest scalar rows, of any symmetric pattern.

    Blocks wait only for those of a lower `phase` (n_blocks,); returns a postorder of the same
    fill-in. Amestoy, Davis and Duff (1996); Davis (2006), sec. 7.1.
    """
    zeros, none = np.zeros(pattern.n_blocks, dtype=np.intp), np.zeros(0, dtype=np.intp)
    phase = zeros if phase is None else phase
    return kernels.minimum_degree(pattern.adjacency, pattern.block_sizes, 0, zeros, none, phase)


def bodies_first(pattern: BlockPattern) -> IntArray:
    """Eliminate all bodies, then joints by minimum degree, up to an equivalent postorder.

    Admissible. After the bodies Delassus' matrix T' P' I^-1 P T is left. Liu (1989); Baraff (1996).
    """
    is_joint = np.arange(pattern.n_blocks) >= pattern.n_primal
    return in_phases(pattern, is_joint.astype(np.intp))


@leaves_then
def leaves_first(pattern: BlockPattern) -> IntArray:
    """Strip tree parts from the leaves, each outer body and then its joint; then minimum degree.

    Admissible. On a tree no front is larger than a body with one of its joints, or two bodies.
    Baraff (1996); Featherstone (2008), ch. 7 for the articulated-body algorithm.
    """
    return minimum_degree(pattern)


# ---- sweeps: small bandwidth, small profile, narrow cuts, slowest modes --------------------------


def with_joints(pattern: BlockPattern, bodies: IntArray) -> IntArray:
    """Return the order with every joint right after the later of its bodies. Admissible.

    Of several joints the one to the earliest body comes first, one to the world before all.
    """
    return graph.with_dual_blocks(bodies, pattern.ends)


def better_direction(pattern: BlockPattern, bodies: IntArray) -> IntArray:
    """Return the order along `bodies` or along their reverse, whichever predicts less work."""
    return fewest_flops(pattern, *(with_joints(pattern, order) for order in (bodies, bodies[::-1])))


def fewest_flops(pattern: BlockPattern, *orders: IntArray) -> IntArray:
    """Return the order that predicts the least work, the first of several."""
    return min(orders, key=lambda order: ordering_metrics(pattern, order).flops)


def reverse_cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Reverse the breadth-first order of the bodies, each joint after its bodies. Admissible.

    The search goes from the periphery towards the world, so that elimination begins there: bodies
    joined to the world lose fewer digits than floating ones. Cuthill and McKee (1969);
    George (1971).
    """
    return with_joints(pattern, graphs.cuthill_mckee(pattern, towards_world=True)[::-1])


def sloan(pattern: BlockPattern) -> IntArray:
    """Number next the body, near those numbered, that is far from the end and adds few rows.

    Each joint follows its bodies: admissible. Sloan (1986), Int. J. Numer. Methods Eng. 23:239.
    """
    return better_direction(
        pattern, kernels.sloan(graphs.primal_graph(pattern), graphs.cuthill_mckee(pattern))
    )


_STARTS = 4  # bodies to start from in each connected part


def pathwidth_sweep(pattern: BlockPattern) -> IntArray:
    """Take next the body, of those next to the ones taken, after which the fewest rows are cut.

    A front holds the joints between bodies taken and not yet taken: the most rows of any are the
    weighted cut width, which bounds the vertex separation of the graph of joints (its pathwidth).
    Each joint follows its bodies: admissible. Kinnersley (1992) for pathwidth as vertex separation;
    Diaz, Petit and Serna (2002) for surveys of layouts; the greedy rule is King's (1970), for rows.
    """
    joints = pattern.ends, pattern.block_sizes[pattern.n_primal :], graphs.cuthill_mckee(pattern)
    sweeps = (kernels.pathwidth_sweep(*joints, start, _STARTS) for start in range(_STARTS))
    return fewest_flops(pattern, *(better_direction(pattern, sweep) for sweep in sweeps))


def level_sweep(pattern: BlockPattern) -> IntArray:
    """Eliminate level by level: its bodies, the joints inside it, the joints to the next level.

    Levels are those of a breadth-first search from one body at the periphery, or from it and one of
    its neighbours; bodies in a level follow Cuthill and McKee. The narrowest band wins, then the
    smallest profile, both in blocks, then the larger start. Not admissible: a joint comes before
    its body in the next level. On a ladder this is Featherstone (2008), fig. 8.4: half-bandwidth 3,
    5 n - 2 blocks for n rungs. Cuthill and McKee (1969); George and Liu (1979).
    """
    return kernels.level_sweep(pattern.n_primal, pattern.ends)


_DENSE = 60  # bodies up to which all eigenvectors are computed
_MODES = 4  # eigenvalues that are distinguished from zero and from each other
_EQUAL = 1e-4  # relative gap below which eigenvalues count as one


def spectral(pattern: BlockPattern) -> IntArray:
    """Sort the bodies of each connected part by the Fiedler vector of its Laplacian. Admissible.

    Edges weigh as many as the joint has rows. For a multiple eigenvalue the vector is taken
    that is nearest to the distances from a body at the periphery. Each joint follows its bodies, in
    the better direction. Barnard, Pothen and Simon (1995), Numer. Linear Algebra Appl. 2:317;
    Fiedler (1973).
    """
    weight = _weights(pattern)
    n_parts, part = connected_components(weight, directed=False)
    distance = graphs.landmark_distances(pattern, 1)[:, 0]
    key = np.empty(pattern.n_primal)
    for k in range(n_parts):
        bodies = np.flatnonzero(part == k)
        key[bodies] = _fiedler_vector(weight[bodies][:, bodies], distance[bodies])
    bodies = np.lexsort((distance, np.round(key, 9), part)).astype(np.intp)
    return better_direction(pattern, bodies)


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
        values, modes = linalg.eigsh(laplacian, k=_MODES, sigma=shift, which="LM", v0=start)
        sequence = np.argsort(values)
        values, modes = values[sequence], modes[:, sequence]
    same = np.flatnonzero(values[1:] < values[1] * (1 + _EQUAL)) + 1
    centered = distance - distance.mean()
    projection = modes[:, same].T @ centered
    if np.linalg.norm(projection) < 1e-6 * np.linalg.norm(centered):  # orthogonal to all of them
        projection = np.eye(len(same))[0]
    vector: FloatArray = modes[:, same] @ projection
    return vector / np.abs(vector).max()


# ---- minimum fill, and tree decompositions of NetworkX -------------------------------------------


@leaves_then
def minimum_fill(pattern: BlockPattern) -> IntArray:
    """Eliminate next the joint that couples the fewest entries anew, tree parts leaves first.

    Admissible: a body comes right before its first joint. Ties go to the joint after which a
    neighbour fills in least, then the one of the smallest front, then the one whose bodies
    are nearest to landmarks. Tinney and Walker (1967), scheme 3; Rothberg and Eisenstat (1998),
    SIAM J. Matrix Anal. 19:682.
    """
    if pattern.n_dual == 0:
        return np.arange(pattern.n_blocks, dtype=np.intp)
    distance = np.pad(graphs.landmark_distances(pattern), ((0, 1), (0, 0)))
    ends = np.sort(distance[pattern.ends], axis=1).reshape(pattern.n_dual, -1)
    sequence = np.lexsort(ends.T[::-1]).astype(np.intp)
    size = pattern.block_sizes.copy()
    size[pattern.n_primal :] = size[pattern.n_primal :][sequence]
    joint_graph = graphs.dual_graph(BlockPattern(size, pattern.ends[sequence]))
    joints = sequence[kernels.minimum_fill(joint_graph, size[pattern.n_primal :])]
    return postordered(pattern, graphs.with_primal_blocks(pattern, joints))


Decomposition = Callable[[Any], tuple[int, Any]]  # by NetworkX, of a graph: width, tree of bags


@leaves_then
def by_tree_decomposition(pattern: BlockPattern, decompose: Decomposition) -> IntArray:
    """Eliminate the joints along a tree decomposition of their graph by NetworkX. Admissible.

    Tree parts come leaves first. Bodlaender and Koster (2010), Inf. Comput. 208:259.
    """
    indptr, indices = (part.tolist() for part in graphs.dual_graph(pattern))
    graph = nx.Graph({k: indices[a:b] for k, (a, b) in enumerate(pairwise(indptr))})
    joints = elimination_of(decompose(graph)[1]) if pattern.n_dual else []
    return postordered(pattern, graphs.with_primal_blocks(pattern, np.array(joints, dtype=np.intp)))


def elimination_of(decomposition: Any) -> list[int]:
    """Return an order with fronts in the bags (frozensets of nodes) of a forest, leaves first."""
    tree = decomposition.copy()
    order: dict[int, None] = {}
    leaves = sorted((bag for bag in tree if tree.degree(bag) <= 1), key=sorted)
    while leaves:
        bag = leaves.pop()
        if bag not in tree:
            continue
        inner = list(tree.neighbors(bag))
        order |= dict.fromkeys(sorted(bag.difference(order, *inner)))
        tree.remove_node(bag)
        leaves.extend(other for other in inner if tree.degree(other) <= 1)
    return list(order)


# ---- nested dissection ---------------------------------------------------------------------------


def dissected(pattern: BlockPattern, coordinates: FloatArray) -> IntArray:
    """Cut the bodies in two, again and again; eliminate the joints of a cut after both. Admissible.

    Every part is cut across the one of `coordinates` (n_primal, k) along which the fewest rows of
    joints are cut, relative to the size of the halves; minimum degree decides within.
    George (1973); Heath and Raghavan (1995), SIAM J. Matrix Anal. 16:235, for cuts by coordinates;
    Fiduccia and Mattheyses (1982) for moves of bodies at the cut.
    """
    joint_sizes = pattern.block_sizes[pattern.n_primal :]
    cut_depth = kernels.dissection(pattern.ends, joint_sizes, coordinates)
    phase = np.zeros(pattern.n_blocks, dtype=np.intp)
    deepest = cut_depth.max(initial=0)
    phase[pattern.n_primal :] = np.where(cut_depth > 0, deepest + 1 - cut_depth, 0)
    return in_phases(pattern, phase)


@leaves_then
def nested_dissection(pattern: BlockPattern) -> IntArray:
    """Cut the core by distances from bodies far apart, tree parts leaves first. Admissible.

    Coordinates are distances in the graph from eight bodies, and their differences. George (1973);
    George and Liu (1978), SIAM J. Numer. Anal. 15:1053 (without positions).
    """
    distance = graphs.landmark_distances(pattern)
    first, second = np.triu_indices(distance.shape[1], 1)
    differences = distance[:, first] - distance[:, second]
    return dissected(pattern, np.column_stack([differences, distance]))


def geometric_dissection(pattern: BlockPattern, positions: FloatArray | None = None) -> IntArray:
    """Cut the core across x, y or z of the bodies' `positions` (n_primal, k) [m]. Admissible.

    Without them this is `nested_dissection`. Heath and Raghavan (1995).
    """
    if positions is None:
        return nested_dissection(pattern)
    of_core = np.delete(positions, tree_parts(pattern)[1], axis=0)
    return leaves_then(dissected)(pattern, of_core)


# ---- CHOLMOD -------------------------------------------------------------------------------------


@leaves_then
def joints_ordered_by(pattern: BlockPattern, method: str) -> IntArray:
    """Order the joints as CHOLMOD would eliminate them, each body right before its first joint.

    Admissible; tree parts come leaves first. Two joints couple when they share a body: the pattern
    of T' P' I^-1 P T, which "amd" (approximate minimum degree), "metis" (nested dissection, best
    where the mechanism is a large lattice) and "nesdis" (METIS cuts, constrained minimum degree
    orders) look at; "colamd" takes T' P' itself. Chen, Davis, Hager and Rajamanickam (2008).
    """
    _cholmod(method)  # needed by all patterns alike
    if pattern.n_dual == 0:
        return np.arange(pattern.n_primal, dtype=np.intp)
    joint_of_row = _repeated(pattern.block_sizes[pattern.n_primal :])
    ends = pattern.ends[joint_of_row]
    row, side = np.nonzero(ends >= 0)
    touches = np.ones(len(row)), (row, ends[row, side])
    matrix = csc_matrix(csc_array(touches, shape=(len(ends), max(pattern.n_primal, 1))))
    if method != "colamd":
        matrix = csc_matrix(matrix @ matrix.T + identity(len(joint_of_row), format="csc"))
    return graphs.with_primal_blocks(pattern, blocks_ordered(matrix, joint_of_row, method))


@leaves_then
def quotient_metis(pattern: BlockPattern) -> IntArray:
    """Dissect the graph of bodies and joints by METIS, then make bodies precede their joints.

    Admissible. Joints move back to the later of their bodies, or bodies forward to their first
    joint, whichever predicts less work. Karypis and Kumar (1998).
    """
    if pattern.n_dual == 0:
        return np.arange(pattern.n_blocks, dtype=np.intp)
    blocks = quotient_ordered_by(pattern, "metis")
    joints = blocks[blocks >= pattern.n_primal] - pattern.n_primal
    return fewest_flops(
        pattern, repair(pattern, blocks), graphs.with_primal_blocks(pattern, joints)
    )


def quotient_ordered_by(pattern: Blocks, method: str) -> IntArray:
    """Order blocks, weighted by their rows, as CHOLMOD would eliminate them."""
    whole = csc_matrix(quotient_graph(pattern) + identity(pattern.n_blocks, format="csr"))
    block = _repeated(pattern.block_sizes)
    return blocks_ordered(csc_matrix(whole[block][:, block]), block, method)


def quotient_graph(pattern: Blocks) -> csr_array:
    """Return the adjacency of the blocks."""
    indptr, indices = pattern.adjacency
    at = indices.astype(np.int32), indptr.astype(np.int32)
    return csr_array((np.ones(len(indices)), *at), shape=(pattern.n_blocks,) * 2)


def _repeated(sizes: IntArray) -> IntArray:
    """Return each block as often as its size contains the greatest common divisor of all."""
    return np.repeat(np.arange(len(sizes)), sizes // np.gcd.reduce(sizes))


def blocks_ordered(matrix: csc_matrix, block: IntArray, method: str) -> IntArray:
    """Return the blocks by the first of their rows, as `method` eliminates those of `matrix`.

    COLAMD takes a factor of the matrix, the others take the matrix itself.
    """
    cholmod = _cholmod(method)
    analyze = cholmod.analyze_AAt if method == "colamd" else cholmod.analyze
    row_order = analyze(matrix, mode="supernodal", ordering_method=method).P()
    blocks, first_row = np.unique(block[row_order], return_index=True)
    return blocks[np.argsort(first_row)].astype(np.intp)


def _cholmod(method: str) -> Any:
    """Return the module of CHOLMOD."""
    needs = f"the ordering cholmod-{method} needs scikit-sparse"
    return required_package("sksparse.cholmod", needs, "cholmod")
