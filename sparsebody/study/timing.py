"""Measured times of members of a family."""

from __future__ import annotations

from collections.abc import Callable

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.tree import tree_dynamics
from sparsebody.errors import ModelError
from sparsebody.study.eliminations import Ordering, Tree, tree_of
from sparsebody.study.families import Problem
from sparsebody.study.growing import Member
from sparsebody.study.measure import timings
from sparsebody.study.methods import SparsePrepared, TreePrepared
from sparsebody.study.plan import Settings

Timer = Callable[[Member], float]
_SETTINGS = Settings(repeats=3, batch_seconds=0.01, longest=2.0)


def timer(method: str, ordering: Ordering, tree: Tree) -> Timer:
    """Return what measures the CPU time [s] of one evaluation of the accelerations of a member.

    Raises
    ------
    ModelError
        For an ordering that has no name.
    """
    if not isinstance(ordering, str):
        raise ModelError("give the ordering a name by register_ordering, or measure no times")

    def seconds(member: Member) -> float:
        if member.system is None:
            raise ModelError("times are those of mechanisms, and the family has patterns only")
        problem = Problem(member.system.name, member.system, member.system.initial_state)
        prepared: SparsePrepared | TreePrepared
        if method == "sparse":
            dynamics = ForwardDynamics(
                problem.system, problem.state, ordering=ordering, reactions="basic"
            )
            prepared = SparsePrepared(problem, dynamics)
        else:
            recursion = tree_dynamics(
                method, problem.system, tree_of(member, tree), reactions="basic"
            )
            prepared = TreePrepared(problem, recursion)
        return float(timings(prepared, _SETTINGS)["seconds_min"])

    return seconds
