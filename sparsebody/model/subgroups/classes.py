"""Classes: sub-mechanisms whose joints all move within one displacement subgroup; their motion.

Let D be the subgroup of a class, of dimension d. Every joint of the class keeps the 6 - d twists
outside D at zero. Those of a spanning tree do it for all, so 6 - d rows of a joint that closes a
loop are redundant, at every pose. Classes overlap, and one joint can close loops in several: then
its bodies move within the intersection. All trees take joints in the same order (fixed ones,
prismatic ones, others from the world outwards), so what a loop joint can leave out depends on
earlier joints only: no two joints leave out rows because of each other.

Bodies in a class with the world move within its subgroup about the world. An element of a class is
fixed in each of its bodies, so that their possible twists are constant in body coordinates: the
accelerations lie in the same space as the velocities. Where all bodies move parallel to one plane,
SE(2), a search from the world outwards finds it in a tenth of the time that the classes take: each
joint carries the normal of the plane to its other body.

Herve (1999), Mech. Mach. Theory 34:719, on displacement subgroups.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.subgroups import links as graph
from sparsebody.model.subgroups.links import Geometry, Kind, Links, Sliding
from sparsebody.model.system import System
from sparsebody.tolerances import ELEMENT_TOLERANCE

# Intersections of two classes of a kind: a line through two points, one along two planes.
IN_TWO = {Kind.SPHERE: Kind.ROTATION, Kind.PLANE_TRANSLATION: Kind.LINE_TRANSLATION}


@dataclass(frozen=True, eq=False)
class Forest:
    """The classes of one kind, and the joints that close loops in them."""

    links: Links
    label: IntArray  # (n_elements,) class of each
    closes: BoolArray  # (m,) whether a joint closes a loop


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
        joints = [forest.links.joint[forest.closes] for forest in self.forests]
        return np.array([np.bincount(j, minlength=self.system.n_joints) for j in joints])

    @cached_property
    def is_redundant(self) -> BoolArray:
        """(n_rows,) the rows that can be left out."""
        return _left_out(self, self._kinds_up_to(len(Kind) - 1))[0]

    @cached_property
    def n_redundant(self) -> IntArray:
        """(n_kinds, n_joints) rows left out for a kind beyond those for smaller subgroups."""
        counts = [_left_out(self, self._kinds_up_to(kind))[1] for kind in range(len(Kind))]
        return np.diff(counts, axis=0, prepend=0)

    def _kinds_up_to(self, last: int) -> IntArray:
        """Return (n_joints,) a bit for every kind, up to one, in which a joint closes loops."""
        bits = np.zeros(self.system.n_joints, dtype=np.intp)
        for kind in list(Kind)[: last + 1]:
            bits |= (self.loops[kind] > 0).astype(np.intp) << kind
            if kind in IN_TWO:
                bits |= (self.loops[kind] > 1).astype(np.intp) << IN_TWO[kind]
        return bits

    @cached_property
    def translates_along_x(self) -> BoolArray:
        """(n_joints,) prismatic joints in loops of planar translations along x, not y."""
        forest, s, g = self.forests[Kind.PLANE_TRANSLATION], self.sliding, self.geometry
        is_along_x = np.zeros(self.system.n_joints, dtype=bool)
        element = forest.links.ends[1, forest.closes]
        joint = forest.links.joint[forest.closes]
        group = g.group[1, joint]
        normal = s.normal[s.planes.keys[element] // max(len(s.space.label), 1)]
        turn = s.space.rotation[group] @ g.rotation[1, joint]
        in_joint = np.einsum("kab,ka->kb", turn, normal)  # in the plane across z: normal x z
        is_along_x[joint] = np.abs(in_joint[:, 1]) > np.abs(in_joint[:, 0])
        return is_along_x


def displacement_classes(system: System) -> Classes:
    """Return the classes of a system, from the joint frames on the bodies alone."""
    g = graph.geometry(system)
    s = graph.sliding(g)
    forests = (
        Forest(links, *model.spanning_forest(len(links.part), links.ends[0], links.ends[1]))
        for links in graph.all_links(g, s, system.parameter)
    )
    return Classes(system, g, s, tuple(forests))


def loop_classes(system: System) -> Classes | None:
    """Return the displacement classes; None where they could not close any loop."""
    return displacement_classes(system) if graph.may_have_loops_in_classes(system) else None


def _left_out(classes: Classes, kinds: IntArray) -> tuple[BoolArray, IntArray]:
    """Return the rows (n_rows,) to leave out, and their number by joint, for bits of kinds."""
    system = classes.system
    is_left, n_left = np.zeros(system.n_rows, dtype=bool), np.zeros(system.n_joints, dtype=np.intp)
    key = graph.paired(system.joint_kind, kinds, 1 << len(Kind))
    for one in np.unique(key[kinds > 0]):
        same = np.flatnonzero(key == one)
        bits = int(kinds[same[0]])
        keep = graph.rows_within(system.joint_types[same[0]], bits)
        redundant = np.tile(~keep, (len(same), 1))
        if bits >> Kind.PLANE_TRANSLATION & 1 and np.count_nonzero(keep) == 1:
            redundant[:, 3] = ~classes.translates_along_x[same]  # along x or along y
            redundant[:, 4] = classes.translates_along_x[same]
        row = system.first_row[same][:, None] + np.arange(len(keep))
        is_left[row] = redundant
        n_left[same] = np.count_nonzero(~keep)
    return is_left, n_left


class Members:
    """Bodies and joints of parts: rigid groups, and groups that prismatic joints connect."""

    def __init__(self, classes: Classes) -> None:
        g, s = classes.geometry, classes.sliding
        every = np.arange(len(s.space.label))
        lines, planes = s.begin.lines + s.lines.label, s.begin.planes + s.planes.label
        space = s.begin.space + s.space.label
        parts = np.concatenate([every, lines, planes, space])
        groups = np.concatenate([every, s.lines.group, s.planes.group, every])
        of_prismatic = (
            lines[s.lines.ends[0]],
            planes[s.planes.ends[0]],
            space[g.group[0, s.joint]],
        )
        prismatic = s.joint, s.joint[s.planes.edge], s.joint
        inside = np.flatnonzero(g.is_inside)
        self.groups, self.parts = Lists(parts, groups), Lists(groups, parts)
        self.prismatic = Lists(np.concatenate(of_prismatic), np.concatenate(prismatic))
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
        """Return the values of some keys, and before them for each the index of its key."""
        first = np.searchsorted(self._keys, keys)
        sizes = np.searchsorted(self._keys, keys, side="right") - first
        which = np.repeat(np.arange(len(keys)), sizes)
        index = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
        return which, self._values[index].astype(np.intp)


# ---- the classes with redundant rows, one by one, for people --------------------------------


@dataclass(frozen=True, eq=False)
class Subgroup:
    """A sub-mechanism whose joints all move within one displacement subgroup."""

    system: System
    kind: str  # a title of Kind
    freedoms: int  # dimension of the subgroup
    base: int  # body that the others move about; -1 for the world
    axis: FloatArray | None  # (3,) axis or normal in the axes of the base
    point: FloatArray | None  # (3,) on the axis, or the center, in the frame of the base [m]
    bodies: IntArray  # the others
    joints: IntArray
    redundant: dict[int, int]  # rows left out by joint, beyond those of smaller subgroups within

    @property
    def loops(self) -> int:
        """Number of independent loops."""
        return len(self.joints) - len(self.bodies)

    @property
    def redundant_rows(self) -> int:
        """Number of rows left out."""
        return sum(self.redundant.values())

    @property
    def base_name(self) -> str:
        """Name of the base."""
        return "world" if self.base < 0 else self.system.body_names[self.base]

    def __str__(self) -> str:
        base = "the world" if self.base < 0 else repr(self.base_name)
        return f"{self.kind}, about {base}: {self._counts()}"

    def _counts(self) -> str:
        bodies = "1 body" if len(self.bodies) == 1 else f"{len(self.bodies)} bodies"
        parts = {
            "joint": len(self.joints),
            "loop": self.loops,
            "redundant row": self.redundant_rows,
        }
        joints, loops, rows = (f"{n} {what}{'s' * (n != 1)}" for what, n in parts.items())
        return f"{bodies}, {joints}, {loops}: {rows}"

    def to_dict(self) -> dict[str, object]:
        """Return names and plain numbers."""
        names = self.system.joint_names
        return {
            "kind": self.kind,
            "freedoms": self.freedoms,
            "base": self.base_name,
            "axis": None if self.axis is None else self.axis.tolist(),
            "point": None if self.point is None else self.point.tolist(),
            "bodies": [self.system.body_names[int(i)] for i in self.bodies],
            "joints": [names[int(j)] for j in self.joints],
            "loops": self.loops,
            "redundant_rows": self.redundant_rows,
            "redundant_joints": {names[j]: n for j, n in self.redundant.items()},
        }


def redundant_subgroups(classes: Classes) -> tuple[Subgroup, ...]:
    """Return the classes that make rows redundant, smaller subgroups first."""
    members, subgroups = Members(classes), []
    for kind, forest in zip(Kind, classes.forests, strict=True):
        edge = _closing(forest)
        has_rows = classes.n_redundant[kind, forest.links.joint[edge]] > 0
        for label in np.unique(forest.label[forest.links.ends[0, edge[has_rows]]]):
            subgroups.append(_subgroup(classes, members, kind, int(label)))
    return tuple(subgroups)


def describe(subgroups: tuple[Subgroup, ...]) -> list[str]:
    """Return a line for each, those about moving bodies that are alike in one."""
    alike: dict[tuple[str, ...], list[Subgroup]] = {}
    for one in subgroups:
        what = (str(one),) if one.base < 0 else (one.kind, one._counts())
        alike.setdefault(what, []).append(one)
    return [
        f"{many[0].kind}, about {len(many)} moving bodies, each: {many[0]._counts()}"
        if len(many) > 1
        else str(many[0])
        for many in sorted(alike.values(), key=lambda many: many[0].base >= 0)
    ]


def _closing(forest: Forest) -> IntArray:
    """Return where joints close loops, once for each joint: in the class that it counts for."""
    edge = np.flatnonzero(forest.closes)
    return edge[np.unique(forest.links.joint[edge], return_index=True)[1]]


def _subgroup(classes: Classes, members: Members, kind: Kind, label: int) -> Subgroup:
    system, forest = classes.system, classes.forests[kind]
    links = forest.links
    of_class = np.flatnonzero(forest.label[links.ends[0]] == label)
    joints = links.joint[of_class]
    parts = np.unique(links.part[forest.label == label])
    if kind == Kind.RIGID:
        bodies = parts - classes.sliding.begin.bodies
    else:
        groups = np.unique(members.groups.of(parts))
        bodies = members.bodies.of(groups)
        joints = np.concatenate([joints, members.prismatic.of(parts), members.inside.of(groups)])
    n = system.n_bodies
    base = -1 if n in bodies else int(bodies.min())
    count = classes.n_redundant[kind]
    closing = links.joint[np.intersect1d(_closing(forest), of_class)]
    axis, point = _element(classes, kind, of_class, base)
    return Subgroup(
        system=system,
        kind=kind.title,
        freedoms=kind.freedoms,
        base=base,
        axis=axis,
        point=point,
        bodies=np.setdiff1d(bodies, [base % (n + 1)]),
        joints=np.unique(joints),
        redundant={int(j): int(count[j]) for j in closing if count[j]},
    )


def _element(
    classes: Classes, kind: Kind, of_class: IntArray, base: int
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return axis and point, where a joint on the base or on what slides on it has them."""
    if kind in (Kind.RIGID, Kind.TRANSLATION):
        return None, None
    g, label = classes.geometry, classes.sliding.space.label
    group, own = g.group[:, classes.forests[kind].links.joint[of_class]], g.bodies.label[base]
    side, k = np.nonzero(label[group] == label[own])
    best = [int(np.argmax(group[side, k] == own))]
    (axis,), (point,) = elements_on_bodies(
        classes, kind, side[best], of_class[k[best]], np.array([base])
    )
    is_shown = kind in THROUGH_POINT and group[side, k][best[0]] == own
    if base >= 0:
        point = point + classes.system.center_of_mass[base]
    return None if kind == Kind.SPHERE else axis, point if is_shown else None


# ---- where an element of a class is on a body -------------------------------------------------

THROUGH_POINT = (Kind.ROTATION, Kind.SCREW, Kind.CYLINDER, Kind.SPHERE)


def elements_on_bodies(
    classes: Classes, kind: Kind, side: IntArray, edge: IntArray, body: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return axes or normals (n, 3), and points (n, 3) on them, in the frames of bodies.

    They are those of the class in which the given sides of `edge` are; zero where there are none.
    """
    g, s, links = classes.geometry, classes.sliding, classes.forests[kind].links
    joint = links.joint[edge]
    shown, own = g.group[side, joint], g.bodies.label[body]
    turn = np.swapaxes(s.space.rotation[own], 1, 2) @ s.space.rotation[shown]
    to_body = np.swapaxes(g.bodies.rotation[body], 1, 2)
    axis = g.rotation[side, joint][:, :, 2]
    if kind in (Kind.SPHERE, Kind.TRANSLATION):
        direction = np.zeros_like(axis)
    elif kind == Kind.PLANE_TRANSLATION:
        normal = s.normal[s.planes.keys[links.ends[side, edge]] // len(s.space.label)]
        direction = np.einsum("kba,kb->ka", s.space.rotation[own], normal)
    else:
        direction = np.einsum("kab,kb->ka", turn, axis)
    direction = np.einsum("kab,kb->ka", to_body, direction)
    if kind not in THROUGH_POINT:
        return direction, np.zeros_like(axis)
    x = g.point[side, joint]
    if links.height is not None:
        x = x + links.height[edge][:, None] * axis
    if kind == Kind.CYLINDER and len(s.joint):  # lines shared by groups that move along them
        along, n = s.directions.label[side, joint], len(s.directions.vector)
        shown_line, own_line = (
            graph.find(s.lines.keys, graph.paired(group, along, n)) for group in (shown, own)
        )
        moved = (shown != own) & (shown_line >= 0) & (own_line >= 0)
        shown_line, own_line, x = shown_line[moved], own_line[moved], x.copy()
        in_part = np.einsum("kab,kb->ka", s.placed.rotation[shown_line], x[moved])
        in_part = in_part + s.placed.offset[shown_line] - s.placed.offset[own_line]
        x[moved] = np.einsum("kba,kb->ka", s.placed.rotation[own_line], in_part)
    return direction, np.einsum("kab,kb->ka", to_body, x - g.bodies.offset[body])


# ---- motion about the world -------------------------------------------------------------------


FREE = -1
# Bodies do not rotate; integrators of finite order drift from that.
KEEP_DIRECTIONS = (Kind.RIGID, Kind.LINE_TRANSLATION, Kind.PLANE_TRANSLATION, Kind.TRANSLATION)


@dataclass(frozen=True, eq=False)
class GroundMotion:
    """Possible twists of bodies about the world, in their own axes about their centers of mass."""

    kind: IntArray  # (n_bodies,) the smallest subgroup that holds each, FREE for none
    axis: FloatArray  # (n_bodies, 3) direction that is fixed in the world; 0 for none
    point: FloatArray  # (n_bodies, 3) on it, or the center [m]
    pitch: FloatArray  # (n_bodies,) of screws [m/rad]
    normal: FloatArray | None = None  # (3,) in the world, of the plane if all are in parallel ones
    classes: Classes | None = None  # that it follows from; None in a plane

    @property
    def is_planar(self) -> bool:
        """Whether all bodies move parallel to one plane."""
        return self.normal is not None

    @property
    def freedoms(self) -> IntArray:
        """(n_bodies,) dimension of each body's subgroup."""
        of_kind = np.array([*(kind.freedoms for kind in Kind), 6])
        return of_kind[self.kind]

    def counts(self) -> dict[str, int]:
        """Return the number of bodies by subgroup."""
        kinds, counts = np.unique(self.kind[self.kind != FREE], return_counts=True)
        return {Kind(k).title: int(n) for k, n in zip(kinds, counts, strict=True)}

    def basis(self) -> FloatArray:
        """Return (n_bodies, 6, 6) twists in the leading columns; the others are zero."""
        axes = model.triads(self.axis)
        turns = np.concatenate([axes, np.cross(self.point[:, None], axes)], axis=2)
        turns[:, 2, 3:] += self.pitch[:, None] * self.axis
        shifts = np.concatenate([np.zeros_like(axes), axes], axis=2)
        twists = np.concatenate([turns, shifts], axis=1)  # about and along x, y and z
        basis = np.zeros_like(twists)
        of_kind = {kind: kind.axes for kind in Kind} | {
            Kind.PLANE_TRANSLATION: (graph.TX, graph.TY),
            FREE: range(6),
        }
        for kind, chosen in of_kind.items():
            same = np.flatnonzero(self.kind == kind)
            basis[same, :, : len(chosen)] = np.swapaxes(twists[same][:, list(chosen)], 1, 2)
        return basis


def plane_normals(system: System) -> FloatArray | None:
    """Return (n_bodies + 1, 3) normals, in body axes and last the world's, of the plane of motion.

    None unless every body is joined to the world by revolutes with parallel axes, prismatic joints
    across these, planar and fixed ones; other joints do not matter. The joint frames on the bodies
    decide alone, so it holds at every pose.
    """
    n, codes = system.n_bodies, graph.joint_codes(system)
    normals, is_planar = model.plane_normals(n, system.joint_frames, codes, ELEMENT_TOLERANCE)
    return normals if n > 0 and is_planar else None


def ground_motion(system: System, keeps_points: bool = True) -> GroundMotion:
    """Return the motion of all bodies parallel to one plane, else of each in its smallest class.

    Without `keeps_points`, bodies that turn about points or lines have all freedoms, because their
    points would drift. So have all bodies of a mechanism in space without classes that close loops.
    """
    n, normals = system.n_bodies, plane_normals(system)
    zero = np.zeros((n, 3)), np.zeros(n)
    if normals is not None:
        kind = np.full(n, Kind.PLANE, dtype=np.intp)
        return GroundMotion(kind, normals[:n], *zero, normal=normals[n])
    if not graph.may_have_loops_in_classes(system):
        return GroundMotion(np.full(n, FREE, dtype=np.intp), np.zeros((n, 3)), *zero)
    return _in_smallest_classes(displacement_classes(system), keeps_points)


def _in_smallest_classes(classes: Classes, keeps_points: bool) -> GroundMotion:
    """Return the motion of each body in the smallest class that holds it and the world."""
    g, n = classes.geometry, classes.system.n_bodies
    members = Members(classes)
    axis, point = np.zeros((n, 3)), np.zeros((n, 3))
    kind_of_body = np.full(n, FREE, dtype=np.intp)
    motion = GroundMotion(kind_of_body, axis, point, np.zeros(n), classes=classes)
    world = g.bodies.label[n]
    motion.kind[g.bodies.label[:n] == world] = Kind.RIGID
    grounded = members.parts.of(np.array([world]))
    for kind, forest in zip(Kind, classes.forests, strict=True):
        if kind == Kind.RIGID:
            continue
        links = forest.links
        at_rest = np.isin(links.part, grounded)
        has_world = np.zeros(graph.count(forest.label), dtype=bool)
        has_world[forest.label[at_rest]] = True
        element = np.flatnonzero(has_world[forest.label] & ~at_rest)
        which, group = members.groups.pairs(links.part[element])
        then, body = members.bodies.pairs(group)
        element = element[which[then]]
        is_new = motion.kind[body] == FREE
        body, first = np.unique(body[is_new], return_index=True)
        if len(body):
            flat = np.zeros(len(links.part), dtype=np.intp)  # an end of a joint at each element
            flat[links.ends.ravel()] = np.arange(links.ends.size)
            side, edge = np.divmod(flat[element[is_new][first]], len(links.joint))
            shown = elements_on_bodies(classes, kind, side, edge, body)
            motion.axis[body], motion.point[body] = shown
            if kind == Kind.SCREW:
                motion.pitch[body] = classes.system.parameter[links.joint[edge]]
            motion.kind[body] = kind
    if not keeps_points:
        motion.kind[np.isin(motion.kind, THROUGH_POINT)] = FREE
    return motion
