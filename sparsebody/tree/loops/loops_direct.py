"""Method "loops-direct": the indefinite system of tree and loops at once; and LoopDynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dsytrf, dsytrs

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.errors import ModelError, SingularSystemError
from sparsebody.model.system import System
from sparsebody.tolerances import RANK_TOLERANCE
from sparsebody.tree.crba import free_equations
from sparsebody.tree.loops.loop_clusters import loop_clusters
from sparsebody.tree.loops.loop_equations import (
    LoopEquations,
    check_coordinates,
    loop_equations,
)
from sparsebody.tree.ltl import symmetric
from sparsebody.tree.method import TreeDynamics, TreeProblem, TreeSolution
from sparsebody.tree.spanning_tree import SpanningTree


class LoopDynamics(TreeDynamics):
    """Forward dynamics by a spanning tree and the equations K qdd = k of its loop joints.

    Parameters
    ----------
    system, tree, reactions, baumgarte
        As in TreeDynamics.
    coordinates : {"link", "base", "floating-base"}
        Those in which K and k are computed; see loop_equations.

    Raises
    ------
    UnknownNameError
        If there are no such coordinates.
    """

    takes_loops = True

    def __init__(
        self,
        system: System,
        tree: SpanningTree | str = "auto",
        *,
        coordinates: str = "link",
        **options: Any,
    ) -> None:
        check_coordinates(coordinates)
        self.coordinates = coordinates
        super().__init__(system, tree, **options)

    def prepare(self) -> None:
        """Find the loop clusters."""
        self.clusters = loop_clusters(self.tree)

    def equations(self, problem: TreeProblem) -> LoopEquations:
        """Return K and k at a state."""
        return loop_equations(problem, self.clusters, self.coordinates)

    def explain(self) -> dict[str, object]:
        """Say which tree is used, and how large what it leads to is."""
        clusters = self.clusters
        return {
            **super().explain(),
            "loop_rows": clusters.n_rows,
            "loop_clusters": clusters.n_clusters,
            "loop_matrix_entries": int(clusters.start[-1]),
        }


MOST_UNKNOWNS = 20_000  # 3 GB
REFINEMENTS = 2


class LoopsDirect(LoopDynamics):
    """Method 1: [H, K'; K, 0] [x; -lambda] = [tau - C; k] by a dense L D L' factorization.

    Dependent rows are left out, by a pivoted QR factorization of K' in units in which H has ones
    on its diagonal. Simple, and O((n + n^c)^3). Featherstone (2008), eq. (8.36).

    Parameters as in LoopDynamics.
    """

    name = "loops-direct"

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd and the multipliers of independent loop rows."""
        equations = self.equations(problem)
        n, m = self.tree.n_velocities, self.clusters.n_rows
        if n + m > MOST_UNKNOWNS:
            raise ModelError(
                f"the dense system of {problem.system.name!r} has {n + m} unknowns, more than "
                f"{MOST_UNKNOWNS}; use method 'loops-force' or 'sparse'"
            )
        H, right = free_equations(problem)
        H = symmetric(self.tree.pattern, H)
        scale, size = 1.0 / np.sqrt(np.diag(H)), equations.size
        K = equations.matrix * scale / size[:, None]
        keep = independent_rows(K)
        k = (equations.right / size)[keep]
        x, force = _saddle_solve(scale[:, None] * H * scale, K[keep], scale * right, k)
        x *= scale
        multiplier = np.zeros(problem.system.n_rows)
        multiplier[self.clusters.row[keep]] = force / size[keep]
        return TreeSolution(
            problem.prescribed_qdd + x,
            multiplier,
            is_unique=bool(keep.all()),
            dropped_residual=float(np.abs(equations.violation(x)[~keep]).max(initial=0.0)),
        )


def independent_rows(K: FloatArray, tolerance: float = RANK_TOLERANCE) -> BoolArray:
    """Return which rows (m,) of K are independent; no row is much longer than one."""
    keep = np.zeros(len(K), dtype=bool)
    if K.size:
        R, order = qr(K.T, mode="r", pivoting=True, check_finite=False)
        pivots = np.abs(np.diag(R))
        keep[order[: np.count_nonzero(pivots > tolerance)]] = True
    return keep


def _saddle_solve(
    H: FloatArray, K: FloatArray, right: FloatArray, k: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return x and lambda of H x - K' lambda = right, K x = k, by Bunch and Kaufman's method."""
    n, m = K.shape[1], K.shape[0]
    if n + m == 0:
        return np.zeros(0), np.zeros(0)
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n], matrix[n:, :n], matrix[:n, n:] = H, K, K.T
    rhs = np.concatenate([right, k])
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
