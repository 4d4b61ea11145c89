"""Growing a spanning tree over the body-joint graph: breadth first, depth first, or least depth."""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray

BREADTH_FIRST, DEPTH_FIRST, LEAST_DEPTH = 0, 1, 2
LAST_RESORT = 1e12  # added to the key of free joints, which hold nothing together
VIRTUAL = -1  # the joint of a body that no joint leads to


@njit(cache=True)
def neighbours(
    predecessor: IntArray, successor: IntArray, n_bodies: int
) -> tuple[IntArray, IntArray]:
    """Return (start, joint): the joints of every body, in order; the world is number n_bodies."""
    count = np.zeros(n_bodies + 2, dtype=np.intp)
    for j in range(predecessor.size):
        p, s = predecessor[j], successor[j]
        count[(p if p >= 0 else n_bodies) + 1] += 1
        count[(s if s >= 0 else n_bodies) + 1] += 1
    start = np.cumsum(count)
    joint = np.empty(start[-1], dtype=np.intp)
    place = start[:-1].copy()
    for j in range(predecessor.size):
        for body in (predecessor[j], successor[j]):
            node = body if body >= 0 else n_bodies
            joint[place[node]] = j
            place[node] += 1
    return start, joint


@njit(cache=True)
def joined(
    joints: IntArray, predecessor: IntArray, successor: IntArray, group: IntArray
) -> BoolArray:
    """Unite the groups of bodies that joints connect, one after the other; say which did.

    `group` (n_bodies + 1,) is a union-find forest, changed here; a joint that closes a loop of
    earlier ones unites nothing.
    """
    n_bodies = group.size - 1
    united = np.zeros(joints.size, dtype=np.bool_)
    for k in range(joints.size):
        p, s = predecessor[joints[k]], successor[joints[k]]
        first = find(group, p if p >= 0 else n_bodies)
        second = find(group, s if s >= 0 else n_bodies)
        united[k] = first != second
        group[first] = second
    return united


@njit(cache=True)
def find(group: IntArray, node: int) -> int:
    """Return the representative of a node's group."""
    while group[node] != node:
        group[node] = group[group[node]]
        node = group[node]
    return int(node)


@njit(cache=True)
def connected(
    root: int, predecessor: IntArray, successor: IntArray, start: IntArray, joint: IntArray
) -> IntArray:
    """Return the bodies that joints connect with `root`, not by way of the world."""
    n_bodies = start.size - 2
    seen = np.zeros(n_bodies, dtype=np.bool_)
    bodies = np.empty(n_bodies, dtype=np.intp)
    bodies[0], n = root, 1
    seen[root] = True
    i = 0
    while i < n:
        body = bodies[i]
        for at in range(start[body], start[body + 1]):
            other = predecessor[joint[at]] + successor[joint[at]] - body
            if other >= 0 and not seen[other]:
                seen[other] = True
                bodies[n] = other
                n += 1
        i += 1
    return bodies[:n].copy()


@njit(cache=True)
def grow(
    roots: IntArray,
    kind: int,
    predecessor: IntArray,
    successor: IntArray,
    start: IntArray,
    joint: IntArray,
    freedoms: IntArray,
    is_free: BoolArray,
    is_wanted: BoolArray,
    group: IntArray,
    usable: BoolArray,
    tree_joint: IntArray,
    depth: IntArray,
) -> None:
    """Fill the tree joint (n_bodies,) of all bodies reached from the roots; -2 means not reached.

    A root gets a VIRTUAL joint; number n_bodies, the world, is one. Wanted joints form a forest
    whose trees are the groups; a group is entered by one other joint at most, so that all wanted
    joints are in the tree. Keys of the queue: depth in bodies, youth, or depth in freedoms.
    """
    n_bodies = start.size - 2
    is_entered = np.zeros(n_bodies + 1, dtype=np.bool_)
    queue = [(0.0, 0, 0, 0)]  # key, age, joint, body
    queue.clear()
    age = 0
    for root in roots:
        body = root
        if root < n_bodies:
            tree_joint[root] = VIRTUAL
            depth[root] = 6 if kind == LEAST_DEPTH else 1
        is_entered[find(group, root)] = True
        while body >= 0:
            for back in range(start[body + 1] - 1, start[body] - 1, -1):
                at = back if kind == DEPTH_FIRST else start[body] + start[body + 1] - 1 - back
                j = joint[at]
                p, s = predecessor[j], successor[j]
                other = (s if p == body else p) if body < n_bodies else max(p, s)
                if other < 0 or not usable[j] or tree_joint[other] != -2:
                    continue
                here = depth[body]
                key = -float(age) if kind == DEPTH_FIRST else float(here + 1)
                if kind == LEAST_DEPTH:
                    key = float(here + freedoms[j])
                if is_free[j] and not is_wanted[j]:
                    key += LAST_RESORT
                heapq.heappush(queue, (key, age, j, other))
                age += 1
            body = -1
            while len(queue) > 0:
                key, _, j, other = heapq.heappop(queue)
                if tree_joint[other] != -2:
                    continue
                if not is_wanted[j]:
                    if is_entered[find(group, other)]:
                        continue
                    is_entered[find(group, other)] = True
                parent = _parent(predecessor[j], successor[j], other, n_bodies)
                tree_joint[other] = j
                depth[other] = depth[parent] + (freedoms[j] if kind == LEAST_DEPTH else 1)
                body = other
                break


@njit(cache=True, inline="always")
def _parent(p: int, s: int, body: int, n_bodies: int) -> int:
    parent = p if s == body else s
    return parent if parent >= 0 else n_bodies


@njit(cache=True)
def preorder(
    tree_joint: IntArray, predecessor: IntArray, successor: IntArray
) -> tuple[IntArray, IntArray]:
    """Return (body, parent): bodies numbered so that every subtree is contiguous, parents first.

    `body` (n,) in that order; `parent` (n,) in the new numbers, -1 for the world. The children of
    a body keep their order.
    """
    n = tree_joint.size
    first_child, sibling = np.full(n + 1, -1), np.full(n, -1)
    for body in range(n - 1, -1, -1):
        j, parent = tree_joint[body], n
        if j >= 0:
            parent = _parent(predecessor[j], successor[j], body, n)
        sibling[body] = first_child[parent]
        first_child[parent] = body
    order, above = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    place = np.full(n + 1, -1)
    stack = [first_child[n]]
    owner = [n]
    k = 0
    while len(stack) > 0:
        body = stack[-1]
        if body < 0:
            stack.pop()
            owner.pop()
            continue
        stack[-1] = sibling[body]
        order[k], above[k] = body, place[owner[-1]]
        place[body] = k
        stack.append(first_child[body])
        owner.append(body)
        k += 1
    return order, above


@njit(cache=True)
def distances(
    root: int,
    predecessor: IntArray,
    successor: IntArray,
    start: IntArray,
    joint: IntArray,
    distance: IntArray,
    came_from: IntArray,
) -> tuple[int, int]:
    """Fill distances in joints from a body, not by way of the world; return their sum and the last.

    `distance` is -1 where a body is not yet reached.
    """
    queue = [root]
    distance[root], came_from[root] = 0, -1
    total, i = 0, 0
    while i < len(queue):
        body = queue[i]
        total += distance[body]
        for at in range(start[body], start[body + 1]):
            other = predecessor[joint[at]] + successor[joint[at]] - body
            if other >= 0 and distance[other] < 0:
                distance[other] = distance[body] + 1
                came_from[other] = body
                queue.append(other)
        i += 1
    return total, queue[-1]


@njit(cache=True)
def middle(
    bodies: IntArray, predecessor: IntArray, successor: IntArray, start: IntArray, joint: IntArray
) -> int:
    """Return the body half way along a longest path found by two searches: nearly the center."""
    distance, came_from = np.full(start.size - 2, -1), np.full(start.size - 2, -1)
    _, far = distances(bodies[0], predecessor, successor, start, joint, distance, came_from)
    distance[:] = -1
    _, far = distances(far, predecessor, successor, start, joint, distance, came_from)
    body = far
    for _ in range(distance[far] // 2):
        body = came_from[body]
    return int(body)


@njit(cache=True)
def median(
    bodies: IntArray, predecessor: IntArray, successor: IntArray, start: IntArray, joint: IntArray
) -> int:
    """Return the body with the least sum of distances to all bodies; quadratic work."""
    distance, came_from = np.full(start.size - 2, -1), np.full(start.size - 2, -1)
    best, least = bodies[0], -1
    for body in bodies:
        for other in bodies:
            distance[other] = -1
        total, _ = distances(body, predecessor, successor, start, joint, distance, came_from)
        if least < 0 or total < least:
            best, least = body, total
    return int(best)


def subtree_ends(parent: IntArray) -> IntArray:
    """Return (n,) the number after the last of each subtree, for subtrees that are contiguous."""
    ends = np.arange(1, len(parent) + 1)
    _subtree_ends(parent, ends)
    return ends


@njit(cache=True)
def _subtree_ends(parent: IntArray, ends: IntArray) -> None:
    for i in range(parent.size - 1, -1, -1):
        if parent[i] >= 0:
            ends[parent[i]] = max(ends[parent[i]], ends[i])


@njit(cache=True)
def expanded_parents(parent: IntArray, first_velocity: IntArray) -> IntArray:
    """Return (n_velocities,) the velocity coordinate before each one, -1 at the world.

    Featherstone (2008), sec. 6.5: the expanded parent array, joints of no freedom passed over.
    """
    expanded = np.empty(first_velocity[-1], dtype=np.intp)
    last = np.full(parent.size + 1, -1)  # the last coordinate on the way to each body
    for i in range(parent.size):
        above = last[parent[i]] if parent[i] >= 0 else -1
        for k in range(first_velocity[i], first_velocity[i + 1]):
            expanded[k] = above
            above = k
        last[i] = above
    return expanded


@njit(cache=True)
def depths(parent: IntArray, step: IntArray) -> IntArray:
    """Return (n,) sums of `step` over the support of each body, itself included."""
    depth = step.copy()
    for i in range(parent.size):
        if parent[i] >= 0:
            depth[i] += depth[parent[i]]
    return depth
