"""Which orders need no pivoting, and how to make an order one of them.

An order is admissible when every joint comes after both its bodies or, in a tree part, after its
outer body, which must have at least as many freedoms as the joint has rows. The mechanism made of
the bodies eliminated so far, all others held fixed, then has independent constraints whenever the
whole one has.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.sparse.etree import positions
from sparsebody.sparse.pattern import BlockPattern, check_order


def repair(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return `order` with each joint moved to right after the later of its bodies.

    Bodies keep their sequence, and so do joints that meet at the same place.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    check_order(pattern, order)
    return _joints_after_bodies(np.ascontiguousarray(order, dtype=np.intp), pattern.ends)


@njit(cache=True)
def _joints_after_bodies(order: IntArray, ends: IntArray) -> IntArray:
    """Count the joints that go after each body, then place them as `order` lists them."""
    n_dual, n_primal = len(ends), len(order) - len(ends)
    place = np.empty(n_primal + 1, dtype=np.intp)  # of each body among the bodies
    place[n_primal] = -1  # answers for -1, no body
    n_bodies = 0
    for block in order:
        if block < n_primal:
            place[block] = n_bodies
            n_bodies += 1
    following = np.zeros(n_primal + 2, dtype=np.intp)  # the next free place after k bodies
    later = np.empty(n_dual, dtype=np.intp)
    for j in range(n_dual):
        later[j] = max(place[ends[j, 0]], place[ends[j, 1]])
        following[later[j] + 2] += 1
    for k in range(1, n_primal + 2):
        following[k] += following[k - 1] + 1
    repaired = np.empty_like(order)
    for block in range(n_primal):
        repaired[following[place[block] + 1] - 1] = block
    for block in order:
        if block >= n_primal:
            k = later[block - n_primal] + 1
            repaired[following[k]] = block
            following[k] += 1
    return repaired


def is_admissible(pattern: BlockPattern, order: IntArray) -> bool:
    """Return whether every joint comes after both bodies or, in a tree part, after its outer one.

    The root of a tree that is not fixed to the world is free: any one that makes it true will do.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    return len(early_joints(pattern, order)) == 0


def early_joints(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return the joints, numbered from zero, that come too early for the order to be admissible.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    check_order(pattern, order)
    place = positions(np.ascontiguousarray(order, dtype=np.intp))
    after_both = _after_both(place, np.ascontiguousarray(pattern.ends, dtype=np.intp))
    if after_both.all():
        return np.zeros(0, dtype=np.intp)
    outer, _ = _strip(*pattern.adjacency, pattern.block_sizes, pattern.ends, place)
    return np.flatnonzero((outer < 0) & ~after_both).astype(np.intp)


@njit(cache=True)
def _after_both(place: IntArray, ends: IntArray) -> BoolArray:
    """Return for each joint whether it comes after its bodies."""
    after = np.ones(len(ends), dtype=np.bool_)
    n_primal = len(place) - len(ends)
    for j in range(len(ends)):
        for side in range(2):
            if ends[j, side] >= 0 and place[ends[j, side]] > place[n_primal + j]:
                after[j] = False
    return after


def tree_parts(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Strip the tree parts of the mechanism leaf by leaf.

    Returns
    -------
    outer : (n_dual,) int array
        The outer body of every joint in a tree part, -1 for a joint of the core.
    stripped : (n_stripped,) int array
        The outer bodies from the leaves inwards. A tree that is not fixed to the world keeps one
        body, in its middle.
    """
    bodies_first = np.arange(pattern.n_blocks, dtype=np.intp)
    outer, stripped = _strip(*pattern.adjacency, pattern.block_sizes, pattern.ends, bodies_first)
    return outer, stripped


def core_joints(pattern: BlockPattern) -> BoolArray:
    """Return which joints (n_dual,) are in no tree part."""
    return tree_parts(pattern)[0] < 0


@njit(cache=True)
def _strip(
    indptr: IntArray, indices: IntArray, size: IntArray, ends: IntArray, place: IntArray
) -> tuple[IntArray, IntArray]:
    """Take off bodies with one joint left, if they come before it and have as many freedoms."""
    n_dual = ends.shape[0]
    n_primal = len(indptr) - 1 - n_dual
    outer = np.full(n_dual, -1, dtype=np.intp)
    joints_left = indptr[1 : n_primal + 1] - indptr[:n_primal]
    queue = np.empty(n_primal, dtype=np.intp)
    n_stripped, tail = 0, 0
    for body in range(n_primal):
        if joints_left[body] == 1:
            queue[tail] = body
            tail += 1
    head = 0
    while head < tail:
        body = queue[head]
        head += 1
        if joints_left[body] == 0:  # its last joint went with the body at the other end
            continue
        entry = indptr[body]
        while outer[indices[entry] - n_primal] >= 0:
            entry += 1
        joint = indices[entry] - n_primal
        if place[joint + n_primal] < place[body] or size[joint + n_primal] > size[body]:
            continue
        outer[joint] = body
        joints_left[body] = 0
        other = ends[joint, 0] + ends[joint, 1] - body
        if other >= 0 and other != body:
            joints_left[other] -= 1
            if joints_left[other] == 1:
                queue[tail] = other
                tail += 1
        queue[n_stripped] = body  # the queue is already read up to here
        n_stripped += 1
    return outer, queue[:n_stripped].copy()
