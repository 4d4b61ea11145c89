"""Bodies first: the order of the dual methods."""

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.ordering.minimum_degree import in_phases
from sparsebody.sparse.pattern import BlockPattern


def bodies_first(pattern: BlockPattern) -> IntArray:
    """Eliminate all bodies, then the joints by minimum degree.

    Admissible. What remains after the bodies is the Schur complement T' P' I^-1 P T, Delassus'
    matrix; unlike in leaves first, a tree part couples the joints of a body with each other.

    References
    ----------
    Constrained minimum degree: Liu (1989); Davis (2006), sec. 7.1. Baraff (1996) for the matrix.
    """
    is_joint = np.arange(pattern.n_blocks) >= pattern.n_primal
    return in_phases(pattern, is_joint.astype(np.intp))
