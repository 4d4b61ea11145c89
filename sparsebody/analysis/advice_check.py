"""Whether a mechanism with other joints moves as the one it was made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.analysis.nearby import moving_state
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.system import State, System

SAME = 1e-10  # relative difference of accelerations


@dataclass(frozen=True)
class AdviceCheck:
    """The two mechanisms at some poses that the first one can take."""

    ranks: tuple[tuple[int, int], ...]  # of the first and of the second, at each pose
    redundant: tuple[int, ...]  # rows of the second, at each pose
    expected: int  # redundant rows for which there was no remedy
    certain: bool  # whether all rank decisions are
    difference: float  # of accelerations at random velocities and loads, by the largest one

    @property
    def is_same(self) -> bool:
        """Whether it moves as before, with no more redundancy than expected."""
        same_rank = all(first == second for first, second in self.ranks)
        return same_rank and min(self.redundant) <= self.expected and self.difference <= SAME


def check_advice(
    system: System, advised: System, states: tuple[State, ...], expected: int, seed: int
) -> AdviceCheck:
    """Return how `advised` compares with `system` at states that are consistent for both."""
    ranks, redundant, certain, difference = [], [], True, 0.0
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
        largest = float(np.abs(one).max(initial=0.0))
        change = float(np.abs(one - other).max(initial=0.0))
        difference = max(difference, change / largest if largest > 0.0 else change)
    return AdviceCheck(tuple(ranks), tuple(redundant), expected, certain, difference)
