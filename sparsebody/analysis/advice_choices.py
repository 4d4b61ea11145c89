"""Which loops are looked at by themselves, and which together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsebody.analysis.advice_clusters import MOST_REDUNDANT, choose_in_cluster
from sparsebody.analysis.advice_loops import choose_in_loop
from sparsebody.analysis.candidates import Choice, Pose
from sparsebody.analysis.reaction_report import ReactionReport
from sparsebody.arrays import BoolArray, IntArray
from sparsebody.model.system import System


@dataclass(frozen=True, eq=False)
class LoopChoices:
    """What could be done about a loop, or about several together."""

    joints: IntArray  # (n,)
    loops: int  # how many loops these are
    redundant: int  # constraint rows
    choices: list[list[Choice]]  # any one of them will do
    is_looked_at: bool = True  # False where that would take too long


def choices_by_loop(
    system: System, report: ReactionReport, poses: list[Pose]
) -> Iterator[LoopChoices]:
    """Yield the choices of all loops, then those of clusters of loops.

    Biconnected components become clusters where loops share redundancy, or where a loop finds no
    choice by itself; those too large for that keep what their loops have found.
    """
    cycles, dimension = report.circulations.cycles, report.circulations.dimension
    is_small = report.component_dimension <= MOST_REDUNDANT
    is_cluster = (report.shared_dimension > 0) & is_small
    free, choices_of = replaceable(system), {}
    in_earlier = np.zeros(system.n_joints, dtype=bool)
    is_redundant = dimension[cycles.cycle] > 0
    n_loops = np.bincount(cycles.edge[is_redundant], minlength=system.n_joints)
    for loop in report.redundant_loops.tolist():
        joints = cycles[loop]
        own = joints[free[joints] & ~in_earlier[joints]]
        own = own[np.argsort(n_loops[own], kind="stable")]  # those in no other loop first
        in_earlier[joints] = True
        component = report.component[joints[0]]
        if not is_cluster[component]:
            choices_of[loop] = choose_in_loop(system, loop, own, poses)
            is_cluster[component] = is_small[component] and not choices_of[loop]
    for loop, choices in choices_of.items():
        if not is_cluster[report.component[cycles[loop][0]]]:
            yield LoopChoices(cycles[loop], 1, int(dimension[loop]), choices)
    of_loop = report.component[cycles.edge[cycles.start[:-1]]]
    for c in np.flatnonzero(is_cluster | (report.shared_dimension > 0)):
        joints, n = np.flatnonzero(report.component == c), int(np.count_nonzero(of_loop == c))
        if is_cluster[c]:
            size = int(report.component_dimension[c])
            choices = choose_in_cluster(system, joints, free, size, poses[-1])
            yield LoopChoices(joints, n, size, choices)
        else:
            yield LoopChoices(joints, n, int(report.shared_dimension[c]), [], False)


def replaceable(system: System) -> BoolArray:
    """Return (n_joints,) whether no drive or force uses a joint's coordinates."""
    free = np.ones(system.n_joints, dtype=bool)
    free[system.coordinates.joint] = False
    return free
