"""Forward dynamics of bodies with six freedoms on the sparse system (8.64).

Bodies and kept rows are numbered in elimination order, in units in which inertias are one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from sparsebody._core import dynamics
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.compiled.base import CoreBase, ReductionViolated, checked
from sparsebody.dynamics.compiled.given import GivenParts
from sparsebody.dynamics.compiled.tables import (
    INERTIA_ROOTS,
    MASS_ROOT,
    body_arrays,
    row_table,
    unit_table,
)
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import (
    Numeric,
    Symbolic,
    analyze,
    block_ldl,
    block_qr,
    refined_solve,
)
from sparsebody.factorization.block_ldl import REGULAR, BlockLDLSymbolic, in_parts, safe_order
from sparsebody.factorization.block_qr import BlockQRSymbolic
from sparsebody.model.system import State, System
from sparsebody.sparse.etree import positions
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

ROUGH_CORRECTION = dynamics.ROUGH_CORRECTION
NO_STATE = dynamics.BAD_STATE, dynamics.OUTSIDE_SUBGROUPS  # statuses
CHUNK_LENGTH = 512  # pivots
MAX_REFINEMENTS = 2  # of a solution by block LDL'
MAX_CORRECTIONS = 8  # of solutions by other factorizations; one or two are usual

# Relative residuals.
ROUNDING_RESIDUAL = 4e-16  # rounding of the residual itself
EVEN_TREE_RESIDUAL = 1e-11  # not refined where inertias are summed from the leaves of trees
EVEN_ROOTS = 1e3  # the largest over the smallest root of an inertia with which that is so
ROUGH_RESIDUAL = 0.1  # before refinement of a solution by QR, that is worth a warning


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
    """

    width = 6

    def __init__(
        self, system: System, structure: KKTStructure, order: IntArray, factorization: str
    ) -> None:
        self._made_of: tuple[Any, ...] = system, structure, order, factorization
        part_starts = None
        if factorization == "block-ldl":
            order, part_starts = in_parts(structure.pattern, safe_order(structure.pattern, order))
        n = system.n_bodies
        place = positions(order)
        bodies, duals = np.argsort(place[:n]), np.argsort(place[n:])
        self._pattern, own_order = _renumbered(structure.pattern, order, bodies, duals)
        rank = np.repeat(positions(duals), structure.pattern.block_sizes[n:])
        super().__init__(system, GivenParts(system), bodies, structure.joints[duals])
        self.rows = structure.rows[np.argsort(rank, kind="stable")]  # the user's numbers, in order
        self._is_compiled = part_starts is not None
        self.symbolic: Symbolic
        if part_starts is not None:
            self.symbolic = block_ldl.analyze(self._pattern, own_order, part_starts)
        else:
            self.symbolic = analyze(factorization, self._pattern, own_order)
        self._pattern.forget_adjacency()
        self._unit = unit_table(system, bodies)
        is_easy = _is_even(self._unit[:n]) and _is_leaves_first(self.symbolic)
        self._goal = EVEN_TREE_RESIDUAL if is_easy else ROUNDING_RESIDUAL
        self._evaluation: dynamics.SpatialEvaluation | dynamics.ReducedEvaluation
        self._evaluation, self._values, self.right, self._x = self._new_evaluation()
        self._left_out, _ = self._row_table(structure.left_out)
        self._left_out_gamma = np.zeros(len(structure.left_out))
        self._by_qr: BlockQRSymbolic | None = None  # where LDL' is not accurate enough
        self._numeric: Numeric | None = None
        self._is_shifted = False

    def __reduce__(self) -> tuple[type[Core], tuple[object, ...]]:
        """Copy and pickle what it is made of: views of memory can be neither."""
        return type(self), self._made_of

    def _new_evaluation(
        self,
    ) -> tuple[dynamics.SpatialEvaluation, FloatArray, FloatArray, FloatArray]:
        """Return an evaluation, and its A (k, 2, 6), right-hand side and solution."""
        kept, values = self._row_table(self.rows)
        arrays = body_arrays(self.system, self._bodies, self._unit, len(self.rows))
        symbolic = self.symbolic
        factors = symbolic.factors if isinstance(symbolic, BlockLDLSymbolic) else None
        evaluation = dynamics.SpatialEvaluation(
            kept,
            factors,
            **arrays,
            n_coordinates=len(self.system.coordinates.joint),
            max_corrections=MAX_REFINEMENTS,
            goal=self._goal,
            chunk_length=CHUNK_LENGTH,
        )
        x = arrays["padded_x"][dynamics.MARGIN : -dynamics.MARGIN]
        return evaluation, values, arrays["right"], x

    def _row_table(self, rows: IntArray) -> tuple[dynamics.RowTable, FloatArray]:
        return row_table(self.system, self._parts, self._bodies, self._unit, rows)

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
        status = self._called(self._evaluation.assemble, state, body_force, shift)
        if status != REGULAR:
            self._refuse_state(status, state)

    def _refuse_state(self, status: int, state: State) -> NoReturn:
        if status == dynamics.OUTSIDE_SUBGROUPS:
            raise ReductionViolated
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
        if self._by_qr is not None or not self._is_compiled:
            self.assemble(state, body_force, shift)
            return self.solve(self.right, acceleration, multiplier, state.time)
        status, residual, correction = self._called(
            self._evaluation.accelerate, state, body_force, shift, acceleration, multiplier
        )
        if status == REGULAR and not correction > ROUGH_CORRECTION:
            self._is_factorized = True
            return checked(residual, state.time)
        if status in NO_STATE:
            self._refuse_state(status, state)
        if status != REGULAR:
            self._examine(status, state.time)
        self._go_over_to_qr(state.time)
        return self.solve(self.right, acceleration, multiplier, state.time)

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
        if self._by_qr is not None:
            residual, first = self._by_qr.qr.solve(self._values, right, self._x)
            if goal == 0.0:
                self.is_rough = first > ROUGH_RESIDUAL
        elif self._is_compiled:
            residual, correction = self._evaluation.solve(right, goal, self._is_shifted)
            if correction > ROUGH_CORRECTION or (self._is_shifted and goal == 0.0):
                self._go_over_to_qr(time)
                return self.solve(right, acceleration, multiplier, time, goal)
        else:
            assert self._numeric is not None
            try:
                self._x[:], residual = refined_solve(
                    self._numeric, self.matrix, right, MAX_CORRECTIONS
                )
            except SingularSystemError as error:
                self._doubt(self._singular(error, time), error, time)
                return self.solve(right, acceleration, multiplier, time, goal)
        self._unscramble(acceleration, multiplier)
        return checked(residual, time)

    def _unscramble(self, acceleration: FloatArray, multiplier: FloatArray) -> None:
        self._evaluation.to_user_order(acceleration, multiplier)

    def dropped_residual(self) -> float:
        """Return the largest violation of the rows left out by the newest solution.

        Relative to the largest term of any row, with the solution or with the bodies free.
        """
        if len(self._left_out_gamma) == 0:
            return 0.0
        given = self._given
        table = given.rows, given.acceleration, self._shift
        return self._evaluation.violation(self._left_out, *table, self._left_out_gamma)

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the smallest pivot of the newest factors, the sine of an angle, and its row.

        The angle is that between a row, in the user's numbering, and the rows before it; NaN and -1
        where the factorization does not tell.
        """
        sine, place, symbolic = np.nan, -1, self.symbolic
        if self._by_qr is not None:
            symbolic = self._by_qr
        if isinstance(symbolic, BlockQRSymbolic):
            sine, place = symbolic.qr.smallest_pivot(self._values)
        elif isinstance(symbolic, BlockLDLSymbolic):
            sine, place = symbolic.smallest_pivot(self._values)
        return sine, int(self.rows[place]) if place >= 0 else -1

    @cached_property
    def matrix(self) -> SaddleMatrix:
        """The matrix that was assembled last, bodies and rows in elimination order.

        In units in which inertias are one.
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
        if self._by_qr is not None:
            self._check_rank(self._by_qr.qr.factorize(self._values), time)
        elif self._is_compiled:
            status = self._evaluation.factorize()
            self._is_shifted = status != REGULAR
            if status != REGULAR:
                self._examine(status, time)
        else:
            try:
                self._numeric = self.symbolic.factorize(self.matrix)
            except SingularSystemError as error:
                self._doubt(self._singular(error, time), error, time)
        self._is_factorized = True

    def _doubt(self, named: SingularSystemError, cause: SingularSystemError, time: float) -> None:
        """Go over to QR, which loses no pivot to rounding alone; raise `named` if it does."""
        by_qr = self._go_over_to_qr(time)
        if by_qr.qr.factorize(self._values) != block_qr.REGULAR:
            self._by_qr = None
            del self.history[-1]
            raise named from cause
        self._is_factorized = True

    def _go_over_to_qr(self, time: float) -> BlockQRSymbolic:
        """Factorize by QR from now on: rounding hides the softest motions from LDL'."""
        order = np.arange(self._pattern.n_blocks, dtype=np.intp)
        self._by_qr = block_qr.analyze(self._pattern, order)
        self._is_factorized = self._is_shifted = False
        self.history.append(f"block-qr: rounding hides the softest motions at t = {time:.6g} s")
        return self._by_qr

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


def _is_leaves_first(symbolic: Symbolic) -> bool:
    """Tell whether every pivot changes at most one later one, as in trees from the leaves on."""
    return isinstance(symbolic, BlockLDLSymbolic) and symbolic.layout.is_leaves_first


def _is_even(unit: FloatArray) -> bool:
    """Tell whether neither masses nor rotational inertias, in a table of units, differ too much."""
    inertia_roots, mass_roots = unit[:, INERTIA_ROOTS], unit[:, MASS_ROOT]
    return all(roots.max() <= EVEN_ROOTS * roots.min() for roots in (inertia_roots, mass_roots))
