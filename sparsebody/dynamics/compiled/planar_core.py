"""A planar mechanism and its kept rows, laid out for compiled evaluations; see `core`."""

from __future__ import annotations

from functools import cached_property
from typing import NoReturn

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.compiled.base import CoreBase, OutOfPlaneError, checked
from sparsebody.dynamics.compiled.extended_tables import Extended, extended_arrays
from sparsebody.dynamics.compiled.given import NOTHING, GivenParts
from sparsebody.dynamics.compiled.outer import fill_outer_multipliers
from sparsebody.dynamics.compiled.planar import (
    GOOD,
    OUT_OF_PLANE,
    PlanarRows,
    PlanarWorkspace,
    assemble_planar,
    fill_planar_rows,
    unscramble_planar,
)
from sparsebody.dynamics.compiled.planar_extended import solve_extended
from sparsebody.dynamics.compiled.planar_solution import accelerate_alone, accelerate_planar
from sparsebody.dynamics.compiled.planar_tables import (
    planar_arrays,
    planar_lines,
    planar_row_arrays,
)
from sparsebody.dynamics.compiled.qr_solution import factorize_by_qr, qr_arrays, solve_by_qr
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import Numeric, Symbolic, analyze, refined_solve
from sparsebody.factorization.block_qr import REGULAR, BlockQRSymbolic
from sparsebody.factorization.block_qr.layout import postordered_duals
from sparsebody.model.planar import PlanarMotion
from sparsebody.model.system import State, System
from sparsebody.sparse.etree import positions
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

STEPS = 8  # corrections of solutions by other factorizations at most


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
        rows = structure.rows[np.argsort(rank, kind="stable")]
        new = np.append(positions(bodies), -1)  # -1 stays -1
        sizes = structure.pattern.block_sizes
        self._pattern = BlockPattern(
            np.concatenate([sizes[:n][bodies], sizes[n:][duals]]),
            np.ascontiguousarray(new[structure.pattern.ends[duals]]),
        )
        arrays = planar_arrays(system, motion, bodies, len(rows))
        kept, others = (
            planar_row_arrays(system, motion, parts, is_line, bodies, arrays["unit"], some)
            for some in (rows, left_out)
        )
        own_order = np.arange(self._pattern.n_blocks, dtype=np.intp)
        self.symbolic: Symbolic = analyze(factorization, self._pattern, own_order)
        self._is_compiled = isinstance(self.symbolic, BlockQRSymbolic)
        self.right, self._x, self.rows = arrays["right"], arrays["x"], kept["row"]
        self._values, self._left_values = kept["rows"], others["rows"]
        self._kept, self._kept_arrays = PlanarRows(**kept), kept
        self._qr = qr_arrays(self.symbolic if isinstance(self.symbolic, BlockQRSymbolic) else None)
        self._workspace = PlanarWorkspace(kept=self._kept, factor=self._qr, **arrays)
        self._left_out, self._left_asked = PlanarRows(**others), np.zeros(len(left_out))
        self._left_ends = others["predecessor"], others["successor"], others["first_row"]
        self._numeric: Numeric | None = None

    def __reduce__(self) -> tuple[type[PlanarCore], tuple[object, ...]]:
        """Copy and pickle what it is made of: compiled code's arrays can be neither."""
        return PlanarCore, self._made_of

    def assemble(self, state: State, body_force: FloatArray | None, shift: FloatArray) -> None:
        """Fill rows and right-hand side at a state; see `Core.assemble`.

        Raises
        ------
        OutOfPlaneError
            If the state has left the plane.
        """
        found = assemble_planar(self._workspace, *self._arguments(state, body_force, shift))
        if found != GOOD:
            self._refuse_or_leave(found, state)

    def _refuse_or_leave(self, found: int, state: State) -> NoReturn:
        if found == OUT_OF_PLANE:
            raise OutOfPlaneError
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
        if not self._is_compiled:
            self.assemble(state, body_force, shift)
            left = self.solve(self.right, acceleration, multiplier, state.time)
        else:
            arguments = self._arguments(state, body_force, shift)
            if self._given is NOTHING and shift.size == multiplier.size == 0:
                found, status, left = accelerate_alone(
                    self._workspace, *arguments[:3], acceleration
                )
            else:
                found, status, left = accelerate_planar(
                    self._workspace, *arguments, acceleration, multiplier
                )
            if found != GOOD:
                self._refuse_or_leave(found, state)
            if status != REGULAR:
                self._refuse_rank(status, state.time)
            self._is_factorized = True
            left = checked(left, state.time)
        if multiplier.size > 0:
            self.fill_outer(state, body_force, acceleration, multiplier)
        return left

    def fill_outer(
        self,
        state: State,
        body_force: FloatArray | None,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> None:
        """Fill the multipliers of the rows that keep the bodies in their plane."""
        fill_outer_multipliers(
            self.system, self.motion, state, body_force, acceleration, multiplier
        )

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
            left, _ = solve_by_qr(
                self._qr, self._kept, self.system.n_bodies, right, goal == 0.0, self._x
            )
        else:
            assert self._numeric is not None
            self._x[:], left = refined_solve(self._numeric, self.matrix, right, STEPS)
        self._unscramble(acceleration, multiplier)
        return checked(left, time)

    def _unscramble(self, acceleration: FloatArray, multiplier: FloatArray) -> None:
        unscramble_planar(self._workspace, acceleration, multiplier)

    def solve_extended(
        self, state: State, acceleration: FloatArray, multiplier: FloatArray
    ) -> None:
        """Solve for the newest state with residuals of 31 digits; see planar_extended."""
        if not self._is_compiled:
            return
        if not self._is_factorized:
            self.factorize(state.time)
        plain = self._plain(state)
        poses = plain.position, plain.orientation, plain.velocity
        solve_extended(self._workspace, self._extended, *poses, self._shift)
        self._unscramble(acceleration, multiplier)

    @cached_property
    def _extended(self) -> Extended:
        return extended_arrays(self.system, self.motion, self._bodies, self._kept_arrays)

    def factorize(self, time: float) -> None:
        """Factorize what was assembled last; `time` [s] is for messages.

        Raises
        ------
        SingularSystemError
            If a pivot is lost; the message names the joint or the body.
        """
        if self._is_compiled:
            status = factorize_by_qr(self._qr, self._kept)
            if status != REGULAR:
                self._refuse_rank(status, time)
        else:
            try:
                self._numeric = self.symbolic.factorize(self.matrix)
            except SingularSystemError as error:
                raise self._singular(error, time) from error
        self._is_factorized = True

    def _refuse_rank(self, status: int, time: float) -> None:
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
        if len(self._left_asked) == 0:
            return 0.0
        given, asked, n = self._given, self._left_asked, self.system.n_bodies
        table = given.rows, given.acceleration, self._shift
        fill_planar_rows(self._workspace, self._left_out, *table, asked)
        solution, free = (
            np.append(x[: 3 * n], np.zeros(3)).reshape(-1, 3) for x in (self._x, self.right)
        )
        predecessor, successor, first = self._left_ends
        joint = np.repeat(np.arange(len(predecessor)), np.diff(first.astype(np.intp)))
        ends = np.stack([predecessor[joint], successor[joint]], axis=1)
        gap = np.einsum("rsa,rsa->r", self._left_values, solution[ends]) - asked
        scale = max(
            np.abs(asked).max(),
            np.abs(self.right[3 * n :]).max(initial=0.0),
            *(np.abs(self._left_values).max() * np.abs(x).max() for x in (solution, free)),
        )
        return float(np.abs(gap).max() / scale) if scale > 0.0 else 0.0

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the smallest pivot of the newest factors, and its row; see `Core`."""
        if not isinstance(self.symbolic, BlockQRSymbolic):
            return np.nan, -1
        sine, place = self.symbolic.smallest_pivot(self._values)
        return sine, int(self.rows[place]) if place >= 0 else -1

    @cached_property
    def matrix(self) -> SaddleMatrix:
        """The matrix that was assembled last, bodies and rows in elimination order.

        In the units of the workspace, in which inertias are one.
        """
        ones = np.tile(np.eye(3), (self.system.n_bodies, 1, 1))
        return SaddleMatrix(self._pattern, ones, ones, self._values)


def as_met(ends: IntArray, n: int) -> IntArray:
    """Return the primal blocks in the order in which the dual ones meet them."""
    met, first = np.unique(ends[ends >= 0], return_index=True)
    others = np.setdiff1d(np.arange(n), met, assume_unique=True)
    return np.concatenate([met[np.argsort(first, kind="stable")], others]).astype(np.intp)
