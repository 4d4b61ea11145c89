"""Forward dynamics of a mechanism with fewer freedoms on the sparse system (8.64)."""

from __future__ import annotations

import numpy as np

from sparsebody._core import dynamics
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.compiled.complementary_reactions import (
    ReactionTree,
    fill_complementary_reactions,
)
from sparsebody.dynamics.compiled.core import Core
from sparsebody.model.system import State, System

POINT_TOLERANCE = (
    1e-6  # how far a point may stray, in sizes of the body: integrators only correct it
)
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
        self._made_of = (*self._made_of, basis, freedoms, fixed, tree)
        bodies, n = self._bodies, system.n_bodies
        assert isinstance(self._evaluation, dynamics.SpatialEvaluation)
        self._values[:] = 0.0
        self._evaluation = dynamics.ReducedEvaluation(
            unreduced=self._new_evaluation()[0],
            reduced=self._evaluation,
            freedoms=np.append(freedoms[bodies], 0).astype(np.uint32),
            basis=np.concatenate([basis[bodies], np.zeros((1, 6, 6))]).reshape(n + 1, 36),
            fixed=np.ascontiguousarray(fixed[bodies]),
        )
        self._tree, self._fixed = tree, np.ascontiguousarray(fixed)
        self._has_points = bool(np.any(fixed[:, 18:27]))

    def accelerate(
        self,
        state: State,
        body_force: FloatArray | None,
        shift: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        """Assemble, factorize and solve at once; parameters and errors as in those."""
        residual = super().accelerate(state, body_force, shift, acceleration, multiplier)
        if multiplier.size > 0:
            self.fill_outer(state, body_force, acceleration, multiplier)
        return residual

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
        dynamics.retract(self._fixed, state.position, state.orientation, position)
        return state.with_(position=position)

    def is_astray(self, state: State) -> bool:
        """Tell whether points are not where they have to stay."""
        if not self._has_points:
            return False
        position = np.empty_like(state.position)
        distance = dynamics.retract(self._fixed, state.position, state.orientation, position)
        return distance * POINT_TOLERANCE > CLOSED_DISTANCE
