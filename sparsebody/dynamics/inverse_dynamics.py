"""Inverse dynamics by the sparse equilibrium of all bodies. Featherstone (2008), sec. 8.12."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array, eye_array, linalg

from sparsebody import errors, tolerances
from sparsebody.arrays import ArrayLike, BoolArray, FloatArray, IntArray, offsets
from sparsebody.dynamics import preparation, reductions
from sparsebody.equations import Actuation, SystemMotion, consistent_state, inverse, system_motion
from sparsebody.equations.inverse import ActuatorRows, Balance, DesiredMotion, Freedom
from sparsebody.factorization import analyze, refined_solve
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse import BlockPattern, RankDecision, SaddleMatrix

# Weight of motions that no actuator resists, in units of the bodies' inertias: proximal steps
# converge at once if it is small beside W, and the factors stay regular if it is beyond rounding.
PROXIMAL = 1e-10
_MOST_STEPS = 60  # proximal ones; two or three are usual
_CONVERGED_CHANGE = 1e-14  # relative, of all forces: no digit changes any more


class Equilibrium:
    """Factors of the conditions for u' W u = min, subject to B' u + A' lambda = f.

        [ 0  B'  A' ] [  eta   ]   [ f ]
        [ B  -W  0  ] [   u    ] = [ 0 ]      eta: a motion, the multiplier of the equilibrium
        [ A  0   0  ] [ lambda ]   [ 0 ]

    Regular if the rows of A (r, n) are independent and no motion leaves all constraints and all
    actuators B (p, n) at rest. Where there are such motions, a small multiple eps of the inertias
    (n,) takes the place of the zero in the first row, and proximal steps, f + eps eta_k in place of
    f, remove its effect. W = diag(w), w (p,). Featherstone (2008), eq. (8.63), with eta = G z;
    Rockafellar (1976).
    """

    def __init__(
        self, A: csr_array, B: csr_array, inertia: FloatArray, w: FloatArray, is_underactuated: bool
    ) -> None:
        self.scale = 1.0 / np.sqrt(inertia)
        A, self.row_scale = _scaled(A, self.scale)
        B, self.actuator_scale = _scaled(B, self.scale)
        weights = w * self.actuator_scale**2
        weights /= np.median(weights) if len(weights) else 1.0
        self.proximal = PROXIMAL if is_underactuated else 0.0
        n, p = B.shape[1], B.shape[0]
        first = self.proximal * eye_array(n) if is_underactuated else csr_array((n, n))
        blocks = [
            [first, B.T, A.T],
            [B, -diags_array(weights, shape=(p, p)), None],
            [A, None, csr_array((A.shape[0],) * 2)],
        ]
        self.matrix = block_array(blocks, format="csc")
        try:
            self.factor = linalg.splu(self.matrix, permc_spec="COLAMD")
        except RuntimeError as error:  # the only signal that SuperLU gives
            raise errors.SingularSystemError(
                "constraint rows that were independent at the state that InverseDynamics was made "
                "for depend on each other at this one; make InverseDynamics(system, state) for it"
            ) from error

    def solve(self, force: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return u (p,) and lambda (r,) that balance f (n,), except for a part that none can."""
        n, p = len(self.scale), len(self.actuator_scale)
        right = np.zeros(self.matrix.shape[0])
        right[:n] = self.scale * force
        x = self._refined(right)
        for _ in range(_MOST_STEPS if self.proximal else 0):
            right[:n] = self.scale * force + self.proximal * x[:n]
            new = self._refined(right)
            change = np.abs(new[n:] - x[n:]).max(initial=0.0)
            x = new
            if change <= _CONVERGED_CHANGE * np.abs(x[n:]).max(initial=0.0):
                break
        return self.actuator_scale * x[n : n + p], self.row_scale * x[n + p :]

    def _refined(self, right: FloatArray) -> FloatArray:
        x = self.factor.solve(right)
        return x + self.factor.solve(right - self.matrix @ x)


def _scaled(rows: csr_array, scale: FloatArray) -> tuple[csr_array, FloatArray]:
    """Return rows for freedoms in units of their inertias, of unit norm, and their factors."""
    rows = rows @ diags_array(scale)
    norm = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    row_scale = 1.0 / np.where(norm > 0.0, norm, 1.0)
    return (diags_array(row_scale) @ rows).tocsr(), row_scale


class InverseDynamics(inverse.InverseMethod):
    """Forces of actuators on any joints, by the body-level system; nothing O(n^2) is formed.

    The forces of actuators and constraints on the bodies are the unknowns, B' u + A' lambda =
    I a + v x* I v - f_x. Which rows of A are independent and which freedoms the actuators move is
    decided once, at `state`, by default the consistent initial one. Other parameters as in
    InverseMethod. Featherstone (2008), eqs. (8.63) and (8.64).
    """

    name = "sparse"

    def __init__(self, system: System, state: State | None = None, **options: Any) -> None:
        super().__init__(system, **options)
        state = consistent_state(system) if state is None else state
        check_state(system, state)
        motion = SystemMotion(self.system, state)
        rows = inverse.actuator_rows(self.system, self.actuators, motion.joints)
        A, no_joint = motion.constraint.rows, np.zeros(0, dtype=np.intp)
        self.rank_decision = independent_rows(self.system, A, no_joint, np.zeros((0, 2, 6)))
        rank = self.rank_decision.rank
        stacked = independent_rows(self.system, A, self.actuators.joint, rows.rows)
        mobility = 6 * self.system.n_bodies - rank
        self.actuation = Actuation(len(self.actuators), stacked.rank - rank, mobility)

    def solve(self, desired: DesiredMotion, actuators: ActuatorRows) -> Balance:
        """Return the balance by one factorization."""
        system, keep = self.system, self.rank_decision.keep
        independent = np.flatnonzero(keep)
        equilibrium = Equilibrium(
            inverse.body_matrix(
                system, system.row_joint[independent], desired.constraint.rows[independent]
            ),
            inverse.body_matrix(system, self.actuators.joint, actuators.rows),
            inverse.freedom_inertia(system).ravel(),
            self.weights,
            self.actuation.is_underactuated,
        )
        multiplier = np.zeros(system.n_rows)
        force, multiplier[independent] = equilibrium.solve(desired.required.ravel())
        return Balance(force, multiplier, bool(keep.all()), self.actuation)


def independent_rows(system: System, A: FloatArray, joint: IntArray, B: FloatArray) -> RankDecision:
    """Decide which are independent: of constraint rows A, then rows B of actuators on `joint`."""
    unused = np.empty((system.n_bodies, 0, 0))
    pattern = stacked_pattern(system, joint)
    rows = np.concatenate([A, B])
    return reductions.independent_rows(SaddleMatrix(pattern, unused, system.inverse_inertia, rows))


def stacked_pattern(system: System, joint: IntArray) -> BlockPattern:
    """Return the pattern of all constraint rows, then one row for each of the joints (m,)."""
    n_rows = np.diff(system.first_row)
    constrained = np.flatnonzero(n_rows)
    ends = np.concatenate([system.ends[constrained], system.ends[joint]])
    ones = np.ones(len(joint), dtype=np.intp)
    sizes = np.concatenate([[6] * system.n_bodies, n_rows[constrained], ones]).astype(np.intp)
    return BlockPattern(sizes, ends)


def driven_accelerations(
    system: System,
    state: State | None = None,
    desired: Mapping[Freedom, ArrayLike] | None = None,
    *,
    body_force: FloatArray | None = None,
) -> FloatArray:
    """Return accelerations that all joints allow, with desired ones of joint coordinates.

    Other coordinates follow the loads: the result is that of forward dynamics with these motions
    prescribed, so actuators on these coordinates alone can cause it.

    Parameters
    ----------
    system, state
        The mechanism, and poses and velocities; default: the consistent initial state.
    desired : mapping of joints, or of (joint, coordinate), to floats
        Second derivatives of a joint's velocity coordinates, as many as it has, or of one
        [rad/s^2, m/s^2]; they replace those of a prescribed motion.
    body_force : (n_bodies, 6) array, optional
        Additional wrenches about the centers of mass in body axes [N m, N].

    Returns
    -------
    (n_bodies, 6) float array
        Spatial accelerations in body coordinates, angular first [rad/s^2, m/s^2].

    Raises
    ------
    MotionError
        If the desired accelerations contradict each other or the joints.
    """
    state = consistent_state(system) if state is None else state
    check_state(system, state)
    desired = {} if desired is None else desired
    actuators = inverse.actuators_of(system, desired)
    qdd = _values(system, desired)
    system = inverse.without_prescribed(system, inverse.released_coordinates(system, actuators)[0])
    if body_force is not None:
        body_force = system_motion.checked_vectors(system, body_force, "body_force")
    motion = SystemMotion(system, state, body_force)
    constraint = motion.constraint
    driven = inverse.actuator_rows(system, actuators, motion.joints)
    rows = np.concatenate([constraint.rows, driven.rows])
    gamma = np.concatenate([constraint.acceleration, qdd + driven.velocity_product])
    keep = independent_rows(system, constraint.rows, actuators.joint, driven.rows).keep
    pattern = _independent(stacked_pattern(system, actuators.joint), keep)
    matrix = SaddleMatrix(pattern, system.spatial_inertia, system.inverse_inertia, rows[keep])
    force = (motion.applied - motion.bias).ravel()
    choice = preparation.choose_solver(pattern, "auto", "auto")
    numeric = analyze(choice.factorization, pattern, choice.order).factorize(matrix)
    x, _ = refined_solve(numeric, matrix, np.concatenate([force, gamma[keep]]))
    acceleration = x[: len(force)].reshape(-1, 6)
    joint = np.concatenate([system.row_joint, actuators.joint])
    motion = DesiredMotion(system, state, body_force, acceleration)
    residual, scale = motion.row_residuals(joint, rows, gamma)
    size = np.abs(residual) / scale
    if size.max(initial=0.0) > tolerances.MOTION_TOLERANCE:
        worst = int(np.argmax(size))
        raise errors.MotionError(
            "the desired accelerations contradict each other at joint "
            f"{system.joint_names[int(joint[worst])]!r}, relatively by {size[worst]:.1e}; "
            "give those of independent coordinates only"
        )
    return acceleration


def _values(system: System, desired: Mapping[Freedom, ArrayLike]) -> FloatArray:
    """Return the desired accelerations (m,) in the order of `inverse.actuators_of`."""
    parts = [np.zeros(0)]
    for freedom, value in desired.items():
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
        name = freedom if isinstance(freedom, str) else freedom[0]
        n = system.joint_types[system.joint(name)].n_velocities if name == freedom else 1
        if numbers.shape != (n,) or not np.isfinite(numbers).all():
            raise errors.ModelError(
                f"the acceleration desired of joint {name!r} is {value!r}; give {n} finite "
                f"number{'s' if n > 1 else ''}"
            )
        parts.append(numbers)
    return np.concatenate(parts)


def _independent(pattern: BlockPattern, keep: BoolArray) -> BlockPattern:
    """Return the pattern of the independent rows alone, without blocks that have none."""
    before = offsets(keep)
    sizes = np.diff(before[pattern.offsets[pattern.n_primal :] - pattern.n_primal_rows])
    primal = pattern.block_sizes[: pattern.n_primal]
    return BlockPattern(
        np.concatenate([primal, sizes[sizes > 0]]).astype(np.intp), pattern.ends[sizes > 0]
    )
