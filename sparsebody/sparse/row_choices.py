"""Independent rows of A as several methods choose them: frontal QR, Schur pivots, pivoted QR.

The bodies are gathered to parts, and parts to larger ones, up to the whole mechanism. The front of
a part holds what is known of the rows that lead out of it: orthogonal transformations reduce it to
as many equations as it has such rows. Where parts meet, the rows between them are decided. Errors
grow with the condition number of A, not with its square as they do in A A'.

A sweep from body to body is a path of parts: on a mechanism of bounded width the work is linear in
the number of bodies. Halves of halves are a binary tree: fronts are as wide as the parts'
boundaries, so lattices cost n^1.5 instead of n^2, and a decision depends on log n earlier ones.

In LDL' of A A' + delta a dependent row has a pivot of about delta, an independent one does not.
Nothing is pivoted for size and nothing is decided on the way, so this is a second opinion beside
the frontal QR: scissors, sheets, lattices and rows of four-bars of any length have a gap of 1e6 and
more in these pivots, which grows as 1 / delta down to 1e-13. The direction matters: a long scissor
is decided clearly from the ground to the free end, and not at all the other way, where errors grow
with the leverage.

George and Heath (1980), Lin. Alg. Appl. 34; Davis (2011), ACM TOMS 38, 8 (rank detection).
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded, qr
from scipy.sparse import csgraph, csr_array

from sparsebody import tolerances
from sparsebody._core import graph
from sparsebody._core import rank as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.pattern import BlockPattern, bisected, cuthill_mckee
from sparsebody.sparse.saddle import largest_eigenvalue

PASSES = 3  # of the equilibration
# Rows up to which a component is faster decided natively than by a call of LAPACK
MOST_NATIVE_ROWS = 48
LARGEST_BAND = 1e9  # bytes
MOST_FLOPS = 4e12  # of a frontal QR on nested halves: a minute or two
MOST_WORK = 2e10  # rows times the square of the front, for a second opinion: a second or so
SINGULAR = "nearly singular"
FRONTAL, HALVES, SWEPT = "frontal QR", "frontal QR on halves", "swept pivots"
PIVOTED = "pivoted QR by components"


# ---- parts of A, in units in which masses and sizes of the bodies do not matter ----------------


class Rows(Protocol):
    """Rows of a mechanism, made where they are not stored."""

    @property
    def pattern(self) -> BlockPattern:
        """Their blocks."""

    def unit_rows(self, index: IntArray, part: BlockPattern, threads: int) -> FloatArray:
        """Return some rows (n, 2, width) of unit norm, on the ends in the pattern of a part."""


@dataclass(frozen=True, eq=False)
class PartOfRows:
    """The rows of some dual blocks, on the primal blocks that these touch."""

    pattern: BlockPattern  # numbered from 0
    rows: FloatArray  # (n_rows, 2, width)
    index: IntArray  # (n_rows,) which rows of the whole they are
    tolerance: float  # of remainders of dependent rows
    threads: int


@dataclass(frozen=True, eq=False)
class RowsOnDemand:
    """Rows of a mechanism that are made when they are asked for."""

    pattern: BlockPattern  # their blocks
    number: IntArray  # (n,) of each row, as `make` knows it
    make: Callable[..., FloatArray]  # rows (n, 2, 6) of unit norm, of numbers and threads=

    def unit_rows(self, index: IntArray, part: BlockPattern, threads: int = 1) -> FloatArray:
        """Return some rows (n, 2, 6) of unit norm."""
        return self.make(self.number[index], threads=threads)


KernelPart = tuple[FloatArray, IntArray, IntArray, IntArray]


def kernel_part(pattern: BlockPattern, rows: FloatArray) -> KernelPart:
    """Return rows as kernels take them: (rows, ends, first row of each joint, freedoms)."""
    return rows, pattern.ends, pattern.dual_offsets, pattern.primal_sizes


def part_of_rows(
    matrix: Rows,
    dual: IntArray,
    label: IntArray,
    sweep: bool = False,
    tolerance: float = tolerances.RANK_TOLERANCE,
    threads: int = 1,
) -> PartOfRows:
    """Return the rows of the dual blocks `dual` (n,), counted from 0, scaled to unit norm.

    `label` (n_primal,) is room for numbers, -1 before and after. With `sweep`, primal blocks are
    numbered breadth first from the grounded end, and dual ones by the first of these.
    """
    pattern = matrix.pattern
    primal = kernels.touched_blocks(pattern.ends, dual, label)
    if sweep:
        order = _grounded_first(pattern.part(primal, dual, label))
        primal = primal[order]
        label[primal] = np.arange(len(primal))
        dual = kernels.sorted_by_first_end(pattern.ends, dual, label, len(primal))
    part = pattern.part(primal, dual, label)
    label[primal] = -1
    shift = pattern.dual_offsets[dual] - part.dual_offsets[:-1]
    index = np.repeat(shift, part.block_sizes[part.n_primal :])
    index += np.arange(len(index))
    return PartOfRows(part, matrix.unit_rows(index, part, threads), index, tolerance, threads)


def _grounded_first(pattern: BlockPattern) -> IntArray:
    """Return the primal blocks breadth first, from the end with more grounded ones."""
    order = cuthill_mckee(pattern)
    grounded = np.zeros(pattern.n_primal, dtype=np.bool_)
    grounded[pattern.ends[(pattern.ends < 0).any(axis=1)].max(axis=1, initial=0)] = True
    position = np.flatnonzero(grounded[order])
    is_last = len(position) > 0 and 2 * position.mean() > pattern.n_primal - 1
    return order[::-1] if is_last else order


def equilibrate(part: PartOfRows) -> None:
    """Give the rows of a part even parts on all bodies, and unit norm; zero rows stay.

    The rank of A is that of W A S, W weights of rows, S regular blocks on bodies. Inertias are a
    bad choice of S where a crank of a gram moves a press of a ton. Here S makes the weighted rows
    on each body orthonormal columns, enlarging no direction by more than 10, no unit by a few
    thousand. Van der Sluis (1969), Numer. Math. 14:14, on column scaling; Ruiz (2001),
    RAL-TR-2001-034.
    """
    pivots = tolerances.OWN_PIVOT, tolerances.LARGEST_PIVOT
    kernels.equilibrate(*kernel_part(part.pattern, part.rows), PASSES, *pivots, part.threads)


# ---- fronts ------------------------------------------------------------------------------------


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
    return PartTree(parent, np.zeros(n, dtype=np.intp), graph.positions(order))


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
    return PartTree(parent, first, leaf[graph.positions(order)])


def row_remainders(
    pattern: BlockPattern, rows: FloatArray, parts: PartTree, tolerance: float, threads: int = 1
) -> FloatArray:
    """Return |R_jj| (n_rows,) of A: what is left of a row beside the rows decided before.

    A row of unit norm is decided in the smallest part that holds all its bodies; joint by joint,
    the last one listed first, and the largest remainder of a joint first. So all rows that a loop
    makes dependent are found at one joint, and the others stay independent when the mechanism
    moves. Rows with remainders up to `tolerance` are dependent, and are not used.
    """
    return kernels.row_remainders(parts, kernel_part(pattern, rows), tolerance, threads)


class Fronts(NamedTuple):
    """A joint enters at the first of its bodies, and is decided at the last one."""

    order: IntArray  # (n_primal,) the bodies as they are met
    width: int  # most rows in the front


def fronts(pattern: BlockPattern, order: IntArray) -> Fronts:
    """Return the fronts of a sweep; every dual block has to touch a primal one."""
    order, n = np.ascontiguousarray(order, dtype=np.intp), len(order)
    ends, sizes = pattern.ends, pattern.block_sizes[pattern.n_primal :]
    step = graph.positions(order)[ends]
    entering = np.minimum(*np.where(ends >= 0, step, n).T)
    leaving = np.maximum(*np.where(ends >= 0, step, -1).T) + 1
    change = np.bincount(entering, sizes, n + 1) - np.bincount(leaving, sizes, n + 1)
    return Fronts(order, int(np.cumsum(change).max(initial=0.0)))


def schur_pivots(
    pattern: BlockPattern, rows: FloatArray, sweep: Fronts, delta: float = tolerances.SCHUR_SHIFT
) -> FloatArray:
    """Return the pivots (n_rows,) of LDL' of A A' + delta, rows at the last of their bodies."""
    return kernels.schur_pivots(*sweep, kernel_part(pattern, rows), delta)


def generic_bars(ends: IntArray, bars: IntArray, n_bodies: int, k: int = 6) -> IntArray:
    """Return how many of the `bars` (n_joints,) of each joint are independent in general position.

    `ends` (n_joints, 2) are bodies of k freedoms, -1 the world. Bodies found rigid together are one
    from then on, so ladders take linear time, the worst graphs n^2.
    """
    nodes = np.where(ends < 0, n_bodies, ends).astype(np.intp)
    return kernels.independent_bars(nodes, bars, n_bodies + 1, k)


def generic_rank(pattern: BlockPattern) -> int:
    """Return what no geometry exceeds; -1 where bodies have different freedoms."""
    n, sizes = pattern.n_primal, pattern.block_sizes
    if n == 0 or np.any(sizes[:n] != sizes[0]):
        return -1
    return int(generic_bars(pattern.ends, sizes[n:], n, int(sizes[0])).sum())


# ---- choices -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowChoice:
    """The independent rows that one method chooses."""

    keep: BoolArray
    gap: float  # ratio of the least independent remainder to the largest dependent one
    method: str
    least_independent: float = 1.0  # remainder; those of squares are not comparable
    largest_dependent: float = 0.0

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return int(np.count_nonzero(self.keep))

    @property
    def doubt(self) -> str:
        """The reason why it is not clear; "" where any tolerance in between gives the same.

        A pose at 1e-9 from a singular one leaves remainders of 1e-9, which are no rounding.
        """
        grown = (
            0.0
            if self.method == PIVOTED
            else tolerances.AMPLIFIED_ROUNDING / self.least_independent
        )
        if self.largest_dependent > max(tolerances.DEPENDENT_REMAINDER, grown):
            return f"{SINGULAR}: a dependent row has a remainder of {self.largest_dependent:.0e}"
        if self.least_independent < tolerances.INDEPENDENT_REMAINDER:
            least = self.least_independent
            return f"{SINGULAR}: an independent row has a remainder of only {least:.0e}"
        is_clear = self.gap >= tolerances.CLEAR_GAP
        return "" if is_clear else f"a gap of only {self.gap:.0e} between remainders"


def agree(one: RowChoice, other: RowChoice) -> bool:
    """Return whether one is clear, another method nearly so, and both keep as many rows.

    The pivots of a sweep are squares: their gap, out of thousands, is less clear in roots.
    """
    nearly = other.gap >= tolerances.SECOND_GAP if other.method == SWEPT else not other.doubt
    return one.method != other.method and not one.doubt and nearly and one.rank == other.rank


def small_choice(part: PartOfRows, component_start: IntArray) -> RowChoice:
    """Decide component by component, with MOST_NATIVE_ROWS at most; its gap is the least clear one.

    `component_start` (n_components + 1,): first dual block of each. A choice made joint by joint
    holds in other poses as well, and is taken where it costs little conditioning.
    """
    rows, tolerance = kernel_part(part.pattern, part.rows), part.tolerance
    free, jointwise = kernels.small_remainders(rows, component_start, tolerance)
    first_row = part.pattern.dual_offsets[component_start]
    size = np.diff(first_row)
    starts, size = first_row[:-1][size > 0], size[size > 0]
    if len(size) == 0:
        return RowChoice(free > tolerance, np.inf, PIVOTED, np.inf)
    rank, least, largest = _extremes(free, starts, tolerance)
    jointwise_rank, jointwise_least, _ = _extremes(jointwise, starts, tolerance)
    is_good = (jointwise_rank == rank) & (jointwise_least > tolerances.JOINTWISE_SHARE * least)
    keep = np.where(np.repeat(is_good, size), jointwise, free) > tolerance
    gap = float((least / largest).min())
    return RowChoice(keep, gap, PIVOTED, float(least.min()), float(largest.max()))


Extremes = tuple[IntArray, FloatArray, FloatArray]


def _extremes(remainders: FloatArray, starts: IntArray, tolerance: float) -> Extremes:
    """Return rank, least independent and largest dependent remainder of each component."""
    keep = remainders > tolerance
    rank = np.add.reduceat(keep.astype(np.intp), starts)
    least = np.minimum.reduceat(np.where(keep, remainders, np.inf), starts)
    largest = np.maximum.reduceat(np.where(keep, 0.0, remainders), starts)
    return rank, least, largest.clip(min=tolerances.REMAINDER_FLOOR)


def by_columns(rows: csr_array, tolerance: float) -> RowChoice:
    """Rows to keep by LAPACK's column-pivoted QR of the transpose."""
    (r, order) = qr(rows.toarray().T, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
    pivots = np.zeros(rows.shape[0])
    pivots[order[: min(r.shape)]] = np.abs(np.diag(r))
    return _by_remainders(pivots, tolerance * pivots.max(initial=0.0), PIVOTED)


def by_fronts(sweep: Fronts, part: PartOfRows, name: str = FRONTAL) -> RowChoice:
    """Rows to keep by a frontal QR."""
    remainders = row_remainders(part.pattern, part.rows, path(sweep.order), part.tolerance)
    return _by_remainders(remainders, part.tolerance, name)


def by_halves(part: PartOfRows, elsewhere: bool = False) -> list[RowChoice]:
    """Rows to keep by a frontal QR on nested halves; nothing where that would take minutes."""
    parts = halves(bisected(part.pattern, elsewhere))
    if kernels.remainder_flops(parts, kernel_part(part.pattern, part.rows)) > MOST_FLOPS:
        return []
    remainders = row_remainders(part.pattern, part.rows, parts, part.tolerance, part.threads)
    return [_by_remainders(remainders, part.tolerance, HALVES + " cut elsewhere" * elsewhere)]


def _by_remainders(remainders: FloatArray, tolerance: float, method: str) -> RowChoice:
    """Rows to keep, by their remainders."""
    keep = remainders > tolerance
    dropped = max(float(np.max(remainders, where=~keep, initial=0.0)), tolerances.REMAINDER_FLOOR)
    least = float(np.min(remainders, where=keep, initial=np.inf))
    return RowChoice(keep, least / dropped, method, least, dropped)


def by_pivots(sweep: Fronts, part: PartOfRows) -> RowChoice:
    """Rows to keep by the pivots of the Schur complement."""
    pivots = schur_pivots(part.pattern, part.rows, sweep)
    threshold, ratio = kernels.largest_gap(pivots, tolerances.SCHUR_SHIFT)
    return RowChoice(pivots > threshold, float(np.sqrt(ratio)), SWEPT)


def sweep_fronts(part: PartOfRows) -> Iterator[Fronts]:
    """Yield the fronts of sweeps from the ground outwards, and towards it."""
    forward = np.arange(part.pattern.n_primal, dtype=np.intp)
    for order in (forward, forward[::-1]):
        yield fronts(part.pattern, order)


def narrow_choices(part: PartOfRows) -> Iterator[RowChoice]:
    """Yield choices for a narrow part: by sweeps in both directions, then by nested halves."""
    for name, sweep in zip((FRONTAL, f"{FRONTAL} from the end"), sweep_fronts(part), strict=True):
        if part.threads == 1:
            yield by_fronts(sweep, part, name)
            yield by_pivots(sweep, part)
            continue
        with ThreadPoolExecutor(part.threads) as pool:  # both at the same time
            pivots = pool.submit(by_pivots, sweep, part)
            yield by_fronts(sweep, part, name)
            yield pivots.result()
    yield from by_halves(part)


def wide_choices(part: PartOfRows) -> Iterator[RowChoice]:
    """Yield choices for a wide part: by nested halves, and by sweeps where these are quick."""
    yield from by_halves(part)
    sweeps = [s for s in sweep_fronts(part) if float(len(part.rows)) * s.width**2 <= MOST_WORK]
    for sweep in sweeps[:1]:
        yield by_pivots(sweep, part)
    yield from by_halves(part, elsewhere=True)
    for sweep in sweeps[1:]:
        yield by_pivots(sweep, part)


def smallest_singular_value(rows: csr_array) -> float:
    """Return an estimate of sigma_min(A), (lambda_max((A A')^-1))^-1/2; 0 for dependent rows."""
    schur = (rows @ rows.T).tocsr()
    factor = _band_factor(schur, csgraph.reverse_cuthill_mckee(schur, symmetric_mode=True))
    if factor is None:
        return 0.0
    inverse = partial(cho_solve_banded, (factor, True), check_finite=False)
    return float(1.0 / np.sqrt(largest_eigenvalue(inverse, rows.shape[0])))


def _band_factor(matrix: csr_array, order: IntArray) -> FloatArray | None:
    """Return the Cholesky factor of the permuted matrix; None if it is singular or too wide."""
    permuted = matrix[order][:, order].tocoo()
    below = permuted.row >= permuted.col
    column, distance = permuted.col[below], (permuted.row - permuted.col)[below]
    width = int(distance.max(initial=0)) + 1
    if 8.0 * len(order) * width > LARGEST_BAND:
        return None
    band = np.zeros((width, len(order)), order="F")
    band[distance, column] = permuted.data[below]
    try:
        return np.asarray(cholesky_banded(band, lower=True, check_finite=False))
    except LinAlgError:
        return None
