"""Which joints link which elements: the graphs whose components are the classes.

An element is a direction, a line or a point fixed in a body, or in a *part* of the mechanism: a
rigid group, or groups that slides join along a line, in a plane, or at will. Slides come first and
parts take part in larger subgroups as a whole, so that no loop is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.subgroups.geometry import SAME, Geometry, find, paired, same_elements, sizes
from sparsebody.model.subgroups.kinds import (
    BALL,
    CYLINDER,
    FIXED,
    IN_KIND,
    PLANE,
    REVOLUTE,
    RIGID,
    SCHOENFLIES,
    SCREW,
    SLIDE,
    SLIDES,
    SPHERE,
    TRANSLATION,
    TURN,
)
from sparsebody.model.subgroups.sliding import Sliding

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


@dataclass(frozen=True, eq=False)
class Links:
    """Joints that link elements, of bodies that move within subgroups of one kind."""

    kind: int
    joint: IntArray  # (m,) in the order in which they are taken for a tree
    ends: IntArray  # (2, m) elements
    part: IntArray  # (n_elements,) what each is an element of; see `PartNumbers`
    height: FloatArray | None = None  # (m,) of points above the origins of joint frames [m]


@dataclass(frozen=True)
class PartNumbers:
    """Parts are numbered through: rigid groups, along lines, in planes, at will, single bodies."""

    lines: int
    planes: int
    at_will: int
    bodies: int

    @classmethod
    def of(cls, s: Sliding) -> PartNumbers:
        """Return where each kind of part begins."""
        planes = s.n_groups + s.lines.n_parts
        at_will = planes + s.planes.n_parts
        return cls(s.n_groups, planes, at_will, at_will + s.at_will.n_components)


def all_links(g: Geometry, s: Sliding, parameter: FloatArray) -> tuple[Links, ...]:
    """Return the links of every kind, the smallest subgroups first."""
    begin = PartNumbers.of(s)
    joint, lines, planes = s.joint, s.lines, s.planes
    return (
        _rigid_links(g, begin),
        _line_links(g, s, TURN),
        Links(SLIDE, joint, lines.ends, lines.group),
        _line_links(g, s, SCREW, parameter),
        Links(SLIDES, joint[planes.edge], planes.ends, planes.group),
        _line_links(g, s, CYLINDER),
        Links(SPHERE, *point_links(g)),
        Links(TRANSLATION, joint, g.group[:, joint], np.arange(g.n_groups)),
        _plane_links(g, s, begin),
        _schoenflies_links(g, s, begin),
    )


def _rigid_links(g: Geometry, begin: PartNumbers) -> Links:
    """Link bodies by fixed joints, then by all others within a rigid group."""
    inside = np.flatnonzero(g.is_inside)
    joint = inside[np.argsort(g.code[inside] != FIXED, kind="stable")]
    n_bodies = len(g.bodies.label)
    return Links(RIGID, joint, g.body_ends[:, joint], begin.bodies + np.arange(n_bodies))


def _line_links(g: Geometry, s: Sliding, kind: int, pitch: FloatArray | None = None) -> Links:
    """Link lines; those along a slide belong to all that slides along them, in cylinders."""
    joint = g.joints(*IN_KIND[kind])
    group, d = g.group[:, joint], s.directions
    direction = d.label[:, joint]
    part, axis, point = group.copy(), d.axis[:, joint], g.point[:, joint]
    if kind == CYLINDER:
        place = find(s.lines.keys, paired(group, direction, max(d.n, 1)))
        slides = place >= 0
        turn = s.placed.rotation[place[slides]]
        axis, point = axis.copy(), point.copy()
        axis[slides] = np.einsum("kab,kb->ka", turn, axis[slides])
        point[slides] = np.einsum("kab,kb->ka", turn, point[slides])
        point[slides] += s.placed.offset[place[slides]]
        part[slides] = PartNumbers.of(s).lines + s.lines.label[place[slides]]
    size = sizes(part.ravel(), point.reshape(-1, 3), int(part.max(initial=0)) + 1)
    numbers = np.cross(point, axis) / size[part][..., None]
    if pitch is not None:
        relative = pitch[joint] / np.abs(pitch).max(initial=1e-300)
        numbers = np.concatenate([numbers, np.stack([relative] * 2)[..., None]], axis=2)
    of = paired(part, direction, max(d.n, 1))
    return _numbered(
        kind, joint, part, same_elements(of.ravel(), numbers.reshape(of.size, numbers.shape[2]))
    )


def _plane_links(g: Geometry, s: Sliding, begin: PartNumbers) -> Links:
    """Link normals; a slide across a normal takes it along."""
    joint = g.joints(*IN_KIND[PLANE])
    group, d = g.group[:, joint], s.directions
    normal = d.label[:, joint]
    if len(s.joint) == 0 or len(joint) == 0:
        return _numbered(PLANE, joint, group, normal.ravel())
    along = np.flatnonzero(s.rank >= 0)  # the directions of slides, by part
    along = along[np.lexsort((s.rank[along], d.part[along]))]
    first = np.searchsorted(d.part[along], d.part[normal])
    last = np.searchsorted(d.part[along], d.part[normal], side="right")
    one, other = np.full(normal.shape, -1), np.full(normal.shape, -1)  # slides across a normal
    for step in range(int((last - first).max(initial=0))):
        is_there = first + step < last
        slide = along[np.minimum(first + step, len(along) - 1)]
        cosine = np.einsum("smi,smi->sm", d.vector[slide], d.vector[normal])
        across = is_there & (np.abs(cosine) <= SAME)
        other = np.where(across & (one >= 0), slide, other)
        one = np.where(across & (one < 0), slide, one)
    alone = (one >= 0) & (other < 0)
    place = find(s.lines.keys, paired(group, one, d.n))
    part = np.where(alone & (place >= 0), begin.lines + s.lines.label[place], group)
    if len(s.normal) == 0:
        return _numbered(PLANE, joint, part, paired(part, normal, d.n).ravel())
    plane = s.of_pair[one, s.rank[other]]
    place = find(s.planes.keys, paired(plane, group, g.n_groups))
    part = np.where((other >= 0) & (place >= 0), begin.planes + s.planes.label[place], part)
    return _numbered(PLANE, joint, part, paired(part, normal, d.n).ravel())


def _schoenflies_links(g: Geometry, s: Sliding, begin: PartNumbers) -> Links:
    """Link directions, which all slides take along."""
    joint = g.joints(*IN_KIND[SCHOENFLIES])
    part = begin.at_will + s.at_will.label[g.group[:, joint]]
    return _numbered(SCHOENFLIES, joint, part, s.directions.label[:, joint].ravel())


def _numbered(kind: int, joint: IntArray, part: IntArray, key: IntArray) -> Links:
    """Number the elements (2 m,) that occur."""
    keys, ends = np.unique(key, return_inverse=True)
    of_element = np.zeros(len(keys), dtype=np.intp)
    of_element[ends] = part.ravel()
    return Links(kind, joint, ends.reshape(2, -1).astype(np.intp), of_element)
