"""Measured times of members of a family."""

from __future__ import annotations

from collections.abc import Callable

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import ModelError
from sparsebody.study.eliminations import Ordering, Tree
from sparsebody.study.families import Problem
from sparsebody.study.growing import Member
from sparsebody.study.measure import timings
from sparsebody.study.methods import Prepared, SparsePrepared, TreePrepared
from sparsebody.study.plan import Settings
from sparsebody.tree import tree_dynamics

Timer = Callable[[Member], float]
_SETTINGS = Settings(repeats=3, batch_seconds=0.01, longest=2.0)


def timer(method: str, choice: Ordering | Tree) -> Timer:
    """Return what measures the CPU time [s] of one evaluation of the accelerations of a member.

    Raises
    ------
    ModelError
        For an ordering or a tree that has no name.
    """
    if not isinstance(choice, str):
        raise ModelError(
            "times are measured of orderings and trees with a name; use register_ordering, or "
            "measure no times"
        )

    def seconds(member: Member) -> float:
        assert member.system is not None
        problem = Problem(member.system.name, member.system, member.system.initial_state)
        return float(timings(_prepared(method, choice, problem), _SETTINGS)["seconds_min"])

    return seconds


def _prepared(method: str, choice: str, problem: Problem) -> Prepared:
    system, state = problem.system, problem.state
    if method == "sparse":
        dynamics = ForwardDynamics(system, state, ordering=choice, reactions="basic")
        return SparsePrepared(problem, dynamics)
    return TreePrepared(problem, tree_dynamics(method, system, choice, reactions="basic"))
