"""Spanning trees with small fronts, and how they are best eliminated.

Fronts are narrow where the tree follows the mechanism level by level, away from the world, and
numerically sound where it is grown depth first: then every loop joins a link with one of those that
support it, and closes where its ends meet at no cost.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.dynamics.tree.front_plan import CLOSINGS, Elimination
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.errors import ModelError

EARLY_GAIN = 2.0  # how many times less work closing loops early must be to be chosen


def least_elimination(tree: SpanningTree, most: float = np.inf) -> Elimination:
    """Return the elimination of a tree with the least work, the sounder one if nearly equal.

    It is not complete if all take more than `most` multiplications.
    """
    best = Elimination(tree, CLOSINGS[0], most)
    if tree.n_loops:
        limit = min(most, best.work / EARLY_GAIN if best.is_complete else most)
        early = Elimination(tree, CLOSINGS[1], limit)
        if early.is_complete:
            best = early
    return best


def least_fronts(trees: Iterable[SpanningTree]) -> SpanningTree:
    """Return the tree whose elimination takes the least work, the first of equals."""
    best, least, first = None, np.inf, None
    for tree in trees:
        first = first or tree
        found = least_elimination(tree, least)
        if found.is_complete and found.work < least:
            best, least = tree, found.work
    result = best or first
    if result is None:
        raise ModelError("there is no tree to choose from")
    return result


@njit(cache=True)
def level_depth_first(
    predecessor: IntArray,
    successor: IntArray,
    start: IntArray,
    joint: IntArray,
    is_usable: BoolArray,
) -> IntArray:
    """Return the joint (n_bodies,) by which each body is first reached depth first, -1 for none.

    From the world, always on to the body nearest to it, so that the way is a sweep.
    """
    n = start.size - 2
    level = np.full(n + 1, -1)
    level[n] = 0
    queue = [n]
    at = 0
    while at < len(queue):
        body = queue[at]
        at += 1
        for k in range(start[body], start[body + 1]):
            other = _other_end(predecessor, successor, joint[k], body, n)
            if is_usable[joint[k]] and level[other] < 0:
                level[other] = level[body] + 1
                queue.append(other)
    found, reached = np.full(n, -1), np.zeros(n + 1, dtype=np.bool_)
    reached[n] = True
    way = [n]
    while len(way) > 0:
        body = way[-1]
        best, least = -1, n + 1
        for k in range(start[body], start[body + 1]):
            other = _other_end(predecessor, successor, joint[k], body, n)
            if is_usable[joint[k]] and not reached[other] and level[other] < least:
                best, least = joint[k], level[other]
        if best < 0:
            way.pop()
            continue
        other = _other_end(predecessor, successor, best, body, n)
        found[other], reached[other] = best, True
        way.append(other)
    return found


@njit(cache=True, inline="always")
def _other_end(predecessor: IntArray, successor: IntArray, j: int, body: int, n: int) -> int:
    p = predecessor[j] if predecessor[j] >= 0 else n
    s = successor[j] if successor[j] >= 0 else n
    return s if p == body else p
