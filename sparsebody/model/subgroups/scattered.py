"""Mechanisms of balls with a center each: no subgroup closes a loop, which is told quickly."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.subgroups.elements import SAME, same_elements
from sparsebody.model.subgroups.frames import incidence
from sparsebody.model.subgroups.kinds import BALL, CODES, OTHER
from sparsebody.model.system import System

MANY = 16  # balls on a body that are not compared in pairs


def has_scattered_balls(system: System) -> bool:
    """Tell whether all joints are balls, or in no subgroup, and no body has two about one point."""
    is_ball = np.zeros(system.n_joints, dtype=np.bool_)
    for group in system.groups:
        code = CODES.get(group.name, OTHER)
        if code not in (OTHER, BALL):
            return False
        is_ball[group.joints] = code == BALL
    n = system.n_bodies + 1
    balls = np.flatnonzero(is_ball)
    body = np.stack([system.predecessor[balls], system.successor[balls]]) % n
    point = np.stack([system.predecessor_point[balls], system.successor_point[balls]])
    indptr, joints = incidence(n, body)
    is_large = np.diff(indptr) > MANY
    if _share_points(indptr, joints, body, point, is_large):
        return False
    there = is_large[body]
    return _are_distinct(body[there], point[there])


@njit(cache=True)
def _share_points(
    indptr: IntArray, joints: IntArray, body: IntArray, point: FloatArray, is_large: BoolArray
) -> bool:
    """Tell whether two balls on one body have one center, large bodies aside."""
    for i in range(len(is_large)):
        if is_large[i]:
            continue
        for first in range(indptr[i], indptr[i + 1]):
            a = joints[first]
            x = point[0 if body[0, a] == i else 1, a]
            for second in range(first + 1, indptr[i + 1]):
                b = joints[second]
                y = point[0 if body[0, b] == i else 1, b]
                square = (x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2 + (x[2] - y[2]) ** 2
                size = x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + y[0] ** 2 + y[1] ** 2 + y[2] ** 2
                if square <= (10.0 * SAME) ** 2 * size:
                    return True
    return False


def _are_distinct(body: IntArray, point: FloatArray) -> bool:
    """Tell whether no two of the points on a body are the same."""
    size = np.linalg.norm(point, axis=1).max(initial=0.0)
    label = same_elements(body, point / (size if size > 0.0 else 1.0))
    return len(np.unique(label)) == len(label)
