"""Pivots of the Schur complement A A' + delta, body by body.

A dependent row has a pivot of about delta, an independent one does not. Nothing is pivoted for
size and nothing is decided on the way, so this is a second opinion beside the frontal QR: scissors,
sheets, lattices and rows of four-bars of any length have a gap of 1e6 and more in these pivots,
which grows as 1 / delta down to 1e-13. The direction matters: a long scissor is decided clearly
from the ground to the free end, and not at all the other way, where errors grow with the leverage.
"""

from __future__ import annotations

from sparsebody._core import rank as kernels
from sparsebody.arrays import FloatArray
from sparsebody.sparse.fronts import Fronts
from sparsebody.sparse.tolerances import SCHUR_SHIFT


def schur_pivots(fronts: Fronts, rows: FloatArray, delta: float = SCHUR_SHIFT) -> FloatArray:
    """Return the pivots (n_rows,) of LDL' of A A' + delta.

    A row is eliminated when the last of its bodies has been met.

    Parameters
    ----------
    fronts : Fronts
        The bodies in the order in which they are met.
    rows : (n_rows, 2, width) float array
        Rows of A on both ends, of unit norm.
    delta : float
        The shift.
    """
    return kernels.schur_pivots(
        fronts.order,
        fronts.entering,
        fronts.start,
        fronts.last,
        fronts.width,
        fronts.ends,
        fronts.first_row,
        fronts.sizes,
        rows,
        delta,
    )


def largest_gap(pivots: FloatArray, delta: float = SCHUR_SHIFT) -> tuple[float, float]:
    """Return a threshold and the ratio of the pivots on its two sides.

    Where all pivots are far above delta, none is dropped and the ratio is that to delta.
    """
    return kernels.largest_gap(pivots, delta)
