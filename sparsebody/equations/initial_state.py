"""Initial assembly: the nearest consistent pose, and consistent velocities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sparsebody import errors, tolerances
from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.equations.accelerations import layout_of_all_rows
from sparsebody.equations.system_motion import SystemMotion, padded
from sparsebody.factorization.backend import conjugate_gradient_solve
from sparsebody.factorization.unit_factors import UnitNumeric, UnitSymbolic
from sparsebody.kinematics.joint_motion import coordinate_motion, displaced, prescribed_motion
from sparsebody.model.columns import positive
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.saddle import SaddleMatrix
from sparsebody.spatial import quaternion_conjugate, quaternion_logarithm, quaternion_product

_PROJECTIONS = 5  # passes of the velocity projection; two are usual
_ITERATIONS = 100  # of Levenberg-Marquardt; from poses nearby a few are enough
# Tolerances at which corrections end, so that states are smooth in the frames of joints
_EXACT = 0.01
_NEARLY_CLOSED = 1e3  # tolerances: errors that rounding may leave near singular poses
# Damping of Levenberg-Marquardt, in units of diag(A D^-1 A'): at first, at least (dependent rows
# stay regular), where a step stalls, and at most (steps are too short to lead anywhere)
_FIRST_DAMPING, _LEAST_DAMPING, _UNDAMPED, _MOST_DAMPING = 1e-2, 1e-13, 1e-12, 1e6
_STALLED = 0.999  # ratio of the errors after and before an undamped step that leads nowhere
# Velocity errors, relative to velocities: of rounding, and up to which a projection succeeds
_VELOCITY_ROUNDING, _VELOCITY_TOLERANCE = 1e-13, 1e-8
_CG_REDUCTION = 1e-5  # of residuals by conjugate gradients, in each of two passes
_COMPLIANT_CLOSINGS = 2  # of poses, as the second one makes up for finite rotations


@dataclass(frozen=True, eq=False)
class _Corrections:
    """Corrections of states that leave some bodies fixed, and weigh the inertias of others."""

    is_fixed: BoolArray  # (n_bodies,)
    weight: FloatArray  # (n_bodies,)

    @classmethod
    def of(cls, system: System, fixed: Iterable[str], weights: Mapping[str, float]) -> _Corrections:
        """Return the corrections for bodies given by name."""
        corrections = cls(np.zeros(system.n_bodies, dtype=bool), np.ones(system.n_bodies))
        for name in [fixed] if isinstance(fixed, str) else fixed:
            corrections.is_fixed[system.body(name)] = True
        for name, weight in weights.items():
            corrections.weight[system.body(name)] = positive(weight, f"body {name!r}", "weight")
        return corrections

    def matrix(self, matrix: SaddleMatrix) -> SaddleMatrix:
        """Return the matrix with weighted inertias and no rows on fixed bodies."""
        on_fixed = np.append(self.is_fixed, False)[matrix.pattern.ends[matrix.row_block]]
        weight = self.weight[:, None, None]
        return replace(
            matrix,
            diagonal=weight * matrix.diagonal,
            inverse=matrix.inverse / weight,
            rows=np.where(on_fixed[:, :, None], 0.0, matrix.rows),
        )

    def closed_pose(self, moving: SystemMotion) -> SystemMotion:
        """Return the nearest closed pose; if steps stall, one found by closing rotations first."""
        rounding = tolerances.POSITION_ROUNDING * float(np.abs(moving.state.position).max())
        goal = max(tolerances.CLOSURE_TOLERANCE, rounding / _link_length(moving.system))
        if np.abs(moving.position_error / _row_sizes(moving)).max() <= goal:
            return moving
        every = np.ones(moving.system.n_rows, dtype=bool)
        closed, error = self._least_squares_pose(moving, every, goal)
        if error > _NEARLY_CLOSED * goal:
            other = self._rotations_first(moving, goal)
            closed, error = min((closed, error), other, key=lambda result: result[1])
        if error > _NEARLY_CLOSED * goal:
            raise errors.AssemblyError(
                f"mechanism {moving.system.name!r} does not close near the given pose: "
                + _worst_joints(closed, closed.position_error)
                + "; correct the poses of the bodies or the joint frames"
            )
        return closed

    def _rotations_first(self, moving: SystemMotion, goal: float) -> tuple[SystemMotion, float]:
        """Return a pose that closes, and its error, in the metric of equal bodies.

        Newton's steps are limited in rotation, because the equations are nonlinear in the
        orientations only, most of all of slender bodies: so rotations cost as much as translations
        by the size of the mechanism, and the rows that turn bodies close first.
        """
        turning = np.any(moving.constraint.subspace[:, :3] != 0.0, axis=1)
        metric = np.diag([moving.system.typical_length**2] * 3 + [1.0] * 3)
        error = np.inf
        for keep in (turning, np.ones_like(turning)):
            if keep.any():
                moving, error = self._least_squares_pose(moving, keep, goal, metric)
        return moving, error

    def _least_squares_pose(
        self, moving: SystemMotion, keep: BoolArray, goal: float, metric: FloatArray | None = None
    ) -> tuple[SystemMotion, float]:
        """Return the pose of least squared errors of some rows, and the largest of these errors.

        Errors of translations are relative to the length of links. Levenberg-Marquardt, undamped
        near the solution. A `metric` (6, 6) stands for all inertias.
        """
        structure = kkt_structure(moving.system, keep)
        layout = layout_of_all_rows(structure.pattern)
        size = _row_sizes(moving)[keep]
        error = moving.position_error[keep] / size
        norm = float(np.linalg.norm(error))
        damping = min(_FIRST_DAMPING, norm)
        for _ in range(_ITERATIONS):
            if np.abs(error).max() <= _EXACT * goal:
                break
            matrix = structure.matrix(moving.constraint)
            if metric is not None:  # the same for every body
                blocks = np.stack([metric, np.linalg.inv(metric)])[:, None]
                same, inverse = np.tile(blocks, (1, matrix.pattern.n_primal, 1, 1))
                matrix = replace(matrix, diagonal=same, inverse=inverse)
            matrix = self.matrix(matrix)
            nothing = np.zeros(matrix.pattern.n_primal_rows)
            factors = _damped(layout, matrix, max(damping, _LEAST_DAMPING))
            x = factors.solve(np.append(nothing, -size * error))
            trial = moving.at(displaced(moving.state, x[: len(nothing)].reshape(-1, 6)))
            trial_error = trial.position_error[keep] / size
            trial_norm = float(np.linalg.norm(trial_error))
            if np.isfinite(trial_norm) and trial_norm < norm:
                stalled = trial_norm > _STALLED * norm and damping < _UNDAMPED
                moving, error, norm = trial, trial_error, trial_norm
                damping = min(0.1 * damping, norm)
                if stalled:
                    break
            elif damping > _MOST_DAMPING or norm <= 100.0 * goal:  # what is left is rounding
                break
            else:
                damping = max(10.0 * damping, 100.0 * _UNDAMPED)
        return moving, float(np.abs(error).max())

    def consistent_velocity(self, moving: SystemMotion) -> SystemMotion:
        """Project the velocity, repeatedly: rounding leaves a residual."""
        system, solver, error, size = moving.system, None, moving.velocity_error, _row_sizes(moving)
        units = np.repeat([1.0, _link_length(system)], 3)  # of velocities: rad/s, lengths/s
        speed = max(np.abs(moving.state.velocity / units).max(), np.abs(error / size).max())
        for _ in range(_PROJECTIONS):
            if np.abs(error / size).max() <= _VELOCITY_ROUNDING * speed:
                return moving
            if solver is None:
                matrix = self.matrix(kkt_structure(system).matrix(moving.constraint))
                solver = _damped(layout_of_all_rows(matrix.pattern), matrix, 1e-12)
            rhs = np.append(np.zeros(matrix.pattern.n_primal_rows), -error)
            undamped = conjugate_gradient_solve(solver, matrix, rhs, reduction=_CG_REDUCTION)
            for x in (undamped, solver.solve(rhs)):
                velocity = moving.state.velocity + x[: -len(error)].reshape(-1, 6)
                trial = moving.at(moving.state.with_(velocity=velocity))
                if np.abs(trial.velocity_error / size).max() < np.abs(error / size).max():
                    moving, error = trial, trial.velocity_error
                    break
            else:
                break
        if np.abs(error / size).max() > _VELOCITY_TOLERANCE * speed:
            raise errors.AssemblyError(
                f"mechanism {system.name!r} has no consistent velocity: "
                + _worst_joints(moving, error)
                + "; a prescribed motion works against a joint"
            )
        return moving


def consistent_state(
    system: System,
    state: State | None = None,
    threads: int = 1,
    *,
    fixed: Iterable[str] = (),
    weights: Mapping[str, float] | None = None,
) -> State:
    """Return the nearest state that closes every joint and follows every prescribed motion.

    The pose is found by Levenberg-Marquardt steps of least norm in the metric of the inertias; the
    velocity by projection in that metric.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        An approximate state; default: the initial poses and velocities of the model.
    threads : int
        That compute the motion at the joints.
    fixed : iterable of str
        Bodies that do not move: velocities stay exactly, quaternions to rounding.
    weights : mapping of body names to float, optional
        Factors of the inertias in the metric: a body with a large one moves less. Default 1.

    Raises
    ------
    AssemblyError
        If the joints do not close, or the velocities cannot be made consistent (a prescribed
        motion works against a joint). The message names the worst joints and their errors.
    """
    state = system.initial_state if state is None else state
    check_state(system, state)
    moving = SystemMotion(system, state, threads=threads)
    corrections = _Corrections.of(system, fixed, weights or {})
    if system.n_rows > 0:
        moving = corrections.consistent_velocity(corrections.closed_pose(moving))
    state = moving.state  # whole turns of coordinates are those of prescribed motions
    if len(system.coordinates.joint) == 0:
        return state
    coordinate = state.coordinate.copy()
    coordinate[system.coordinates.prescribed] = prescribed_motion(system, state.time)[:, 0]
    state = state.with_(coordinate=coordinate)
    return state.with_(coordinate=coordinate_motion(system, state, moving.joints).value)


def compliant_state(
    system: System, state: State, error: FloatArray, compliance: FloatArray
) -> State:
    """Return the nearest state with position errors `error`, and velocities that preserve them.

    Twists x, least in the metric of the inertias, by Newton's method on compliant joints: from
    position errors delta, M x + A' mu = 0 and A x - E mu = error - delta; then velocities by
    M x + A' mu = 0 and A (v + x) - E mu = 0. E leaves the state nearly unchanged in directions
    that rows of small pivots determine, as near singular poses, where rigid joints would move
    bodies far.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State
        Open by little, as steps with compliant joints leave it, whatever its velocities.
    error : (n_rows,) array
        Position errors of the rows after it [m, rad].
    compliance : (n_rows,) array
        E > 0 of every row over the square of a time: [1/kg, 1/(kg m^2)].
    """
    moving = SystemMotion(system, state)
    if system.n_rows > 0:
        structure, nothing = kkt_structure(system), np.zeros(6 * system.n_bodies)
        layout = layout_of_all_rows(structure.pattern)

        def change(target: FloatArray) -> FloatArray:
            """Return the twists x (n_bodies, 6) of M x + A' mu = 0, A x - E mu = target."""
            matrix = structure.matrix(moving.constraint)
            factors = layout.factorize_compliant(matrix, compliance)
            x = factors.solve(np.append(nothing, target))
            return x[: len(nothing)].reshape(-1, 6)

        for _ in range(_COMPLIANT_CLOSINGS):
            twist = change(error - moving.position_error)
            moving = moving.at(displaced(moving.state, twist))
        for _ in range(_COMPLIANT_CLOSINGS):
            velocity = moving.state.velocity + change(-moving.velocity_error)
            moving = moving.at(moving.state.with_(velocity=velocity))
    state = moving.state
    return state.with_(coordinate=coordinate_motion(system, state, moving.joints).value)


def _damped(layout: UnitSymbolic, matrix: SaddleMatrix, damping: float) -> UnitNumeric:
    """Return factors of [D A'; A -damping diag(A D^-1 A')].

    For (0, t) they give the v of least v' D v + |A v - t|^2 / damping, the norm in units of this
    diagonal.
    """
    ends = matrix.pattern.ends[matrix.row_block]
    sides = zip(matrix.rows.transpose(1, 0, 2), padded(matrix.inverse)[ends.T], strict=True)
    size = sum(np.einsum("ra,rab,rb->r", row, inverse, row) for row, inverse in sides)
    size = np.where(np.asarray(size) > 0.0, size, 1.0)  # diag(A D^-1 A')
    return layout.factorize_compliant(matrix, damping * size)


def _link_length(system: System) -> float:
    """Return the length of a typical link, from joint to joint through the center of mass [m]."""
    return 2.0 * system.typical_length


def _row_sizes(moving: SystemMotion) -> FloatArray:
    """Return (n_rows,) position errors as large as the mechanism: 1 rad, the length of a link."""
    return moving.row_sizes(_link_length(moving.system))


def _worst_joints(moving: SystemMotion, error: FloatArray, count: int = 3) -> str:
    """Name the joints with the largest errors (n_rows,), by the mechanism's size, and these."""
    system = moving.system
    largest, relative = np.zeros((2, system.n_joints))
    np.maximum.at(largest, system.row_joint, np.abs(error))
    np.maximum.at(relative, system.row_joint, np.abs(error / _row_sizes(moving)))
    worst = np.argsort(-relative)[:count]
    worst = worst[relative[worst] > 0.01 * relative[worst[0]]]
    named = (f"joint {system.joint_names[j]!r} is off by {largest[j]:.3g}" for j in worst)
    return ", ".join(named) + " (m or rad)"


@dataclass(frozen=True)
class StateChange:
    """Change of pose and velocity of one body."""

    body: str
    distance: float  # of the center of mass [m]
    angle: float  # [rad]
    velocity: float  # largest change of a component [rad/s, m/s]

    def __str__(self) -> str:
        return (
            f"body {self.body!r}: moved by {self.distance:.3g} m, turned by {self.angle:.3g} rad, "
            f"velocity changed by {self.velocity:.3g}"
        )


def state_changes(
    system: System, before: State, after: State, tolerance: float = 1e-9
) -> list[StateChange]:
    """Return what `consistent_state` has changed, the largest changes first.

    Of bodies with a distance [m], angle [rad] or velocity [m/s, rad/s] above the tolerance.
    """
    between = quaternion_product(quaternion_conjugate(before.orientation), after.orientation)
    distance = np.linalg.norm(after.position - before.position, axis=1)
    angle = np.linalg.norm(quaternion_logarithm(between), axis=1)
    velocity = np.abs(after.velocity - before.velocity).max(axis=1)
    change = np.stack([distance, angle, velocity], axis=1)
    order = np.argsort(-change.max(axis=1), kind="stable")
    return [
        StateChange(system.body_names[int(i)], *change[i].tolist())
        for i in order
        if change[i].max() > tolerance
    ]
