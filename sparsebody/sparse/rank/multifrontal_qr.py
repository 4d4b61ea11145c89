"""Rank-revealing multifrontal QR of A': which rows of A depend on earlier ones.

The bodies are gathered to parts, and parts to larger ones, up to the whole mechanism. The front of
a part holds what is known of the rows that lead out of it: orthogonal transformations reduce it to
as many equations as it has such rows. Where parts meet, the rows between them are decided. Errors
grow with the condition number of A, not with its square as they do in A A'.

A sweep from body to body is a path of parts: on a mechanism of bounded width the work is linear in
the number of bodies. Halves of halves are a binary tree: fronts are as wide as the parts'
boundaries, so lattices cost n^1.5 instead of n^2, and a decision depends on log n earlier ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import rank as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank.parts import kernel_part


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
