"""Method "loops-projection": x = G y + g, all solutions of K x = k, and G'HG for y.

    P K Q = L [U_11 U_12]:   x_2 = y,  x_1 = -U_11^-1 U_12 y + U_11^-1 L^-1 P k

`explicit_form` takes any dense K; `explicit_blocks` goes cluster by cluster of the loops, y in the
order of LoopClusters.joint_order, in which G is block diagonal: a dense block for each cluster, and
ones for the coordinates of no loop. Featherstone (2008), secs. 8.8 and 8.9.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve

from sparsebody import errors, tolerances
from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.equations.inverse import Freedom
from sparsebody.model.system import State, System
from sparsebody.tree.loop_constraints import LoopClusters, LoopEquations, loop_equations
from sparsebody.tree.loop_methods import LoopDynamics, Solution
from sparsebody.tree.method import TreeProblem, free_equations
from sparsebody.tree.recursions import joint_space_inertia, symmetric
from sparsebody.tree.spanning_tree import AnyTree, BranchPattern, SpanningTree

SPARSE_SHARE = 10  # one in so many entries of H may be nonzero for sparse products to be faster


@dataclass(frozen=True, eq=False)
class ExplicitForm:
    """x = G y + g, where y are the entries `independent` of x; K G = 0 and K g = k."""

    G: FloatArray  # (n, n - r)
    g: FloatArray  # (n,)
    independent: IntArray  # (n - r,) ascending
    dependent: IntArray  # (r,) in the order of the pivots
    rows: IntArray  # (r,) rows of K that are independent, in the order of the pivots

    @property
    def rank(self) -> int:
        """r, the rank of K."""
        return len(self.dependent)


def explicit_form(
    K: FloatArray,
    k: FloatArray,
    *,
    independent: Sequence[int] = (),
    weight: FloatArray | None = None,
    row_size: FloatArray | None = None,
    tolerance: float = tolerances.RANK_TOLERANCE,
) -> ExplicitForm:
    """Return G and g of the equations K x = k. Featherstone (2008), eq. (8.51).

    K (m, n) may have dependent rows; k (m,) is in its range. `independent` are entries of x that
    must be among y; complete pivoting chooses the others. `weight` (n,) are natural sizes of the
    entries of x, which take units out of the choice of pivots, and `row_size` (m,) those of the
    rows of K times `weight`; default: the largest entry of all. A pivot below `tolerance`, relative
    to the size of its row, is zero.

    Raises ShapeError if k does not fit K, ModelError if `independent` entries are not.
    """
    K = np.asarray(K, dtype=float)
    m, n = K.shape
    if np.shape(k) != (m,):
        raise errors.ShapeError(f"K is {K.shape} and k is {np.shape(k)}; k must be ({m},)")
    size = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    is_required = np.zeros(n, dtype=bool)
    is_required[list(independent)] = True
    work = K * size
    largest = np.full(m, np.abs(work).max(initial=0.0) or 1.0) if row_size is None else row_size
    work, right = np.ascontiguousarray(work / largest[:, None]), k / largest
    row_order, order = np.arange(m), np.arange(n)
    r = native.eliminate(work, right, is_required, tolerance, row_order, order)
    if r < 0:
        raise errors.ModelError(
            f"the entries {list(independent)} of x are not independent: K x = k joins them"
        )
    dependent, others = order[:r], order[r:]
    free = np.sort(others)
    G, g = np.zeros((n, len(free))), np.zeros(n)
    G[free, np.arange(len(free))] = 1.0
    entries = -size[dependent, None] * work[:r, r:] / size[others]
    G[dependent[:, None], np.searchsorted(free, others)] = entries
    g[dependent] = size[dependent] * right[:r]
    return ExplicitForm(G, g, free, dependent, row_order[:r])


class GBlocks(NamedTuple):
    """The rows of G: consecutive entries for a dependent coordinate, a one for an independent."""

    values: FloatArray  # as K is packed: in K[:r, :r] of a block L and U, in K[:r, r:] entries of G
    entry: IntArray  # (n,) where a dependent row begins in `values`, -1 for independent ones
    first: IntArray  # (n,) its first index in y, or its only one
    size: IntArray  # (n,) its number of entries
    g: FloatArray  # (n,)


@dataclass(frozen=True, eq=False)
class ExplicitBlocks:
    """G, g, and the factors of K_11 that they were made with."""

    clusters: LoopClusters
    matrix: FloatArray  # K, packed
    blocks: GBlocks
    rank: IntArray  # (n_clusters,) of the blocks of K
    row_order: IntArray  # (m,) rows of each cluster, pivots first, numbers within the cluster
    is_pivot: BoolArray  # (m,) which of these are pivots
    column_order: IntArray  # columns of each cluster, pivots first
    row_size: FloatArray  # (m,) of the rows
    weight: FloatArray  # (n,) of the columns
    independent: IntArray  # (n - r,) velocity coordinate of each number of y

    @property
    def G(self) -> FloatArray:
        """(n, n - r), dense."""
        return native.unpack_g(self.blocks, len(self.independent))

    @property
    def keep(self) -> BoolArray:
        """(m,) which rows of K, in the order of LoopClusters.row, depend on no others."""
        first = self.clusters.first_row[self.clusters.layout.row_cluster]
        keep = np.empty(len(first), dtype=bool)
        keep[first + self.row_order] = self.is_pivot
        return keep

    def accelerations(self, y: FloatArray) -> FloatArray:
        """Return x = G y + g."""
        return native.expand(self.blocks, y)

    def projected(self, force: FloatArray) -> FloatArray:
        """Return u = G' force (n - r,). Featherstone (2008), eq. (8.45)."""
        return native.project(self.blocks, len(self.independent), force)

    def projected_inertia(self, pattern: BranchPattern, H: FloatArray) -> FloatArray:
        """Return G' H G (n - r, n - r) from the packed H; only the upper triangle is right."""
        if SPARSE_SHARE * len(H) > len(self.weight) ** 2:
            G = self.G
            return np.asarray(G.T @ (symmetric(pattern, H) @ G))
        return native.projected_inertia(pattern, H, self.blocks, len(self.independent))

    def multipliers(self, force: FloatArray) -> FloatArray:
        """Return lambda (m,), 0 at dependent rows: K' lambda = force in dependent coordinates."""
        clusters, orders = self.clusters, (self.rank, self.row_order, self.column_order)
        factors = clusters.layout, clusters.first_row, self.blocks.values, *orders, self.row_size
        return native.block_multipliers(*factors, self.weight * force)


def explicit_blocks(
    equations: LoopEquations, weight: FloatArray, is_required: BoolArray | None = None
) -> ExplicitBlocks:
    """Return G and g of K x = k, see explicit_form; ModelError if required coordinates depend."""
    clusters = equations.clusters
    if is_required is None:
        is_required = np.zeros(len(weight), dtype=bool)
    values, right = equations.values.copy(), equations.right.copy()
    rows = clusters.layout, clusters.first_row
    failed, rank, row_order, column_order = native.eliminate_blocks(
        *rows, is_required, weight, equations.size, tolerances.RANK_TOLERANCE, values, right
    )
    if failed >= 0:
        own = [clusters.tree.velocity_name(k) for k in clusters.columns(failed) if is_required[k]]
        raise errors.ModelError(
            "the loops join coordinates that were given as independent: "
            f"{', '.join(own)}; leave some out"
        )
    entry, first, size, dependent, independent = _numbered(clusters, rank, column_order)
    last_pivot = clusters.first_row[:-1] + rank
    is_pivot = np.arange(clusters.n_rows) < last_pivot[clusters.layout.row_cluster]
    g = np.zeros(len(weight))
    g[dependent] = weight[dependent] * right[is_pivot]
    orders, scales = (rank, row_order, is_pivot, column_order), (equations.size, weight)
    blocks = GBlocks(values, entry, first, size, g)
    return ExplicitBlocks(clusters, equations.values, blocks, *orders, *scales, independent)


def explicit_at(problem: TreeProblem, clusters: LoopClusters | None = None) -> ExplicitBlocks:
    """Return G and g of x = qdd - prescribed_qdd at a state."""
    H = joint_space_inertia(problem.tree, problem.motion)
    return explicit_blocks(loop_equations(problem, clusters), _natural_sizes(problem.tree, H))


def _natural_sizes(tree: SpanningTree, H: FloatArray) -> FloatArray:
    """Return (n,) the units of coordinates in which the packed H has ones on its diagonal."""
    return 1.0 / np.sqrt(H[tree.pattern.start[1:] - 1])


def _numbered(
    clusters: LoopClusters, rank: IntArray, column_order: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Return entry, first and size of GBlocks, the dependent coordinates, and those of y."""
    layout, n = clusters.layout, clusters.tree.n_velocities
    cluster = np.repeat(np.arange(clusters.n_clusters), clusters.n_columns)
    index = np.arange(len(cluster)) - layout.first_column[cluster]
    is_dependent = index < rank[cluster]
    sequence, is_free = clusters.velocity_order.copy(), np.ones(n, dtype=bool)
    in_loops = layout.column_cluster[sequence] >= 0
    sequence[in_loops], is_free[in_loops] = column_order, ~is_dependent
    entry, first, size = np.full(n, -1), np.empty_like(sequence), np.ones_like(sequence)
    first[sequence] = np.cumsum(is_free) - is_free
    dependent, own = column_order[is_dependent], cluster[is_dependent]
    entry[dependent] = layout.row[clusters.first_row[own] + index[is_dependent]] + rank[own]
    size[dependent] = clusters.n_columns[own] - rank[own]
    return entry, first, size, dependent, sequence[is_free]


MOST_FREEDOMS = 20_000  # 3 GB
REFINEMENTS = 1


class LoopsProjection(LoopDynamics):
    """Method 3: x = G y + g from K x = k, then (G' H G) y = G' (tau - C - H g).

    G and g by Gaussian elimination with complete pivoting, in every loop cluster by itself and in
    units in which H has ones on its diagonal. Featherstone (2008), eq. (8.46) and sec. 8.8.

    `independent`: joints all of whose velocity coordinates must be among the independent ones, or
    joint and number of one coordinate; the rest is chosen at each state. Other parameters as in
    LoopDynamics. ModelError if such a joint is not in the tree or has no such coordinate.
    """

    name = "loops-projection"

    def __init__(
        self,
        system: System,
        tree: AnyTree = "auto",
        *,
        independent: Iterable[Freedom] = (),
        **options: Any,
    ) -> None:
        super().__init__(system, tree, **options)
        self.is_required = np.zeros(self.tree.n_velocities, dtype=bool)
        for joint in independent:
            name, *one = [joint] if isinstance(joint, str) else joint
            i = int(self.tree.tree_index[system.joint(str(name))])
            if i < 0:
                raise errors.ModelError(
                    f"joint {name!r} closes a loop; its coordinates are none of the tree's: give "
                    "joints=... to spanning_tree to have it in the tree"
                )
            own = np.arange(self.tree.n_velocities)[self.tree.velocities(i)]
            if one and one[0] not in range(len(own)):
                raise errors.ModelError(
                    f"joint {name!r} has {len(own)} velocity coordinates; there is no {one[0]}"
                )
            self.is_required[own[int(one[0])] if one else own] = True

    def explicit(self, equations: LoopEquations, H: FloatArray) -> ExplicitBlocks:
        """Return G and g of x = qdd - prescribed_qdd, given the packed H."""
        return explicit_blocks(equations, _natural_sizes(self.tree, H), self.is_required)

    def explicit_at(self, state: State) -> ExplicitBlocks:
        """Return G and g of x = qdd - prescribed_qdd at a state."""
        problem = self.problem(state)
        return self.explicit(self.equations(problem), free_equations(problem)[0])

    def solve_equations(self, loops: LoopEquations, H: FloatArray, right: FloatArray) -> Solution:
        """Return x = G y + g, lambda, and which rows are independent."""
        explicit = self.explicit(loops, H)
        x, Hx = self._accelerations(explicit, H, right)
        return x, explicit.multipliers(Hx - right), explicit.keep

    def _accelerations(
        self, explicit: ExplicitBlocks, H: FloatArray, right: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return x and H x."""
        pattern, n_free = self.tree.pattern, len(explicit.independent)
        if n_free > MOST_FREEDOMS:
            raise errors.ModelError(
                f"G'HG of {self.system.name!r} has {n_free} rows, more than {MOST_FREEDOMS}; use "
                "method 'loops-force' or 'sparse'"
            )
        x, Hx = explicit.blocks.g.copy(), np.empty_like(right)
        native.multiply(pattern, H, x, Hx)
        if n_free == 0:
            return x, Hx
        try:
            factor = cho_factor(explicit.projected_inertia(pattern, H), check_finite=False)
        except LinAlgError as error:
            raise errors.SingularSystemError(
                f"G'HG of {self.system.name!r} is not positive definite: look at the masses and "
                "inertias of the bodies, and at given independent coordinates that nearly depend"
            ) from error
        y = np.zeros(n_free)
        for _ in range(1 + REFINEMENTS):
            y += cho_solve(factor, explicit.projected(right - Hx), check_finite=False)
            x = explicit.accelerations(y)
            native.multiply(pattern, H, x, Hx)
        return x, Hx
