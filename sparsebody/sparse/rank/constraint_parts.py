"""Parts of the constraint rows A, as rows of unit norm on the bodies that they touch.

In units in which masses and sizes of the bodies do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparsebody._core import rank as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import cuthill_mckee
from sparsebody.tolerances import LARGEST_PIVOT, OWN_PIVOT

PASSES = 3  # of the equilibration


@dataclass(frozen=True, eq=False)
class PartOfRows:
    """The rows of some dual blocks, on the primal blocks that these touch."""

    pattern: BlockPattern  # numbered from 0
    rows: FloatArray  # (n_rows, 2, width)
    index: IntArray  # (n_rows,) which rows of the whole they are


class Rows(Protocol):
    """Rows of a mechanism, made where they are not stored."""

    @property
    def pattern(self) -> BlockPattern:
        """Their blocks."""

    def unit_rows(self, index: IntArray, part: BlockPattern, threads: int) -> FloatArray:
        """Return some rows (n, 2, width) of unit norm, on the ends in the pattern of a part."""


def kernel_part(
    pattern: BlockPattern, rows: FloatArray
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return rows as kernels take them: (rows, ends, first row of each joint, freedoms)."""
    return rows, pattern.ends, pattern.dual_offsets, pattern.primal_sizes


def part_of_rows(
    matrix: Rows,
    dual: IntArray,
    label: IntArray,
    sweep: bool = False,
    threads: int = 1,
) -> PartOfRows:
    """Return the rows of the dual blocks `dual`, counted from 0, scaled to unit norm.

    Parameters
    ----------
    matrix : Rows
        All rows.
    dual : (n,) int array
        Each touches at least one primal block.
    label : (n_primal,) int array
        -1 everywhere, before and after: room for numbers.
    sweep : bool
        Whether primal blocks are numbered breadth first, from the end where more of them touch
        nothing else, and dual ones by the first of their primal blocks; otherwise they are numbered
        as `dual` lists them.
    threads : int
        That scale the rows.
    """
    pattern = matrix.pattern
    primal = kernels.touched_blocks(pattern.ends, dual, label)
    if sweep:
        order = _grounded_first(_restricted(pattern, dual, primal, label))
        primal = primal[order]
        label[primal] = np.arange(len(primal))
        dual = kernels.sorted_by_first_end(pattern.ends, dual, label, len(primal))
    part = _restricted(pattern, dual, primal, label)
    label[primal] = -1
    shift = pattern.dual_offsets[dual] - part.dual_offsets[:-1]
    index = np.repeat(shift, part.block_sizes[part.n_primal :])
    index += np.arange(len(index))
    return PartOfRows(part, matrix.unit_rows(index, part, threads), index)


def _restricted(
    pattern: BlockPattern, dual: IntArray, primal: IntArray, label: IntArray
) -> BlockPattern:
    """Return the pattern of some blocks in new numbers."""
    sizes = pattern.block_sizes[np.concatenate([primal, pattern.n_primal + dual])]
    ends = pattern.ends[dual]
    return BlockPattern(sizes, np.where(ends >= 0, label[ends], -1))


def _grounded_first(pattern: BlockPattern) -> IntArray:
    """Return the primal blocks breadth first, from the end with more grounded ones."""
    order = cuthill_mckee(pattern)
    grounded = np.zeros(pattern.n_primal, dtype=np.bool_)
    grounded[pattern.ends[(pattern.ends < 0).any(axis=1)].max(axis=1, initial=0)] = True
    position = np.flatnonzero(grounded[order])
    is_last = len(position) > 0 and 2 * position.mean() > pattern.n_primal - 1
    return order[::-1] if is_last else order


def equilibrate(part: PartOfRows, threads: int = 1) -> None:
    """Give the rows of a part even parts on all bodies, and unit norm; zero rows stay.

    The rank of A is that of W A S, whatever the weights W of the rows and the regular blocks S on
    the bodies. Inertias are one choice of S, and a bad one where a crank of a gram moves a press of
    a ton: the press alone decides. Here S makes the weighted rows on each body orthonormal columns,
    and W gives the rows unit norm then. What is rounding on a body must stay small, so S enlarges
    no direction by more than 10, and no unit by more than a few thousand.

    References
    ----------
    Van der Sluis (1969), Numer. Math. 14:14, on column scaling; Ruiz (2001), RAL-TR-2001-034.
    """
    kernels.equilibrate(
        *kernel_part(part.pattern, part.rows), PASSES, OWN_PIVOT, LARGEST_PIVOT, threads
    )
