"""Points that hinges and balls turn about: where candidates for spherical classes are.

A candidate is the center of a ball, or where the axes of two hinges on a rigid group meet. Groups
with many joints (the world, a carrier) propose none of their own; their neighbours do.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.subgroups.elements import SAME, same_elements, sizes
from sparsebody.model.subgroups.frames import incidence
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
    indptr, edges = incidence(g.n_groups, groups)
    found = _crossings(indptr, edges, groups, is_ball, point, axis, size)
    hinge = np.array([e for e, _ in found], dtype=np.intp)
    height = np.array([h for _, h in found], dtype=float)
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


def _crossings(
    indptr: IntArray,
    edges: IntArray,
    groups: IntArray,
    is_ball: BoolArray,
    point: FloatArray,
    axis: FloatArray,
    size: FloatArray,
) -> list[tuple[int, float]]:
    """Return hinges, and how far along their axes candidates are."""
    if len(edges) == 0:
        return []
    edge, height = _cross_all(indptr, edges, groups, is_ball, point, axis, size)
    return list(zip(edge.tolist(), height.tolist(), strict=True))


@njit(cache=True)
def _cross_all(
    indptr: IntArray,
    edges: IntArray,
    groups: IntArray,
    is_ball: BoolArray,
    point: FloatArray,
    axis: FloatArray,
    size: FloatArray,
) -> tuple[IntArray, FloatArray]:
    hinge, height = [0], [0.0]  # typed by what is dropped at the end
    for i in range(len(indptr) - 1):
        if indptr[i + 1] - indptr[i] > MANY:
            continue
        for a in edges[indptr[i] : indptr[i + 1]]:
            if is_ball[a]:
                continue
            side_a = 0 if groups[0, a] == i else 1
            for b in edges[indptr[i] : indptr[i + 1]]:
                if a == b:
                    continue
                side_b = 0 if groups[0, b] == i else 1
                is_met, at = _meeting(
                    point[side_a, a],
                    axis[side_a, a],
                    point[side_b, b],
                    axis[side_b, b],
                    is_ball[b],
                    SAME * size[i],
                )
                if is_met:
                    hinge.append(a)
                    height.append(at)
    return np.array(hinge[1:]), np.array(height[1:])


@njit(cache=True)
def _meeting(
    x: FloatArray, u: FloatArray, y: FloatArray, w: FloatArray, is_ball: bool, tolerance: float
) -> tuple[bool, float]:
    """Tell whether x + s u meets another axis, or a ball at y; return s."""
    arm = y - x
    if is_ball:
        s = np.dot(arm, u)
        return bool(np.linalg.norm(arm - s * u) <= tolerance), s
    normal = np.cross(u, w)
    square = np.dot(normal, normal)
    if square <= SAME:  # of parallel axes, which meet everywhere or nowhere
        return False, 0.0
    s = np.dot(np.cross(arm, w), normal) / square
    gap = abs(np.dot(arm, normal)) / np.sqrt(square)
    return gap <= tolerance, s
