"""Which constraint rows are independent; where none is dependent, a few solutions show it."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from sparsebody import ordering
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import analyze
from sparsebody.factorization.auto import choose_factorization
from sparsebody.factorization.quasi_definite import QUASI_DEFINITE, quasi_definite
from sparsebody.sparse import rank
from sparsebody.sparse.rank import RankDecision
from sparsebody.sparse.rank.parts import PartOfRows, Rows
from sparsebody.sparse.rank.tolerances import GRAM_SHIFT, RANK_TOLERANCE

ORDERING = "nested-dissection"  # of parts that are wide in every direction
LONGEST = 60.0  # [s] predicted
EIGENVALUE_TOLERANCE = 1e-3  # relative, of an inverse: some four Lanczos steps
VECTORS = 8  # that ARPACK keeps


def independent_rows(
    matrix: Rows, tolerance: float = RANK_TOLERANCE, threads: int = 1
) -> RankDecision:
    """Decide which rows of A to keep, as `sparse.rank.independent_rows` does, faster where wide.

    Parts where all rows are independent need no decision row by row: their least singular value
    says so, and it takes one factorization that costs as much as that of the whole system.
    """
    return rank.independent_rows(matrix, tolerance, least_singular_value, threads)


def least_singular_value(part: PartOfRows) -> float | None:
    """Return the least singular value of A, as factors of A A' + delta tell it, or None.

    Below about 1e-7 only that is known. None if the factorization would take minutes.

    References
    ----------
    Kuczynski and Wozniakowski (1992), SIAM J. Matrix Anal. Appl. 13, 4: how sure Lanczos steps from
    a random start are.
    """
    order = ordering.order(part.pattern, ORDERING)
    predicted = choose_factorization(part.pattern, order)[1]
    name = min(set(QUASI_DEFINITE) & set(predicted), key=lambda name: predicted[name])
    if predicted[name] > LONGEST:
        return None
    factors = quasi_definite(analyze(name, part.pattern, order))
    try:
        factors.factorize(part.rows, GRAM_SHIFT)
    except SingularSystemError:
        return 0.0
    n = len(part.rows)
    inverse = LinearOperator((n, n), matvec=factors.solve, dtype=float)
    start = np.random.default_rng(1).normal(size=n)
    largest = eigsh(
        inverse, 1, v0=start, ncv=VECTORS, tol=EIGENVALUE_TOLERANCE, return_eigenvectors=False
    )
    return float(np.sqrt(max(1.0 / largest[0] - GRAM_SHIFT, 0.0)))
