"""The order of the equation itself."""

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def natural(pattern: BlockPattern) -> IntArray:
    """Eliminate all bodies, then all joints, as numbered. Featherstone (2008), eq. (8.64).

    Admissible. What remains after the bodies is the joint-space Schur complement T' P' I^-1 P T.
    """
    return np.arange(pattern.n_blocks, dtype=np.intp)
