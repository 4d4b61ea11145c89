"""Pivots of the Schur complement A A' + delta, body by body.

A dependent row has a pivot of about delta, an independent one does not. Nothing is pivoted for
size and nothing is decided on the way, so this is a second opinion beside the frontal QR: scissors,
sheets, lattices and rows of four-bars of any length have a gap of 1e6 and more in these pivots,
which grows as 1 / delta down to 1e-13. The direction matters: a long scissor is decided clearly
from the ground to the free end, and not at all the other way, where errors grow with the leverage.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import graph
from sparsebody._core import rank as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank.parts import kernel_part
from sparsebody.sparse.rank.tolerances import SCHUR_SHIFT


class Fronts(NamedTuple):
    """A joint enters at the first of its bodies, and is decided at the last one."""

    order: IntArray  # (n_primal,) the bodies as they are met
    width: int  # most rows in the front


def fronts(pattern: BlockPattern, order: IntArray) -> Fronts:
    """Return the fronts of a sweep through the primal blocks in `order`.

    Every dual block has to touch at least one primal block.
    """
    order, n = np.ascontiguousarray(order, dtype=np.intp), len(order)
    ends, sizes = pattern.ends, pattern.block_sizes[pattern.n_primal :]
    step = graph.positions(order)[ends]
    entering = np.minimum(*np.where(ends >= 0, step, n).T)
    leaving = np.maximum(*np.where(ends >= 0, step, -1).T) + 1
    change = np.bincount(entering, sizes, n + 1) - np.bincount(leaving, sizes, n + 1)
    return Fronts(order, int(np.cumsum(change).max(initial=0.0)))


def schur_pivots(
    pattern: BlockPattern, rows: FloatArray, sweep: Fronts, delta: float = SCHUR_SHIFT
) -> FloatArray:
    """Return the pivots (n_rows,) of LDL' of A A' + delta.

    A row is eliminated when the last of its bodies has been met.

    Parameters
    ----------
    pattern : BlockPattern
        Every dual block touches a primal one.
    rows : (n_rows, 2, width) float array
        Rows of A on both ends, of unit norm.
    sweep : Fronts
        The bodies in the order in which they are met.
    delta : float
        The shift.
    """
    return kernels.schur_pivots(*sweep, kernel_part(pattern, rows), delta)


def largest_gap(pivots: FloatArray, delta: float = SCHUR_SHIFT) -> tuple[float, float]:
    """Return a threshold and the ratio of the pivots on its two sides.

    Where all pivots are far above delta, none is dropped and the ratio is that to delta.
    """
    return kernels.largest_gap(pivots, delta)
