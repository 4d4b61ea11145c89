"""Inverse dynamics by the sparse equations of equilibrium of all bodies."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.dynamics.independence import independent_rows
from sparsebody.dynamics.inverse.equilibrium import Equilibrium
from sparsebody.equations.actuators import ActuatorRows, Freedom, actuator_rows
from sparsebody.equations.desired_motion import DesiredMotion, body_matrix, freedom_inertia
from sparsebody.equations.initial import consistent_state
from sparsebody.equations.inverse import TOLERANCE, Actuation, Balance, InverseMethod
from sparsebody.equations.system_motion import SystemMotion, joint_ends
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank import RankDecision
from sparsebody.sparse.saddle import SaddleMatrix


class InverseDynamics(InverseMethod):
    """Forces of actuators on any joints, by the body-level system; nothing O(n^2) is formed.

    The forces of actuators and constraints on the bodies are the unknowns, B' u + A' lambda =
    I a + v x* I v - f_x. Which rows of A are independent and which freedoms the actuators move is
    decided once. Featherstone (2008), eqs. (8.63) and (8.64).

    Parameters
    ----------
    system : System
        The mechanism.
    state : State, optional
        Where that is decided; default: the consistent initial state.
    actuated, weights, reactions, tolerance
        As in InverseMethod.
    """

    name = "sparse"

    def __init__(
        self,
        system: System,
        state: State | None = None,
        *,
        actuated: Iterable[Freedom] | None = None,
        weights: ArrayLike | None = None,
        reactions: str = "minimum-norm",
        tolerance: float = TOLERANCE,
    ) -> None:
        super().__init__(
            system, actuated=actuated, weights=weights, reactions=reactions, tolerance=tolerance
        )
        state = consistent_state(system) if state is None else state
        check_state(system, state)
        moving = SystemMotion(self.system, state)
        rows = actuator_rows(self.system, self.actuators, moving.joints)
        A, nothing = moving.constraint.rows, np.zeros(0, dtype=np.intp)
        self.rank_decision = decided(self.system, A, nothing, np.zeros((0, 2, 6)))
        rank = self.rank_decision.rank
        both = decided(self.system, A, self.actuators.joint, rows.rows)
        mobility = int(self.system.freedoms.sum()) - rank
        self.actuation = Actuation(len(self.actuators), both.rank - rank, mobility)

    def solve(self, desired: DesiredMotion, actuators: ActuatorRows) -> Balance:
        """Return the balance by one factorization."""
        system, keep = self.system, self.rank_decision.keep
        kept = np.flatnonzero(keep)
        equilibrium = Equilibrium(
            body_matrix(system, system.row_joint[kept], desired.constraint.rows[kept]),
            body_matrix(system, self.actuators.joint, actuators.rows),
            freedom_inertia(system).ravel(),
            self.weights,
            self.actuation.is_underactuated,
        )
        multiplier = np.zeros(system.n_rows)
        force, multiplier[kept] = equilibrium.solve(desired.required.ravel())
        return Balance(force, multiplier, bool(keep.all()), self.actuation)


def decided(
    system: System, constraint: FloatArray, joint: IntArray, actuator: FloatArray
) -> RankDecision:
    """Decide which of the constraint rows, then those of actuators on `joint`, are independent."""
    unused = np.empty((system.n_bodies, 0, 0))
    pattern = stacked_pattern(system, joint)
    rows = np.concatenate([constraint, actuator])
    return independent_rows(SaddleMatrix(pattern, unused, system.inverse_inertia, rows))


def stacked_pattern(system: System, joint: IntArray) -> BlockPattern:
    """Return the pattern of all constraint rows, then one row for each of the given joints."""
    n_rows = np.diff(system.first_row)
    constrained = np.flatnonzero(n_rows)
    ends = np.concatenate([joint_ends(system, constrained), joint_ends(system, joint)])
    ones = np.ones(len(joint), dtype=np.intp)
    sizes = np.concatenate([system.freedoms, n_rows[constrained], ones]).astype(np.intp)
    return BlockPattern(sizes, ends)
