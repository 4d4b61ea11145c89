"""Small bandwidth."""

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.sparse.admissibility import repair
from sparsebody.sparse.levels import cuthill_mckee
from sparsebody.sparse.pattern import BlockPattern


def reverse_cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Reverse the breadth-first order of the bodies, then put each joint after its bodies.

    Admissible. The search starts at the periphery, wherever the numbering does.

    References
    ----------
    Cuthill and McKee (1969); George (1971).
    """
    joints = np.arange(pattern.n_primal, pattern.n_blocks, dtype=np.intp)
    return repair(pattern, np.concatenate([cuthill_mckee(pattern)[::-1], joints]))
