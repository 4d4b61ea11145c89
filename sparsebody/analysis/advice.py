"""Joints to replace so that a mechanism is properly constrained and moves as before.

A joint that carries less leaves the rank of the constraints, and with it the motion, as it is, if
the wrenches that it no longer carries were redundant: its new freedoms must do work, independently
of each other, on wrenches that balance by themselves. Loop by loop, a joint that is in no earlier
redundant loop takes all that can circulate in its loop, so that no choice spoils another; where
several loops share redundancy, choices are made one after the other on the whole null space. What
is advised is tried then: rank, redundancy and accelerations in two poses.

References
----------
Featherstone (2008), sec. 8.10, on overconstraint; sec. 3.6 and 4.4 on joints.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sparsebody import errors, spatial
from sparsebody.analysis.advice_choices import LoopAdvice, Replacement, choices_by_loop, pose_at
from sparsebody.analysis.reactions import determined_reactions, joint_sizes
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.kinematics.joint_motion import displaced, joint_motion
from sparsebody.model import Frames, JointType, Mechanism, State, System, connections, forces
from sparsebody.tolerances import (
    JOINT_SPEED_TOLERANCE,
    LEAST_DIVISOR,
    NEARBY_CLOSURE,
    VIOLATION_TOLERANCE,
)

TURNS = (0.1, 0.03, 0.01, 0.003)  # [rad], and as shares of the sizes of the joints
MOST_STEPS = 10  # of Newton's method to close the joints again; three or four are usual

Substitute = tuple[JointType, FloatArray]  # and the axes (3, 3) of its frames in the old ones


def with_replaced_joints(
    mechanism: Mechanism, substitutes: Mapping[str, Substitute | None]
) -> Mechanism:
    """Return a copy of a mechanism with some joints of another type, or without them.

    `substitutes`: the new type, and the axes of both new joint frames in the old ones, whose
    origins they keep; None takes the joint away. Raises ModelError for a joint that is not there,
    or one whose coordinates are in use by a drive or a force.
    """
    in_use = {f.joint for f in mechanism.forces.values() if isinstance(f, forces.JointForce)}
    for name in substitutes:
        joint = mechanism.joint(name)
        if joint.compliance.any():
            raise errors.ModelError(
                f"joint {name!r}: has a compliance on its rows, so it cannot be replaced; take "
                "that away first"
            )
        if joint.prescribed or name in in_use:
            raise errors.ModelError(
                f"joint {name!r}: its coordinates are in use by a drive or a force, so it cannot "
                "be replaced; take these away first"
            )
    bodies, joints = mechanism.columns()
    types = [joints.types[k] for k in joints.type_index.tolist()]
    turns = np.tile(np.eye(3), (len(joints), 1, 1))
    keep = np.ones(len(joints), dtype=bool)
    for name, new in substitutes.items():
        j = mechanism.joint_names.find(name)
        keep[j] = new is not None
        if new is not None:
            types[j], turns[j] = new
    remaining = np.flatnonzero(keep)
    names = [mechanism.joint_names[j] for j in remaining.tolist()]
    known, type_index = connections.distinct_types(names, [types[j] for j in remaining.tolist()])
    others = replace(
        joints.take(remaining),
        types=known,
        type_index=type_index,
        predecessor_frame=_turned(joints.predecessor_frame, turns)[remaining],
        successor_frame=_turned(joints.successor_frame, turns)[remaining],
    )
    return Mechanism.of_columns(mechanism, (mechanism.body_names, bodies), (names, others))


def _turned(frames: Frames, turns: FloatArray) -> Frames:
    """Return frames with other axes; those that are not turned stay exactly as they are."""
    orientation = np.array(frames.quaternions)
    is_turned = np.any(turns != np.eye(3), axis=(1, 2))
    orientation[is_turned] = spatial.quaternion_from_rotation(
        frames.rotations[is_turned] @ turns[is_turned]
    )
    return Frames(frames.origins, orientation)


@dataclass(frozen=True)
class AdviceCheck:
    """The two mechanisms at some poses that the first one can take."""

    ranks: tuple[tuple[int, int], ...]  # of the first and of the second, at each pose
    redundant: tuple[int, ...]  # rows of the second, at each pose
    expected: int  # redundant rows for which there was no remedy
    certain: bool  # whether all rank decisions are
    violation: float  # of the first one's constraints by accelerations of the second, relative
    difference: float  # of the accelerations of both, by the largest one

    @property
    def is_same(self) -> bool:
        """Whether it moves as before, with no more redundancy than expected."""
        same_rank = all(first == second for first, second in self.ranks)
        return (
            self.certain
            and same_rank
            and min(self.redundant) <= self.expected
            and self.violation <= VIOLATION_TOLERANCE
        )

    def __str__(self) -> str:
        verdict = "verified" if self.is_same else "NOT verified"
        rows = " and ".join(f"{first}, then {second}" for first, second in self.ranks)
        return (
            f"{verdict} in {len(self.ranks)} poses: rank {rows}; redundant rows left "
            f"{min(self.redundant)}; accelerations differ by {self.difference:.1e}"
        )


def check_advice(
    system: System, advised: System, states: tuple[State, ...], expected: int, seed: int
) -> AdviceCheck:
    """Return how `advised` compares with `system` at states that are consistent for both.

    At random velocities and loads. Forces of the second one's joints are forces of the first one's,
    so accelerations of the second that obey the first one's constraints are the first one's. Where
    these are poorly conditioned both have errors, and the difference says less than the violation.
    """
    ranks, redundant, certain, violation, difference = [], [], True, 0.0, 0.0
    rng = np.random.default_rng(seed)
    for k, state in enumerate(states):
        first = ForwardDynamics(system, state, reactions="basic")
        second = ForwardDynamics(advised, state, reactions="basic")
        ranks.append((first.rank, second.rank))
        redundant.append(len(second.redundant_rows))
        for dynamics in (first, second):
            certain &= bool(dynamics.explain()["redundancy_certain"])
        moving = moving_state(first, state, seed + k)
        load = rng.normal(size=(system.n_bodies, 6))
        load[:, 3:] *= system.mass[:, None]
        load[:, :3] *= np.linalg.norm(system.inertia, axis=(1, 2))[:, None]
        one, other = (d.acceleration(moving, body_force=load) for d in (first, second))
        free = np.einsum("nij,nj->ni", system.inverse_inertia, load)
        violation = max(violation, _violation(first, moving, other, free))
        largest = float(max(np.abs(one).max(initial=0.0), np.abs(free).max(initial=0.0)))
        difference = max(difference, float(np.abs(one - other).max(initial=0.0)) / largest)
    return AdviceCheck(tuple(ranks), tuple(redundant), expected, certain, violation, difference)


def _violation(dynamics: ForwardDynamics, state: State, a: FloatArray, free: FloatArray) -> float:
    """Return the largest entry of A a - gamma, relative to the largest sum of magnitudes in a row.

    Summed are the terms of A a or, where these are larger, of A a_free, and gamma; `free` is
    a_free (n_bodies, 6), the acceleration without constraints.
    """
    system, constraint = dynamics.system, dynamics.evaluate(state).constraint
    ends = system.ends[system.row_joint]
    is_body = (ends >= 0)[:, :, None]
    terms, of_free = (  # (n_rows, 2, 6) the products that A a sums
        constraint.rows * np.where(is_body, x[ends], 0.0) for x in (a, free)
    )
    scale = np.maximum(np.abs(terms), np.abs(of_free)).sum(axis=(1, 2))
    error = np.abs(terms.sum(axis=(1, 2)) - constraint.acceleration)
    largest = (scale + np.abs(constraint.acceleration)).max(initial=0.0)
    return float(error.max(initial=0.0) / max(largest, LEAST_DIVISOR))


@dataclass(frozen=True, eq=False)
class Advice:
    """Replacements that make a mechanism properly constrained, and a check of its motion."""

    loops: tuple[LoopAdvice, ...]
    check: AdviceCheck | None  # None without a replacement
    is_singular: bool  # the pose has more redundancy than poses near by, which advice is for

    @property
    def replacements(self) -> tuple[Replacement, ...]:
        """All that is to be replaced."""
        return tuple(r for loop in self.loops for choice in loop.choices[:1] for r in choice)

    @property
    def remaining(self) -> int:
        """Redundant rows for which nothing was found."""
        return sum(loop.remaining for loop in self.loops)

    @property
    def remedies(self) -> dict[str, tuple[str, int]]:
        """Replacements of one joint that remove a loop's redundancy: words and rows, by joint."""
        alone = (choice[0] for loop in self.loops for choice in loop.choices if len(choice) == 1)
        names: dict[str, tuple[str, int]] = {}
        for r in alone:
            remedy = "remove it" if r.new is None else f"replace by {r.new.name}"
            names.setdefault(r.joint, (remedy, r.n_removed))
        return names

    @property
    def is_verified(self) -> bool:
        """Whether nothing redundant is left and the mechanism moves as before."""
        return self.remaining == 0 and (self.check is None or self.check.is_same)

    def lines(self, most: int = 8) -> Iterator[str]:
        """Say what to replace, loop by loop, and how that stood the trial."""
        if self.is_singular:
            yield "more redundancy in this pose than in poses near by, which this is for"
        for loop in self.loops[:most]:
            yield from loop.lines()
        if len(self.loops) > most:
            yield f"and {len(self.loops) - most} loops more"
        if self.check is not None:
            yield str(self.check)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dicts."""
        return {
            "verified": self.is_verified,
            "remaining": self.remaining,
            "singular_pose": self.is_singular,
            "check": None if self.check is None else asdict(self.check),
            "loops": [
                {
                    "joints": list(loop.joints),
                    "loops": loop.loops,
                    "redundant": loop.redundant,
                    "choices": [[r.to_dict() for r in choice] for choice in loop.choices],
                    "tried": list(loop.tried),
                }
                for loop in self.loops
            ],
        }


def advise(mechanism: Mechanism, state: State | None = None, *, seed: int = 0) -> Advice:
    """Return the joint replacements that make a mechanism properly constrained.

    Joints whose coordinates are in use by drives or forces stay as they are.

    Parameters
    ----------
    mechanism : Mechanism
        It stays as it is; `apply_advice` returns the other one.
    state : State, optional
        A consistent state; default: the consistent initial one.
    seed : int
        Of the random motion to a second pose.
    """
    system = mechanism.compile()
    state = consistent_state(system) if state is None else state
    dynamics = ForwardDynamics(system, state, reactions="basic")
    if not len(dynamics.redundant_rows):
        return Advice((), None, False)
    nearby = nearby_state(dynamics, state, seed)
    report = determined_reactions(system, nearby)
    poses = [pose_at(system, state, dynamics), pose_at(system, nearby)]
    is_singular = len(dynamics.redundant_rows) > report.dimension
    loops = tuple(choices_by_loop(system, report, poses[1:] if is_singular else poses))
    advice = Advice(loops, None, is_singular)
    if not advice.replacements:
        return advice
    advised = apply_advice(mechanism, advice).compile()
    check = check_advice(system, advised, (state, nearby), advice.remaining, seed + 1)
    return Advice(loops, check, is_singular)


def apply_advice(mechanism: Mechanism, advice: Advice | Iterable[Replacement]) -> Mechanism:
    """Return a copy of a mechanism with the replacements made."""
    replacements = advice.replacements if isinstance(advice, Advice) else tuple(advice)
    return with_replaced_joints(
        mechanism, {r.joint: None if r.new is None else (r.new, r.turn) for r in replacements}
    )


def moving_state(dynamics: ForwardDynamics, state: State, seed: int = 0) -> State:
    """Return the state with a random velocity that the joints allow, of size one in the joints.

    Largest of relative angular velocities [rad/s] and of linear ones by the joints' sizes.
    """
    system = dynamics.system
    drawn = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    sizes = joint_sizes(system)
    drawn[:, 3:] *= float(np.median(sizes)) if len(sizes) else 1.0
    moving = state.with_(velocity=drawn)
    for _ in range(2):
        change = dynamics.evaluate(moving).velocity_correction()
        moving = moving.with_(velocity=moving.velocity + change)
    before = _joint_speed(dynamics, state.with_(velocity=drawn))
    after = _joint_speed(dynamics, moving)
    if after <= JOINT_SPEED_TOLERANCE * before:
        return state.with_(velocity=np.zeros_like(state.velocity))
    return moving.with_(velocity=moving.velocity / after)


def nearby_state(dynamics: ForwardDynamics, state: State, seed: int = 0) -> State:
    """Return a state some distance along a random motion, with joints closed and no velocity.

    The distance is shorter where joints do not close after a long one, as near singular poses.
    """
    moving = moving_state(dynamics, state, seed)
    for turn in TURNS[:-1]:
        try:
            return _closed_after(dynamics, moving, turn)
        except errors.AssemblyError:
            continue
    return _closed_after(dynamics, moving, TURNS[-1])


def _closed_after(dynamics: ForwardDynamics, moving: State, turn: float) -> State:
    """Return a closed state near that after a motion of `turn`; AssemblyError if none is found."""
    closed = displaced(moving, turn * moving.velocity)
    closed = closed.with_(velocity=np.zeros_like(closed.velocity))
    goal = NEARBY_CLOSURE * min(1.0, float(joint_sizes(dynamics.system).min(initial=1.0)))
    for _ in range(MOST_STEPS):
        evaluation = dynamics.evaluate(closed)
        if float(np.abs(evaluation.position_error).max(initial=0.0)) <= goal:
            return closed
        closed = displaced(closed, evaluation.position_correction())
    return consistent_state(dynamics.system, closed)


def _joint_speed(dynamics: ForwardDynamics, state: State) -> float:
    """Return the largest relative velocity at a joint, or of a body without joints."""
    system = dynamics.system
    if not system.n_joints:
        return float(np.abs(state.velocity).max(initial=0.0))
    velocity = joint_motion(system, state).velocity.copy()
    velocity[:, 3:] /= joint_sizes(system)[:, None]
    return float(np.abs(velocity).max(initial=0.0))
