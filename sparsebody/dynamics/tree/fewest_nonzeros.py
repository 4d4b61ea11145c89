"""Fewer nonzeros in H: bodies hung elsewhere, with all that hangs on them, while that helps.

A heuristic: from the tree of least depth, which is the best one where all joints have equally many
freedoms, it goes downhill one body at a time. The best of all trees is hard to find.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.dynamics.tree.growth import preorder

MOST_PASSES = 20


@njit(cache=True)
def inertia_nonzeros(parent: IntArray, freedoms: IntArray) -> int:
    """Return the nonzeros of the lower triangle of H: freedoms coupled with all on their support.

    Featherstone (2008), sec. 6.4, branch-induced sparsity; parents come before children.
    """
    above = np.zeros(parent.size, dtype=np.int64)  # freedoms on the support of the parent
    total = 0
    for i in range(parent.size):
        p = parent[i]
        above[i] = above[p] + freedoms[p] if p >= 0 else 0
        total += freedoms[i] * (freedoms[i] + 1) // 2 + freedoms[i] * above[i]
    return total


def improve(
    tree_joint: IntArray,
    predecessor: IntArray,
    successor: IntArray,
    start: IntArray,
    joint: IntArray,
    freedoms: IntArray,
    movable: BoolArray,
) -> None:
    """Change the tree joint (n_bodies,) of bodies as long as nnz(H) falls.

    `movable` (n_joints,) tells which joints may enter or leave the tree.
    """
    arguments = predecessor, successor, start, joint, freedoms, movable
    least = _count(tree_joint, predecessor, successor, freedoms)
    for _ in range(MOST_PASSES):
        trial = tree_joint.copy()
        if not _pass(trial, *arguments):
            return
        count = _count(trial, predecessor, successor, freedoms)
        if count >= least:
            return
        tree_joint[:], least = trial, count


def _count(
    tree_joint: IntArray, predecessor: IntArray, successor: IntArray, freedoms: IntArray
) -> int:
    body, parent = preorder(tree_joint, predecessor, successor)
    joint = tree_joint[body]
    return inertia_nonzeros(parent, np.append(freedoms, 6)[joint])  # -1 is a virtual free joint


@njit(cache=True)
def _pass(
    tree_joint: IntArray,
    predecessor: IntArray,
    successor: IntArray,
    start: IntArray,
    joint: IntArray,
    freedoms: IntArray,
    movable: BoolArray,
) -> int:
    """Hang bodies elsewhere where that helps, none in a part of the tree already changed."""
    body, parent = preorder(tree_joint, predecessor, successor)
    n = body.size
    place = np.empty(n, dtype=np.intp)
    place[body] = np.arange(n)
    own, depth = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        j = tree_joint[body[i]]
        own[i] = freedoms[j] if j >= 0 else 6
        depth[i] = own[i] + (depth[parent[i]] if parent[i] >= 0 else 0)
    hanging, end = own.copy(), np.arange(1, n + 1)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            hanging[parent[i]] += hanging[i]
            end[parent[i]] = max(end[parent[i]], end[i])
    is_changed = np.zeros(n, dtype=np.bool_)
    n_moves = 0
    for i in range(n):
        old = tree_joint[body[i]]
        if old < 0 or not movable[old] or is_changed[i]:
            continue
        best, gain, where = -1, 0, -1
        for at in range(start[body[i]], start[body[i] + 1]):
            j = joint[at]
            other = predecessor[j] + successor[j] - body[i]
            k = place[other] if other >= 0 else -1
            if j == old or not movable[j] or (i <= k < end[i]) or (k >= 0 and is_changed[k]):
                continue
            below = hanging[i] - own[i]
            new, above = freedoms[j], depth[k] if k >= 0 else 0
            change = new * (new + 1) // 2 + new * above + below * (above + new)
            change -= own[i] * (own[i] + 1) // 2 + own[i] * (depth[i] - own[i]) + below * depth[i]
            if change < gain:
                best, gain, where = j, change, k
        if best >= 0:
            tree_joint[body[i]] = best
            n_moves += 1
            is_changed[i : end[i]] = True
            for k in (parent[i], where):
                while k >= 0 and not is_changed[k]:
                    is_changed[k] = True
                    k = parent[k]
    return n_moves
