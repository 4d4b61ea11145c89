"""Mechanisms of balls with a center each: no subgroup closes a loop, which is told quickly."""

from __future__ import annotations

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.subgroups.elements import SAME, same_elements
from sparsebody.model.subgroups.kinds import BALL, CODES, OTHER
from sparsebody.model.system import System

MANY = 16  # balls on a body that are not compared in pairs


def has_isolated_spherical_joints(system: System) -> bool:
    """Tell whether all joints are balls, or in no subgroup, and no body has two about one point."""
    is_ball = np.zeros(system.n_joints, dtype=np.bool_)
    for group in system.groups:
        code = CODES.get(group.subgroup, OTHER)
        if code not in (OTHER, BALL):
            return False
        is_ball[group.joints] = code == BALL
    n = system.n_bodies + 1
    balls = np.flatnonzero(is_ball)
    body = np.stack([system.predecessor[balls], system.successor[balls]]) % n
    point = np.stack([system.predecessor_point[balls], system.successor_point[balls]])
    if model.share_points(n, body, point, MANY, 10.0 * SAME):
        return False
    is_large = np.bincount(body.ravel(), minlength=n) > MANY
    on_large = is_large[body]
    return _are_distinct(body[on_large], point[on_large])


def _are_distinct(body: IntArray, point: FloatArray) -> bool:
    """Tell whether no two of the points on a body are the same."""
    size = np.linalg.norm(point, axis=1).max(initial=0.0)
    label = same_elements(body, point / (size if size > 0.0 else 1.0))
    return len(np.unique(label)) == len(label)
