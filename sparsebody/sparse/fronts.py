"""The fronts of a sweep: rows of A in work while bodies are met one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


class Fronts(NamedTuple):
    """A joint enters at the first of its bodies, and is decided at the last one."""

    order: IntArray  # (n_primal,) the bodies as they are met
    entering: IntArray  # (n_dual,) joints by the step in which they enter
    start: IntArray  # (n_primal + 1,) the first one of each step
    last: IntArray  # (n_dual,) the step in which a joint is decided
    first_row: IntArray  # (n_dual + 1,) rows of each joint
    ends: IntArray  # (n_dual, 2)
    sizes: IntArray  # (n_primal,) freedoms of the bodies
    width: int  # most rows in the front


def fronts(pattern: BlockPattern, order: IntArray) -> Fronts:
    """Return the fronts of a sweep through the primal blocks in `order`.

    Every dual block has to touch at least one primal block.
    """
    n = pattern.n_primal
    order = np.ascontiguousarray(order, dtype=np.intp)
    ends = np.ascontiguousarray(pattern.ends, dtype=np.intp)
    sizes = np.ascontiguousarray(pattern.block_sizes, dtype=np.intp)
    entering, start, last, width = kernels.sweep_fronts(order, ends, sizes[n:])
    first_row = pattern.offsets[n:] - pattern.n_primal_rows
    return Fronts(order, entering, start, last, first_row, ends, sizes[:n], width)
