"""Spanning trees with small fronts, and how they are best eliminated.

Fronts are narrow where the tree follows the mechanism level by level, away from the world, and
numerically sound where it is grown depth first: then every loop joins a link with one of those that
support it, and closes where its ends meet at no cost.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sparsebody.tree.fronts.front_order import Elimination
from sparsebody.tree.spanning_tree import SpanningTree

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
        own = cost(least_elimination(tree, least))
        if best is None or own < least:
            best, least = tree, own
    if best is None:
        raise ValueError("there is no tree to choose from")
    return best
