"""General sparse solvers on our matrix: one factorization and one solution, nothing else.

The values are there already, no row depends on others, and all analysis is done beforehand: what
is timed is the linear algebra alone, and its error is what such a solver leaves.
"""

import numpy as np
from scipy.sparse import bsr_array, csc_matrix
from scipy.sparse.linalg import splu

import sparsebody as sb
from sparsebody.arrays import FloatArray
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix, saddle_csc
from sparsebody.study.families import Problem
from sparsebody.study.measure import Prepared


def equations(problem: Problem) -> tuple[SaddleMatrix, FloatArray]:
    """Return matrix and right-hand side of the independent rows in natural order."""
    system, state = problem.system, problem.state
    dynamics = sb.ForwardDynamics(system, state, ordering="natural", factorization="superlu")
    evaluation = dynamics.evaluate(state)
    structure, constraint = dynamics.structure, evaluation.constraint
    force = evaluation.applied - evaluation.bias
    right = structure.right_hand_side(force, constraint.acceleration)
    return structure.matrix(constraint), right


def superlu(problem: Problem) -> Prepared:
    """LU of the whole matrix with partial pivoting, and one step of refinement."""
    matrix, right = equations(problem)
    whole, n = saddle_csc(matrix), matrix.pattern.n_primal_rows

    def solve() -> FloatArray:
        factors = splu(whole, permc_spec="COLAMD", diag_pivot_thresh=1.0)
        x = factors.solve(right)
        return x + factors.solve(right - whole @ x)

    detail = "factor + solve alone, COLAMD, partial pivoting, one refinement"
    return Prepared(solve, lambda: solve()[:n].reshape(-1, 6), detail)


def cholmod(problem: Problem) -> Prepared:
    """Cholesky of the Schur complement A D^-1 A', which is given, in CHOLMOD's best order."""
    from sksparse.cholmod import analyze

    matrix, right = equations(problem)
    bodies, n = len(matrix.inverse), matrix.pattern.n_primal_rows
    D_inverse = bsr_array((matrix.inverse, np.arange(bodies), np.arange(bodies + 1)), shape=(n, n))
    A = constraint_matrix(matrix)
    schur = csc_matrix(A @ D_inverse @ A.T)
    reduced = A @ (D_inverse @ right[:n]) - right[n:]
    factor = analyze(schur, ordering_method="best")

    def solve() -> FloatArray:
        factor.cholesky_inplace(schur)
        return np.asarray(factor.solve_A(reduced))

    detail = "factor + solve alone, Schur complement given, best of AMD, METIS and NESDIS"
    return Prepared(
        solve, lambda: np.asarray(D_inverse @ (right[:n] - A.T @ solve())).reshape(-1, 6), detail
    )
