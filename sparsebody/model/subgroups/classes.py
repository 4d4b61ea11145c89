"""Classes: sub-mechanisms whose joints all move within one displacement subgroup.

Let D be the subgroup of a class, of dimension d. Every joint of the class keeps the 6 - d twists
outside D at zero. Those of a spanning tree do it for all, so a joint that closes a loop has as many
rows too many, at every pose. Classes overlap, and one joint can close loops in several: then its
bodies move within the intersection. All trees take joints in the same order (fixed ones, slides,
others from the world outwards), so what a loop joint can leave out depends on earlier joints only,
and nothing is left out that something else was left out for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.subgroups.displacements import (
    BALL,
    CODES,
    KINDS,
    OTHER,
    SLIDE,
    SLIDES,
    SPHERE,
    TURN,
    Geometry,
    geometry,
    rows_within,
    same_elements,
)
from sparsebody.model.subgroups.elements import Links, PartNumbers, Sliding, all_links, sliding
from sparsebody.model.system import System
from sparsebody.tolerances import ELEMENT_TOLERANCE

IN_TWO = {SPHERE: TURN, SLIDES: SLIDE}  # what two classes of a kind have in common


@dataclass(frozen=True, eq=False)
class Forest:
    """The classes of one kind, and the joints that close loops in them."""

    links: Links
    label: IntArray  # (n_elements,) class of each
    closes: BoolArray  # (m,) whether a joint closes a loop

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.label.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class Classes:
    """All classes of a system, and the rows that they make redundant."""

    system: System
    geometry: Geometry
    sliding: Sliding
    forests: tuple[Forest, ...]  # by kind

    @cached_property
    def loops(self) -> IntArray:
        """(n_kinds, n_joints) in how many classes of a kind each joint closes a loop."""
        count = np.zeros((len(KINDS), self.system.n_joints), dtype=np.intp)
        for kind, forest in enumerate(self.forests):
            np.add.at(count[kind], forest.links.joint[forest.closes], 1)
        return count

    @cached_property
    def is_redundant(self) -> BoolArray:
        """(n_rows,) the rows that can be left out."""
        return _left_out(self, self._kinds_up_to(len(KINDS) - 1))[0]

    @cached_property
    def n_redundant(self) -> IntArray:
        """(n_kinds, n_joints) rows left out for a kind beyond those for smaller subgroups."""
        counts = [_left_out(self, self._kinds_up_to(kind))[1] for kind in range(len(KINDS))]
        return np.diff(counts, axis=0, prepend=0)

    def _kinds_up_to(self, last: int) -> IntArray:
        """Return (n_joints,) a bit for every kind, up to one, in which a joint closes loops.

        Motion about two points is motion about a line; that in two planes is along a line.
        """
        bits = np.zeros(self.system.n_joints, dtype=np.intp)
        for kind in range(last + 1):
            bits |= (self.loops[kind] > 0).astype(np.intp) << kind
            if kind in IN_TWO:
                bits |= (self.loops[kind] > 1).astype(np.intp) << IN_TWO[kind]
        return bits

    @cached_property
    def slides_across(self) -> BoolArray:
        """(n_joints,) slides in a loop of planar translations along their x rather than y axes."""
        forest, s, g = self.forests[SLIDES], self.sliding, self.geometry
        is_across = np.zeros(self.system.n_joints, dtype=bool)
        element = forest.links.ends[1, forest.closes]
        joint = forest.links.joint[forest.closes]
        group = g.group[1, joint]
        normal = s.normal[s.planes.keys[element] // max(s.n_groups, 1)]
        turn = s.at_will.rotation[group] @ g.rotation[1, joint]
        in_joint = np.einsum("kab,ka->kb", turn, normal)  # in the plane across z: normal x z
        is_across[joint] = np.abs(in_joint[:, 1]) > np.abs(in_joint[:, 0])
        return is_across


def displacement_classes(system: System) -> Classes:
    """Return the classes of a system, from the joint frames on the bodies alone."""
    g = geometry(system)
    s = sliding(g)
    forests = tuple(_forest(links) for links in all_links(g, s, system.parameter))
    return Classes(system, g, s, forests)


def _forest(links: Links) -> Forest:
    label, closes = model.spanning_forest(len(links.part), links.ends[0], links.ends[1])
    return Forest(links, label, closes)


def _left_out(classes: Classes, kinds: IntArray) -> tuple[BoolArray, IntArray]:
    """Return the rows (n_rows,) to leave out, and their number by joint, for bits of kinds."""
    system = classes.system
    is_left, count = np.zeros(system.n_rows, dtype=bool), np.zeros(system.n_joints, dtype=np.intp)
    for group in system.groups:
        joints = group.joints[kinds[group.joints] > 0]
        for bits in np.unique(kinds[joints]):
            same = joints[kinds[joints] == bits]
            keep = rows_within(system.joint_types[same[0]], int(bits))
            left = np.tile(~keep, (len(same), 1))
            if bits >> SLIDES & 1 and np.count_nonzero(keep) == 1:
                left[:, 3] = ~classes.slides_across[same]  # along x or along y
                left[:, 4] = classes.slides_across[same]
            row = system.first_row[same][:, None] + np.arange(len(keep))
            is_left[row] = left
            count[same] = np.count_nonzero(~keep)
    return is_left, count


class Members:
    """Bodies and joints of parts, that is rigid groups and what slides join, by number."""

    def __init__(self, classes: Classes) -> None:
        g, s = classes.geometry, classes.sliding
        self.begin = begin = PartNumbers.of(s)
        parts = np.concatenate(
            [
                np.arange(s.n_groups),
                begin.lines + s.lines.label,
                begin.planes + s.planes.label,
                begin.at_will + s.at_will.label,
            ]
        )
        every = np.arange(s.n_groups)
        groups = np.concatenate([every, s.lines.group, s.planes.group, every])
        of_slides = (
            begin.lines + s.lines.label[s.lines.ends[0]],
            begin.planes + s.planes.label[s.planes.ends[0]],
            begin.at_will + s.at_will.label[g.group[0, s.joint]],
        )
        slides = s.joint, s.joint[s.planes.edge], s.joint
        inside = np.flatnonzero(g.is_inside)
        self.groups, self.parts = Lists(parts, groups), Lists(groups, parts)
        self.slides = Lists(np.concatenate(of_slides), np.concatenate(slides))
        self.bodies = Lists(g.bodies.label, np.arange(len(g.bodies.label)))
        self.inside = Lists(g.group[0, inside], inside)


class Lists:
    """Lists of values by keys."""

    def __init__(self, keys: IntArray, values: IntArray) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys, self._values = keys[order], values[order]

    def of(self, keys: IntArray) -> IntArray:
        """Return the values of some keys, one key after the other."""
        return self.pairs(keys)[1]

    def pairs(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the values of some keys, and before them for each the place of its key."""
        first = np.searchsorted(self._keys, keys)
        count = np.searchsorted(self._keys, keys, side="right") - first
        which = np.repeat(np.arange(len(keys)), count)
        place = np.arange(len(which)) - np.repeat(np.cumsum(count) - count - first, count)
        return which, self._values[place].astype(np.intp)


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
    balls = slice(None) if is_ball.all() else np.flatnonzero(is_ball)
    body = np.stack([system.predecessor[balls], system.successor[balls]]) % n
    point = np.stack([system.predecessor_point[balls], system.successor_point[balls]])
    if model.share_points(n, body, point, MANY, 10.0 * ELEMENT_TOLERANCE):
        return False
    is_large = np.bincount(body.ravel(), minlength=n) > MANY
    on_large = is_large[body]
    return _are_distinct(body[on_large], point[on_large])


def _are_distinct(body: IntArray, point: FloatArray) -> bool:
    """Tell whether no two of the points on a body are the same."""
    size = np.linalg.norm(point, axis=1).max(initial=0.0)
    label = same_elements(body, point / (size if size > 0.0 else 1.0))
    return len(np.unique(label)) == len(label)
