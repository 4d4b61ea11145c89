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

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sparsebody.analysis.advice_check import AdviceCheck, check_advice, with_replaced_joints
from sparsebody.analysis.advice_choices import (
    MOST_REDUNDANT,
    Choice,
    LoopChoices,
    choices_by_loop,
    pose_at,
)
from sparsebody.analysis.closed_loops import nearby_state
from sparsebody.analysis.determined_reactions import constraints, determined_reactions, listed
from sparsebody.analysis.relaxations import relaxations
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.model.joints import JointType
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import State, System

TOO_MANY = f"nothing, for more than {MOST_REDUNDANT} redundant rows are not looked at together"


@dataclass(frozen=True, eq=False)
class Replacement:
    """A joint of another type, or none, in the place of one."""

    joint: str
    old: JointType
    new: JointType | None  # None: take the joint away
    turn: FloatArray  # (3, 3) axes of both new joint frames in the old ones
    n_removed: int  # constraint rows that this saves

    def __str__(self) -> str:
        if self.new is None:
            return f"remove joint {self.joint!r} ({self.old.name})"
        signs, places = self.turn.sum(axis=0), np.abs(self.turn).argmax(axis=0)
        axes = [f"{'-' * int(signs[k] < 0)}{'xyz'[places[k]]}" for k in range(3)]
        turned = "" if axes == ["x", "y", "z"] else f", its axes along {', '.join(axes)} of the old"
        return f"joint {self.joint!r}: {self.new.name} instead of {self.old.name}{turned}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dicts."""
        return {
            "joint": self.joint,
            "old": self.old.name,
            "new": None if self.new is None else self.new.name,
            "turn": self.turn.tolist(),
            "rows_removed": self.n_removed,
        }


@dataclass(frozen=True, eq=False)
class LoopAdvice:
    """What to do about one redundant loop, or about several that share their redundancy."""

    joints: tuple[str, ...]
    loops: int  # how many loops these are
    redundant: int  # constraint rows
    choices: tuple[tuple[Replacement, ...], ...]  # any one of them will do; the first is taken
    tried: tuple[str, ...] = ()  # where they leave a rest: what each joint could be replaced by

    @property
    def remaining(self) -> int:
        """Redundant rows that the choice leaves."""
        taken = self.choices[0] if self.choices else ()
        return self.redundant - sum(replacement.n_removed for replacement in taken)

    def lines(self) -> Iterator[str]:
        """Say what there is to choose from."""
        where = listed(self.joints) if self.loops == 1 else f"{self.loops} loops together"
        yield f"{constraints(self.redundant)} in {where}"
        for k, choice in enumerate(self.choices):
            yield f"  {'or ' * bool(k)}{listed([str(r) for r in choice], 4, '; ')}"
        if self.remaining:
            yield f"  {self.remaining} left: no type takes as little, or a drive or force needs it:"
            yield f"  {listed(self.tried, 4, '; ')}"


@dataclass(frozen=True, eq=False)
class Advice:
    """Replacements that make a mechanism properly constrained, and how they stood the trial."""

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
        """What to do about single joints that set a loop right, and how many rows that saves."""
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
    there = nearby_state(dynamics, state, seed)
    report = determined_reactions(system, there)
    poses = [pose_at(system, state, dynamics), pose_at(system, there)]
    is_singular = len(dynamics.redundant_rows) > report.dimension
    loop_choices = choices_by_loop(system, report, poses[1:] if is_singular else poses)
    loops = tuple(_loop_advice(system, choices) for choices in loop_choices)
    advice = Advice(loops, None, is_singular)
    if not advice.replacements:
        return advice
    return Advice(loops, _tried(mechanism, system, advice, state, there, seed), is_singular)


def apply_advice(mechanism: Mechanism, advice: Advice | Iterable[Replacement]) -> Mechanism:
    """Return a copy of a mechanism with the replacements made."""
    replacements = advice.replacements if isinstance(advice, Advice) else tuple(advice)
    return with_replaced_joints(
        mechanism, {r.joint: None if r.new is None else (r.new, r.turn) for r in replacements}
    )


def _loop_advice(system: System, loop_choices: LoopChoices) -> LoopAdvice:
    advice = LoopAdvice(
        tuple(system.joint_names[int(j)] for j in loop_choices.joints),
        loop_choices.loops,
        loop_choices.redundant,
        tuple(
            tuple(_replacement(system, choice) for choice in together)
            for together in loop_choices.choices
            if together
        ),
    )
    if not advice.remaining:
        return advice
    tried = _could_be(system, loop_choices.joints) if loop_choices.is_looked_at else (TOO_MANY,)
    return replace(advice, tried=tried)


def _replacement(system: System, choice: Choice) -> Replacement:
    relaxation = choice.relaxation
    return Replacement(
        system.joint_names[choice.joint],
        system.joint_types[choice.joint],
        relaxation.new,
        relaxation.turn,
        relaxation.n_removed,
    )


def _could_be(system: System, joints: IntArray) -> tuple[str, ...]:
    """Return what there is in place of each joint, with the rows that it saves."""
    options = []
    for j in joints.tolist():
        old = system.joint_types[j]
        others = {f"{r.name} (-{r.n_removed})": None for r in relaxations(old)}
        options.append(f"{old.name} {system.joint_names[j]!r}: {', '.join(others)}")
    return tuple(options)


def _tried(
    mechanism: Mechanism, system: System, advice: Advice, state: State, there: State, seed: int
) -> AdviceCheck:
    """Return how the advised mechanism compares at both poses."""
    advised = apply_advice(mechanism, advice).compile()
    return check_advice(system, advised, (state, there), advice.remaining, seed + 1)
