"""A ForwardDynamics at one state."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.dynamics.compliant_reactions import least_energy
from sparsebody.dynamics.conditioning import ConditionEstimate, condition_estimate
from sparsebody.dynamics.evaluators import Evaluator
from sparsebody.equations.accelerations import Accelerations, joint_reactions, minimum_norm
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ShapeError
from sparsebody.kinematics.joint_motion import JointMotion
from sparsebody.model.system import State, check_state
from sparsebody.sparse.saddle import constraint_matrix
from sparsebody.tolerances import CORRECTION_GOAL

if TYPE_CHECKING:
    from sparsebody.dynamics.forward import ForwardDynamics

_NOTHING = np.zeros(0)


class Evaluation(SystemMotion):
    """A ForwardDynamics at one state: what the time loop asks several questions of.

    Matrix and factors are kept until another state is evaluated; questions after that make them
    again.
    """

    def __init__(
        self, dynamics: ForwardDynamics, state: State, body_force: FloatArray | None = None
    ) -> None:
        super().__init__(dynamics.system, state, body_force)
        self.dynamics = dynamics
        self._assembly: object = None  # of the evaluator, at this state

    def __reduce__(self) -> tuple[type[Evaluation], tuple[object, ...]]:
        """Copy and pickle the question: no copy of the evaluator holds its assembly."""
        return Evaluation, (self.dynamics, self.state, self.body_force)

    @cached_property
    def joints(self) -> JointMotion:
        """Relative motion at the joints."""
        check_state(self.system, self.state)
        return super().joints

    @property
    def _subspace(self) -> FloatArray:
        """T' in S coordinates (n_rows, 6), which few joint types let vary."""
        is_constant = self.dynamics.evaluator.assembler.has_constant_subspaces
        return self.system.subspace if is_constant else self.constraint.subspace

    @cached_property
    def _stabilization(self) -> FloatArray:
        """Baumgarte's terms (8.22), which are added to gamma; (0,) for nothing."""
        T = self.dynamics.baumgarte
        if T is None:
            return _NOTHING
        return -2.0 / T * self.velocity_error - self.position_error / T**2

    def assembled(self) -> Evaluator:
        """Return the evaluator, which has assembled this state."""
        dynamics = self.dynamics
        if self._assembly is not dynamics.evaluator.assembler.assembly:
            dynamics.run(Evaluator.assemble, self.state, self.body_force, self._stabilization)
            self._assembly = dynamics.evaluator.assembler.assembly
        return dynamics.evaluator

    def _solution(self, multiplier: FloatArray) -> tuple[FloatArray, float]:
        """Return the accelerations and their residual; fill the multipliers if there are any."""
        dynamics, state, force = self.dynamics, self.state, self.body_force
        output = np.empty((dynamics.system.n_bodies, 6)), multiplier
        if self._assembly is dynamics.evaluator.assembler.assembly:
            residual = dynamics.run(Evaluator.solve_assembled, state, force, *output)
        else:
            stabilization = self._stabilization
            residual = dynamics.run(Evaluator.accelerate, state, force, stabilization, *output)
        evaluator = dynamics.evaluator
        self._assembly = evaluator.assembler.assembly
        if dynamics.residuals == "extended":
            evaluator.solve_extended(state, force, *output)
        if evaluator.solver.is_inaccurate:
            dynamics.warn_of_inaccuracy(state)
        return output[0], residual

    def _solve_errors(self, error: FloatArray) -> FloatArray:
        """Return the twists (n_bodies, 6) that change the rows by -error."""
        dynamics, n_rows = self.dynamics, self.system.n_rows
        if np.shape(error) != (n_rows,):
            raise ShapeError(f"the errors are {np.shape(error)}, not {(n_rows,)}: one a row")
        assembler = self.assembled().assembler
        if assembler.violates_subgroup(self.state):
            return dynamics.unreduced.evaluate(self.state)._solve_errors(error)
        right = np.zeros_like(assembler.right)
        right[len(right) - len(assembler.rows) :] = -error[assembler.rows]
        time = self.state.time
        dynamics.run(lambda evaluator: evaluator.solver.solve(right, time, CORRECTION_GOAL))
        twists = np.empty((dynamics.system.n_bodies, 6))
        assembler.to_user_order(twists, _NOTHING)
        return twists

    def acceleration(self) -> FloatArray:
        """Return the accelerations (n_bodies, 6) alone."""
        return self._solution(_NOTHING)[0]

    def accelerations(self) -> Accelerations:
        """Return accelerations, multipliers and joint wrenches, with their residuals."""
        dynamics, system = self.dynamics, self.system
        multiplier = np.zeros(system.n_rows)
        acceleration, residual = self._solution(multiplier)
        dropped = dynamics.evaluator.dropped_residual()
        is_free = len(dynamics.redundant_rows) > 0 or dynamics.is_krylov
        if is_free and dynamics.reactions == "minimum-norm":
            matrix = kkt_structure(system).matrix(self.constraint)
            multiplier = minimum_norm(constraint_matrix(matrix), multiplier)
        elif is_free and dynamics.compliance is not None:
            multiplier = least_energy(system, self.constraint, multiplier, dynamics.compliance)
        return Accelerations(
            acceleration,
            multiplier,
            joint_reactions(system, self.state, self._subspace, multiplier),
            residual,
            dropped,
            dynamics.evaluator.solver.report,
        )

    def condition(self) -> ConditionEstimate:
        """Return the condition number, and the error of the accelerations that it implies."""
        self.assembled()
        estimate = self.dynamics.run(condition_estimate, self.state)
        return estimate.extended() if self.dynamics.residuals == "extended" else estimate

    def velocity_correction(self) -> FloatArray:
        """Return the change of velocity (n_bodies, 6) that makes A v what the rows ask for.

        Least in the metric of the inertias.
        """
        return self._solve_errors(self.velocity_error)

    def position_correction(self, position_error: FloatArray | None = None) -> FloatArray:
        """Return the twists (n_bodies, 6) that close the joints to first order.

        Least in the metric of the inertias; apply them with kinematics.poses.displaced. With
        errors of a nearby pose given, the same factors serve again (modified Newton).
        """
        return self._solve_errors(self.position_error if position_error is None else position_error)
