"""A mechanism with fewer freedoms, and its kept rows, laid out for compiled evaluations."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.compiled.assembly import fill_rows
from sparsebody.dynamics.compiled.base import CoreBase, checked
from sparsebody.dynamics.compiled.core import empty_factor
from sparsebody.dynamics.compiled.given import GivenParts
from sparsebody.dynamics.compiled.left_out import violation
from sparsebody.dynamics.compiled.planar_core import OutOfPlaneError, as_met
from sparsebody.dynamics.compiled.qr_solution import factorize_by_qr, qr_arrays, solve_by_qr
from sparsebody.dynamics.compiled.reduced import (
    GOOD,
    OUTSIDE,
    ReducedWorkspace,
    accelerate_reduced,
    assemble_reduced,
    unscramble_reduced,
)
from sparsebody.dynamics.compiled.reduced_outer import OuterTree, fill_tree_multipliers
from sparsebody.dynamics.compiled.tables import body_arrays, row_arrays, units
from sparsebody.dynamics.compiled.workspace import RowTable, Workspace
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import block_qr
from sparsebody.factorization.block_qr import REGULAR
from sparsebody.factorization.block_qr.layout import postordered_duals
from sparsebody.model.system import State, System
from sparsebody.sparse.etree import positions
from sparsebody.sparse.pattern import BlockPattern


class ReducedCore(CoreBase):
    """The arrays that every evaluation fills anew, and the factor of the newest one.

    Parameters
    ----------
    system : System
        The mechanism.
    structure : KKTStructure
        The kept rows, the bodies having their freedoms, and those with none being the world.
    basis : (n_bodies, 6, 6) float array
        Orthonormal twists of the freedoms in the leading columns, where inertias are one.
    freedoms : (n_bodies,) int array
        Their number.
    held : (n_bodies, N_HELD) float array
        What bodies keep in place; see `reduced`.
    tree : OuterTree
        The joints that see to that.
    order : (n_blocks,) int array
        Elimination order of the pattern.
    """

    def __init__(
        self,
        system: System,
        structure: KKTStructure,
        basis: FloatArray,
        freedoms: IntArray,
        held: FloatArray,
        tree: OuterTree,
        order: IntArray,
    ) -> None:
        self._made_of = system, structure, basis, freedoms, held, tree, order
        n = system.n_bodies
        pattern = structure.pattern
        duals = postordered_duals(pattern, order)
        bodies = as_met(pattern.ends[duals], n)
        super().__init__(system, GivenParts(system), bodies, structure.joints[duals])
        rank = np.repeat(positions(duals), pattern.block_sizes[n:])
        rows = structure.rows[np.argsort(rank, kind="stable")]
        new = np.append(positions(bodies), -1)  # -1 stays -1
        sizes = pattern.block_sizes
        own = BlockPattern(
            np.concatenate([sizes[:n][bodies], sizes[n:][duals]]),
            np.ascontiguousarray(new[pattern.ends[duals]]),
        )
        self.symbolic = block_qr.analyze(own, np.arange(own.n_blocks, dtype=np.intp))
        unit = units(system, bodies)
        kept, others = (
            row_arrays(system, self._parts, bodies, unit, some)
            for some in (rows, structure.left_out)
        )
        whole = Workspace(
            kept=RowTable(**kept),
            factor=empty_factor(),
            chunks=np.zeros((1, 5), dtype=np.uint32),
            **body_arrays(system, bodies, unit, len(rows)),
        )
        self.rows = kept["row"]
        self.right, self._x = np.zeros(6 * n + len(rows)), np.zeros(6 * n + len(rows))
        self._qr = qr_arrays(self.symbolic)
        self._kept = RowTable(**(kept | {"rows": np.zeros(kept["rows"].shape)}))
        self._workspace = ReducedWorkspace(
            whole=whole,
            kept=self._kept,
            factor=self._qr,
            freedoms=np.append(freedoms[bodies], 0).astype(np.uint32),
            basis=np.concatenate([basis[bodies], np.zeros((1, 6, 6))]).reshape(n + 1, 36),
            held=np.ascontiguousarray(held[bodies]),
            right=self.right,
            x=self._x,
        )
        self._whole, self._tree = whole, tree
        self._left_out, self._left_asked = RowTable(**others), np.zeros(len(structure.left_out))
        self._n_left_out = len(others["predecessor"])  # joints
        self._is_filled = False  # whether rows on successors are, which hardly ever vary

    def __reduce__(self) -> tuple[type[ReducedCore], tuple[object, ...]]:
        """Copy and pickle what it is made of: compiled code's arrays can be neither."""
        return ReducedCore, self._made_of

    def assemble(self, state: State, body_force: FloatArray | None, shift: FloatArray) -> None:
        """Fill rows and right-hand side at a state; see `Core.assemble`.

        Raises
        ------
        OutOfPlaneError
            If the state has left the subgroups.
        """
        arguments = self._arguments(state, body_force, shift)
        found = assemble_reduced(self._workspace, *arguments, not self._is_filled)
        self._is_filled = True
        if found != GOOD:
            self._refuse_or_leave(found, state)

    def _refuse_or_leave(self, found: int, state: State) -> NoReturn:
        if found == OUTSIDE:
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
        if not self._is_filled:
            self.assemble(state, body_force, shift)
        arguments = self._arguments(state, body_force, shift)
        found, status, left = accelerate_reduced(
            self._workspace, *arguments, acceleration, multiplier
        )
        if found != GOOD:
            self._refuse_or_leave(found, state)
        self._check_rank(status, state.time)
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
        """Fill the multipliers of the rows that keep the bodies within their subgroups."""
        fill_tree_multipliers(self.system, self._tree, state, body_force, acceleration, multiplier)

    def solve(
        self,
        right: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
        time: float,
        goal: float = 0.0,
    ) -> float:
        """Solve for a right-hand side (6 n_bodies + n_kept,); see `PlanarCore.solve`."""
        if not self._is_factorized:
            self.factorize(time)
        n = self.system.n_bodies
        left, _ = solve_by_qr(self._qr, self._kept, n, right, goal == 0.0, self._x)
        unscramble_reduced(self._workspace, acceleration, multiplier)
        return checked(left, time)

    def factorize(self, time: float) -> None:
        """Factorize what was assembled last; `time` [s] is for messages.

        Raises
        ------
        SingularSystemError
            If a pivot is lost; the message names the joint or the body.
        """
        self._check_rank(factorize_by_qr(self._qr, self._kept), time)
        self._is_factorized = True

    def _check_rank(self, status: int, time: float) -> None:
        if status == REGULAR:
            return
        try:
            self.symbolic.check(status)
        except SingularSystemError as error:
            raise self._singular(error, time) from error

    def dropped_residual(self) -> float:
        """Return the largest violation of the rows left out; see `Core.dropped_residual`."""
        if len(self._left_asked) == 0:
            return 0.0
        given = self._given
        table = given.rows, given.acceleration, self._shift, self._left_asked
        fill_rows(self._whole, self._left_out, *table, 0, self._n_left_out)
        return float(violation(self._whole, self._left_out, self._left_asked))
