"""Independent rows as several methods choose them, and how well they are conditioned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded, qr
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sparsebody._core import rank as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank.constraint_parts import PartOfRows, kernel_part
from sparsebody.sparse.rank.row_fronts import (
    Fronts,
    fronts,
    halves,
    largest_gap,
    path,
    remainder_flops,
    row_remainders,
    schur_pivots,
)
from sparsebody.sparse.searches import bisected
from sparsebody.tolerances import (
    AMPLIFIED_ROUNDING,
    CLEAR_GAP,
    DEPENDENT_REMAINDER,
    INDEPENDENT_REMAINDER,
    JOINTWISE_SHARE,
    REMAINDER_FLOOR,
    SECOND_GAP,
)

LARGEST_BAND = 1e9  # bytes


@dataclass(frozen=True, eq=False)
class RowChoice:
    """The independent rows that one method chooses."""

    keep: BoolArray
    gap: float  # ratio of the least remainder of an independent row to the largest dropped
    method: str
    least_kept: float = 1.0  # remainder; those of squares are not comparable
    largest_dropped: float = 0.0

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return int(np.count_nonzero(self.keep))


def _lower_band(matrix: csr_array, order: IntArray) -> FloatArray | None:
    """Return elements (i + d, i) of the permuted matrix as (n, width + 1); None if too many."""
    permuted = matrix[order][:, order].tocoo()
    below = permuted.row >= permuted.col
    column, distance = permuted.col[below], (permuted.row - permuted.col)[below]
    width = int(distance.max(initial=0))
    if 8.0 * len(order) * (width + 1) > LARGEST_BAND:
        return None
    band = np.zeros((len(order), width + 1))
    band[column, distance] = permuted.data[below]
    return band


def _band_factor(matrix: csr_array, order: IntArray) -> FloatArray | None:
    """Return the Cholesky factor of the permuted matrix; None if it is singular or too wide."""
    band = _lower_band(matrix, order)
    if band is None:
        return None
    try:
        return np.asarray(
            cholesky_banded(np.asfortranarray(band).T, lower=True, check_finite=False)
        )
    except LinAlgError:
        return None


def smallest_singular_value(rows: csr_array) -> float:
    """Return an estimate by a few inverse iterations on rows rows'; 0 for dependent rows."""
    schur = (rows @ rows.T).tocsr()
    factor = _band_factor(schur, reverse_cuthill_mckee(schur, symmetric_mode=True))
    if factor is None:
        return 0.0
    x = np.random.default_rng(1).normal(size=rows.shape[0])
    growth = 1.0
    for _ in range(6):
        x /= np.linalg.norm(x)
        x = cho_solve_banded((factor, True), x, check_finite=False)
        growth = float(np.linalg.norm(x))
    return float(1.0 / np.sqrt(growth))


SMALL = 48  # rows up to which it is faster than a call of LAPACK
PIVOTED = "pivoted QR by components"


def small_choice(part: PartOfRows, component_start: IntArray, tolerance: float) -> RowChoice:
    """Decide which rows to keep, component by component.

    Parameters
    ----------
    part : PartOfRows
        The rows of all components, one after the other.
    component_start : (n_components + 1,) int array
        The first dual block of each component; at most SMALL rows in one.
    tolerance : float
        Remainders up to it are dependent.

    Returns
    -------
    RowChoice
        Its gap is the least clear one of all components. A choice made joint by joint holds in
        other poses as well, and is taken where it costs little conditioning.
    """
    free, jointwise = kernels.small_remainders(
        kernel_part(part.pattern, part.rows), component_start, tolerance
    )
    first_row = part.pattern.dual_offsets[component_start]
    size = np.diff(first_row)
    starts, size = first_row[:-1][size > 0], size[size > 0]
    if len(size) == 0:
        return RowChoice(free > tolerance, np.inf, PIVOTED, np.inf)
    rank, least, largest = _extremes(free, starts, tolerance)
    jointwise_rank, jointwise_least, _ = _extremes(jointwise, starts, tolerance)
    is_good = (jointwise_rank == rank) & (jointwise_least > JOINTWISE_SHARE * least)
    keep = np.where(np.repeat(is_good, size), jointwise, free) > tolerance
    gap = float((least / largest).min())
    return RowChoice(keep, gap, PIVOTED, float(least.min()), float(largest.max()))


def _extremes(
    remainders: FloatArray, starts: IntArray, tolerance: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return rank, least remainder kept and largest dropped of each component."""
    keep = remainders > tolerance
    return (
        np.add.reduceat(keep.astype(np.intp), starts),
        np.minimum.reduceat(np.where(keep, remainders, np.inf), starts),
        np.maximum.reduceat(np.where(keep, 0.0, remainders), starts).clip(min=REMAINDER_FLOOR),
    )


def generic_bars(ends: IntArray, bars: IntArray, n_bodies: int, k: int = 6) -> IntArray:
    """Return how many of the bars of each joint are independent in general position.

    Joints are played in turn. Where one is refused, all bodies that its search reached are rigid
    together, and are one body from then on; so ladders take linear time, the worst graphs n^2.

    Parameters
    ----------
    ends : (n_joints, 2) int array
        The two bodies of each joint; -1 is the world.
    bars : (n_joints,) int array
        Rows of each joint.
    n_bodies : int
        The world not counted.
    k : int
        Freedoms of a body.

    Returns
    -------
    (n_joints,) int array
    """
    nodes = np.where(ends < 0, n_bodies, ends).astype(np.intp)
    return kernels.independent_bars(nodes, bars, n_bodies + 1, k)


MOST_FLOPS = 4e12  # of a frontal QR on nested halves: a minute or two
MOST_WORK = 2e10  # rows times the square of the front, for a second opinion: a second or so
NEAR = "nearly singular"
FRONTAL, HALVES, SWEPT = "frontal QR", "frontal QR on halves", "swept pivots"


def sweep_fronts(part: PartOfRows) -> Iterator[Fronts]:
    """Yield the fronts of sweeps from the ground outwards, and towards it."""
    forward = np.arange(part.pattern.n_primal, dtype=np.intp)
    for order in (forward, forward[::-1]):
        yield fronts(part.pattern, order)


def narrow_choices(part: PartOfRows, tolerance: float, threads: int = 1) -> Iterator[RowChoice]:
    """Yield choices for a narrow part: by sweeps in both directions, then by nested halves."""
    for name, sweep in zip((FRONTAL, f"{FRONTAL} from the end"), sweep_fronts(part), strict=True):
        yield from _at_once(
            threads,
            partial(by_fronts, sweep, part, tolerance, name),
            partial(by_pivots, sweep, part),
        )
    yield from by_halves(part, tolerance, threads)


def _at_once(threads: int, *methods: Callable[[], RowChoice]) -> Iterator[RowChoice]:
    """Yield the choice of each method, computed at the same time if there are threads."""
    if threads == 1:
        return (method() for method in methods)
    with ThreadPoolExecutor(threads) as pool:
        return pool.map(lambda method: method(), methods)


def wide_choices(part: PartOfRows, tolerance: float, threads: int = 1) -> Iterator[RowChoice]:
    """Yield choices for a wide part: by nested halves, and by sweeps where these are quick."""
    yield from by_halves(part, tolerance, threads)
    sweeps = [s for s in sweep_fronts(part) if float(len(part.rows)) * s.width**2 <= MOST_WORK]
    for sweep in sweeps[:1]:
        yield by_pivots(sweep, part)
    yield from by_halves(part, tolerance, threads, elsewhere=True)
    for sweep in sweeps[1:]:
        yield by_pivots(sweep, part)


def by_fronts(sweep: Fronts, part: PartOfRows, tolerance: float, name: str = FRONTAL) -> RowChoice:
    """Rows to keep by a frontal QR."""
    remainders = row_remainders(part.pattern, part.rows, path(sweep.order), tolerance)
    return replace(_by_remainders(remainders, tolerance), method=name)


def by_halves(
    part: PartOfRows, tolerance: float, threads: int = 1, elsewhere: bool = False
) -> list[RowChoice]:
    """Rows to keep by a frontal QR on nested halves; nothing where that would take minutes."""
    parts = halves(bisected(part.pattern, elsewhere))
    if remainder_flops(part.pattern, parts) > MOST_FLOPS:
        return []
    name = f"{HALVES} cut elsewhere" if elsewhere else HALVES
    remainders = row_remainders(part.pattern, part.rows, parts, tolerance, threads)
    return [replace(_by_remainders(remainders, tolerance), method=name)]


def by_pivots(sweep: Fronts, part: PartOfRows) -> RowChoice:
    """Rows to keep by the pivots of the Schur complement."""
    pivots = schur_pivots(part.pattern, part.rows, sweep)
    threshold, ratio = largest_gap(pivots)
    return RowChoice(pivots > threshold, float(np.sqrt(ratio)), SWEPT)


def by_columns(rows: csr_array, tolerance: float) -> RowChoice:
    """Rows to keep by LAPACK's column-pivoted QR of the transpose."""
    (r, order) = qr(rows.toarray().T, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
    pivots = np.zeros(rows.shape[0])
    pivots[order[: min(r.shape)]] = np.abs(np.diag(r))
    return replace(_by_remainders(pivots, tolerance * pivots.max(initial=0.0)), method=PIVOTED)


def _by_remainders(pivots: FloatArray, tolerance: float) -> RowChoice:
    """Rows to keep, by their remainders."""
    keep = pivots > tolerance
    dropped = max(float(np.max(pivots, where=~keep, initial=0.0)), REMAINDER_FLOOR)
    least = float(np.min(pivots, where=keep, initial=np.inf))
    return RowChoice(keep, least / dropped, FRONTAL, least, dropped)


def doubt_about(choice: RowChoice) -> str:
    """Say what keeps a choice from being clear; "" where any tolerance in between gives the same.

    A pose at 1e-9 from a singular one leaves remainders of 1e-9, which are no rounding.
    """
    grown = 0.0 if choice.method == PIVOTED else AMPLIFIED_ROUNDING / choice.least_kept
    if choice.largest_dropped > max(DEPENDENT_REMAINDER, grown):
        return f"{NEAR}: a row that was left out is {choice.largest_dropped:.0e} off zero"
    if choice.least_kept < INDEPENDENT_REMAINDER:
        return f"{NEAR}: a row that was kept is only {choice.least_kept:.0e} off the others"
    return "" if choice.gap >= CLEAR_GAP else f"a gap of only {choice.gap:.0e} between remainders"


def is_clear(choice: RowChoice) -> bool:
    """Return whether nothing is in doubt."""
    return not doubt_about(choice)


def agree(one: RowChoice, other: RowChoice) -> bool:
    """Return whether one is clear, another method nearly so, and both keep as many rows.

    The pivots of a sweep are squares: their gap, out of thousands, is less clear in roots.
    """
    nearly = other.gap >= SECOND_GAP if other.method == SWEPT else is_clear(other)
    is_other = one.method != other.method
    return is_other and is_clear(one) and nearly and one.rank == other.rank


def generic_rank(pattern: BlockPattern) -> int:
    """Return what no geometry exceeds; -1 where bodies have different freedoms."""
    n, sizes = pattern.n_primal, pattern.block_sizes
    if n == 0 or np.any(sizes[:n] != sizes[0]):
        return -1
    return int(generic_bars(pattern.ends, sizes[n:], n, int(sizes[0])).sum())
