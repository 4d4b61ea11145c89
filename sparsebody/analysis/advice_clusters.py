"""Replacements in loops that share their redundancy, chosen on the null space of A'."""

from __future__ import annotations

import numpy as np

from sparsebody.analysis.candidates import ROBUST, Choice, Pose
from sparsebody.analysis.circulations import joint_sizes
from sparsebody.analysis.null_space import null_basis
from sparsebody.analysis.relaxations import relaxations
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.kkt import kkt_structure
from sparsebody.model.system import System

MOST_REDUNDANT = 1200  # rows, for the null space is dense
FAINT = 1e-3  # least share of a joint's wrenches that is worth a replacement


def choose_in_cluster(
    system: System, joints: IntArray, free: BoolArray, size: int, pose: Pose
) -> list[list[Choice]]:
    """Return one or two choices, which may leave a rest; none where it would take too long.

    Those that save most rows are tried first, joint after joint; each has to take wrenches that
    earlier ones have left. The second choice goes through the joints the other way.

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
    one, other = (
        _greedy(system, joints, way, free, size, pose, wrench.copy())
        for way in (order, order[::-1])
    )
    return sorted([one, other], key=lambda c: (size - _n_removed(c), len(c)))


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


def _greedy(
    system: System,
    joints: IntArray,
    order: IntArray,
    free: BoolArray,
    size: int,
    pose: Pose,
    wrench: FloatArray,
) -> list[Choice]:
    """Choose until nothing is left; `wrench` is projected to what is left."""
    left, sizes = size, joint_sizes(system)
    whole = np.linalg.norm(wrench, axis=(1, 2))
    taken: dict[int, Choice] = {}
    flat = wrench.reshape(-1, wrench.shape[2])
    for least in (ROBUST, FAINT):
        for n_removed in range(6, 0, -1):
            for i in order.tolist():
                j = int(joints[i])
                if j in taken or not free[j] or whole[i] == 0.0:
                    continue
                for relaxation in relaxations(system.joint_types[j]):
                    if relaxation.n_removed != n_removed or n_removed > left:
                        continue
                    choice = Choice(j, relaxation)
                    work = pose.extra(system, choice, float(sizes[j])) @ wrench[i]
                    value, right = np.linalg.svd(work, full_matrices=False)[1:]
                    if value[-1] > least * whole[i]:
                        flat -= (flat @ right.T) @ right
                        taken[j] = choice
                        left -= n_removed
                        break
            if left == 0:
                return list(taken.values())
    return list(taken.values())
