"""Rows of A in units in which masses and sizes of the bodies do not matter.

The rank of A is that of W A S, whatever the weights W of the rows and the regular blocks S on the
bodies. Inertias are one choice of S, and a bad one where a crank of a gram moves a press of a ton:
the press alone decides. Here S makes the weighted rows on each body orthonormal columns, and W
gives the rows unit norm then. What is rounding on a body must stay small, so S enlarges no
direction by more than 10, and no unit by more than a few thousand.
"""

from __future__ import annotations

from sparsebody._core import rank as kernels
from sparsebody.sparse.row_parts import PartOfRows
from sparsebody.sparse.tolerances import LARGEST_PIVOT, OWN_PIVOT

PASSES = 3


def equilibrate(part: PartOfRows, threads: int = 1) -> None:
    """Give the rows of a part even parts on all bodies, and unit norm; zero rows stay.

    References
    ----------
    Van der Sluis (1969), Numer. Math. 14:14, on column scaling; Ruiz (2001), RAL-TR-2001-034.
    """
    kernels.equilibrate(
        part.rows,
        part.pattern.ends,
        part.first_row,
        part.sizes,
        PASSES,
        OWN_PIVOT,
        LARGEST_PIVOT,
        threads,
    )
