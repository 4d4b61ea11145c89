"""Forward dynamics by the sparse body-level system. Featherstone (2008), sec. 8.13."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import applied_forces, bias_forces
from sparsebody.assembly.constraint import ConstraintRows, constraint_rows
from sparsebody.assembly.kkt import kkt_structure
from sparsebody.dynamics.choice import SolverChoice, choose_solver
from sparsebody.dynamics.initial import consistent_state
from sparsebody.dynamics.reactions import joint_wrenches, minimum_norm
from sparsebody.errors import (
    ModelError,
    RankWarning,
    ShapeError,
    SingularSystemError,
    UnknownNameError,
)
from sparsebody.factorization import Numeric, refined_solve
from sparsebody.kinematics.coordinates import CoordinateMotion, coordinate_motion
from sparsebody.kinematics.loop_closure import position_errors, prescribed_velocities
from sparsebody.kinematics.motion import JointMotion, joint_motion
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.rank import RankDecision, independent_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix

REDUNDANCY = ("remove", "keep")
REACTIONS = ("minimum-norm", "basic")
_WORST_RESIDUAL = 1e-6


@dataclass(frozen=True, eq=False)
class Accelerations:
    """The solution of (8.64)."""

    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates, angular first
    multiplier: FloatArray  # (n_rows,) lambda of every constraint row [N m, N]
    joint_wrench: FloatArray  # (n_joints, 6) T lambda, on the successor, in S coordinates
    residual: float  # relative residual of the kept rows and the bodies' equations
    dropped_residual: float  # the left-out rows' largest violation, relative to free motion


class ForwardDynamics:
    """Accelerations and constraint forces of a System, prepared once and called at many states.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where dependent constraint rows are looked for; default: the consistent initial state.
    ordering, factorization : str
        Names from ORDERINGS and FACTORIZATIONS, or "auto" for the least predicted time.
    redundancy : {"remove", "keep"}
        Leave dependent constraint rows out, or solve with all of them.
    reactions : {"minimum-norm", "basic"}
        Where rows are dependent, the multipliers are not unique: return the smallest, which do
        not depend on numbering, or those with zeros at the left-out rows (cheaper).
    baumgarte : float, optional
        Time constant [s] of the stabilization terms of (8.22), alpha = beta = 1 / T; default none.

    Raises
    ------
    UnknownNameError, MissingDependencyError
        For an ordering or a factorization that is not there.
    AssemblyError
        If no state is given and the initial one cannot be made consistent.
    """

    def __init__(
        self,
        system: System,
        state: State | None = None,
        *,
        ordering: str = "auto",
        factorization: str = "auto",
        redundancy: str = "remove",
        reactions: str = "minimum-norm",
        baumgarte: float | None = None,
    ) -> None:
        for value, known, what in (
            (redundancy, REDUNDANCY, "redundancy"),
            (reactions, REACTIONS, "reactions"),
        ):
            if value not in known:
                raise UnknownNameError(f"{what} is {value!r}; give one of {', '.join(known)}")
        if baumgarte is not None and not baumgarte > 0.0:
            raise ModelError(f"the Baumgarte time constant is {baumgarte}; it must be positive")
        self.system = system
        self.reactions = reactions
        self.baumgarte = baumgarte
        state = consistent_state(system) if state is None else state
        check_state(system, state)
        self.rank_decision = _rank_decision(system, state, redundancy)
        keep = None if self.rank_decision is None else self.rank_decision.keep
        self.structure = kkt_structure(system, keep)
        self.all_rows = kkt_structure(system)
        self.choice: SolverChoice = choose_solver(self.structure.pattern, ordering, factorization)
        self.symbolic = self.choice.symbolic

    @property
    def rank(self) -> int:
        """Number of independent constraint rows."""
        return len(self.structure.rows)

    @property
    def redundant_rows(self) -> IntArray:
        """The constraint rows that were left out."""
        return np.setdiff1d(np.arange(self.system.n_rows), self.structure.rows)

    @property
    def ordering(self) -> str:
        """Name of the ordering in use."""
        return self.choice.ordering

    @property
    def factorization(self) -> str:
        """Name of the factorization in use."""
        return self.choice.factorization

    def explain(self) -> dict[str, object]:
        """Say what was chosen, and why: rank decision, ordering, factorization, predictions."""
        decision = self.rank_decision
        return {
            "constraint_rows": self.system.n_rows,
            "redundant_rows": len(self.redundant_rows),
            "redundancy_gap": None if decision is None else decision.gap,
            "redundancy_certain": True if decision is None else decision.certain,
            "redundancy_method": "all rows kept" if decision is None else decision.method,
            **self.choice.explain(),
        }

    def __call__(self, state: State, *, body_force: FloatArray | None = None) -> Accelerations:
        """Return the accelerations and constraint forces at a state.

        Parameters
        ----------
        state : State
            Poses and velocities; they should be consistent (see consistent_state).
        body_force : (n_bodies, 6) array, optional
            Additional wrenches about the centers of mass in body axes, moment first [N m, N].

        Raises
        ------
        SingularSystemError
            If the kept constraint rows are dependent at this state.

        Warns
        -----
        RankWarning
            If the rows that were left out are violated: they are independent at this state, or
            the state is not consistent.
        """
        check_state(self.system, state)
        result = self.evaluate(state, body_force=body_force).accelerations()
        if result.dropped_residual > _WORST_RESIDUAL:
            warnings.warn(
                f"the constraint rows left out at the pose analyzed are violated here by "
                f"{result.dropped_residual:.1e}: make the state consistent, or a new "
                "ForwardDynamics at this state",
                RankWarning,
                stacklevel=2,
            )
        return result

    def evaluate(self, state: State, *, body_force: FloatArray | None = None) -> Evaluation:
        """Return kinematics, matrix and factors at a state, for several right-hand sides."""
        system = self.system
        motion = joint_motion(system, state)
        coordinates = coordinate_motion(system, state, motion)
        constraint = constraint_rows(system, state, motion, coordinates)
        force = applied_forces(system, state, motion, coordinates)
        force -= bias_forces(system, state.velocity)
        if body_force is not None:
            if np.shape(body_force) != force.shape:
                raise ShapeError(f"body_force is {np.shape(body_force)}, not {force.shape}")
            finite = np.isfinite(body_force).all(axis=1)
            if not finite.all():
                name = system.body_names[int(np.argmin(finite))]
                raise ModelError(f"body_force of {name!r} is not finite; give six numbers")
            force += body_force
        matrix = self.structure.matrix(constraint)
        numeric = self.symbolic.factorize(matrix)
        return Evaluation(self, state, motion, coordinates, constraint, force, matrix, numeric)


def _rank_decision(system: System, state: State, redundancy: str) -> RankDecision | None:
    if redundancy == "keep" or system.n_rows == 0:
        return None
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    constraint = constraint_rows(system, state, motion, coordinates)
    return independent_rows(kkt_structure(system).matrix(constraint))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A ForwardDynamics at one state: what the time loop asks several questions of.

    Some factorizations keep their factors in place, so ask before the next state is evaluated;
    later questions raise SparsebodyError there.
    """

    dynamics: ForwardDynamics
    state: State
    motion: JointMotion
    coordinates: CoordinateMotion
    constraint: ConstraintRows
    force: FloatArray  # (n_bodies, 6) applied forces less bias forces, body coordinates
    matrix: SaddleMatrix
    numeric: Numeric

    @property
    def position_error(self) -> FloatArray:
        """(n_rows,) position errors delta of all constraint rows [rad, m]."""
        return position_errors(self.dynamics.system, self.state, self.motion, self.coordinates)

    @property
    def velocity_error(self) -> FloatArray:
        """(n_rows,) T' v_J, less what drives ask for, of all constraint rows [rad/s, m/s]."""
        asked = prescribed_velocities(self.dynamics.system, self.state.time)
        return np.asarray(self.constraint.velocity - asked)

    def _asked_acceleration(self) -> FloatArray:
        """Right-hand side of the constraint rows, with Baumgarte's terms (8.22)."""
        T = self.dynamics.baumgarte
        if T is None:
            return self.constraint.acceleration
        stabilization = 2.0 / T * self.velocity_error + self.position_error / T**2
        return np.asarray(self.constraint.acceleration - stabilization)

    def _solve(self, force: FloatArray, rows: FloatArray) -> tuple[FloatArray, float]:
        structure = self.dynamics.structure
        right = structure.right_hand_side(force, rows)
        x, residual = refined_solve(self.numeric, self.matrix, right)
        if not residual <= _WORST_RESIDUAL:
            raise SingularSystemError(
                f"the constraint rows are nearly dependent at t = {self.state.time:.6g} s "
                f"(relative residual {residual:.1e}); analyze the redundancy at this pose again"
            )
        return x, residual

    def acceleration(self) -> FloatArray:
        """Return the accelerations (n_bodies, 6) alone."""
        x, _ = self._solve(self.force, self._asked_acceleration())
        return x[: self.force.size].reshape(self.force.shape)

    def accelerations(self) -> Accelerations:
        """Return accelerations, multipliers and joint wrenches, with their residuals."""
        asked = self._asked_acceleration()
        x, residual = self._solve(self.force, asked)
        acceleration = x[: self.force.size].reshape(self.force.shape)
        multiplier = np.zeros(self.dynamics.system.n_rows)
        multiplier[self.dynamics.structure.rows] = -x[self.force.size :]
        if len(self.dynamics.redundant_rows) and self.dynamics.reactions == "minimum-norm":
            all_rows = self.dynamics.all_rows.matrix(self.constraint)
            multiplier = minimum_norm(constraint_matrix(all_rows), multiplier)
        return Accelerations(
            acceleration,
            multiplier,
            joint_wrenches(self.dynamics.system, self.constraint, multiplier),
            residual,
            self._dropped_residual(acceleration, asked),
        )

    def _dropped_residual(self, acceleration: FloatArray, asked: FloatArray) -> float:
        dropped = self.dynamics.redundant_rows
        if len(dropped) == 0:
            return 0.0
        system = self.dynamics.system
        ends = np.stack([system.predecessor, system.successor], axis=1)[system.row_joint]
        free = np.einsum("nab,nb->na", system.inverse_inertia, self.force)  # with no constraint
        terms, free_terms = (
            self.constraint.rows * np.where((ends >= 0)[:, :, None], a[ends], 0.0)
            for a in (acceleration, free)
        )
        size = max(float(np.abs(part).max()) for part in (terms, free_terms, asked)) or 1.0
        gap = terms.sum(axis=(1, 2))[dropped] - asked[dropped]
        return float(np.abs(gap).max()) / size

    def velocity_correction(self) -> FloatArray:
        """Return the change of velocity (n_bodies, 6) that makes A v what the rows ask for.

        Least in the metric of the inertias.
        """
        x, _ = self._solve(np.zeros_like(self.force), -self.velocity_error)
        return x[: self.force.size].reshape(self.force.shape)

    def position_correction(self, position_error: FloatArray | None = None) -> FloatArray:
        """Return the twists (n_bodies, 6) that close the joints to first order.

        Least in the metric of the inertias; apply them with kinematics.poses.displaced. With
        errors of a nearby pose given, the same factors serve again (modified Newton).
        """
        error = self.position_error if position_error is None else position_error
        x, _ = self._solve(np.zeros_like(self.force), -error)
        return x[: self.force.size].reshape(self.force.shape)


def forward_dynamics(
    system: System,
    state: State | None = None,
    *,
    body_force: FloatArray | None = None,
    ordering: str = "auto",
    factorization: str = "auto",
    redundancy: str = "remove",
    reactions: str = "minimum-norm",
    baumgarte: float | None = None,
) -> Accelerations:
    """Return the accelerations and constraint forces at one state; see ForwardDynamics."""
    state = consistent_state(system) if state is None else state
    dynamics = ForwardDynamics(
        system,
        state,
        ordering=ordering,
        factorization=factorization,
        redundancy=redundancy,
        reactions=reactions,
        baumgarte=baumgarte,
    )
    return dynamics(state, body_force=body_force)
