"""Method "loops-force": A lambda = b first, with the Delassus matrix A = K H^-1 K'.

X = L'^-1 K' has entries from the joints of a loop down to the world, so that A couples clusters
that stand on a common joint, and no others. All loops are substituted at once; sorted by the
bodies that they end at, their columns fill a stretch of each row of X, and what is outside is not
touched. Featherstone (2008), sec. 8.5, method 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.errors import ModelError, RankWarning, warn_user
from sparsebody.tolerances import DELASSUS_PIVOT, RANK_TOLERANCE, REGAINED_REMAINDER, WORST_RESIDUAL
from sparsebody.tree.crba import free_equations
from sparsebody.tree.loops.loop_clusters import LoopClusters, offsets
from sparsebody.tree.loops.loop_equations import LoopEquations
from sparsebody.tree.loops.loops_direct import LoopDynamics
from sparsebody.tree.ltl import ltl_factor
from sparsebody.tree.method import TreeProblem, TreeSolution
from sparsebody.tree.spanning_tree import SpanningTree

MOST_ENTRIES = 2**28  # of X, or of A: 2 GB


class Groups(NamedTuple):
    """The blocks of X and A, group by group."""

    row: IntArray  # rows of K in use, numbers into LoopClusters.row
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
    """Return the groups of the rows of K in `keep` (m,).

    Raises
    ------
    ModelError
        If X or A has more than MOST_ENTRIES entries.
    """
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
    coordinate = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
    sizes = np.bincount(owner[coordinate], minlength=n_groups)[:n_groups]
    first_coordinate = offsets(sizes)
    row_of_x = np.full(tree.n_velocities, -1, dtype=np.intp)
    row_of_x[coordinate] = np.arange(len(coordinate)) - first_coordinate[owner[coordinate]]
    n_rows = np.diff(first_row)
    start, start_product = offsets(sizes * n_rows), offsets(n_rows**2)
    if max(start[-1], start_product[-1]) > MOST_ENTRIES:
        raise ModelError(
            f"K H^-1 K' of {tree.system.name!r} has {start_product[-1]:.2g} entries, its factor "
            f"{start[-1]:.2g}; use method 'sparse'"
        )
    return Groups(
        row, first_row, coordinate, first_coordinate, row_of_x, low, high, start, start_product
    )


def _groups_of_rows(tree: SpanningTree, last: IntArray) -> IntArray:
    """Return a number for each row (m,), the same for all that stand on common coordinates.

    `last` (m, 2) are the last velocity coordinates on the supports of both ends, -1 for none.
    """
    roots = np.flatnonzero(tree.expanded_parent < 0)  # each begins the coordinates that it supports
    below = np.searchsorted(roots, last, side="right") - 1
    first, second = below.max(axis=1), below.min(axis=1)
    second = np.where(second < 0, first, second)
    n = len(roots) + 1  # the last one, -1, is that of rows without coordinates
    joined = coo_array((np.ones(len(last)), (first % n, second % n)), shape=(n, n))
    return connected_components(joined, directed=False)[1][first]


REFINEMENTS = 2


class LoopsForce(LoopDynamics):
    """Method 2: A lambda = b, then H x = tau - C + K' lambda. Featherstone (2008), eq. (8.37).

    With H = L' L and X = L'^-1 K', A = X' X is factorized by Cholesky's method, group by group of
    loops that stand on common joints. Where that shows dependent rows, a pivoted QR factorization
    of X decides which to leave out; they stay out as long as they are obeyed.

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

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd and the multipliers of independent loop rows.

        Warns
        -----
        RankWarning
            If the rows that are left out are violated: the state is not consistent.
        """
        tree, equations = self.tree, self.equations(problem)
        H, right = free_equations(problem)
        L = ltl_factor(tree, H)
        z = right[None].copy()
        native.solve_upper(tree.pattern, L, z)
        force, x, is_left_out = self._by_products(equations, L, z[0])
        dropped = self._dropped(equations, x)
        if is_left_out.any() or dropped > WORST_RESIDUAL:
            force, x = self._by_factors(equations, L, z[0])
            dropped = self._dropped(equations, x)
        if dropped > WORST_RESIDUAL:
            warn_user(
                f"loop constraints that depend on others are violated by {dropped:.1e}: make the "
                "state consistent",
                RankWarning,
            )
        multiplier = np.zeros(problem.system.n_rows)
        multiplier[self.clusters.row] = force
        return TreeSolution(problem.prescribed_qdd + x, multiplier, bool(self.keep.all()), dropped)

    def _by_products(
        self, equations: LoopEquations, L: FloatArray, z: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return lambda, x, and which groups are left out, by Cholesky factors of A."""
        groups, layout, pattern = self._groups, self.clusters.layout, self.tree.pattern
        force, x = np.zeros(self.clusters.n_rows), z.copy()
        native.fill_whitened_rows(layout, groups, equations.values, pattern, L, self._X)
        is_left_out = native.solve_delassus(
            groups,
            self._X,
            self._A,
            equations.right,
            equations.size,
            DELASSUS_PIVOT,
            RANK_TOLERANCE,
            force,
            x,
        )
        native.solve_lower(pattern, L, x[None])
        return force, x, is_left_out

    def _by_factors(
        self, equations: LoopEquations, L: FloatArray, z: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return lambda and x by a pivoted QR factorization of X, and keep its independent rows.

        Rows that were left out before come back only if they are independent beyond doubt.
        """
        before, clusters = self.keep, self.clusters
        groups = coupled_groups(clusters, np.ones(clusters.n_rows, dtype=bool))
        X = np.empty(groups.start[-1])
        native.fill_whitened_rows(
            clusters.layout, groups, equations.values, self.tree.pattern, L, X
        )
        keep, force, w = np.zeros_like(before), np.zeros(clusters.n_rows), z.copy()
        for g in range(groups.n_groups):
            row = groups.row[groups.first_row[g] : groups.first_row[g + 1]]
            own = groups.coordinate[groups.first_coordinate[g] : groups.first_coordinate[g + 1]]
            Y = X[groups.start[g] : groups.start[g + 1]].reshape(len(own), len(row))
            change = least_change(Y, equations.right[row], z[own], equations.size[row])
            if change.floor < REGAINED_REMAINDER and not before[row[change.independent]].all():
                usable = before[row]
                row = row[usable]
                Y, size = Y[:, usable], equations.size[row]
                change = least_change(Y, equations.right[row], z[own], size)
            independent = row[change.independent]
            keep[independent], force[independent], w[own] = True, change.force, change.whitened
        self._keep(keep)
        native.solve_lower(self.tree.pattern, L, w[None])
        return force, w

    def _dropped(self, equations: LoopEquations, x: FloatArray) -> float:
        """Return the largest relative violation of the rows left out."""
        if self.keep.all():
            return 0.0
        return float(np.abs(equations.violation(x)[~self.keep]).max())


@dataclass(frozen=True, eq=False)
class LeastChange:
    """The least change of z that obeys the rows, and which of them do it."""

    independent: IntArray  # (r,) independent rows
    force: FloatArray  # (r,) their multipliers
    whitened: FloatArray  # (n,) z + X lambda
    floor: float  # smallest remainder of an independent row, relative to its size


def least_change(X: FloatArray, k: FloatArray, z: FloatArray, size: FloatArray) -> LeastChange:
    """Return lambda and w = z + X lambda with X' w = k, for X (n, m) of any rank.

    `size` (m,) are the natural lengths of the columns.

    By a QR factorization with column pivoting: the error grows with the condition of X, not with
    its square. Golub and Van Loan (2013), sec. 5.4.2.
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
    floor = float(pivots[:rank].min(initial=np.inf))
    return LeastChange(independent, force / size[independent], w, floor)
