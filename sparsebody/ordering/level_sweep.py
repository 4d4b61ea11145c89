"""A sweep through the mechanism, level by level, that keeps the band narrow."""

from __future__ import annotations

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def level_sweep(pattern: BlockPattern) -> IntArray:
    """Eliminate level by level: its bodies, the joints inside it, the joints to the next level.

    Levels are those of a breadth-first search from one body at the periphery, or from it and one of
    its neighbours; bodies in a level follow Cuthill and McKee. A joint to the world follows its
    body. The narrowest band wins, then the smallest profile, both in blocks, then the larger start.
    In large mechanisms only some neighbours are tried.

    Not admissible: a joint comes before its body in the next level, and has a regular pivot only if
    the bodies up to its level, with all others fixed, have independent constraints.

    On a ladder this is Featherstone (2008), fig. 8.4: half-bandwidth 3, 5 n - 2 blocks for n rungs.

    References
    ----------
    Cuthill and McKee (1969); George and Liu (1979) for the search for a body at the periphery.
    """
    return kernels.level_sweep(pattern.n_primal, pattern.ends)
