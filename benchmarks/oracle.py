"""Reference accelerations to 25 digits, by a formulation that shares no code with ours.

Unknowns are the angular acceleration of each body and the acceleration of its center of mass, both
in world axes; constraints are written point by point and direction by direction from the joint
frames, in numbers of 31 digits (`doubled.py`). Solutions are corrected with factors of a matrix of
doubles (`factors.py`) until corrections stop shrinking.

Poses stored as doubles close joints to 1e-16 only, where dependent constraints contradict each
other: `extended_reference` makes poses and velocities consistent to 1e-30 first. Its result is
verified: `violation` and `imbalance` are the residuals of *all* constraints and of the bodies'
equations. It takes the independent rows from the library; a wrong choice would leave a violation.
`reference` leaves out rows by their pivots, and has the scissor in closed form.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

import sparsebody as sb
from benchmarks.doubled import Doubled, apply, cross, dot, doubled, product, transposed, unit
from benchmarks.factors import Factor, lu_factor, saddle_matrix, schur_factor
from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.errors import SingularSystemError
from sparsebody.study.families import Problem
from sparsebody.study.study_references import Reference

STEPS = 30  # corrections at most
DONE = 1e-31  # size of a correction, relative, after which none is made
CONVERGED = 1e-6  # from which on corrections must shrink
LEAST_DIVISOR = 1e-300
CRUMB = 1e-15  # numbers in joint frames below which zero is meant
LARGE_LATTICE = 1000  # bodies
ACCURATE = 1e-15  # relative error with which CHOLMOD is believed
SINGULAR = 1e13  # condition from which on rows may depend on each other, and are to be left out

# By joint type: axes about which no turning is left (0 to 2), and along which points stay together
# (3 to 5); they turn with the successor but for those of POINTS, which turn with the predecessor.
ROWS: dict[str, tuple[int, ...]] = {
    "fixed": (0, 1, 2, 3, 4, 5),
    "revolute": (0, 1, 3, 4, 5),
    "prismatic": (0, 1, 2, 3, 4),
    "cylindrical": (0, 1, 3, 4),
    "planar": (0, 1, 5),
    "spherical": (3, 4, 5),
    "point-on-plane": (5,),
    "point-on-line": (3, 4),
}
POINTS = ("point-on-plane", "point-on-line")
HINGES = ("revolute", "cylindrical", "planar")  # one common axis


@dataclass(frozen=True, eq=False)
class Extended:
    """Accelerations to compare with, and the state that they belong to."""

    state: sb.State  # consistent, rounded to doubles
    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates, angular first
    exact: tuple[Doubled, Doubled, Doubled]  # rotations to the world, angular velocities there,
    # and accelerations (n_bodies, 6) of turning and of centers of mass there
    closure: float  # position error of the worst of all rows [m, rad]
    violation: float  # of the worst of all rows by the accelerations, relative to its terms
    imbalance: float  # of forces on bodies, relative to the largest term
    change: float  # last correction of the accelerations, relative to the largest


class Solution(NamedTuple):
    """D a + A' lam = force, A a = rate."""

    a: Doubled  # (n, 6)
    lam: Doubled  # (n_rows,)
    change: float  # last correction of a, relative to its largest entry


def reference(problem: Problem) -> Reference:
    """Return the accelerations of a problem of `cases.py` to (much) more than double precision."""
    if problem.mechanism == "scissor":
        return Reference(scissor_reference(problem), 1e-18, _scissor_kappa(problem))
    equations = Equations(Motion(problem.system, problem.state))
    if problem.mechanism == "lattice" and problem.system.n_bodies > LARGE_LATTICE:
        with suppress(ImportError, SingularSystemError):
            result = _refined(equations, schur_factor(equations.matrix(), equations.n))
            if result.error < ACCURATE and result.kappa < SINGULAR:
                return result
    balls_alone = set(equations.motion.names) == {"spherical"}
    return _refined(equations, lu_factor(equations.matrix(), equations.n, is_regular=balls_alone))


def _refined(equations: Equations, factor: Factor) -> Reference:
    solution = equations.solved(factor, equations.force, equations.rate)
    return Reference(equations.motion.spatial(solution.a), solution.change, factor.kappa())


def relative_violation(problem: Problem, acceleration: FloatArray) -> float:
    """Return max |A a - rate| over the size of its terms; NaN where that does not fit in memory."""
    try:
        equations = Equations(Motion(problem.system, problem.state))
        return equations.violation(equations.motion.in_world(acceleration))
    except MemoryError:
        return math.nan


def extended_reference(
    system: sb.System, state: sb.State, keep: BoolArray | None = None, close: bool = True
) -> Extended:
    """Return accelerations to 25 digits or more, but for the condition of the independent rows.

    Of gravity and joints of ROWS, no springs, loads or drives. `keep` (n_rows,) are independent
    rows that imply all others, by default those that ForwardDynamics keeps. The state is made
    consistent first if `close`; else it is exact, and no rows contradict each other.
    """
    if keep is None:
        decision = sb.ForwardDynamics(system, state, formulation=SPATIAL).rank_decision
        keep = np.ones(system.n_rows, dtype=bool) if decision is None else decision.keep
    equations = Equations(motion := Motion(system, state))
    factor = lu_factor(equations.matrix(), equations.n, keep[motion.order])
    if close:
        motion.close(factor)
        equations = Equations(motion)
        equations.make_velocity_consistent(factor)
        equations = Equations(motion)
    solution = equations.solved(factor, equations.force, equations.rate)
    return Extended(
        motion.rounded_state(),
        motion.spatial(solution.a),
        (motion.rotation, motion.w, solution.a),
        equations.position_error.largest(),
        equations.violation(solution.a),
        equations.imbalance(solution),
        solution.change,
    )


# ---- poses, world axes ------------------------------------------------------------------------


class Motion:
    """Poses and velocities of all bodies, and of the world as the last one."""

    def __init__(self, system: sb.System, state: sb.State) -> None:
        self.system, self.state = system, state
        self.names = np.array([joint_type.name for joint_type in system.joint_types])
        forces = system.joint_forces.item, system.point_forces.first, system.external_forces.body
        unknown = sorted(set(self.names) - set(ROWS))
        if unknown or any(map(len, forces)) or len(system.coordinates.prescribed):
            raise ValueError(f"no reference with {unknown or 'forces or drives'}")
        self.q = unit(doubled(np.vstack([state.orientation, [1.0, 0.0, 0.0, 0.0]])))  # (n + 1, 4)
        self.c = doubled(np.vstack([state.position, np.zeros(3)]))  # (n + 1, 3) centers
        R, v = self.rotation, doubled(np.vstack([state.velocity, np.zeros(6)]))
        self.w, self.v = apply(R, v[:, :3]), apply(R, v[:, 3:])
        self.frames = [
            (body, _orthonormal(_clean(axes)), doubled(_clean(point)))
            for body, axes, point in (
                (system.predecessor, system.predecessor_rotation, system.predecessor_point),
                (system.successor, system.successor_rotation, system.successor_point),
            )
        ]
        table = [(j, axis) for j, name in enumerate(self.names) for axis in ROWS[name]]
        joint, axis = np.array(table, dtype=np.intp).reshape(-1, 2).T
        # One direction of all joints after the other: pivots tell dependent rows more clearly.
        self.order = np.argsort((axis + 3) % 6, kind="stable")
        self.row_joint = joint[self.order]
        self.row_axes = np.eye(6)[axis[self.order]].reshape(-1, 2, 3)

    @property
    def rotation(self) -> Doubled:
        """Body to world axes (n + 1, 3, 3)."""
        w, x, y, z = (self.q[:, k] for k in range(4))
        rows = [
            [w * w + x * x - y * y - z * z, (x * y - w * z) * 2.0, (x * z + w * y) * 2.0],
            [(x * y + w * z) * 2.0, w * w - x * x + y * y - z * z, (y * z - w * x) * 2.0],
            [(x * z - w * y) * 2.0, (y * z + w * x) * 2.0, w * w - x * x - y * y + z * z],
        ]
        return np.stack([np.stack(row, -1) for row in rows], -2)

    def close(self, factor: Factor) -> None:
        """Close all joints, by the least displacements."""
        n, last = self.system.n_bodies, np.inf
        for _ in range(STEPS):
            error = Equations(self).position_error
            change = factor.solve(np.concatenate([np.zeros(6 * n), -error.high]))
            change = change[: 6 * n].reshape(n, 6)
            size = float(np.abs(change).max(initial=0.0))
            if not size < 0.5 * last:
                break
            last = size
            self.c = self.c + np.vstack([change[:, 3:], np.zeros((1, 3))])
            half = doubled(np.vstack([0.5 * change[:, :3], np.zeros((1, 3))]))
            scalar, vector = self.q[:, :1], self.q[:, 1:]
            turned_scalar = scalar - dot(half, vector)[:, None]
            turned = vector + half * scalar + cross(half, vector)
            turned = unit(np.concatenate([turned_scalar, turned], 1))
            self.q = np.where((np.arange(n + 1) < n)[:, None], turned, self.q)

    def rounded_state(self) -> sb.State:
        """The state as doubles."""
        back = transposed(self.rotation)
        velocity = np.concatenate([apply(back, self.w), apply(back, self.v)], 1)
        return self.state.with_(
            position=self.c.high[:-1].copy(),
            orientation=self.q.high[:-1].copy(),
            velocity=velocity.high[:-1].copy(),
        )

    def spatial(self, a: Doubled) -> FloatArray:
        """Spatial accelerations (n, 6) in body coordinates, of those in world axes."""
        back = transposed(self.rotation[:-1])
        linear = a[:, 3:] - cross(self.w[:-1], self.v[:-1])
        return np.concatenate([apply(back, a[:, :3]), apply(back, linear)], 1).high.copy()

    def in_world(self, acceleration: FloatArray) -> Doubled:
        """(n, 6) of turning and of centers of mass; the inverse of `spatial`."""
        R = self.rotation[:-1]
        linear = apply(R, acceleration[:, 3:]) + cross(self.w[:-1], self.v[:-1])
        return np.concatenate([apply(R, acceleration[:, :3]), linear], 1)


def _clean(numbers: FloatArray) -> FloatArray:
    return np.where(np.abs(numbers) < CRUMB, 0.0, numbers)


def _orthonormal(axes: FloatArray) -> Doubled:
    """Return frames (n, 3, 3) with orthogonal axes of length one, z where it was."""
    x, z = doubled(axes[:, :, 0]), unit(doubled(axes[:, :, 2]))
    x = unit(x - z * dot(x, z)[:, None])
    return np.stack([x, cross(z, x), z], -1)


# ---- equations and their solution -------------------------------------------------------------


class Equations:
    """[D A'; A 0] (a, lam) = (force, rate) at one motion.

    Rows are n'(w_s - w_p) + f'(V_s - V_p) = 0, V at the successor's point, to which arms lead from
    the centers of both bodies.
    """

    def __init__(self, motion: Motion) -> None:
        system, R, j = motion.system, motion.rotation, motion.row_joint
        self.motion, self.mass, self.n = motion, system.mass, 6 * system.n_bodies
        (p, R_P, x_P), (s, R_S, x_S) = motion.frames
        P, S = product(R[p], R_P), product(R[s], R_S)
        at_p, at_s = motion.c[p] + apply(R[p], x_P), motion.c[s] + apply(R[s], x_S)
        on_successor = ~np.isin(motion.names, POINTS)  # the body that n and f turn with
        carrier = np.where(on_successor[:, None, None], S, P)[j]
        n, f = (apply(carrier, motion.row_axes[:, part]) for part in (0, 1))
        arm = np.stack([at_s - motion.c[p], at_s - motion.c[s]], 1)[j]
        self.ends = np.stack([p, s], axis=1)[j] % (system.n_bodies + 1)  # (n_rows, 2), n: world
        sides = [np.concatenate([n + cross(arm[:, k], f), f], 1) for k in (0, 1)]
        self.values = np.stack([-sides[0], sides[1]], 1)  # (n_rows, 2, 6) of w, v of both bodies
        axis = cross(P[:, :, 2], S[:, :, 2])
        turned = sum((cross(P[:, :, k], S[:, :, k]) for k in (0, 1)), axis) * 0.5
        turned = np.where(np.isin(motion.names, HINGES)[:, None], axis, turned)
        self.position_error = dot(n, turned[j]) + dot(f, (at_s - at_p)[j])  # (n_rows,)
        self.rate = self._rate(n, f, arm, on_successor[j])
        # (n, 3, 3) about the centers of mass, in world axes
        R, w = R[:-1], motion.w[:-1]
        self.inertia = product(product(R, doubled(system.inertia)), transposed(R))
        weight = doubled(system.gravity) * doubled(system.mass)[:, None]
        self.force = np.concatenate([-cross(w, apply(self.inertia, w)), weight], 1)  # (n, 6)

    def matrix(self) -> csr_array:
        """Return [D A'; A 0] in double precision."""
        return saddle_matrix(self.inertia.high, self.mass, self.values.high, self.ends)

    def _rate(self, n: Doubled, f: Doubled, arm: Doubled, on_successor: BoolArray) -> Doubled:
        """(n_rows,) what rows ask of (dw/dt, dv/dt), v being that of the center of mass."""
        (w_p, w_s), (v_p, v_s) = (
            (of[self.ends[:, 0]], of[self.ends[:, 1]]) for of in (self.motion.w, self.motion.v)
        )
        V_p, V_s = v_p + cross(w_p, arm[:, 0]), v_s + cross(w_s, arm[:, 1])
        carrier = np.where(on_successor[:, None], w_s, w_p)
        turning = dot(cross(carrier, n), w_s - w_p) + dot(cross(carrier, f), V_s - V_p)
        apart = cross(w_s, cross(w_s, arm[:, 1])) - cross(w_p, V_s - v_p)
        return -(turning + dot(f, apart))

    def solved(self, factor: Factor, force: Doubled, rate: Doubled) -> Solution:
        """Return the solution for other right-hand sides (n, 6) and (n_rows,)."""
        a, lam = doubled(np.zeros(force.high.shape)), doubled(np.zeros(len(rate.high)))
        last = latest = np.inf
        for k in range(STEPS):
            missing = force - self._momenta(a) - self._pulls(lam)
            gap = rate - self._products(a)
            step = factor.solve(np.concatenate([missing.high.ravel(), gap.high]))
            latest = float(np.abs(step[: self.n]).max(initial=0.0)) / (a.largest() or LEAST_DIVISOR)
            if k > 1 and latest < CONVERGED and not latest < 0.5 * last:
                break
            a, lam, last = a + step[: self.n].reshape(-1, 6), lam + step[self.n :], latest
            if latest < DONE:
                break
        return Solution(a, lam, min(last, latest))

    def make_velocity_consistent(self, factor: Factor) -> None:
        """Take from the velocity of the motion what violates constraints."""
        motion = self.motion
        velocity = np.concatenate([motion.w, motion.v], 1)
        at_rest = doubled(np.zeros((self.n // 6, 6)))
        correction = self.solved(factor, at_rest, -self._products(velocity[:-1])).a
        velocity = velocity + _grounded(correction)
        motion.w, motion.v = velocity[:, :3], velocity[:, 3:]

    def violation(self, a: Doubled) -> float:
        """Return max |A a - rate| over the size of its terms."""
        terms = self.values.high * _grounded(a).high[self.ends]
        size = max(float(np.abs(terms).max(initial=0.0)), self.rate.largest(), LEAST_DIVISOR)
        return (self._products(a) - self.rate).largest() / size

    def imbalance(self, solution: Solution) -> float:
        """Return max |force - D a - A' lam| over the size of its terms."""
        pulls = self._pulls(solution.lam)
        missing = self.force - self._momenta(solution.a) - pulls
        return missing.largest() / max(self.force.largest(), pulls.largest(), LEAST_DIVISOR)

    def _products(self, a: Doubled) -> Doubled:
        """Return A a for a (n, 6)."""
        parts = self.values * _grounded(a)[self.ends]
        return np.reshape(parts, (len(self.ends), 12)).total()

    def _momenta(self, a: Doubled) -> Doubled:
        """Return D a for a (n, 6)."""
        linear = a[:, 3:] * self.mass[:, None]
        return np.concatenate([apply(self.inertia, a[:, :3]), linear], 1)

    def _pulls(self, lam: Doubled) -> Doubled:
        """Return A' lam (n, 6): sums over the rows of each body, of zeros where it has fewer."""
        value = np.reshape(self.values * lam[:, None, None], (-1, 6))
        order = np.argsort(body := self.ends.ravel(), kind="stable")
        first = np.searchsorted(body[order], np.arange(self.n // 6 + 1))
        slot = first[:-1, None] + np.arange(np.diff(first).max(initial=1))
        terms = value[order[np.minimum(slot, len(order) - 1)]]  # (n, most rows, 6)
        terms = np.where((slot < first[1:, None])[:, :, None], terms, doubled(0.0))
        return np.swapaxes(terms, 1, 2).total()


def _grounded(of_bodies: Doubled) -> Doubled:
    """Append the world, which does not move."""
    return np.concatenate([of_bodies, doubled(np.zeros((1, of_bodies.high.shape[1])))])


# ---- the scissor in closed form ---------------------------------------------------------------


def scissor_reference(problem: Problem) -> FloatArray:
    """Return (n, 6) from the one equation of motion of the gallery's scissor."""
    system, state = problem.system, problem.state
    motion = Motion(system, state)
    return motion.spatial(scissor_accelerations(system, state, motion.rotation, motion.w))


def scissor_accelerations(
    system: sb.System, state: sb.State, rotation: Doubled, w: Doubled
) -> Doubled:
    """Return (n, 6) of turning and of centers of mass in world axes.

    With the bars' angle q: pair k has its centers at (L/2 cos q, (k + 1/2) L sin q), so that
    T = M(q) qd^2 / 2 with M = sum m ((L/2 sin q)^2 + ((k + 1/2) L cos q)^2) + J, and Lagrange's
    equation M qdd + M' qd^2 / 2 = sum m (g_x dx/dq + g_z dz/dq).
    """
    n, m, gravity = system.n_bodies, doubled(system.mass), system.gravity
    R = rotation[:-1]
    rising = np.sign(R.high[:, 0, 0])  # of left bars
    c, s = ((R[:, k, 0] * sign).total() / n for k, sign in ((0, rising), (2, 1.0)))
    qd = (w[:-1][:, 1] * -rising).total() / n
    half = np.abs(system.successor_point[:, 0]).max()  # L / 2
    pair = np.rint(state.position[:, 2] / (2 * half * s.high) - 0.5)
    reach = doubled(2 * pair + 1) * half  # z = reach sin q
    J = dot(R[:, 1], apply(system.inertia, R[:, 1]))
    M = (m * ((s * half) * (s * half) + (reach * c) * (reach * c)) + J).total()
    slope = (m * 2.0 * (doubled(half) * half - reach * reach) * s * c).total()  # dM/dq
    work = (m * (reach * c * gravity[2] - s * half * gravity[0])).total()
    qdd = (work - slope * qd * qd * 0.5) / M
    zero = doubled(np.zeros(n))
    across = zero - (s * qdd + c * qd * qd) * half
    rise = reach * (c * qdd - s * qd * qd)
    return np.stack([zero, qdd * -rising, zero, across, zero, rise], 1)


def _scissor_kappa(problem: Problem) -> float:
    """Condition of the equations in the plane, whose rows are independent; NaN beyond memory."""
    try:
        equations = Equations(Motion(problem.system, problem.state))
        K, n = equations.matrix(), equations.n
        in_plane = np.flatnonzero(np.isin(np.arange(n) % 6, (1, 3, 5)))
        reach = np.asarray(abs(K[n:, :][:, in_plane]).sum(axis=1)).ravel()
        index = np.concatenate([in_plane, n + np.flatnonzero(reach > 1e-9)])
        return lu_factor(K[index][:, index], len(in_plane)).kappa()
    except (MemoryError, RuntimeError):  # SuperLU raises either
        return math.nan
