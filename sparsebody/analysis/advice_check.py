"""Whether a mechanism with other joints moves as the one it was made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.analysis.nearby import moving_state
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.system import State, System

SAME = 1e-10  # relative violation of constraints


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
            and self.violation <= SAME
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


def _violation(
    dynamics: ForwardDynamics, state: State, acceleration: FloatArray, free: FloatArray
) -> float:
    """Return the largest violation of a row, by the largest sum of what enters rows in size.

    That is what `acceleration` contributes, or those `free` of constraints.
    """
    system, constraint = dynamics.system, dynamics.evaluate(state).constraint
    terms, of_free = (_row_terms(system, constraint.rows, a) for a in (acceleration, free))
    scale = np.maximum(np.abs(terms), np.abs(of_free)).sum(axis=(1, 2))
    error = np.abs(terms.sum(axis=(1, 2)) - constraint.acceleration)
    largest = (scale + np.abs(constraint.acceleration)).max(initial=0.0)
    return float(error.max(initial=0.0) / max(largest, 1e-300))


def _row_terms(system: System, rows: FloatArray, acceleration: FloatArray) -> FloatArray:
    """Return (n_rows, 2, 6) the products that A a sums."""
    ends = np.stack([system.predecessor, system.successor], axis=1)[system.row_joint]
    return np.asarray(rows * np.where((ends >= 0)[:, :, None], acceleration[ends], 0.0))
