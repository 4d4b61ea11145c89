"""Rank on fronts: multifrontal QR of A', and pivots of A A' + delta body by body.

The bodies are gathered to parts, and parts to larger ones, up to the whole mechanism. The front of
a part holds what is known of the rows that lead out of it: orthogonal transformations reduce it to
as many equations as it has such rows. Where parts meet, the rows between them are decided. Errors
grow with the condition number of A, not with its square as they do in A A'.

A sweep from body to body is a path of parts: on a mechanism of bounded width the work is linear in
the number of bodies. Halves of halves are a binary tree: fronts are as wide as the parts'
boundaries, so lattices cost n^1.5 instead of n^2, and a decision depends on log n earlier ones.

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
from sparsebody.sparse.rank.constraint_parts import kernel_part
from sparsebody.tolerances import SCHUR_SHIFT


class PartTree(NamedTuple):
    """Nested parts of a mechanism, each after those that it holds (a postorder)."""

    parent: IntArray  # (n_parts,) the part that holds each one; -1 for the whole
    first: IntArray  # (n_parts,) part p holds the parts first[p] .. p
    part_of_body: IntArray  # (n_primal,) the smallest part with the body


def path(order: IntArray) -> PartTree:
    """Return the parts of a sweep: the first body, the first two, and so on."""
    n = len(order)
    steps = np.arange(n, dtype=np.intp)
    parent = np.where(steps + 1 < n, steps + 1, -1)
    return PartTree(parent, np.zeros(n, dtype=np.intp), _inverse(order, steps))


def halves(order: IntArray) -> PartTree:
    """Return the halves of an order, their halves, and so on, down to single bodies."""
    n = len(order)
    parent, first = np.full((2, max(2 * n - 1, 0)), -1, dtype=np.intp)
    leaf = np.empty(n, dtype=np.intp)
    # Parts [begin, end) of n leaves, their numbers and those of what holds them, level by level.
    begin, end, part, above = (
        np.array([k] * (n > 0), dtype=np.intp) for k in (0, n, 2 * n - 2, -1)
    )
    while len(part):
        parent[part], first[part] = above, part - 2 * (end - begin - 1)
        is_leaf = end - begin == 1
        leaf[begin[is_leaf]] = part[is_leaf]
        begin, end, above = begin[~is_leaf], end[~is_leaf], part[~is_leaf]
        middle = (begin + end) // 2
        part = np.concatenate([above - 2 * (end - middle), above - 1])
        begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
        above = np.tile(above, 2)
    return PartTree(parent, first, _inverse(order, leaf))


def _inverse(order: IntArray, values: IntArray) -> IntArray:
    inverse = np.empty(len(order), dtype=np.intp)
    inverse[order] = values
    return inverse


def row_remainders(
    pattern: BlockPattern, rows: FloatArray, parts: PartTree, tolerance: float, threads: int = 1
) -> FloatArray:
    """Return |R_jj| of every row of A: what is left of it beside the rows decided before.

    A row is decided in the smallest part that holds all its bodies; of several, joint by joint, the
    last one listed first, and the largest remainder of a joint first. So all rows that a loop makes
    dependent are found at one joint, and what is kept stays independent when the mechanism moves;
    if joints are listed as they enter a sweep, that one reaches farthest, and fronts stay narrow.

    Parameters
    ----------
    pattern : BlockPattern
        Every dual block touches a primal one.
    rows : (n_rows, 2, width) float array
        Rows of A on both ends, of unit norm.
    parts : PartTree
        From `path` or `halves`.
    tolerance : float
        Remainders up to it count as zero: the row is dependent, and is not used.
    threads : int
        That decide parts which hold none of each other.

    Returns
    -------
    (n_rows,) float array
        The remainders, of independent and dependent rows.

    References
    ----------
    George and Heath (1980), Lin. Alg. Appl. 34; Davis (2011), ACM TOMS 38, 8 (rank detection).
    """
    return kernels.row_remainders(parts, kernel_part(pattern, rows), tolerance, threads)


def remainder_flops(pattern: BlockPattern, parts: PartTree) -> float:
    """Return about how many operations `row_remainders` takes."""
    return kernels.remainder_flops(parts, pattern.ends, pattern.dual_offsets)


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
