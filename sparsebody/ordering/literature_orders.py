"""The algorithms of the literature as orders of one matrix, [D A'; A -eps].

Every algorithm computes a Schur complement, which eliminating the same blocks first leaves. With
joints first that is the penalty method's D + A' A / eps, with bodies first Delassus' matrix
-A D^-1 A' - eps, with a leaf and then its joint the articulated-body inertia of the next body.
"""

from typing import NamedTuple

import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.ordering import heuristics
from sparsebody.sparse.pattern import BlockPattern


class Search(NamedTuple):
    """A search of the blocks from the world."""

    sequence: IntArray  # (n_blocks,) as they are reached
    came_from: IntArray  # (n_blocks,) the block that each is reached from, -1 for none


def search(pattern: BlockPattern, *, depth_first: bool) -> Search:
    """Search the graph of bodies and joints from the world, then from bodies not yet reached.

    Neighbours of a block come as they are numbered.
    """
    to_world = np.flatnonzero(np.any(pattern.ends < 0, axis=1)) + pattern.n_primal
    return Search(*kernels.search_from_world(pattern.adjacency, to_world, depth_first))


def penalty(pattern: BlockPattern) -> IntArray:
    """Eliminate all joints, and the bodies, which they couple directly then, by minimum degree.

    Every pivot of a joint is -eps: in rounding, digits are lost in proportion to 1 / eps.
    """
    is_body = np.arange(pattern.n_blocks) < pattern.n_primal
    order = heuristics.unconstrained_minimum_degree(pattern, phase=is_body.astype(np.intp))
    return order[np.argsort(is_body[order], kind="stable")]  # a postorder mixes the phases


def delassus(pattern: BlockPattern) -> IntArray:
    """Eliminate all bodies, and the joints, which they couple directly then, by minimum degree."""
    order = heuristics.bodies_first(pattern)
    return order[np.argsort(order >= pattern.n_primal, kind="stable")]  # as in `penalty`


def baraff(pattern: BlockPattern) -> IntArray:
    """Eliminate a tree from the leaves, joints after outer bodies; then joints that close loops.

    Needs no eps if the constraint rows are independent. Loop multipliers fill in with one another.
    """
    tree, closing = _inwards(pattern)
    return np.concatenate([tree, closing])


def articulated_body(pattern: BlockPattern) -> IntArray:
    """Eliminate joints that close loops, by pivots of -eps; then a tree from the leaves inwards.

    The articulated-body algorithm on trees, the loop-constrained one elsewhere.
    """
    tree, closing = _inwards(pattern)
    return np.concatenate([closing, tree])


def _inwards(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return a breadth-first tree, each body before its inner joint, and the other joints."""
    tree = search(pattern, depth_first=False)
    bodies = tree.sequence[tree.sequence < pattern.n_primal][::-1]
    pairs = np.stack([bodies, tree.came_from[bodies]], axis=1).ravel()
    inwards = pairs[pairs >= 0]
    return inwards, np.setdiff1d(np.arange(pattern.n_blocks), inwards)


def depth_first(pattern: BlockPattern) -> IntArray:
    """Eliminate blocks in the reverse sequence of a depth-first search: only ancestors fill in."""
    return search(pattern, depth_first=True).sequence[::-1].copy()
