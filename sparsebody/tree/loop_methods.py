"""Methods for loops by H, K and k: the indefinite system at once, or loop forces first.

Featherstone (2008), sec. 8.5: method 1, "loops-direct", and method 2, "loops-force".
"""

from abc import abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dsytrf, dsytrs
from scipy.sparse import coo_array, csgraph

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray, IntArray, offsets
from sparsebody.errors import ModelError, RankWarning, SingularSystemError, check_name, warn_user
from sparsebody.model.system import System
from sparsebody.tolerances import DELASSUS_PIVOT, RANK_TOLERANCE, REGAINED_REMAINDER, WORST_RESIDUAL
from sparsebody.tree import loop_constraints, recursions
from sparsebody.tree.loop_constraints import LoopClusters, LoopEquations
from sparsebody.tree.method import TreeDynamics, TreeProblem, TreeSolution, free_equations
from sparsebody.tree.spanning_tree import AnyTree, SpanningTree

Unknowns: TypeAlias = tuple[FloatArray, FloatArray]  # x and lambda (m,)
Solution: TypeAlias = tuple[
    FloatArray, FloatArray, BoolArray
]  # x, lambda (m,), and independent rows


class LoopDynamics(TreeDynamics):
    """Forward dynamics by K qdd = k of the loop joints, in `coordinates` of loop_equations."""

    takes_loops = True

    def __init__(
        self, system: System, tree: AnyTree = "auto", *, coordinates: str = "link", **options: Any
    ) -> None:
        check_name(coordinates, loop_constraints.COORDINATES, "coordinates")
        self.coordinates = coordinates
        super().__init__(system, tree, **options)

    def prepare(self) -> None:
        """Find the loop clusters."""
        self.clusters = loop_constraints.loop_clusters(self.tree)

    def equations(self, problem: TreeProblem) -> LoopEquations:
        """Return K and k at a state."""
        return loop_constraints.loop_equations(problem, self.clusters, self.coordinates)

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd and the multipliers of independent loop rows."""
        loops = self.equations(problem)
        x, force, keep = self.solve_equations(loops, *free_equations(problem))
        multiplier = np.zeros(problem.system.n_rows)
        multiplier[self.clusters.row] = force
        dropped = _dropped_residual(loops, x, keep)
        return TreeSolution(problem.prescribed_qdd + x, multiplier, bool(keep.all()), dropped)

    @abstractmethod
    def solve_equations(self, loops: LoopEquations, H: FloatArray, right: FloatArray) -> Solution:
        """Return x, lambda (m,) of H x = right + K' lambda, K x = k, H packed; and rows kept."""

    def explain(self) -> dict[str, object]:
        """Return the tree, and the sizes of its loop constraints."""
        clusters = self.clusters
        return {
            **super().explain(),
            "loop_rows": clusters.n_rows,
            "loop_clusters": clusters.n_clusters,
            "loop_matrix_entries": int(clusters.start[-1]),
        }


def _dropped_residual(loops: LoopEquations, x: FloatArray, keep: BoolArray) -> float:
    """Return the largest relative violation of the rows left out."""
    if keep.all():
        return 0.0
    return float(np.abs(loops.violation(x)[~keep]).max())


MOST_UNKNOWNS = 20_000  # 3 GB
REFINEMENTS = 2


class LoopsDirect(LoopDynamics):
    """Method 1: [H, K'; K, 0] [x; -lambda] = [tau - C; k] by a dense L D L'. (8.36).

    O((n + n^c)^3). Dependent rows are left out, by a pivoted QR factorization of K' in units in
    which H has ones on its diagonal. Parameters as in LoopDynamics.
    """

    name = "loops-direct"

    def solve_equations(self, loops: LoopEquations, H: FloatArray, right: FloatArray) -> Solution:
        """Return x, lambda, and which rows are independent."""
        n_unknowns = self.tree.n_velocities + self.clusters.n_rows
        if n_unknowns > MOST_UNKNOWNS:
            raise ModelError(
                f"the dense system of {self.system.name!r} has {n_unknowns} unknowns, more than "
                f"{MOST_UNKNOWNS}; use method 'loops-force' or 'sparse'"
            )
        H, size = recursions.symmetric(self.tree.pattern, H), loops.size
        scale = 1.0 / np.sqrt(np.diag(H))
        K = loops.matrix * scale / size[:, None]
        keep = independent_rows(K)
        k = (loops.right / size)[keep]
        x, of_independent = _saddle_solve(scale[:, None] * H * scale, K[keep], scale * right, k)
        force = np.zeros(len(keep))
        force[keep] = of_independent / size[keep]
        return scale * x, force, keep


def independent_rows(K: FloatArray, tolerance: float = RANK_TOLERANCE) -> BoolArray:
    """Return which rows (m,) of K, of norms up to about one, are independent."""
    keep = np.zeros(len(K), dtype=bool)
    if K.size:
        R, order = qr(K.T, mode="r", pivoting=True, check_finite=False)
        pivots = np.abs(np.diag(R))
        keep[order[: np.count_nonzero(pivots > tolerance)]] = True
    return keep


def _saddle_solve(H: FloatArray, K: FloatArray, right: FloatArray, k: FloatArray) -> Unknowns:
    """Return x and lambda of H x - K' lambda = right, K x = k, by Bunch and Kaufman's method."""
    m, n = K.shape
    if n + m == 0:
        return np.zeros(0), np.zeros(0)
    matrix, rhs = np.block([[H, K.T], [K, np.zeros((m, m))]]), np.concatenate([right, k])
    factors, pivots, info = dsytrf(matrix, lower=1, lwork=64 * (n + m))
    if info != 0:
        raise SingularSystemError(
            "the system of tree and loops is singular: look at the masses and inertias of the "
            "bodies, and at numbers that are not finite"
        )
    x = np.zeros(n + m)
    for _ in range(1 + REFINEMENTS):
        x += dsytrs(factors, pivots, rhs - matrix @ x, lower=1)[0]
    return x[:n], -x[n:]


MOST_ENTRIES = 2**28  # of X, or of A: 2 GB


class Groups(NamedTuple):
    """The blocks of X = L'^-1 K' and of A = X' X, group by group.

    X has entries from the joints of a loop to the world, so that A couples clusters whose paths
    have a common joint, and no others. Loops are sorted by the bodies that they end at, so that the
    entries of each row of X are consecutive, and only these are computed.
    """

    row: IntArray  # rows of K in use, indices into LoopClusters.row
    first_row: IntArray  # (n_groups + 1,) into `row`
    coordinate: IntArray  # velocity coordinates, ascending in each group
    first_coordinate: IntArray  # (n_groups + 1,)
    row_of_x: IntArray  # (n_velocities,) row of X in its group, -1 for those in none
    low: IntArray  # (n_velocities,) first row of the group that reaches each coordinate
    high: IntArray  # (n_velocities,) and the one after the last
    start: IntArray  # (n_groups + 1,) where X begins, (coordinates, rows)
    start_product: IntArray  # (n_groups + 1,) where A begins, (rows, rows), upper triangle

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.first_row) - 1


def coupled_groups(clusters: LoopClusters, keep: BoolArray) -> Groups:
    """Return the groups of the rows of K in `keep` (m,); ModelError if X or A is too large."""
    tree = clusters.tree
    ends = tree.ends(tree.system.row_joint[clusters.row])
    last = tree.last_velocity[ends]
    group = _groups_of_rows(tree, last)
    row = np.flatnonzero(keep)
    row = row[np.lexsort((row, ends[row].max(axis=1), group[row]))]
    _, row_group = np.unique(group[row], return_inverse=True)
    n_groups = int(row_group.max(initial=-1)) + 1
    first_row = np.searchsorted(row_group, np.arange(n_groups + 1)).astype(np.intp)
    local = np.arange(len(row)) - first_row[row_group]
    owner, low, high = native.coordinate_groups(tree.expanded_parent, last[row], row_group, local)
    coordinate, first_coordinate, row_of_x = loop_constraints.members(owner, n_groups)
    n_rows = np.diff(first_row)
    start, start_product = offsets(np.diff(first_coordinate) * n_rows), offsets(n_rows**2)
    if max(start[-1], start_product[-1]) > MOST_ENTRIES:
        raise ModelError(
            f"K H^-1 K' of {tree.system.name!r} has {start_product[-1]:.2g} entries, its factor "
            f"{start[-1]:.2g}; use method 'sparse'"
        )
    return Groups(
        row, first_row, coordinate, first_coordinate, row_of_x, low, high, start, start_product
    )


def _groups_of_rows(tree: SpanningTree, last: IntArray) -> IntArray:
    """Label rows (m,) by common coordinates of their paths, from the last (m, 2) at both ends."""
    roots = np.flatnonzero(tree.expanded_parent < 0)  # each begins the coordinates that it supports
    root = np.searchsorted(roots, last, side="right") - 1
    first, second = root.max(axis=1), root.min(axis=1)
    second = np.where(second < 0, first, second)
    n = len(roots) + 1  # the last one, -1, is that of rows without coordinates
    joined = coo_array((np.ones(len(last)), (first % n, second % n)), shape=(n, n))
    return csgraph.connected_components(joined, directed=False)[1][first]


class LoopsForce(LoopDynamics):
    """Method 2: A lambda = b, then H x = tau - C + K' lambda. Featherstone (2008), eq. (8.37).

    With H = L' L and X = L'^-1 K', the Delassus matrix A = K H^-1 K' = X' X is factorized by
    Cholesky's method, group by group of loops with common joints on their paths. Where rows are
    dependent, a pivoted QR factorization of X decides which to leave out, until these are violated.
    Parameters as in LoopDynamics.
    """

    name = "loops-force"

    def prepare(self) -> None:
        """Prepare for all rows of K."""
        super().prepare()
        self._keep(np.ones(self.clusters.n_rows, dtype=bool))

    def _keep(self, keep: BoolArray) -> None:
        """Prepare for the rows of K in `keep` (m,)."""
        self.keep = keep
        self._groups = coupled_groups(self.clusters, keep)
        self._X = np.empty(self._groups.start[-1])
        self._A = np.empty(self._groups.start_product[-1])

    def solve_equations(self, loops: LoopEquations, H: FloatArray, right: FloatArray) -> Solution:
        """Return x, lambda, and rows kept; warn if an inconsistent state violates others."""
        L, z = recursions.ltl_factor(self.tree, H), right.copy()
        native.solve_upper(self.tree.pattern, L, z[None])
        x, force, is_left_out = self._by_products(loops, L, z)
        dropped = _dropped_residual(loops, x, self.keep)
        if is_left_out.any() or dropped > WORST_RESIDUAL:
            x, force = self._by_factors(loops, L, z)
            dropped = _dropped_residual(loops, x, self.keep)
        if dropped > WORST_RESIDUAL:
            warn_user(
                f"loop constraints that depend on others are violated by {dropped:.1e}: make the "
                "state consistent",
                RankWarning,
            )
        return x, force, self.keep

    def _by_products(self, loops: LoopEquations, L: FloatArray, z: FloatArray) -> Solution:
        """Return x, lambda, and which groups are left out, by Cholesky factors of A."""
        groups, pattern, X = self._groups, self.tree.pattern, self._X
        force, x = np.zeros(self.clusters.n_rows), z.copy()
        native.fill_scaled_rows(self.clusters.layout, groups, loops.values, pattern, L, X)
        k, tolerances = (loops.right, loops.size), (DELASSUS_PIVOT, RANK_TOLERANCE)
        is_left_out = native.solve_delassus(groups, X, self._A, *k, *tolerances, force, x)
        native.solve_lower(pattern, L, x[None])
        return x, force, is_left_out

    def _by_factors(self, loops: LoopEquations, L: FloatArray, z: FloatArray) -> Unknowns:
        """Return x and lambda by pivoted QR of X; rows left out return if clearly independent."""
        before, clusters, pattern = self.keep, self.clusters, self.tree.pattern
        groups = coupled_groups(clusters, np.ones(clusters.n_rows, dtype=bool))
        X = np.empty(groups.start[-1])
        native.fill_scaled_rows(clusters.layout, groups, loops.values, pattern, L, X)
        keep, force, w = np.zeros_like(before), np.zeros(clusters.n_rows), z.copy()
        for g in range(groups.n_groups):
            row = groups.row[groups.first_row[g] : groups.first_row[g + 1]]
            own = groups.coordinate[groups.first_coordinate[g] : groups.first_coordinate[g + 1]]
            Y = X[groups.start[g] : groups.start[g + 1]].reshape(len(own), len(row))
            change = least_change(Y, loops.right[row], z[own], loops.size[row])
            returns = not before[row[change.independent]].all()
            if returns and change.least_pivot < REGAINED_REMAINDER:
                usable = before[row]
                row, Y = row[usable], Y[:, usable]
                change = least_change(Y, loops.right[row], z[own], loops.size[row])
            independent = row[change.independent]
            keep[independent], force[independent], w[own] = True, change.force, change.w
        self._keep(keep)
        native.solve_lower(pattern, L, w[None])
        return w, force


class LeastChange(NamedTuple):
    """The least change of z to X' w = k, and independent rows that determine it."""

    independent: IntArray  # (r,) independent rows
    force: FloatArray  # (r,) their multipliers
    w: FloatArray  # (n,) z + X lambda
    least_pivot: float  # |R_jj| of independent rows, relative to their sizes


def least_change(X: FloatArray, k: FloatArray, z: FloatArray, size: FloatArray) -> LeastChange:
    """Return lambda and w = z + X lambda, X' w = k, for X (n, m) of any rank, columns of `size`.

    By column-pivoted QR: the error grows with the condition of X, not with its square. Golub and
    Van Loan (2013), sec. 5.4.2.
    """
    X, k = X / size, k / size
    if X.size == 0:
        return LeastChange(np.zeros(0, dtype=np.intp), np.zeros(0), z.copy(), np.inf)
    Q, R, order = qr(X, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    rank = int(np.count_nonzero(pivots > RANK_TOLERANCE))
    independent, Q, R = order[:rank], Q[:, :rank], R[:rank, :rank]
    w, force = z.copy(), np.zeros(rank)
    for _ in range(REFINEMENTS if rank else 0):
        change = solve_triangular(R, (k - X.T @ w)[independent], trans="T", check_finite=False)
        w += Q @ change
        force += solve_triangular(R, change, check_finite=False)
    least_pivot = float(pivots[:rank].min(initial=np.inf))
    return LeastChange(independent, force / size[independent], w, least_pivot)
