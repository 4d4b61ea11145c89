"""A planar mechanism and its kept rows, laid out for compiled evaluations; see `core`."""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import NoReturn

import numpy as np

from sparsebody._core import dynamics as native
from sparsebody.arrays import FloatArray, IntArray, large_zeros
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.compiled.base import CoreBase, ReductionViolated, checked
from sparsebody.dynamics.compiled.complementary_reactions import (
    ReactionTree,
    fill_complementary_reactions,
)
from sparsebody.dynamics.compiled.given import NOTHING, GivenParts
from sparsebody.dynamics.compiled.planar_tables import (
    planar_evaluation,
    planar_lines,
    planar_table,
)
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import Numeric, Symbolic, analyze, refined_solve
from sparsebody.factorization.block_qr import BlockQRSymbolic, postordered_duals
from sparsebody.model.planar import PlanarMotion
from sparsebody.model.system import State, System
from sparsebody.sparse.etree import positions
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

STEPS = 8  # corrections of solutions by other factorizations at most
GOOD = native.PlanarEvaluation.GOOD


class PlanarCore(CoreBase):
    """The arrays that every evaluation fills anew, and the factors of the newest one.

    Parameters
    ----------
    system : System
        The mechanism.
    motion : PlanarMotion
        The plane that its bodies move parallel to.
    structure : KKTStructure
        The kept rows within the plane, bodies having three freedoms.
    left_out : (n_left_out,) int array
        The other rows within the plane.
    order : (n_blocks,) int array
        Elimination order of the pattern.
    factorization : str
        A name from FACTORIZATIONS; evaluations with "block-qr" are one compiled call.
    """

    width = 3

    def __init__(
        self,
        system: System,
        motion: PlanarMotion,
        structure: KKTStructure,
        left_out: IntArray,
        order: IntArray,
        factorization: str,
    ) -> None:
        self._made_of = system, motion, structure, left_out, order, factorization
        n = system.n_bodies
        duals = postordered_duals(structure.pattern, order)
        bodies = as_met(structure.pattern.ends[duals], n)
        is_line = planar_lines(system, motion)
        parts = GivenParts(system, but=is_line)
        super().__init__(system, parts, bodies, structure.joints[duals])
        self.motion = motion
        rank = np.repeat(positions(duals), structure.pattern.block_sizes[n:])
        self.rows = structure.rows[np.argsort(rank, kind="stable")]
        new = np.append(positions(bodies), -1)  # -1 stays -1
        sizes = structure.pattern.block_sizes
        self._pattern = BlockPattern(
            np.concatenate([sizes[:n][bodies], sizes[n:][duals]]),
            np.ascontiguousarray(new[structure.pattern.ends[duals]]),
        )
        own_order = np.arange(self._pattern.n_blocks, dtype=np.intp)
        self.symbolic: Symbolic = analyze(factorization, self._pattern, own_order)
        qr = self.symbolic.qr if isinstance(self.symbolic, BlockQRSymbolic) else None
        self._is_compiled = qr is not None
        self._kept, self._left_out = (
            planar_table(system, motion, parts, is_line, bodies, rows)
            for rows in (self.rows, left_out)
        )
        self.right, self._x = (large_zeros(3 * n + len(self.rows)) for _ in range(2))
        self._evaluation = planar_evaluation(
            system, motion, bodies, self._kept, qr, self.right, self._x
        )
        self._evaluation.fill_rows_on_successors(self._left_out.native, self._left_out.frames)
        self._numeric: Numeric | None = None

    def __reduce__(self) -> tuple[type[PlanarCore], tuple[object, ...]]:
        """Copy and pickle what it is made of: native objects can be neither."""
        return PlanarCore, self._made_of

    def assemble(self, state: State, body_force: FloatArray | None, shift: FloatArray) -> None:
        """Fill rows and right-hand side at a state; see `Core.assemble`.

        Raises
        ------
        ReductionViolated
            If the state has left the plane.
        """
        status = self._called(self._evaluation.assemble, state, body_force, shift)
        if status != GOOD:
            self._refuse_status(status, state)

    def accelerate(
        self,
        state: State,
        body_force: FloatArray | None,
        shift: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        """Assemble, factorize and solve at once; parameters and errors as in those."""
        if not self._is_compiled:
            self.assemble(state, body_force, shift)
            residual = self.solve(self.right, acceleration, multiplier, state.time)
        else:
            status = self._accelerate(state, body_force, shift, acceleration, multiplier)
            if status != GOOD:
                self._refuse_status(status, state)
            self._is_factorized = True
            residual = self._evaluation.residual
        if multiplier.size > 0:
            self.fill_outer(state, body_force, acceleration, multiplier)
        return residual

    def _accelerate(
        self,
        state: State,
        body_force: FloatArray | None,
        shift: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> int:
        """Return the status of an evaluation in one call; arguments cost time, too."""
        if self._parts.is_nothing and body_force is None and shift.size == multiplier.size == 0:
            self.newest = object()
            self._is_factorized = False
            self._given, self._shift = NOTHING, shift
            with contextlib.suppress(TypeError):  # arrays of another kind
                return self._evaluation.accelerate(
                    state.position,
                    state.orientation,
                    state.velocity,
                    state.coordinate,
                    state.time,
                    acceleration,
                )
        call = self._evaluation.accelerate
        return int(self._called(call, state, body_force, shift, acceleration, multiplier))

    def _refuse_status(self, status: int, state: State) -> NoReturn:
        """Raise what a status means."""
        evaluation = self._evaluation
        if status == evaluation.OUT_OF_PLANE:
            raise ReductionViolated
        if status == evaluation.DEPENDENT_ROW:
            self._check_rank(evaluation.row, state.time)
        if status == evaluation.INACCURATE:
            checked(evaluation.residual, state.time)
        self._refuse(state)

    def fill_outer(
        self,
        state: State,
        body_force: FloatArray | None,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> None:
        """Fill the multipliers of the rows that keep the bodies in their plane."""
        fill_complementary_reactions(
            self.system, self._out_of_plane, state, body_force, acceleration, multiplier
        )

    @cached_property
    def _out_of_plane(self) -> ReactionTree:
        motion, system = self.motion, self.system
        rows = motion.tree_rows
        joint = motion.joint[motion.bodies]
        first = np.searchsorted(rows, system.first_row[joint])
        return ReactionTree(motion.bodies, joint, rows[first[:, None] + np.arange(3)])

    def solve(
        self,
        right: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
        time: float,
        goal: float = 0.0,
    ) -> float:
        """Solve for a right-hand side (3 n_bodies + n_kept,); see `Core.solve`.

        With a positive goal the solution will be corrected by others, and its residual is a guess.
        """
        if not self._is_factorized:
            self.factorize(time)
        if self._is_compiled:
            residual = self._evaluation.solve(right, goal == 0.0)
        else:
            assert self._numeric is not None
            self._x[:], residual = refined_solve(self._numeric, self.matrix, right, STEPS)
        self._unscramble(acceleration, multiplier)
        return checked(residual, time)

    def _unscramble(self, acceleration: FloatArray, multiplier: FloatArray) -> None:
        self._evaluation.to_user_order(acceleration, multiplier)

    def solve_extended(
        self, state: State, acceleration: FloatArray, multiplier: FloatArray
    ) -> None:
        """Solve for the newest state with residuals of 31 digits made from it, taken as exact."""
        if not self._is_compiled:
            return
        if not self._is_factorized:
            self.factorize(state.time)
        plain = self._plain(state)
        poses = plain.position, plain.orientation, plain.velocity
        self._extended.solve(self._evaluation, *poses, self._shift)
        self._unscramble(acceleration, multiplier)

    @cached_property
    def _extended(self) -> native.ExtendedPlanarSystem:
        return native.ExtendedPlanarSystem(self._evaluation, self._kept.frames)

    def factorize(self, time: float) -> None:
        """Factorize what was assembled last; `time` [s] is for messages.

        Raises
        ------
        SingularSystemError
            If a pivot is lost; the message names the joint or the body.
        """
        if isinstance(self.symbolic, BlockQRSymbolic):
            self._check_rank(self.symbolic.qr.factorize(self._kept.values), time)
        else:
            try:
                self._numeric = self.symbolic.factorize(self.matrix)
            except SingularSystemError as error:
                raise self._singular(error, time) from error
        self._is_factorized = True

    def _check_rank(self, status: int, time: float) -> None:
        """Raise SingularSystemError for the row that a factorization has returned."""
        assert isinstance(self.symbolic, BlockQRSymbolic)
        try:
            self.symbolic.check(status)
        except SingularSystemError as error:
            raise self._singular(error, time) from error

    def dropped_residual(self) -> float:
        """Return the largest violation of the rows left out by the newest solution.

        Relative to the largest acceleration that a row could feel, with the solution or with the
        bodies free; rows across all accelerations of a stretched linkage feel nothing but rounding.
        """
        if len(self._left_out.rows) == 0:
            return 0.0
        given = self._given.rows, self._given.acceleration, self._shift
        return self._evaluation.violation(self._left_out.native, *given)

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the smallest pivot of the newest factors, and its row; see `Core`."""
        if not isinstance(self.symbolic, BlockQRSymbolic):
            return np.nan, -1
        sine, place = self.symbolic.qr.smallest_pivot(self._kept.values)
        return sine, int(self.rows[place]) if place >= 0 else -1

    @cached_property
    def matrix(self) -> SaddleMatrix:
        """The matrix that was assembled last, bodies and rows in elimination order.

        In the units of the workspace, in which inertias are one.
        """
        ones = np.tile(np.eye(3), (self.system.n_bodies, 1, 1))
        return SaddleMatrix(self._pattern, ones, ones, self._kept.values)


def as_met(ends: IntArray, n: int) -> IntArray:
    """Return the primal blocks in the order in which the dual ones meet them."""
    met, first = np.unique(ends[ends >= 0], return_index=True)
    others = np.setdiff1d(np.arange(n), met, assume_unique=True)
    return np.concatenate([met[np.argsort(first, kind="stable")], others]).astype(np.intp)
