"""The forms in which a problem is written: KKT, quasi-definite, Schur complement.

    kkt             [M A'; A 0] [a; y] = [f; b]
    quasi-definite  [M A'; A -delta] [a; y] = [f; b]
    schur           A M^-1 A' y = A M^-1 f - b

Each with all rows of A or with the kept, independent ones. Where rows are redundant, matrices of
all rows are singular: their reference solution has the least y, and the right-hand side is made of
it, so that it is consistent to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_diag, csr_array, eye_array, tril

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.corpus.corpus_problem import CorpusProblem
from sparsebody.corpus.reference_solution import (
    Reference,
    backward_error,
    exact_product,
    least_multipliers,
    refined,
)
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix, saddle_csc

DAMPING = 2.0**-27  # delta, relative to the mean diagonal of A M^-1 A'


@dataclass(frozen=True, eq=False)
class Form:
    """One matrix of the corpus, with its right-hand side and reference solution."""

    name: str  # a key of FORMS
    rows: str  # "all" or "kept"
    matrix: csr_array  # (n, n) symmetric
    right: FloatArray  # (n,)
    reference: Reference
    blocks: IntArray  # bodies and joints, numbered one after the other, in the order of the matrix
    sizes: IntArray  # of these blocks
    inertia: tuple[int, int, int]  # positive, negative and zero eigenvalues, by the rank of A
    definiteness: str
    delta: float = 0.0


def kkt(problem: CorpusProblem, rows: str) -> Form:
    """Return [M A'; A 0]; singular where rows are redundant, whatever M."""
    saddle, right = problem.matrix(rows), _right(problem, rows)
    K, n = csr_array(saddle_csc(saddle)), len(problem.force)
    redundant = len(right) - n - problem.decision.rank
    inertia = (n, problem.decision.rank, redundant)
    if redundant == 0:
        reference = refined(K, right, n)
    else:
        right, reference = _consistent(K, _least_norm(problem), n)
    return _form("kkt", rows, K, right, reference, problem, inertia, "indefinite")


def quasi_definite(problem: CorpusProblem, rows: str) -> Form:
    """Return [M A'; A -delta], regular whatever the rank. Vanderbei (1995), SIAM J. Optim. 5, 1."""
    saddle, right, n = problem.matrix(rows), _right(problem, rows), len(problem.force)
    m = len(right) - n
    mean = float(_schur(saddle).diagonal().mean()) if m else 1.0
    delta = DAMPING * float(np.exp2(np.round(np.log2(mean))))
    K = csr_array(saddle_csc(saddle) - block_diag([csr_array((n, n)), delta * eye_array(m)]))
    reference = refined(K, right, n)
    form = "quasi-definite"
    return _form(form, rows, K, right, reference, problem, (n, m, 0), form, delta)


def schur(problem: CorpusProblem, rows: str) -> Form:
    """Return A M^-1 A', the joint-space Schur complement, rounded."""
    saddle, n = problem.matrix(rows), len(problem.force)
    S = _schur(saddle)
    redundant = S.shape[0] - problem.decision.rank
    inertia = (problem.decision.rank, 0, redundant)
    if redundant == 0:
        free = np.einsum("nij,nj->ni", saddle.inverse, problem.force.reshape(-1, 6)).ravel()
        right = constraint_matrix(saddle) @ free - _right(problem, rows)[n:]
        reference, definiteness = refined(S, right, 0), "positive definite"
    else:
        right, reference = _consistent(S, _least_norm(problem)[n:], 0)
        definiteness = "positive semidefinite"
    return _form("schur", rows, S, right, reference, problem, inertia, definiteness)


@dataclass(frozen=True)
class FormKind:
    """How a form is made, and its title in the files."""

    function: Callable[[CorpusProblem, str], Form]
    title: str


FORMS = {
    "kkt": FormKind(kkt, "KKT matrix [M A'; A 0] of a mechanism, body-level"),
    "quasi-definite": FormKind(
        quasi_definite, "quasi-definite matrix [M A'; A -delta I] of a mechanism, body-level"
    ),
    "schur": FormKind(schur, "joint-space Schur complement A M^-1 A' of a mechanism"),
}


def _form(
    name: str,
    rows: str,
    K: csr_array,
    right: FloatArray,
    reference: Reference,
    problem: CorpusProblem,
    inertia: tuple[int, int, int],
    definiteness: str,
    delta: float = 0.0,
) -> Form:
    structure = problem.structure(rows)
    n_bodies = problem.system.n_bodies
    blocks, sizes = n_bodies + structure.joints, structure.pattern.block_sizes
    if name == "schur":
        sizes = sizes[n_bodies:]
    else:
        blocks = np.concatenate([np.arange(n_bodies), blocks])
    return Form(name, rows, K, right, reference, blocks, sizes, inertia, definiteness, delta)


def _right(problem: CorpusProblem, rows: str) -> FloatArray:
    """Return [f; b]."""
    return np.concatenate([problem.force, problem.demand[problem.structure(rows).rows]])


def _schur(saddle: SaddleMatrix) -> csr_array:
    """Return A M^-1 A', the upper triangle a copy of the lower one."""
    A = csr_array(constraint_matrix(saddle))
    inverse = block_diag(list(saddle.inverse), format="csr") if len(saddle.inverse) else A
    lower = csr_array(tril(A @ inverse @ A.T))
    return csr_array(lower + tril(lower, k=-1).T)


def _least_norm(problem: CorpusProblem) -> FloatArray:
    """Return the accelerations that the kept rows imply, and the least multipliers with them."""
    n = len(problem.force)
    K = csr_array(saddle_csc(problem.matrix("kept")))
    solution = refined(K, _right(problem, "kept"), n).x
    A = csr_array(constraint_matrix(problem.matrix("all")))
    least = least_multipliers(K, A, problem.decision.keep, solution[n:])
    return np.concatenate([solution[:n], least])


def _consistent(K: csr_array, x: FloatArray, split: int) -> tuple[FloatArray, Reference]:
    """Return K x, rounded once, and x as the solution that it belongs to."""
    right = exact_product(K, x)
    return right, Reference(x, "least-norm", np.nan, backward_error(K, right, x, split))
