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
from sparsebody.dynamics.tree.front_order import Elimination
from sparsebody.dynamics.tree.spanning_tree import SpanningTree

EARLY_PRICE = 2.0  # work of an elimination that closes loops early counts so many times


def least_elimination(tree: SpanningTree, most: float = np.inf) -> Elimination:
    """Return the elimination of a tree that costs least; its cost is infinite if above `most`."""
    early = Elimination(tree, "early", most)
    if not tree.n_loops:
        return early
    met = Elimination(tree, "met", min(most, cost(early)))
    return met if met.is_complete else early


def cost(elimination: Elimination) -> float:
    """Return the work of an elimination, less accurate ones counting more."""
    if not elimination.is_complete:
        return np.inf
    return elimination.work * (EARLY_PRICE if elimination.closed_early.any() else 1.0)


def least_fronts(trees: Iterable[SpanningTree]) -> SpanningTree:
    """Return the tree whose elimination costs least, the first of equals."""
    best, least = None, np.inf
    for tree in trees:
        found = cost(least_elimination(tree, least))
        if best is None or found < least:
            best, least = tree, found
    if best is None:
        raise ValueError("there is no tree to choose from")
    return best


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
