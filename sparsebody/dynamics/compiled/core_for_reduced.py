"""A System, its kept rows and a factorization, laid out for compiled evaluations."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.compiled.assembly import assemble, fill_rows
from sparsebody.dynamics.compiled.base import CoreBase, checked
from sparsebody.dynamics.compiled.chunks import chunk_table
from sparsebody.dynamics.compiled.given import GivenParts
from sparsebody.dynamics.compiled.left_out import violation
from sparsebody.dynamics.compiled.qr_solution import QR, factorize_by_qr, qr_arrays, solve_by_qr
from sparsebody.dynamics.compiled.solution import (
    BAD_STATE,
    ROUGH,
    accelerate,
    factorize_assembled,
    refine,
    unscramble,
)
from sparsebody.dynamics.compiled.tables_for_reduced import body_arrays, row_arrays, units
from sparsebody.dynamics.compiled.workspace import (
    MASS_ROOT,
    ROOT,
    Factor,
    Index,
    RowTable,
    Workspace,
)
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import Numeric, Symbolic, analyze, block_qr, refined_solve
from sparsebody.factorization.block_ldl import (
    REGULAR,
    BlockLDLSymbolic,
    safe_order,
)
from sparsebody.factorization.block_ldl.kernels import Storage, Tables
from sparsebody.factorization.block_ldl.layout import FIRST_BELOW
from sparsebody.factorization.block_qr import BlockQRSymbolic
from sparsebody.model.system import State, System
from sparsebody.sparse.etree import positions, postordered
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

ROUNDING = 4e-16  # a relative residual that is nothing but that of its own computation
SMOOTH = 1e-11  # one that needs none where inertias are added up from the leaves of trees on
EVEN = 1e3  # the largest over the smallest root of an inertia with which that is so
MOST_STEPS = 8  # corrections of solutions by other factorizations; one or two are usual
HOPELESS = 0.1  # relative residual before corrections that is worth a warning


class Core(CoreBase):
    """The arrays that every evaluation fills anew, and the factors of the newest one.

    Parameters
    ----------
    system : System
        The mechanism.
    structure : KKTStructure
        The kept rows, in the user's numbering.
    order : (n_blocks,) int array
        Elimination order of its pattern.
    factorization : str
        A name from FACTORIZATIONS.
    refinement : int
        The greatest number of corrections of a solution.
    """

    width = 6

    def __init__(
        self,
        system: System,
        structure: KKTStructure,
        order: IntArray,
        factorization: str,
        refinement: int = 2,
    ) -> None:
        self._made_of = system, structure, order, factorization, refinement
        if factorization == "block-ldl":
            order = postordered(structure.pattern, safe_order(structure.pattern, order))
        n = system.n_bodies
        place = positions(order)
        bodies, duals = np.argsort(place[:n]), np.argsort(place[n:])
        pattern, own_order = _renumbered(structure.pattern, order, bodies, duals)
        rank = np.repeat(positions(duals), structure.pattern.block_sizes[n:])
        super().__init__(system, GivenParts(system), bodies, structure.joints[duals])
        rows = structure.rows[np.argsort(rank, kind="stable")]
        left_out = structure.left_out
        unit = units(system, bodies)
        kept, others = (
            row_arrays(system, self._parts, bodies, unit, some) for some in (rows, left_out)
        )
        arrays = body_arrays(system, bodies, unit, len(rows))
        self.right, self._x = arrays["right"], arrays["x"]
        self.rows = kept["row"]  # the user's numbers of rows, in order
        self._values, self._pattern = kept["rows"], pattern
        self.symbolic: Symbolic = analyze(factorization, pattern, own_order)
        self._is_compiled = isinstance(self.symbolic, BlockLDLSymbolic)
        self._refinement = refinement
        self._goal = SMOOTH if _is_even(unit[:n]) and _is_leaves_first(self.symbolic) else ROUNDING
        factor = _factor(self.symbolic)
        pattern.forget_adjacency()
        self._kept = RowTable(**kept)
        chunks = _chunks(self.symbolic, kept, n)
        self._solver = {"factor": factor, "chunks": chunks}
        self._workspace = Workspace(kept=self._kept, **self._solver, **arrays)
        self._by_qr: BlockQRSymbolic | None = None
        self._qr: QR | None = None  # where LDL' is not accurate enough
        self._left_out, self._left_asked = RowTable(**others), np.zeros(len(left_out))
        self._n_left_out = len(others["predecessor"])  # joints
        self._numeric: Numeric | None = None
        self._is_shifted = False

    def __reduce__(self) -> tuple[type[Core], tuple[object, ...]]:
        """Copy and pickle what it is made of: compiled code's arrays can be neither."""
        return Core, self._made_of

    def assemble(self, state: State, body_force: FloatArray | None, shift: FloatArray) -> None:
        """Fill rows and right-hand side at a state.

        Parameters
        ----------
        state : State
            Poses and velocities.
        body_force : (n_bodies, 6) array, optional
            Additional wrenches in body coordinates [N m, N].
        shift : (n_rows,) array
            Added to the accelerations that the rows ask for; (0,) for nothing.

        Raises
        ------
        ShapeError, ModelError
            If the state is none of the system, or not finite.
        """
        arguments = self._arguments(state, body_force, shift)
        if not assemble(self._workspace, *arguments):
            self._refuse(state)

    def accelerate(
        self,
        state: State,
        body_force: FloatArray | None,
        shift: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        """Assemble, factorize and solve at once; parameters and errors as in those."""
        if self._qr is not None or not self._is_compiled:
            self.assemble(state, body_force, shift)
            return self.solve(self.right, acceleration, multiplier, state.time)
        arguments = self._arguments(state, body_force, shift)
        status, residual, change = accelerate(
            self._workspace,
            *arguments,
            self._refinement,
            self._goal,
            acceleration,
            multiplier,
        )
        if status == BAD_STATE:
            self._refuse(state)
        if status != REGULAR:
            self._examine(status, state.time)
        if status != REGULAR or change > ROUGH:
            self._go_over_to_qr()
            return self.solve(self.right, acceleration, multiplier, state.time)
        self._is_factorized = True
        return checked(residual, state.time)

    def solve(
        self,
        right: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
        time: float,
        goal: float = 0.0,
    ) -> float:
        """Solve for a right-hand side in elimination order, and return the residual.

        Parameters
        ----------
        right : (6 n_bodies + n_kept,) array
            Forces, then accelerations asked for.
        acceleration : (n_bodies, 6) array
            Filled.
        multiplier : (n_rows,) array
            Filled where rows are kept; (0,) if they are not wanted.
        time : float
            For messages [s].
        goal : float
            A relative residual that is not corrected, if larger than usual.

        Raises
        ------
        SingularSystemError
            If a pivot is lost, or the residual is large.
        """
        if not self._is_factorized:
            self.factorize(time)
        steps = self._refinement
        if self._qr is not None:
            residual, first = solve_by_qr(
                self._qr, self._kept, self.system.n_bodies, right, True, self._x
            )
            if goal == 0.0:
                self.is_rough = first > HOPELESS
        elif self._is_compiled:
            residual, change = refine(
                self._workspace, right, steps, max(goal, self._goal), self._is_shifted
            )
            if change > ROUGH or (self._is_shifted and goal == 0.0):
                self._go_over_to_qr()
                return self.solve(right, acceleration, multiplier, time, goal)
        else:
            assert self._numeric is not None
            try:
                self._x[:], residual = refined_solve(self._numeric, self.matrix, right, MOST_STEPS)
            except SingularSystemError as error:
                self._doubt(self._singular(error, time), error)
                return self.solve(right, acceleration, multiplier, time, goal)
        self._unscramble(acceleration, multiplier)
        return checked(residual, time)

    def _unscramble(self, acceleration: FloatArray, multiplier: FloatArray) -> None:
        unscramble(self._workspace, acceleration, multiplier)

    def dropped_residual(self) -> float:
        """Return the largest violation of the rows left out by the newest solution.

        Relative to the largest term of any row, with the solution or with the bodies free.
        """
        if len(self._left_asked) == 0:
            return 0.0
        given = self._given
        fill_rows(
            self._workspace,
            self._left_out,
            given.rows,
            given.acceleration,
            self._shift,
            self._left_asked,
            0,
            self._n_left_out,
        )
        return float(violation(self._workspace, self._left_out, self._left_asked))

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the smallest pivot of the newest factors, the sine of an angle, and its row.

        The angle is that between a row, in the user's numbering, and the rows before it; NaN and -1
        where the factorization does not tell.
        """
        sine, place, symbolic = np.nan, -1, self.symbolic
        if self._by_qr is not None:
            sine, place = self._by_qr.smallest_pivot(self._values)
        elif isinstance(symbolic, (BlockLDLSymbolic, BlockQRSymbolic)):
            sine, place = symbolic.smallest_pivot(self._values)
        return sine, int(self.rows[place]) if place >= 0 else -1

    @cached_property
    def matrix(self) -> SaddleMatrix:
        """The matrix that was assembled last, bodies and rows in elimination order.

        In the units of the workspace, in which inertias are one.
        """
        ones = np.tile(np.eye(6), (self.system.n_bodies, 1, 1))
        return SaddleMatrix(self._pattern, ones, ones, self._values)

    def factorize(self, time: float) -> None:
        """Factorize what was assembled last; `time` [s] is for messages.

        Raises
        ------
        SingularSystemError
            If a pivot is lost; the message names the joint or the body.
        """
        if self._qr is not None:
            self._check_rank(factorize_by_qr(self._qr, self._kept), time)
        elif self._is_compiled:
            status = factorize_assembled(self._workspace)
            self._is_shifted = status != REGULAR
            if status != REGULAR:
                self._examine(status, time)
        else:
            try:
                self._numeric = self.symbolic.factorize(self.matrix)
            except SingularSystemError as error:
                self._doubt(self._singular(error, time), error)
        self._is_factorized = True

    def _doubt(self, named: SingularSystemError, cause: SingularSystemError) -> None:
        """Go over to QR, which loses no pivot to rounding alone; raise `named` if it does."""
        self._go_over_to_qr()
        assert self._by_qr is not None
        if factorize_by_qr(self._qr, self._kept) != block_qr.REGULAR:
            self._by_qr = self._qr = None
            raise named from cause
        self._is_factorized = True

    def _go_over_to_qr(self) -> None:
        """Factorize by QR from now on: rounding hides the softest motions from LDL'."""
        order = np.arange(self._pattern.n_blocks, dtype=np.intp)
        self._by_qr = block_qr.analyze(self._pattern, order)
        self._qr = qr_arrays(self._by_qr)
        self._is_factorized = self._is_shifted = False

    def _check_rank(self, status: int, time: float) -> None:
        assert self._by_qr is not None
        try:
            self._by_qr.check(status)
        except SingularSystemError as error:
            raise self._singular(error, time) from error

    def _examine(self, status: int, time: float) -> None:
        """Raise SingularSystemError if a doubtful pivot of the newest factors is truly lost."""
        symbolic = self.symbolic
        assert isinstance(symbolic, BlockLDLSymbolic)
        try:
            symbolic.check(status, self._values)
        except SingularSystemError as error:
            raise self._singular(error, time) from error


def _renumbered(
    pattern: BlockPattern, order: IntArray, bodies: IntArray, duals: IntArray
) -> tuple[BlockPattern, IntArray]:
    """Return pattern and order with bodies and dual blocks numbered as they are eliminated."""
    n = pattern.n_primal
    new = np.append(positions(bodies), -1)  # -1 stays -1
    sizes = pattern.block_sizes
    own = BlockPattern(
        np.concatenate([sizes[:n][bodies], sizes[n:][duals]]), new[pattern.ends[duals]]
    )
    return own, np.concatenate([new[:n], n + positions(duals)])[order]


def _factor(symbolic: Symbolic) -> Factor:
    """Return what compiled code needs of a block LDL'; next to nothing for other factorizations."""
    if isinstance(symbolic, BlockLDLSymbolic):
        arrays = symbolic.tables._asdict() | symbolic.storage._asdict()
    else:
        flat, table = np.zeros(0, dtype=np.uint32), np.zeros((0, 1), dtype=np.uint32)
        tables = Tables(pivots=table, below=table, updates=flat, fills=table, opened=flat)
        arrays = tables._asdict() | dict.fromkeys(Storage._fields, np.zeros(0))
    return Factor(padded=arrays.pop("x"), **arrays)


def _chunks(symbolic: Symbolic, kept: dict[str, Any], n: int) -> Index:
    """Return the chunks of an evaluation of n bodies; none for other factorizations."""
    if not isinstance(symbolic, BlockLDLSymbolic):
        return np.zeros((1, 5), dtype=np.uint32)
    joints = kept["predecessor"], kept["successor"], kept["first_row"]
    return chunk_table(symbolic.tables, *joints, n)


def _is_leaves_first(symbolic: Symbolic) -> bool:
    """Tell whether every pivot changes at most one later one, as in trees from the leaves on."""
    if not isinstance(symbolic, BlockLDLSymbolic):
        return False
    return bool(np.all(np.diff(symbolic.layout.pivots[:, FIRST_BELOW].astype(np.intp)) == 1))


def _is_even(unit: FloatArray) -> bool:
    """Tell whether neither masses nor rotational inertias, in the table `unit`, differ too much."""
    turning, moving = unit[:, [ROOT, ROOT + 2, ROOT + 5]], unit[:, MASS_ROOT]
    return all(roots.max() <= EVEN * roots.min() for roots in (turning, moving))
