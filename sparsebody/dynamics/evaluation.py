"""A ForwardDynamics at one state."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import ConstraintRows, constraint_rows
from sparsebody.assembly.kkt import kkt_structure
from sparsebody.dynamics.accelerations import Accelerations
from sparsebody.dynamics.compiled import Core, PlanarCore
from sparsebody.dynamics.compliance import least_energy
from sparsebody.dynamics.conditioning import ConditionEstimate, condition_estimate
from sparsebody.dynamics.reactions import joint_wrenches, minimum_norm
from sparsebody.errors import ShapeError
from sparsebody.kinematics.coordinates import CoordinateMotion, coordinate_motion
from sparsebody.kinematics.loop_closure import position_errors, prescribed_velocities
from sparsebody.kinematics.motion import JointMotion, joint_motion
from sparsebody.model.system import State, check_state
from sparsebody.sparse.saddle import constraint_matrix

if TYPE_CHECKING:
    from sparsebody.dynamics.forward import ForwardDynamics

_UNWANTED = np.zeros(0)
_ROUGHLY = 1e-9  # relative residual of corrections, which are repeated anyway


class Evaluation:
    """A ForwardDynamics at one state: what the time loop asks several questions of.

    Matrix and factors are kept until another state is evaluated; questions after that make them
    again.
    """

    def __init__(
        self, dynamics: ForwardDynamics, state: State, body_force: FloatArray | None = None
    ) -> None:
        self.dynamics = dynamics
        self.state = state
        self.body_force = body_force
        self._assembly: object = None  # that a core holds for it

    def __reduce__(self) -> tuple[type[Evaluation], tuple[object, ...]]:
        """Copy and pickle the question: no copy of the core holds its assembly."""
        return Evaluation, (self.dynamics, self.state, self.body_force)

    @cached_property
    def motion(self) -> JointMotion:
        """Relative motion at the joints."""
        check_state(self.dynamics.system, self.state)
        return joint_motion(self.dynamics.system, self.state)

    @cached_property
    def coordinates(self) -> CoordinateMotion:
        """Values and rates of the tracked coordinates."""
        return coordinate_motion(self.dynamics.system, self.state, self.motion)

    @cached_property
    def constraint(self) -> ConstraintRows:
        """All constraint rows."""
        return constraint_rows(self.dynamics.system, self.state, self.motion, self.coordinates)

    @property
    def _subspace(self) -> FloatArray:
        """T' in S coordinates (n_rows, 6), which few joint types let vary."""
        is_constant = self.dynamics.core.has_constant_subspaces
        return self.dynamics.system.subspace if is_constant else self.constraint.subspace

    @property
    def position_error(self) -> FloatArray:
        """(n_rows,) position errors delta of all constraint rows [rad, m]."""
        return position_errors(self.dynamics.system, self.state, self.motion, self.coordinates)

    @property
    def velocity_error(self) -> FloatArray:
        """(n_rows,) T' v_J, less what drives ask for, of all constraint rows [rad/s, m/s]."""
        asked = prescribed_velocities(self.dynamics.system, self.state.time)
        return np.asarray(self.constraint.velocity - asked)

    @cached_property
    def _shift(self) -> FloatArray:
        """What Baumgarte's terms (8.22) add to the accelerations asked for; (0,) for nothing."""
        T = self.dynamics.baumgarte
        if T is None:
            return _UNWANTED
        return -2.0 / T * self.velocity_error - self.position_error / T**2

    def assembled(self) -> Core | PlanarCore:
        """Return the core, which has assembled this state."""
        dynamics, state = self.dynamics, self.state
        if self._assembly is not dynamics.core.newest:
            arguments = state, self.body_force, self._shift
            dynamics.call_core(lambda core: core.assemble(*arguments), state.time)
            self._assembly = dynamics.core.newest
        return dynamics.core

    def _solution(self, multiplier: FloatArray) -> tuple[FloatArray, float]:
        """Return the accelerations and their residual; fill the multipliers if there are any."""
        found = self._solve_assembled(multiplier)
        core = self.dynamics.core
        if self.dynamics.residuals == "extended" and isinstance(core, PlanarCore):
            multiplier[:] = 0.0
            core.solve_extended(self.state, found[0], multiplier)
            if multiplier.size:
                core.fill_outer(self.state, self.body_force, found[0], multiplier)
        if self.dynamics.core.is_rough:
            self.dynamics.warn_of_roughness(self.state)
        return found

    def _solve_assembled(self, multiplier: FloatArray) -> tuple[FloatArray, float]:
        core, state = self.dynamics.core, self.state
        acceleration = np.empty((self.dynamics.system.n_bodies, 6))
        if self._assembly is core.newest:
            residual = core.solve(core.right, acceleration, multiplier, state.time)
            if multiplier.size:
                core.fill_outer(state, self.body_force, acceleration, multiplier)
            return acceleration, residual
        arguments = state, self.body_force, self._shift, acceleration, multiplier
        residual = self.dynamics.call_core(lambda core: core.accelerate(*arguments), state.time)
        self._assembly = self.dynamics.core.newest
        return acceleration, residual

    def _solve_errors(self, error: FloatArray) -> FloatArray:
        """Return the twists (n_bodies, 6) that change the rows by -error."""
        n_rows = self.dynamics.system.n_rows
        if np.shape(error) != (n_rows,):
            raise ShapeError(f"the errors are {np.shape(error)}, not {(n_rows,)}: one a row")
        core = self.assembled()
        if core.is_astray(self.state):
            return self.dynamics.whole.evaluate(self.state)._solve_errors(error)
        right = np.zeros_like(core.right)
        right[len(right) - len(core.rows) :] = -error[core.rows]
        change = np.empty((self.dynamics.system.n_bodies, 6))
        core.solve(right, change, _UNWANTED, self.state.time, _ROUGHLY)
        return change

    def acceleration(self) -> FloatArray:
        """Return the accelerations (n_bodies, 6) alone."""
        return self._solution(_UNWANTED)[0]

    def accelerations(self) -> Accelerations:
        """Return accelerations, multipliers and joint wrenches, with their residuals."""
        dynamics, system = self.dynamics, self.dynamics.system
        multiplier = np.zeros(system.n_rows)
        acceleration, residual = self._solution(multiplier)
        dropped = dynamics.core.dropped_residual()
        is_free = len(dynamics.redundant_rows) > 0 or dynamics.is_krylov
        if is_free and dynamics.reactions == "minimum-norm":
            matrix = kkt_structure(system).matrix(self.constraint)
            multiplier = minimum_norm(constraint_matrix(matrix), multiplier)
        elif is_free and dynamics.compliance is not None:
            multiplier = least_energy(system, self.constraint, multiplier, dynamics.compliance)
        return Accelerations(
            acceleration,
            multiplier,
            joint_wrenches(system, self._subspace, multiplier),
            residual,
            dropped,
            dynamics.core.report,
        )

    def condition(self) -> ConditionEstimate:
        """Return the condition number, and the error of the accelerations that it implies."""
        found = condition_estimate(self.assembled(), self.state)
        return found.extended() if self.dynamics.residuals == "extended" else found

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
