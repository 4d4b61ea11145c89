"""Multifrontal LDL' of the whole matrix, for mechanisms that are wide in several directions.

Blocks of nearly the same structure are supernodes, which are eliminated together in a dense front.

Duff and Reid (1983), ACM TOMS 9:302; Liu (1992), SIAM Review 34:82, on fronts and contributions;
Ashcraft and Grimes (1989), ACM TOMS 15:291, on supernodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.factorization.block_ldl import safe_order
from sparsebody.factorization.unit_factors import REGULAR, UnitSymbolic
from sparsebody.sparse.elimination_tree import postordered
from sparsebody.sparse.pattern import BlockPattern, check_order


@dataclass(eq=False)
class MultifrontalSymbolic(UnitSymbolic):
    """The supernodes of L, and the newest factors; see UnitSymbolic."""

    order: IntArray  # (n_blocks,) the one in use
    factors: native.Multifrontal = field(init=False)

    def __post_init__(self) -> None:
        try:
            self.factors = native.Multifrontal(self.pattern.offsets, self.pattern.ends, self.order)
        except MemoryError as error:
            raise ShapeError(
                "multifrontal would store more than there is memory for in this order: use "
                "another ordering"
            ) from error

    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize; a doubtful pivot is returned as its row."""
        if delta == 0.0:
            return self.factors.factorize(rows)
        self.factors.factorize_shifted(rows, delta)
        return REGULAR

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Solve in dense fronts."""
        x = np.empty(len(rhs))
        self.factors.solve(rows, rhs, x)
        return x

    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """Return a sine and its row."""
        return self.factors.smallest_pivot(rows)


def analyze(pattern: BlockPattern, order: IntArray) -> MultifrontalSymbolic:
    """Find supernodes in the given order, or in a repaired one if it is not admissible.

    Raises ShapeError if L would be too large.
    """
    check_order(pattern, order)
    return MultifrontalSymbolic(pattern, postordered(pattern, safe_order(pattern, order)))
