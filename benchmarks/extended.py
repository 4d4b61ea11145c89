"""Reference accelerations to 25 digits and more, dependent constraints included.

Poses stored as doubles close joints to 1e-16 only, so that constraints which depend on each other
contradict each other there. So poses and velocities are made consistent to 1e-30 first, and then
the accelerations are solved for, all by corrections with the LU factors of a double-precision
matrix of independent rows. What makes the result trustworthy is not how it was found: `violation`
and `imbalance` are what it leaves of *all* constraints and of the bodies' equations, in arithmetic
of 31 digits; Gauss' principle has no other solution.

In world axes, from the joint frames; of the library only T of joints is used, and the choice of
independent rows, which a wrong choice would betray by a violation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.doubled import (
    Doubled,
    apply,
    concatenate,
    cross,
    dot,
    doubled,
    product,
    stack,
    transposed,
    unit,
    where,
)
from benchmarks.extended_factor import Factor
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.system import State, System

STEPS = 30  # corrections at most
DONE = 1e-31  # size of a correction, relative, after which none is made
TINY = 1e-300
CRUMB = 1e-15  # numbers in joint frames below which zero is meant
HINGES = ("revolute", "cylindrical", "planar")  # one common axis
RIGID = ("prismatic", "fixed")  # three common axes
ON_SUCCESSOR = (*HINGES, *RIGID, "spherical")  # joints whose T is constant there
ON_PREDECESSOR = {"point-on-plane": (2,), "point-on-line": (0, 1)}  # axes of P that rows go along


@dataclass(frozen=True, eq=False)
class Extended:
    """Accelerations to compare with, and the state that they belong to."""

    state: State  # consistent, rounded to doubles
    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates, angular first
    exact: tuple[Doubled, Doubled, Doubled]  # rotations to the world, angular velocities there,
    # and accelerations (n_bodies, 6) of turning and of centers of mass there
    closure: float  # position error of the worst of all rows [m, rad]
    violation: float  # of the worst of all rows by the accelerations, relative to its terms
    imbalance: float  # of forces on bodies, relative to the largest term
    change: float  # last correction of the accelerations, relative to the largest


def extended_reference(
    system: System, state: State, keep: BoolArray | None = None, close: bool = True
) -> Extended:
    """Return accelerations to 25 digits or more, but for the condition of the kept rows.

    Parameters
    ----------
    system, state : System, State
        Gravity, hinges, slides, spheres; points on planes and lines. No springs, loads or drives.
    keep : (n_rows,) bool array, optional
        Independent rows that imply all others; default: those that ForwardDynamics keeps.
    close : bool
        Make the state consistent first, or take it as exact, where no rows contradict each other.
    """
    if keep is None:
        decision = ForwardDynamics(system, state, reduction="none").rank_decision
        keep = np.ones(system.n_rows, dtype=bool) if decision is None else decision.keep
    return _Oracle(system, state, keep).reference(close)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows n'(w_s - w_p) + f'(V_s - V_p) = 0 at one pose, world axes; V: at the successor point."""

    n: Doubled  # (n_rows, 3)
    f: Doubled  # (n_rows, 3)
    turned_back: Doubled  # (n_rows, 3) how far the successor is turned
    moved: Doubled  # (n_rows, 3) and displaced
    arm: Doubled  # (n_rows, 2, 3) from the centers of predecessor and successor to the point
    ends: IntArray  # (n_rows, 2) bodies, the world being the last
    on_successor: BoolArray  # (n_rows,) the body that n and f turn with

    @property
    def position_error(self) -> Doubled:
        return dot(self.n, self.turned_back) + dot(self.f, self.moved)

    @property
    def values(self) -> Doubled:
        """(n_rows, 2, 6) coefficients of (w, v) of predecessor and successor."""
        sides = [concatenate([self.n + cross(self.arm[:, k], self.f), self.f], 1) for k in (0, 1)]
        return stack([-sides[0], sides[1]], 1)


@dataclass(eq=False)
class _Oracle:
    system: System
    state: State
    keep: BoolArray
    q: Doubled = field(init=False)  # (n + 1, 4)
    c: Doubled = field(init=False)  # (n + 1, 3) centers
    w: Doubled = field(init=False)  # (n + 1, 3) in world axes
    v: Doubled = field(init=False)

    def __post_init__(self) -> None:
        system, state = self.system, self.state
        known = {*ON_SUCCESSOR, *ON_PREDECESSOR}
        unknown = {joint_type.name for joint_type in system.joint_types} - known
        forces = system.joint_forces.item, system.point_forces.first, system.external_forces.body
        if unknown or any(map(len, forces)) or len(system.coordinates.prescribed):
            raise ValueError(f"no reference with {sorted(unknown) or 'forces or drives'}")
        self.q = unit(doubled(np.vstack([state.orientation, [1.0, 0.0, 0.0, 0.0]])))
        self.c = doubled(np.vstack([state.position, np.zeros(3)]))
        R, v = self.rotations(), doubled(np.vstack([state.velocity, np.zeros(6)]))
        self.w, self.v = apply(R, v[:, :3]), apply(R, v[:, 3:])
        self.frames = tuple(
            (body, _orthonormal(_clean(axes)), doubled(_clean(point)))
            for body, axes, point in (
                (system.predecessor, system.predecessor_rotation, system.predecessor_point),
                (system.successor, system.successor_rotation, system.successor_point),
            )
        )

    # ---- what is true at a pose -------------------------------------------------------------

    def rotations(self) -> Doubled:
        """Body to world axes (n + 1, 3, 3)."""
        w, x, y, z = (self.q[:, k] for k in range(4))
        rows = [
            [w * w + x * x - y * y - z * z, (x * y - w * z) * 2.0, (x * z + w * y) * 2.0],
            [(x * y + w * z) * 2.0, w * w - x * x + y * y - z * z, (y * z - w * x) * 2.0],
            [(x * z - w * y) * 2.0, (y * z + w * x) * 2.0, w * w - x * x - y * y + z * z],
        ]
        return stack([stack(row, -1) for row in rows], -2)

    def rows(self) -> _Rows:
        """All constraint rows at the present pose."""
        system, R = self.system, self.rotations()
        (p, R_P, x_P), (s, R_S, x_S) = self.frames
        P, S = product(R[p], R_P), product(R[s], R_S)
        at_p, at_s = self.c[p] + apply(R[p], x_P), self.c[s] + apply(R[s], x_S)
        name = np.array([joint_type.name for joint_type in system.joint_types])
        axis = cross(P[:, :, 2], S[:, :, 2])
        turned = sum((cross(P[:, :, k], S[:, :, k]) for k in (0, 1)), axis) * 0.5
        turned = where(np.isin(name, HINGES)[:, None], axis, turned)
        j = system.row_joint
        T = _clean(system.subspace)
        n, f = apply(S[j], T[:, :3]), apply(S[j], T[:, 3:])
        for kind, axes in ON_PREDECESSOR.items():
            for i, k in enumerate(axes):
                here = np.zeros(system.n_rows, dtype=bool)
                here[system.first_row[:-1][name == kind] + i] = True
                f = where(here[:, None], P[j][:, :, k], f)
                n = where(here[:, None], n * 0.0, n)
        arm = stack([at_s - self.c[p], at_s - self.c[s]], 1)
        ends = np.stack([p, s], axis=1)[j] % (system.n_bodies + 1)
        on_successor = np.isin(name, ON_SUCCESSOR)[j]
        return _Rows(n, f, turned[j], (at_s - at_p)[j], arm[j], ends, on_successor)

    def rates(self, rows: _Rows) -> Doubled:
        """(n_rows,) what rows ask of (dw/dt, dv/dt), v being that of the center of mass."""
        (w_p, w_s), (v_p, v_s) = (
            (of[rows.ends[:, 0]], of[rows.ends[:, 1]]) for of in (self.w, self.v)
        )
        V_p, V_s = v_p + cross(w_p, rows.arm[:, 0]), v_s + cross(w_s, rows.arm[:, 1])
        carrier = where(rows.on_successor[:, None], w_s, w_p)
        turning = dot(cross(carrier, rows.n), w_s - w_p) + dot(cross(carrier, rows.f), V_s - V_p)
        apart = cross(w_s, cross(w_s, rows.arm[:, 1])) - cross(w_p, V_s - v_p)
        return -(turning + dot(rows.f, apart))

    # ---- solutions -------------------------------------------------------------------------

    def reference(self, close: bool) -> Extended:
        system, n = self.system, self.system.n_bodies
        rows, D = self.rows(), self.inertia(self.rotations())
        factor = Factor(D.high, system.mass, rows.values.high, rows.ends, self.keep)
        if close:
            self.close(factor)
        rows, R = self.rows(), self.rotations()
        D = self.inertia(R)
        if close:
            self.make_velocity_consistent(factor, rows, D)
        w, rate = self.w[:n], self.rates(rows)
        gravity = doubled(system.gravity) * doubled(system.mass)[:, None]
        force = concatenate([-cross(w, apply(D, w)), gravity], 1)
        a, lam, change = self.solve(factor, rows, D, force, rate)
        left, pull = _products(rows, _grounded(a)) - rate, _pulls(rows, lam, n)
        missing = force - _momenta(D, system.mass, a) - pull
        terms = rows.values.high * _grounded(a).high[rows.ends]
        size = max(float(np.abs(terms).max(initial=0.0)), rate.largest(), TINY)
        return Extended(
            self.rounded_state(R),
            self.spatial(R, a),
            (R, self.w, a),
            rows.position_error.largest(),
            left.largest() / size,
            missing.largest() / max(force.largest(), pull.largest(), TINY),
            change,
        )

    def close(self, factor: Factor) -> None:
        """Close all joints, by the least displacements."""
        n, last = self.system.n_bodies, np.inf
        for _ in range(STEPS):
            error = self.rows().position_error
            change = factor.solve(np.zeros(6 * n), -error.high)[0].reshape(n, 6)
            size = float(np.abs(change).max(initial=0.0))
            if not size < 0.5 * last:
                break
            last = size
            self.displace(change)

    def make_velocity_consistent(self, factor: Factor, rows: _Rows, D: Doubled) -> None:
        """Take from the velocity what violates constraints."""
        velocity = concatenate([self.w, self.v], 1)
        still = doubled(np.zeros((self.system.n_bodies, 6)))
        change, _, _ = self.solve(factor, rows, D, still, -_products(rows, velocity))
        velocity = velocity + _grounded(change)
        self.w, self.v = velocity[:, :3], velocity[:, 3:]

    def solve(
        self,
        factor: Factor,
        rows: _Rows,
        D: Doubled,
        force: Doubled,
        rate: Doubled,
    ) -> tuple[Doubled, Doubled, float]:
        """Return a (n, 6) and lambda (n_rows,) with D a + A' lambda = force and A a = rate."""
        n, m = self.system.n_bodies, self.system.n_rows
        a, lam = doubled(np.zeros((n, 6))), doubled(np.zeros(m))
        last = latest = np.inf
        for k in range(STEPS):
            missing = force - _momenta(D, self.system.mass, a) - _pulls(rows, lam, n)
            gap = rate - _products(rows, _grounded(a))
            step, push = factor.solve(missing.high.ravel(), gap.high)
            latest = float(np.abs(step).max(initial=0.0)) / (a.largest() or TINY)
            if k > 1 and not latest < 0.5 * last:
                break
            a, lam, last = a + step.reshape(n, 6), lam + push, latest
            if latest < DONE:
                break
        return a, lam, min(last, latest)

    def inertia(self, R: Doubled) -> Doubled:
        """(n, 3, 3) about the centers of mass, in world axes."""
        R = R[:-1]
        return product(product(R, doubled(self.system.inertia)), transposed(R))

    def displace(self, change: FloatArray) -> None:
        """Turn and move all bodies a little; (n, 6), angular first, world axes."""
        n = self.system.n_bodies
        self.c = self.c + np.vstack([change[:, 3:], np.zeros((1, 3))])
        half = doubled(np.vstack([0.5 * change[:, :3], np.zeros((1, 3))]))
        scalar, vector = self.q[:, :1], self.q[:, 1:]
        turned = concatenate(
            [scalar - dot(half, vector)[:, None], vector + half * scalar + cross(half, vector)], 1
        )
        self.q = where((np.arange(n + 1) < n)[:, None], unit(turned), self.q)

    def rounded_state(self, R: Doubled) -> State:
        """The consistent state as doubles."""
        back = transposed(R)
        velocity = concatenate([apply(back, self.w), apply(back, self.v)], 1)
        return self.state.with_(
            position=self.c.high[:-1].copy(),
            orientation=self.q.high[:-1].copy(),
            velocity=velocity.high[:-1].copy(),
        )

    def spatial(self, R: Doubled, a: Doubled) -> FloatArray:
        """Spatial accelerations (n, 6) in body coordinates."""
        back = transposed(R[:-1])
        linear = a[:, 3:] - cross(self.w[:-1], self.v[:-1])
        return concatenate([apply(back, a[:, :3]), apply(back, linear)], 1).high.copy()


# ---- products ------------------------------------------------------------------------------


def _products(rows: _Rows, of_bodies: Doubled) -> Doubled:
    """Return A a for a (n + 1, 6)."""
    parts = rows.values * of_bodies[rows.ends]
    return parts.reshape(len(rows.ends), 12).total()


def _pulls(rows: _Rows, lam: Doubled, n: int) -> Doubled:
    """Return A' lambda (n, 6): sums over the rows of each body, one row of every body at a time."""
    value = (rows.values * lam[:, None, None]).reshape(-1, 6)
    body = rows.ends.ravel()
    order = np.argsort(body, kind="stable")
    order = order[body[order] < n]
    first = np.searchsorted(body[order], np.arange(n + 1))
    total = doubled(np.zeros((n, 6)))
    for turn in range(int(np.diff(first).max(initial=0))):
        has = np.flatnonzero(np.diff(first) > turn)
        sums = total[has] + value[order[first[has] + turn]]
        total.high[has] = sums.high
        total.low = _written(total.low, has, sums.low)
    return total


def _written(array: FloatArray, at: IntArray, values: FloatArray) -> FloatArray:
    array = array.copy() if not array.flags.writeable else array
    array[at] = values
    return array


def _momenta(D: Doubled, mass: FloatArray, a: Doubled) -> Doubled:
    """Return D a for a (n, 6)."""
    return concatenate([apply(D, a[:, :3]), a[:, 3:] * mass[:, None]], 1)


def _grounded(of_bodies: Doubled) -> Doubled:
    """Append the world, which does not move."""
    return concatenate([of_bodies, doubled(np.zeros((1, of_bodies.high.shape[1])))])


# ---- joint frames as they are meant --------------------------------------------------------


def _clean(numbers: FloatArray) -> FloatArray:
    return np.where(np.abs(numbers) < CRUMB, 0.0, numbers)


def _orthonormal(axes: FloatArray) -> Doubled:
    """Return frames (n, 3, 3) with orthogonal axes of length one, z where it was."""
    x, z = doubled(axes[:, :, 0]), unit(doubled(axes[:, :, 2]))
    x = unit(x - z * dot(x, z)[:, None])
    return stack([x, cross(z, x), z], -1)
