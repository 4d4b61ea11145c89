"""Factorizations of [1 A'; A 0]: LDL' by small blocks or by wide dense fronts, and QR.

Primal blocks are in coordinates L' x in which D = L L' is the identity; UnitSymbolic sees to that.
core/factorization/layout.hpp describes the tables of small blocks. In mechanisms that are wide in
several directions, blocks of nearly the same structure are supernodes, which are eliminated
together in a dense front. LDL' of the whole matrix squares the condition number of A on its way; QR
of the constraint columns, R' R = A D^-1 A' without forming the product, does not, which long
mechanisms need. One correction makes the error that of pivoting codes.

Duff and Reid (1983), ACM TOMS 9:302; Liu (1992), SIAM Review 34:82, on fronts and contributions;
Ashcraft and Grimes (1989), ACM TOMS 15:291, on supernodes. Paige (1973), BIT 13:364, on R alone in
least-norm problems; Davis (2011), ACM TOMS 38:8, on fronts of QR.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.factorization import backend, layouts
from sparsebody.sparse.elimination_tree import column_structures, is_admissible, postordered, repair
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

REGULAR = -1  # what an elimination returns if no pivot is doubtful
MANY_BLOCKS = 10_000  # from which on doubtful pivots are the rule


@dataclass(frozen=True, eq=False)
class UnitNumeric:
    """The factors of one matrix, until the next one is factorized."""

    symbolic: UnitSymbolic
    rows: FloatArray  # (n_dual_rows, 2, width) of A, in coordinates in which D is 1
    root: FloatArray  # (n_primal, width, width) L with D = L L', as kernels keep it; or none
    serial: int
    row_scale: FloatArray | float = 1.0  # (n_dual_rows,) of `rows`, relative to those of the matrix

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        symbolic, offsets = self.symbolic, self.symbolic.pattern.offsets
        backend.check_rhs(rhs, symbolic.pattern)
        backend.check_newest(self.serial, symbolic.newest)
        columns = np.array(rhs.reshape(len(rhs), -1).T, dtype=np.float64, order="C")
        x, n = np.empty_like(columns), symbolic.pattern.n_primal_rows
        for column, solution in zip(columns, x, strict=True):
            native.to_unit(offsets, self.root, column)
            column[n:] *= self.row_scale
            solution[:] = symbolic.unit_solution(self.rows, column)
            solution[n:] *= self.row_scale
            native.from_unit(offsets, self.root, solution)
        return np.ascontiguousarray(x.T).reshape(rhs.shape)


@dataclass(eq=False)
class UnitSymbolic(ABC):
    """The analysis of a pattern, and the newest factors."""

    pattern: BlockPattern
    factors: native.block_ldl.Factors | native.Multifrontal | native.BlockQR = field(init=False)
    newest: int = field(init=False, default=0)
    independent: set[int] = field(init=False, default_factory=set)  # rows with doubtful pivots

    @abstractmethod
    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize [1 A'; A -delta] for A (n_dual_rows, 2, width), overwriting earlier factors.

        Return REGULAR, or the first doubtful pivot, as `first_row` takes it: dual ones were then
        shifted away from zero. A positive delta leaves none doubtful.
        """

    def first_row(self, status: int) -> int:
        """Return the row in natural order of the doubtful pivot that an elimination returned."""
        return status

    @abstractmethod
    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Return x by the newest factors; x and rhs (n_rows,) in coordinates in which D is 1."""

    def is_lost(self, rows: FloatArray, row: int) -> bool:
        """Tell whether the doubtful pivot of a row, in natural order, is zero but for rounding."""
        n = self.pattern.n_primal_rows
        solve = partial(self.unit_solution, rows)
        return row < n or backend.is_dependent(self.pattern, rows, solve, row - n)

    def factorize(self, matrix: SaddleMatrix) -> UnitNumeric:
        """Factorize; SingularSystemError at a lost pivot, or if D is not positive definite."""
        numeric = self._in_units(matrix)
        self.check(self.eliminate(numeric.rows), numeric.rows)
        return numeric

    def factorize_compliant(self, matrix: SaddleMatrix, compliance: FloatArray) -> UnitNumeric:
        """Factorize [D A'; A -C] for a diagonal C > 0 (n_dual_rows,), which no row makes singular.

        Vanderbei (1995), SIAM J. Optim. 5:100. SingularSystemError if D is not positive definite.
        """
        numeric = self._in_units(matrix)
        scale = 1.0 / np.sqrt(compliance)
        rows = numeric.rows * scale[:, None, None]
        self.eliminate(rows, 1.0)
        return replace(numeric, rows=rows, row_scale=scale)

    def _in_units(self, matrix: SaddleMatrix) -> UnitNumeric:
        """Return what factors of a matrix, to be filled, belong to."""
        backend.check_pattern(matrix, self.pattern)
        self.newest += 1
        rows, root = matrix.rows, matrix.diagonal[:0]
        if not matrix.is_unit:
            rows, root = np.empty(matrix.rows.shape), np.empty(matrix.diagonal.shape)
            bad = native.unit_rows(matrix.blocks, rows, root)
            if bad >= 0:
                layouts.scales(matrix)
                raise backend.vanishing_pivot(self.pattern, int(self.pattern.offsets[bad]))
        return UnitNumeric(self, rows, root, self.newest)

    def check(self, status: int, rows: FloatArray) -> None:
        """Raise SingularSystemError for a lost pivot; long mechanisms examine a row only once."""
        if status == REGULAR:
            return
        row, pattern = self.first_row(status), self.pattern
        if row in self.independent:
            return
        bad = native.vanishing_row((pattern.offsets, pattern.ends), rows)
        if bad >= 0:
            raise backend.vanishing_row(pattern, pattern.n_primal_rows + bad)
        if self.is_lost(rows, row):
            raise backend.vanishing_pivot(pattern, row)
        if pattern.n_blocks >= MANY_BLOCKS:
            self.independent.add(row)


FEWEST_BLOCKS = native.FEWEST_BLOCKS  # that are worth parts
TILE = 4  # rows of storage of a block come in fours
LARGEST_BLOCK = 6  # rows; larger joints are cut in several
MOST_UPDATES = 250_000_000  # pairs of blocks; 4 bytes each
DOUBTFUL = -2  # what a factorization returns: see block_ldl.hpp


InParts = tuple[IntArray, IntArray]  # an order, and where its parts begin


def in_parts(pattern: BlockPattern, order: IntArray, fewest: int = FEWEST_BLOCKS) -> InParts:
    """Return an order in parts that can be eliminated at the same time, and their beginnings.

    Each subtree of the elimination tree is in one piece. Patterns of `fewest` blocks and more come
    in parts, then their common ancestors, at the last beginning. Admissible orders stay so.
    """
    return native.partition(pattern.adjacency, pattern.block_sizes, order, fewest)


def split(pattern: BlockPattern, order: IntArray) -> tuple[BlockPattern, IntArray]:
    """Return pattern and order with large dual blocks cut; ShapeError for large primal blocks."""
    n, sizes = pattern.n_primal, pattern.block_sizes
    if np.max(sizes[:n], initial=0) > LARGEST_BLOCK:
        raise ShapeError(f"block-ldl takes primal blocks of at most {LARGEST_BLOCK} rows")
    n_parts = np.maximum(-(-sizes // LARGEST_BLOCK), 1)
    if np.all(n_parts == 1):
        return pattern, order
    first = np.cumsum(n_parts) - n_parts
    part = np.arange(n_parts.sum()) - np.repeat(first, n_parts)
    remaining = np.repeat(sizes, n_parts) - LARGEST_BLOCK * part
    pieces = BlockPattern(
        np.minimum(remaining, LARGEST_BLOCK), np.repeat(pattern.ends, n_parts[n:], axis=0)
    )
    count = n_parts[order]
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return pieces, np.repeat(first[order], count) + within


@dataclass(eq=False)
class BlockLDLSymbolic(UnitSymbolic):
    """The layout of L, and the storage of the newest factors; see UnitSymbolic."""

    order: IntArray  # (n_blocks,) the one in use
    layout: native.block_ldl.Layout
    factors: native.block_ldl.Factors = field(init=False)

    def __post_init__(self) -> None:
        self.factors = native.block_ldl.Factors(self.layout)

    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize; a doubtful pivot is returned as DOUBTFUL less its position."""
        nothing = np.zeros(self.pattern.n_rows)
        if delta == 0.0:
            return self.factors.factorize(rows, nothing)
        self.factors.eliminate(rows, nothing, -delta)
        return REGULAR

    def first_row(self, status: int) -> int:
        """Return the row of a pivot."""
        return self.layout.first_row(DOUBTFUL - status)

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Solve by small blocks; without forces there is nothing to do for constant bodies."""
        x = np.empty(len(rhs))
        has_forces = rhs[: self.pattern.n_primal_rows].any()
        self.factors.solve(rows, rhs, float(has_forces), False, x)
        return x


def safe_order(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return `order` if it is admissible, so that no pivot is zero, else the repaired one."""
    return order if is_admissible(pattern, order) else repair(pattern, order)


def analyze_ldl(
    pattern: BlockPattern, order: IntArray, part_starts: IntArray | None = None
) -> BlockLDLSymbolic:
    """Lay L out in the given order, or in a repaired one if the given one is not admissible.

    With `part_starts` the order is one of `in_parts`. Raises ShapeError if L would be too large.
    """
    check_order(pattern, order)
    if part_starts is None:
        order, part_starts = in_parts(pattern, safe_order(pattern, order))
    pieces, cut = split(pattern, order)
    columns = column_structures(pieces, cut)
    n_below = np.diff(columns[0]).astype(float)
    n_updates = n_below @ (n_below + 1) / 2
    if n_updates > MOST_UPDATES:
        raise ShapeError(
            f"block-ldl would update {n_updates:.0f} pairs of blocks in this order: fronts are too "
            "large for small blocks; use another ordering, or the factorization cholmod"
        )
    starts = part_starts if pieces is pattern else np.zeros(1, dtype=np.intp)
    try:
        layout = native.block_ldl.Layout(columns, pieces.block_sizes, pieces.ends, cut, starts)
    except ValueError as error:  # tables of more than 32 bits
        raise ShapeError(str(error)) from error
    return BlockLDLSymbolic(pattern, order, layout)


@contextmanager
def _within_memory(factorization: str, remedy: str) -> Iterator[None]:
    """Say what to use instead where factors do not fit into memory."""
    try:
        yield
    except MemoryError as error:
        raise ShapeError(
            f"{factorization} would store more than there is memory for in this order: use {remedy}"
        ) from error


@dataclass(eq=False)
class MultifrontalSymbolic(UnitSymbolic):
    """The supernodes of L, and the newest factors; see UnitSymbolic."""

    order: IntArray  # (n_blocks,) the one in use
    factors: native.Multifrontal = field(init=False)

    def __post_init__(self) -> None:
        with _within_memory("multifrontal", "another ordering"):
            self.factors = native.Multifrontal(self.pattern.offsets, self.pattern.ends, self.order)

    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize; a doubtful pivot is returned as its row."""
        if delta == 0.0:
            return self.factors.factorize(rows)
        self.factors.factorize_shifted(rows, delta)
        return REGULAR

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Solve in dense fronts."""
        x = np.empty(len(rhs))
        self.factors.solve(rhs, x)
        return x


def analyze_multifrontal(pattern: BlockPattern, order: IntArray) -> MultifrontalSymbolic:
    """Find supernodes in the given order, repaired if need be; ShapeError if L is too large."""
    check_order(pattern, order)
    return MultifrontalSymbolic(pattern, postordered(pattern, safe_order(pattern, order)))


@dataclass(eq=False)
class BlockQRSymbolic(UnitSymbolic):
    """The layout of R, and the newest one; of an order only that of the dual blocks matters."""

    duals: IntArray  # (n_dual,) the dual blocks in elimination order
    part_starts: IntArray  # (n_parts + 1,), see dual_parts
    factors: native.BlockQR = field(init=False)

    def __post_init__(self) -> None:
        blocks = self.pattern.block_sizes, self.pattern.ends
        with _within_memory("block-qr", "another ordering, or the factorization cholmod"):
            self.factors = native.BlockQR(*blocks, self.duals, self.part_starts)

    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize; a dual row that depends on others is returned, and no delta is taken."""
        assert delta == 0.0
        return self.factors.factorize(rows)

    def first_row(self, status: int) -> int:
        """Return the dual row among all rows."""
        return self.pattern.n_primal_rows + status

    def is_lost(self, rows: FloatArray, row: int) -> bool:
        """Every pivot that QR finds doubtful is lost."""
        return True

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Solve with one correction."""
        x = np.empty(len(rhs))
        self.factors.solve(rows, rhs, x, accurate=True, corrections=1)
        return x


def analyze_qr(
    pattern: BlockPattern, order: IntArray, part_starts: IntArray | None = None
) -> BlockQRSymbolic:
    """Lay R out in the order of the dual blocks; raise ShapeError if it would be too large.

    With `part_starts` they are numbered in an order of `dual_parts`.
    """
    check_order(pattern, order)
    if part_starts is None:
        part_starts = np.zeros(1, dtype=np.intp)
    duals = order[order >= pattern.n_primal] - pattern.n_primal
    return BlockQRSymbolic(pattern, np.asarray(duals, dtype=np.intp), part_starts)


def dual_parts(pattern: BlockPattern, order: IntArray, fewest: int = FEWEST_BLOCKS) -> InParts:
    """Return an order of the dual blocks in independent parts, then ancestors, and their starts."""
    duals = order[order >= pattern.n_primal] - pattern.n_primal
    return native.dual_partition(pattern.block_sizes, pattern.ends, duals, fewest)
