"""Replacements in loops that share their redundancy, chosen on the null space of A'."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from sparsebody.analysis.candidates import Choice, Pose
from sparsebody.analysis.circulations import joint_sizes
from sparsebody.analysis.null_space import null_basis
from sparsebody.analysis.relaxations import relaxations
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.kkt import kkt_structure
from sparsebody.model.system import System

MOST_REDUNDANT = 1200  # rows, for the null space is dense
FAINT = 1e-3  # singular value, of orthonormal null vectors, below which nothing is taken
FEW = 100  # redundant rows up to which taking joints away is tried although it is not needed


def choose_in_cluster(
    system: System, joints: IntArray, free: BoolArray, size: int, pose: Pose
) -> list[list[Choice]]:
    """Return one or two choices, which may leave a rest; none where it would take too long.

    Each replacement has to take wrenches that earlier ones have left. The second choice prefers
    the last joints among equal ones.

    Parameters
    ----------
    joints : (n,) int array
        Of a biconnected component.
    free : (n_joints,) bool array
        Joints that may be replaced.
    size : int
        Redundant rows of the component.
    """
    if size > MOST_REDUNDANT:
        return []
    wrench = _null_wrenches(system, joints, pose)
    order = np.arange(len(joints))
    combinations: list[list[Choice]] = []
    for may_remove in (False, True):
        for way in (order, order[::-1]):
            left = _Left(system, joints, pose, size, wrench.copy())
            combinations.append(_greedy(left, way, free, may_remove))
        combinations.sort(key=lambda choices: (size - _n_removed(choices), len(choices)))
        if size > FEW and _n_removed(combinations[0]) == size:
            break
    return combinations[:2]


def _n_removed(choices: list[Choice]) -> int:
    return sum(choice.relaxation.n_removed for choice in choices)


def _null_wrenches(system: System, joints: IntArray, pose: Pose) -> FloatArray:
    """Return (n, 6, k) orthonormal null vectors as wrenches, forces and moments / joint size."""
    structure = kkt_structure(system)
    constraint = pose.dynamics.evaluate(pose.state).constraint
    keep = np.ones(system.n_rows, dtype=bool)
    keep[pose.dynamics.redundant_rows] = False
    dual_of = np.full(system.n_joints, -1, dtype=np.intp)
    dual_of[structure.joints] = np.arange(len(structure.joints))
    null = null_basis(structure.matrix(constraint), keep, dual_of[joints])
    place = np.full(system.n_joints, -1, dtype=np.intp)
    place[joints] = np.arange(len(joints))
    wrench = np.zeros((len(joints), 6, null.multiplier.shape[1]))
    np.add.at(
        wrench,
        place[system.row_joint[null.rows]],
        constraint.subspace[null.rows][:, :, None] * null.multiplier[:, None, :],
    )
    wrench[:, :3] /= joint_sizes(system)[joints][:, None, None]
    return np.asarray(np.linalg.qr(wrench.reshape(-1, wrench.shape[2]))[0].reshape(wrench.shape))


@dataclass(eq=False)
class _Left:
    """What circulates in a cluster, less what choices have taken."""

    system: System
    joints: IntArray
    pose: Pose
    size: int
    wrench: FloatArray  # (n_joints, 6, k) null vectors, projected

    def __post_init__(self) -> None:
        self.sizes = joint_sizes(self.system)
        self.flat = self.wrench.reshape(-1, self.wrench.shape[2])

    def work(self, i: int, choice: Choice) -> tuple[float, FloatArray]:
        """Return how clearly a choice would take its share, and the directions that it takes."""
        extra = self.pose.extra(self.system, choice, float(self.sizes[choice.joint]))
        value, right = np.linalg.svd(extra @ self.wrench[i], full_matrices=False)[1:]
        return float(value[-1]), right

    def take(self, choice: Choice, right: FloatArray) -> None:
        """Project on what the choice leaves."""
        self.flat -= (self.flat @ right.T) @ right
        self.size -= choice.relaxation.n_removed


def _greedy(left: _Left, order: IntArray, free: BoolArray, may_remove: bool) -> list[Choice]:
    """Choose until nothing is left, the clearest of those that save most rows first.

    What is left only shrinks, so a choice is looked at again only when it comes first: Minoux
    (1978), on accelerated greedy algorithms.
    """
    taken: dict[int, Choice] = {}
    for n_removed in range(6, 0, -1):
        waiting = _waiting(left, order, free, n_removed, may_remove)
        heapify(waiting)
        while waiting and n_removed <= left.size:
            _, place, k, choice = heappop(waiting)
            if choice.joint in taken:
                continue
            clear, right = left.work(int(order[place]), choice)
            if clear < FAINT:
                continue
            again = (-round(clear, 2), place, k, choice)
            if waiting and again[:3] > waiting[0][:3]:
                heappush(waiting, again)
                continue
            taken[choice.joint] = choice
            left.take(choice, right)
    return list(taken.values())


def _waiting(
    left: _Left, order: IntArray, free: BoolArray, n_removed: int, may_remove: bool
) -> list[tuple[float, int, int, Choice]]:
    """Return the choices that save so many rows, with bounds on how clear they are."""
    waiting = []
    for place, i in enumerate(order.tolist()):
        j = int(left.joints[i])
        for k, relaxation in enumerate(relaxations(left.system.joint_types[j])):
            suits = relaxation.n_removed == n_removed <= left.size
            if free[j] and suits and (may_remove or relaxation.new is not None):
                waiting.append((-1.0, place, k, Choice(j, relaxation)))
    return waiting
