"""Directions on bodies, and the parts that slides make: along a line, in a plane, or at will.

Slides keep directions: all bodies that they join, directly or not, share every direction. So
directions are compared in the frame of the part that slides join at will.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.subgroups.geometry import (
    Geometry,
    Placement,
    paired,
    placement,
    same_elements,
    signs,
)
from sparsebody.model.subgroups.kinds import (
    CYLINDRICAL,
    HELICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
)

MANY = 8  # directions of slides in one part beyond which planes are not looked for


@dataclass(frozen=True, eq=False)
class Directions:
    """Axes and normals of joints; parallel ones on bodies that only slide share a number."""

    label: IntArray  # (2, n_joints), -1 where a joint has no axis
    axis: FloatArray  # (2, n_joints, 3) in the frames of the groups, opposite ones turned
    vector: FloatArray  # (n_labels, 3) in the frames of the parts
    part: IntArray  # (n_labels,) part of each, as slides join them at will

    @property
    def n(self) -> int:
        """Number of directions."""
        return len(self.vector)


@dataclass(frozen=True, eq=False)
class Slides:
    """Slides in one direction each, or across one normal each; elements are such, on groups."""

    edge: IntArray  # (m,) which slide
    ends: IntArray  # (2, m) elements
    keys: IntArray  # (n_elements,) direction or normal and group, in one number; sorted
    group: IntArray  # (n_elements,)
    label: IntArray  # (n_elements,) part of each
    n_parts: int


@dataclass(frozen=True, eq=False)
class Sliding:
    """What the slides of a mechanism join."""

    joint: IntArray  # (n_slides,) from the world outwards
    directions: Directions
    at_will: Placement  # groups
    lines: Slides
    placed: Placement  # elements of `lines`, in the frames of their parts
    planes: Slides
    normal: FloatArray  # (n_normals, 3) of planes, in the frames of the parts
    of_pair: IntArray  # (n_labels, n_places) which normal, by direction and place of another one
    rank: IntArray  # (n_labels,) place of each direction of slides in its part, else -1

    @property
    def n_groups(self) -> int:
        """Number of rigid groups."""
        return len(self.at_will.label)


def sliding(g: Geometry) -> Sliding:
    """Return the parts that slides make of the rigid groups of a mechanism."""
    joint = g.joints(PRISMATIC)
    frames = g.rotation[:, joint], g.point[:, joint]
    root = int(g.bodies.label[-1])
    at_will = placement(g.n_groups, g.group[:, joint], *frames, root)
    directions = _directions(g, at_will)
    key = paired(g.group[:, joint], directions.label[:, joint], max(directions.n, 1))
    keys, ends = np.unique(key, return_inverse=True)
    ends = ends.reshape(2, -1).astype(np.intp)
    placed = placement(len(keys), ends, *frames)
    lines = Slides(
        np.arange(len(joint)),
        ends,
        keys,
        (keys // max(directions.n, 1)).astype(np.intp),
        placed.label,
        placed.n_components,
    )
    rank, of_pair, normal = _normals(directions, np.unique(directions.label[:, joint]))
    planes = _planes(g, directions, joint, rank, of_pair, normal)
    return Sliding(joint, directions, at_will, lines, placed, planes, normal, of_pair, rank)


def _directions(g: Geometry, at_will: Placement) -> Directions:
    joints = g.joints(REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, PLANAR)
    group = g.group[:, joints]
    axis = g.rotation[:, joints][..., 2]
    vector = np.einsum("smab,smb->sma", at_will.rotation[group], axis)
    sign = signs(vector)
    vector *= sign
    part = at_will.label[group]
    found = same_elements(part.ravel(), vector.reshape(-1, 3)).reshape(2, -1)
    n = int(found.max(initial=-1)) + 1
    label = np.full(g.group.shape, -1, dtype=np.intp)
    label[:, joints] = found
    axes = np.zeros((*g.group.shape, 3))
    axes[:, joints] = sign * axis
    of_label, of_part = np.zeros((n, 3)), np.zeros(n, dtype=np.intp)
    of_label[found], of_part[found] = vector, part
    return Directions(label, axes, of_label, of_part)


def _normals(d: Directions, slides: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return places of slides' directions in their parts, normals by pairs, and the normals."""
    rank, of_pair = np.full(d.n, -1, dtype=np.intp), np.full((d.n, MANY), -1, dtype=np.intp)
    part = d.part[slides]
    slides = slides[np.argsort(part, kind="stable")]
    part = d.part[slides]
    first = np.searchsorted(part, part)
    place = np.arange(len(slides)) - first
    many = np.bincount(part)[part] > MANY if len(part) else np.zeros(0, dtype=bool)
    slides, place, part = slides[~many], place[~many], part[~many]
    rank[slides] = place
    ones, others = [], []
    for step in range(1, MANY):
        is_pair = part[step:] == part[:-step] if len(part) > step else np.zeros(0, dtype=bool)
        at = np.flatnonzero(is_pair)
        ones.append(slides[at])
        others.append(slides[at + step])
    one, other = np.concatenate(ones), np.concatenate(others)
    normal = np.cross(d.vector[one], d.vector[other])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    normal *= signs(normal)
    label = same_elements(d.part[one], normal)
    of_pair[one, rank[other]] = of_pair[other, rank[one]] = label
    normals = np.zeros((int(label.max(initial=-1)) + 1, 3))
    normals[label] = normal
    return rank, of_pair, normals


def _planes(
    g: Geometry,
    d: Directions,
    joint: IntArray,
    rank: IntArray,
    of_pair: IntArray,
    normal: FloatArray,
) -> Slides:
    """Return the slides within every plane that two of them span."""
    along = d.label[0, joint]
    edge, place = np.nonzero(of_pair[along] >= 0)
    across = of_pair[along[edge], place]
    once = np.unique(paired(edge, across, max(len(normal), 1)))
    edge, across = once // max(len(normal), 1), once % max(len(normal), 1)
    keys, ends = np.unique(paired(across, g.group[:, joint[edge]], g.n_groups), return_inverse=True)
    ends = ends.reshape(2, -1).astype(np.intp)
    label, _ = model.spanning_forest(len(keys), ends[0], ends[1])
    n_parts = int(label.max(initial=-1)) + 1
    group = (keys % g.n_groups).astype(np.intp)
    return Slides(edge.astype(np.intp), ends, keys, group, label, n_parts)
