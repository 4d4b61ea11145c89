"""A mechanism with fewer freedoms, and its kept rows, laid out for compiled evaluations."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.compiled.assembly import fill_rows
from sparsebody.dynamics.compiled.base import checked
from sparsebody.dynamics.compiled.core_for_reduced import Core
from sparsebody.dynamics.compiled.left_out import violation
from sparsebody.dynamics.compiled.planar_core import OutOfPlaneError
from sparsebody.dynamics.compiled.reduced import (
    ACROSS,
    GOOD,
    OUTSIDE,
    STRAY,
    ReducedWorkspace,
    accelerate_reduced,
    assemble_reduced,
    retract,
    unscramble_reduced,
)
from sparsebody.dynamics.compiled.reduced_outer import OuterTree, fill_tree_multipliers
from sparsebody.dynamics.compiled.solution import ROUGH
from sparsebody.dynamics.compiled.tables_for_reduced import body_arrays, row_arrays, units
from sparsebody.dynamics.compiled.workspace import RowTable, Workspace
from sparsebody.factorization.block_ldl import REGULAR
from sparsebody.model.system import State, System

CLOSED = 1e-11  # distances of points that are rounding, in sizes of the body


class ReducedCore(Core):
    """The same where bodies move within subgroups about the world; see `Core`.

    Parameters
    ----------
    basis : (n_bodies, 6, 6) float array
        Orthonormal twists of the freedoms in the leading columns, where inertias are one.
    freedoms : (n_bodies,) int array
        Their number.
    held : (n_bodies, N_HELD) float array
        What bodies keep in place; see `reduced`.
    tree : OuterTree
        The joints that see to that.
    """

    def __init__(
        self,
        system: System,
        structure: KKTStructure,
        order: IntArray,
        factorization: str,
        basis: FloatArray,
        freedoms: IntArray,
        held: FloatArray,
        tree: OuterTree,
    ) -> None:
        super().__init__(system, structure, order, factorization)
        self._reduced_of = system, structure, order, factorization, basis, freedoms, held, tree
        bodies, n = self._bodies, system.n_bodies
        unit = units(system, bodies)
        kept = row_arrays(system, self._parts, bodies, unit, self.rows.astype(np.intp))
        self._whole = Workspace(
            kept=RowTable(**kept),
            **self._solver,
            **body_arrays(system, bodies, unit, len(self.rows)),
        )
        self._reduced = ReducedWorkspace(
            whole=self._whole,
            reduced=self._workspace,
            freedoms=np.append(freedoms[bodies], 0).astype(np.uint32),
            basis=np.concatenate([basis[bodies], np.zeros((1, 6, 6))]).reshape(n + 1, 36),
            held=np.ascontiguousarray(held[bodies]),
        )
        self._values[:] = 0.0
        self._tree, self._held = tree, np.ascontiguousarray(held)
        self._has_points = bool(np.any(held[:, ACROSS : ACROSS + 9]))
        self._is_filled = False  # whether rows on successors are, which hardly ever vary

    def __reduce__(self) -> tuple[type[ReducedCore], tuple[object, ...]]:
        """Copy and pickle what it is made of: compiled code's arrays can be neither."""
        return ReducedCore, self._reduced_of

    def assemble(self, state: State, body_force: FloatArray | None, shift: FloatArray) -> None:
        """Fill rows and right-hand side at a state; see `Core.assemble`.

        Raises
        ------
        OutOfPlaneError
            If the state has left the subgroups.
        """
        arguments = self._arguments(state, body_force, shift)
        found = assemble_reduced(self._reduced, *arguments, not self._is_filled)
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
        left = self._accelerate(state, body_force, shift, acceleration, multiplier)
        if multiplier.size > 0:
            self.fill_outer(state, body_force, acceleration, multiplier)
        return left

    def _accelerate(
        self,
        state: State,
        body_force: FloatArray | None,
        shift: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        if self._qr is not None or not (self._is_compiled and self._is_filled):
            self.assemble(state, body_force, shift)
            return self.solve(self.right, acceleration, multiplier, state.time)
        arguments = self._arguments(state, body_force, shift)
        found, status, left, change = accelerate_reduced(
            self._reduced, *arguments, self._refinement, self._goal, acceleration, multiplier
        )
        if found != GOOD:
            self._refuse_or_leave(found, state)
        if status != REGULAR:
            self._examine(status, state.time)
        if status != REGULAR or change > ROUGH:
            self._go_over_to_qr()
            return self.solve(self.right, acceleration, multiplier, state.time)
        self._is_factorized = True
        return checked(left, state.time)

    def fill_outer(
        self,
        state: State,
        body_force: FloatArray | None,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> None:
        """Fill the multipliers of the rows that keep the bodies within their subgroups."""
        fill_tree_multipliers(self.system, self._tree, state, body_force, acceleration, multiplier)

    def retracted(self, state: State) -> State:
        """Return the state with the points of bodies put back to where they have to stay."""
        if not self._has_points:
            return state
        position = np.array(state.position)
        retract(self._held, state.position, state.orientation, position)
        return state.with_(position=position)

    def is_astray(self, state: State) -> bool:
        """Tell whether points are not where they have to stay."""
        if not self._has_points:
            return False
        position = np.empty_like(state.position)
        strayed = retract(self._held, state.position, state.orientation, position)
        return bool(strayed * STRAY > CLOSED)

    def _unscramble(self, acceleration: FloatArray, multiplier: FloatArray) -> None:
        unscramble_reduced(self._reduced, acceleration, multiplier)

    def dropped_residual(self) -> float:
        """Return the largest violation of the rows left out; see `Core.dropped_residual`."""
        if len(self._left_asked) == 0:
            return 0.0
        given = self._given
        table = given.rows, given.acceleration, self._shift, self._left_asked
        fill_rows(self._whole, self._left_out, *table, 0, self._n_left_out)
        return float(violation(self._whole, self._left_out, self._left_asked))
