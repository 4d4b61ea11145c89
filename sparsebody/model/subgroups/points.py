"""Points that hinges and balls turn about: where candidates for spherical classes are.

A candidate is the center of a ball, or where the axes of two hinges on a rigid group meet. Groups
with many joints (the world, a carrier) propose none of their own; their neighbours do.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.subgroups.elements import SAME, same_elements, sizes
from sparsebody.model.subgroups.geometry import Geometry
from sparsebody.model.subgroups.kinds import BALL, REVOLUTE

MANY = 8  # hinges and balls on a group that are not tried in pairs


def point_links(g: Geometry) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return joints (k,), elements (2, k) that they link, groups (n_elements,) and heights (k,).

    An element is a point of a group, so high above the origin of the joint frame. A hinge whose
    axis passes through several points links several pairs.
    """
    joints = g.joints(REVOLUTE, BALL)
    groups = g.group[:, joints]
    is_ball = g.code[joints] == BALL
    point = np.ascontiguousarray(g.point[:, joints])
    axis = np.ascontiguousarray(g.rotation[:, joints][..., 2])
    size = sizes(groups.ravel(), point.reshape(-1, 3), g.n_groups)
    hinge, height = model.crossings((groups, is_ball, point, axis, size), MANY, SAME)
    unit = np.minimum(*size[groups[:, hinge]])
    _, first = np.unique(same_elements(hinge, (height / unit)[:, None]), return_index=True)
    edge = np.concatenate([np.flatnonzero(is_ball), hinge[first]])
    height = np.concatenate([np.zeros(np.count_nonzero(is_ball)), height[first]])
    order = np.argsort(edge, kind="stable")
    edge, height = edge[order], height[order]
    at = point[:, edge] + height[:, None] * axis[:, edge]
    of = groups[:, edge]
    node = same_elements(of.ravel(), (at / size[of][..., None]).reshape(-1, 3))
    group = np.zeros(int(node.max(initial=-1)) + 1, dtype=np.intp)
    group[node] = of.ravel()
    return joints[edge], node.reshape(2, -1), group, height
