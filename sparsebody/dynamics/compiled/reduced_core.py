"""Forward dynamics of bodies that move within displacement subgroups about the world."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from sparsebody._core import dynamics as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.compiled.base import checked
from sparsebody.dynamics.compiled.complementary_reactions import (
    ReactionTree,
    fill_complementary_reactions,
)
from sparsebody.dynamics.compiled.core import MAX_REFINEMENTS, ROUGH_CORRECTION, Core
from sparsebody.dynamics.compiled.planar_core import ReductionViolated
from sparsebody.factorization.block_ldl import REGULAR
from sparsebody.model.system import State, System

CLOSED_DISTANCE = 1e-11  # of points that is rounding, in sizes of the body


class ReducedCore(Core):
    """See `Core`; rows and forces are multiplied by a basis of what each body can do.

    Parameters
    ----------
    basis : (n_bodies, 6, 6) float array
        Orthonormal twists of the freedoms in the leading columns, where inertias are one.
    freedoms : (n_bodies,) int array
        Their number.
    fixed : (n_bodies, 28) float array
        Directions and points that bodies keep in place; see `reduced.fixed_directions`.
    tree : ReactionTree
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
        fixed: FloatArray,
        tree: ReactionTree,
    ) -> None:
        super().__init__(system, structure, order, factorization)
        self._made_of = system, structure, order, factorization, basis, freedoms, fixed, tree
        bodies, n = self._bodies, system.n_bodies
        self._unreduced = self._new_evaluation()[0]
        self._reduced = native.ReducedEvaluation(
            self._unreduced,
            self._evaluation,
            np.append(freedoms[bodies], 0),
            np.concatenate([basis[bodies], np.zeros((1, 6, 6))]).reshape(n + 1, 36),
            fixed[bodies],
            len(system.coordinates.joint),
            MAX_REFINEMENTS,
            self._goal,
        )
        self._tree, self._fixed = tree, np.ascontiguousarray(fixed)
        self._has_points = bool(np.any(fixed[:, 18:27]))

    def assemble(self, state: State, body_force: FloatArray | None, shift: FloatArray) -> None:
        """Fill rows and right-hand side at a state; see `Core.assemble`.

        Raises
        ------
        ReductionViolated
            If the state has left the subgroups.
        """
        status = self._called(self._reduced.assemble, state, body_force, shift)
        if status != REGULAR:
            self._refuse_or_leave(status, state)

    def _refuse_or_leave(self, status: int, state: State) -> NoReturn:
        if status == native.OUTSIDE_SUBGROUP:
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
        residual = self._accelerate(state, body_force, shift, acceleration, multiplier)
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
    ) -> float:
        if self._by_qr is not None or not self._is_compiled:
            self.assemble(state, body_force, shift)
            return self.solve(self.right, acceleration, multiplier, state.time)
        status, residual, correction = self._called(
            self._reduced.accelerate, state, body_force, shift, acceleration, multiplier
        )
        if status == REGULAR and not correction > ROUGH_CORRECTION:
            self._is_factorized = True
            return checked(residual, state.time)
        if status <= native.BAD_STATE:
            self._refuse_or_leave(status, state)
        if status != REGULAR:
            self._examine(status, state.time)
        self._go_over_to_qr()
        return self.solve(self.right, acceleration, multiplier, state.time)

    def fill_outer(
        self,
        state: State,
        body_force: FloatArray | None,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> None:
        """Fill the multipliers of the rows that keep the bodies within their subgroups."""
        fill_complementary_reactions(
            self.system, self._tree, state, body_force, acceleration, multiplier
        )

    def retracted(self, state: State) -> State:
        """Return the state with the points of bodies put back to where they have to stay."""
        if not self._has_points:
            return state
        position = np.array(state.position)
        native.retract(self._fixed, state.position, state.orientation, position)
        return state.with_(position=position)

    def is_astray(self, state: State) -> bool:
        """Tell whether points are not where they have to stay."""
        if not self._has_points:
            return False
        position = np.empty_like(state.position)
        distance = native.retract(self._fixed, state.position, state.orientation, position)
        return bool(distance > CLOSED_DISTANCE)

    def _unscramble(self, acceleration: FloatArray, multiplier: FloatArray) -> None:
        self._reduced.to_user_order(acceleration, multiplier)

    def dropped_residual(self) -> float:
        """Return the largest violation of the rows left out; see `Core.dropped_residual`."""
        if len(self._left_out_gamma) == 0:
            return 0.0
        given = self._given.rows, self._given.acceleration, self._shift
        return self._unreduced.violation(self._left_out, *given, self._left_out_gamma)
