"""Replacements of one or two joints of a loop that take exactly what circulates in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from sparsebody.analysis.candidates import ROBUST, Choice, Pose, clearness
from sparsebody.analysis.relaxations import relaxations
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.system import System

MOST_JOINTS = 12  # of a loop that are looked at
MOST_CHOICES = 4
AS_GOOD = 0.3  # share of the best clearness that makes a choice as good as any


def choose_in_loop(
    system: System, loop: int, own: IntArray, poses: list[Pose]
) -> list[list[Choice]]:
    """Return choices, the best first; each takes all that circulates in the loop, at all poses.

    Parameters
    ----------
    loop : int
        A cycle of the basis.
    own : (n,) int array
        Its joints that may be replaced.
    poses : list of Pose
        Where to look.
    """
    size = int(poses[-1].circulations.dimension[loop])
    if any(int(pose.circulations.dimension[loop]) != size for pose in poses):
        return []
    wrenches = [pose.wrenches(loop) for pose in poses]
    joints = own[:MOST_JOINTS].tolist()
    for n, varies in ((1, False), (1, True), (2, False), (2, True)):
        works = [
            (choice, _works(system, loop, choice, poses, wrenches))
            for j in joints
            for choice in _candidates(system, j, size, n, varies)
        ]
        choices = _together(works, n, size)
        if choices:
            return choices
    return []


def _candidates(system: System, joint: int, size: int, n: int, varies: bool) -> Iterator[Choice]:
    """Yield what may be one of n choices: with `varies`, new freedoms that vary in S as well."""
    for relaxation in relaxations(system.joint_types[joint]):
        suits = relaxation.n_removed == size if n == 1 else relaxation.n_removed < size
        if suits and (varies or relaxation.extra is not None):
            yield Choice(joint, relaxation)


def _works(
    system: System,
    loop: int,
    choice: Choice,
    poses: list[Pose],
    wrenches: list[dict[int, FloatArray]],
) -> list[FloatArray]:
    """Return (n_removed, dimension) what new freedoms do on what circulates, pose by pose."""
    return [
        pose.extra(system, choice, float(pose.circulations.length[loop])) @ wrench[choice.joint]
        for pose, wrench in zip(poses, wrenches, strict=True)
    ]


def _together(
    works: list[tuple[Choice, list[FloatArray]]], n: int, size: int
) -> list[list[Choice]]:
    """Return the choices of n joints that take all of it."""
    ranked: list[tuple[float, list[Choice]]] = []
    for group in combinations(works, n):
        choices = [choice for choice, _ in group]
        if sum(choice.relaxation.n_removed for choice in choices) != size:
            continue
        if len({choice.joint for choice in choices}) < n:
            continue
        at_poses = zip(*(work for _, work in group), strict=True)
        clear = min(clearness(np.concatenate(parts)) for parts in at_poses)
        if clear > ROBUST:
            ranked.append((clear, choices))
    best = max((clear for clear, _ in ranked), default=0.0)
    ranked.sort(key=lambda item: item[0] < AS_GOOD * best)
    return [choices for _, choices in ranked[:MOST_CHOICES]]
