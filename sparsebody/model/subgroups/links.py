"""The graphs in which cycles are loops of joints within one displacement subgroup.

A subgroup of dimension d is given by its kind and an element that its displacements preserve: a
rotation by a line, a spherical one by a point, a planar one by a normal. For each kind there is a
graph. Its nodes are elements, each fixed in a body; its edges are joints whose displacements
preserve an element of both their bodies, which is then the same for all bodies of a connected
component. In a component, a joint that closes a cycle has 6 - d rows that depend on the others.

Four-bar linkage, revolute joints 0 to 3 in a ring of the world (w) and bodies a, b, c, axes z:

    kind       d   nodes                    edges (joints)              cycles   redundant rows
    ROTATION   1   8: two axes on a body    w-a, c-w, a-b, b-c          none
    PLANE      3   4: z on w, a, b, c       w-a, c-w, a-b, b-c          1        6 - 3 = 3
    SPHERE     3   none: no axes meet
    SCHOENFLIES 4  4: z on w, a, b, c       w-a, c-w, a-b, b-c          1        2 of these 3

Bodies that fixed joints connect are one *rigid group*, which has the elements of all of them; the
world is in one. Groups that prismatic joints connect are a *part*, with common elements: lines
along the joint, if all are parallel; normals across them; directions in any case. So the nodes of a
graph belong to groups or to parts, see `PartNumbers`. Elements are equal if they are to rounding.

Herve (1999), Mech. Mach. Theory 34:719, on displacement subgroups.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from sparsebody._core import model
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.joints import JOINT_TYPES, JointType
from sparsebody.model.system import System
from sparsebody.tolerances import ELEMENT_TOLERANCE

RX, RY, RZ, TX, TY, TZ = range(6)
_ROW_TOLERANCE = 1e-9  # of pivots of rows, which are about one


class Kind(IntEnum):
    """The displacement subgroups by dimension; loops in smaller ones have more redundant rows.

    Each has a title for people, and the twists that span it, the z axis of a joint in it being its
    axis or normal.
    """

    title: str
    axes: tuple[int, ...]

    def __new__(cls, title: str, *axes: int) -> "Kind":
        """Number the kinds from 0."""
        kind = int.__new__(cls, number := len(cls.__members__))
        kind._value_, kind.title, kind.axes = number, title, axes
        return kind

    RIGID = ("rigid",)
    ROTATION = "rotation about a line", RZ
    LINE_TRANSLATION = "translation along a line", TZ
    SCREW = "helical", RZ  # and the pitch times TZ
    PLANE_TRANSLATION = "planar translations", TZ, TY  # TY or TX, with a prismatic joint along z
    CYLINDER = "cylindrical", RZ, TZ
    SPHERE = "spherical", RX, RY, RZ
    TRANSLATION = "translational", TX, TY, TZ
    PLANE = "planar", RZ, TX, TY
    SCHOENFLIES = "Schoenflies", RZ, TX, TY, TZ

    @property
    def freedoms(self) -> int:
        """Its dimension."""
        return len(self.axes)


# Joints by the smallest subgroups that they move in, numbered as Subgroup in core/joints/joint.hpp.
OTHER, FIXED, REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, PLANAR, SPHERICAL = range(8)
_CODES = ("", "rigid", "rotation", "translation", "screw", "cylindrical", "planar", "spherical")
IN_KIND = {  # joints that link bodies of a class; its prismatic and fixed ones are not listed
    Kind.ROTATION: (REVOLUTE,),
    Kind.SCREW: (HELICAL,),
    Kind.CYLINDER: (REVOLUTE, HELICAL, CYLINDRICAL),
    Kind.PLANE: (REVOLUTE, PLANAR),
    Kind.SCHOENFLIES: (REVOLUTE, HELICAL, CYLINDRICAL, PLANAR),
}


def joint_codes(system: System) -> IntArray:
    """Return (n_joints,) the type of each joint, by the subgroups that it moves in."""
    codes = [_CODES.index(kind.subgroup) for kind in JOINT_TYPES.values()]
    return np.array(codes, dtype=np.intp)[system.joint_kind]


def rows_within(joint_type: JointType, kinds: int) -> BoolArray:
    """Return (n_constraints,) which rows of a joint are independent of those of its classes.

    `kinds` has one bit for each kind: the bodies move within the intersection of these, and the
    joint within all of them. The rows that act on twists in the intersection are chosen by QR.
    """
    axes = set(range(6)).intersection(*(kind.axes for kind in Kind if kinds >> kind & 1))
    keep = np.zeros(joint_type.n_constraints, dtype=bool)
    if axes and not kinds >> Kind.SCREW & 1 and len(keep):
        rows = joint_type.neutral_rows[:, sorted(axes)]
        r, order = qr(rows.T, mode="r", pivoting=True)
        keep[order[: np.count_nonzero(np.abs(np.diagonal(r)) > _ROW_TOLERANCE)]] = True
    return keep


@dataclass(frozen=True, eq=False)
class Placement:
    """Nodes of a graph in the frame of the first node of their component."""

    label: IntArray  # (n,) component, numbered from 0
    rank: IntArray  # (n,) in the order in which nodes were reached
    rotation: FloatArray  # (n, 3, 3) from the axes of a node to those of its component
    offset: FloatArray  # (n, 3) of the origin of a node


def placement(n: int, ends: IntArray, R: FloatArray, r: FloatArray, first: int = 0) -> Placement:
    """Return the components of a graph of n nodes, breadth first, its edges being stiff joints.

    `ends` (2, m) are nodes, predecessors first; R (2, m, 3, 3) and r (2, m, 3) the joint
    frames in theirs.
    """
    return Placement(*model.placement(n, ends, R, r, first))


# Directions with negative components along this vector are reversed; along no usual axis or plane
_SIDE = np.array([0.7548776662466927, 0.5698402909980532, 0.3247179572447460])


def same_elements(group: IntArray, numbers: FloatArray) -> IntArray:
    """Label elements (m,): equal labels for equal groups and equal coordinates `numbers` (m, k)."""
    label = np.unique(group, return_inverse=True)[1].astype(np.intp).reshape(len(group))
    for column in numbers.T:
        order = np.lexsort((column, label))
        is_new = np.diff(label[order]) != 0
        is_new |= np.diff(column[order]) > ELEMENT_TOLERANCE
        label[order] = np.cumsum(np.concatenate([[0], is_new])) if len(order) else 0
    return label


def count(label: IntArray) -> int:
    """Return the number of labels, which go from 0."""
    return int(label.max(initial=-1)) + 1


def signs(directions: FloatArray) -> FloatArray:
    """Return (..., 1) signs by which directions and their opposites become equal."""
    return np.where(directions @ _SIDE < 0.0, -1.0, 1.0)[..., None]


def sizes(group: IntArray, points: FloatArray, n: int) -> FloatArray:
    """Return (n,) the distance of the farthest point of each group; 1 where there is none."""
    size = np.zeros(n)
    np.maximum.at(size, group, np.linalg.norm(points, axis=-1))
    return np.where(size > 0.0, size, 1.0)


def paired(first: IntArray, second: IntArray, n: int) -> IntArray:
    """Return one number for each pair of numbers, the second ones below n."""
    return first.astype(np.int64) * n + second


def numbered_ends(key: IntArray) -> tuple[IntArray, IntArray]:
    """Return the keys that occur, sorted, and the index of each of (2, m) among them."""
    keys, index = np.unique(key, return_inverse=True)
    return keys, index.reshape(2, -1).astype(np.intp)


def find(keys: IntArray, numbers: IntArray) -> IntArray:
    """Return the indices of numbers in sorted keys, -1 where there is none."""
    if len(keys) == 0:
        return np.full(numbers.shape, -1, dtype=np.intp)
    index = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
    return np.where(keys[index] == numbers, index, -1).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Rigid groups of n + 1 bodies, the last being the world, and frames of m joints on them."""

    bodies: Placement  # in their groups
    body_ends: IntArray  # (2, m) bodies of each joint, n for the world
    code: IntArray  # (m,) type of each joint, by the subgroups that it moves in
    group: IntArray  # (2, m) groups of each joint
    rotation: FloatArray  # (2, m, 3, 3) from joint axes to those of the groups
    point: FloatArray  # (2, m, 3) origins of the joint frames in those of the groups [m]
    order: IntArray  # (m,) the joints as met from the world outwards

    @property
    def is_inside(self) -> BoolArray:
        """(m,) whether a joint is within a group."""
        return np.asarray(self.group[0] == self.group[1])

    def joints(self, *codes: int) -> IntArray:
        """Return the joints of some types between different groups, from the world outwards."""
        is_chosen = np.isin(self.code, codes) & ~self.is_inside
        return self.order[is_chosen[self.order]]


def geometry(system: System) -> Geometry:
    """Return the rigid groups of a system and the joints on them."""
    n = system.n_bodies
    code = joint_codes(system)
    ends = np.stack([system.predecessor, system.successor]) % (n + 1)
    rotation = np.stack([system.predecessor_rotation, system.successor_rotation])
    point = np.stack([system.predecessor_point, system.successor_point])
    fixed = np.flatnonzero(code == FIXED)
    bodies = placement(n + 1, ends[:, fixed], rotation[:, fixed], point[:, fixed], n)
    if len(fixed):
        turn = bodies.rotation[ends]
        point = np.einsum("smab,smb->sma", turn, point) + bodies.offset[ends]
        rotation = turn @ rotation
    groups = bodies.label[ends]
    rank = placement(count(bodies.label), groups, rotation, point, int(bodies.label[n])).rank
    met = np.sort(rank[groups], axis=0)
    return Geometry(bodies, ends, code, groups, rotation, point, np.lexsort((met[1], met[0])))


MANY_SPHERICAL = 16  # joints on a body that are not compared in pairs


def may_have_loops_in_classes(system: System) -> bool:
    """Tell whether there are loops, and joints that may close them within a displacement class."""
    n = system.n_bodies + 1
    has_loops = model.spanning_forest(n, system.predecessor % n, system.successor % n)[1].any()
    return bool(has_loops) and not _has_isolated_spherical_joints(system)


def _has_isolated_spherical_joints(system: System) -> bool:
    """Tell whether all joints are spherical or in no subgroup, and no body has two at one point."""
    code = joint_codes(system)
    if np.any((code != OTHER) & (code != SPHERICAL)):
        return False
    n, is_spherical = system.n_bodies + 1, code == SPHERICAL
    chosen = slice(None) if is_spherical.all() else np.flatnonzero(is_spherical)
    body = np.stack([system.predecessor[chosen], system.successor[chosen]]) % n
    point = np.stack([system.predecessor_point[chosen], system.successor_point[chosen]])
    if model.share_points(n, body, point, MANY_SPHERICAL, 10.0 * ELEMENT_TOLERANCE):
        return False
    on_large = (np.bincount(body.ravel(), minlength=n) > MANY_SPHERICAL)[body]
    points = point[on_large]
    size = np.linalg.norm(points, axis=1).max(initial=0.0)
    label = same_elements(body[on_large], points / (size if size > 0.0 else 1.0))
    return len(np.unique(label)) == len(label)


# ---- prismatic joints -----------------------------------------------------------------------

MANY_DIRECTIONS = 8  # of prismatic joints in one part, beyond which planes are not looked for


@dataclass(frozen=True, eq=False)
class Directions:
    """Axes and normals of joints; parallel ones share a number on bodies that only translate."""

    label: IntArray  # (2, n_joints), -1 where a joint has no axis
    axis: FloatArray  # (2, n_joints, 3) in the frames of the groups, opposite ones turned
    vector: FloatArray  # (n_labels, 3) in the frames of the parts
    part: IntArray  # (n_labels,) part of each, connected by prismatic joints of any directions


@dataclass(frozen=True, eq=False)
class Translations:
    """Prismatic joints along one direction each, or across one normal each, and these on groups."""

    edge: IntArray  # (m,) which prismatic joint
    ends: IntArray  # (2, m) elements: a direction or normal on a group
    keys: IntArray  # (n_elements,) direction or normal and group, in one number; sorted
    group: IntArray  # (n_elements,)
    label: IntArray  # (n_elements,) part of each


class PartNumbers(NamedTuple):
    """First numbers of parts: rigid groups, then along lines, in planes, in space, and bodies."""

    lines: int
    planes: int
    space: int
    bodies: int


@dataclass(frozen=True, eq=False)
class Sliding:
    """Parts that prismatic joints connect: along lines, in planes and in any directions."""

    joint: IntArray  # (n_prismatic,) from the world outwards
    directions: Directions
    space: Placement  # groups that any prismatic joints connect
    lines: Translations
    placed: Placement  # elements of `lines`, in the frames of their parts
    planes: Translations
    normal: FloatArray  # (n_normals, 3) of planes, in the frames of the parts
    of_pair: IntArray  # (n_labels, MANY_DIRECTIONS) which normal, by direction and rank of another
    rank: IntArray  # (n_labels,) of each direction of prismatic joints in its part, else -1
    begin: PartNumbers


def sliding(g: Geometry) -> Sliding:
    """Return the parts that prismatic joints make of the rigid groups of a mechanism."""
    joint = g.joints(PRISMATIC)
    frames = g.rotation[:, joint], g.point[:, joint]
    root = int(g.bodies.label[-1])
    space = placement(count(g.bodies.label), g.group[:, joint], *frames, root)
    directions = _directions(g, space)
    key = paired(g.group[:, joint], directions.label[:, joint], max(len(directions.vector), 1))
    keys, ends = numbered_ends(key)
    placed = placement(len(keys), ends, *frames)
    group = (keys // max(len(directions.vector), 1)).astype(np.intp)
    lines = Translations(np.arange(len(joint)), ends, keys, group, placed.label)
    rank, of_pair, normal = _normals(directions, np.unique(directions.label[:, joint]))
    along = directions.label[0, joint]  # the prismatic joints within every plane that two span
    edge, other = np.nonzero(of_pair[along] >= 0)
    once = np.unique(paired(edge, of_pair[along[edge], other], max(len(normal), 1)))
    edge, across = once // max(len(normal), 1), once % max(len(normal), 1)
    n_groups = count(g.bodies.label)
    keys, ends = numbered_ends(paired(across, g.group[:, joint[edge]], n_groups))
    label, _ = model.spanning_forest(len(keys), ends[0], ends[1])
    group = (keys % n_groups).astype(np.intp)
    planes = Translations(edge.astype(np.intp), ends, keys, group, label)
    sizes = (len(space.label), *(count(of.label) for of in (lines, planes, space)))
    begin = PartNumbers(*np.cumsum(sizes).tolist())
    return Sliding(joint, directions, space, lines, placed, planes, normal, of_pair, rank, begin)


def _directions(g: Geometry, space: Placement) -> Directions:
    joints = g.joints(REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, PLANAR)
    group = g.group[:, joints]
    axis = g.rotation[:, joints][..., 2]
    vector = np.einsum("smab,smb->sma", space.rotation[group], axis)
    sign = signs(vector)
    vector *= sign
    part = space.label[group]
    element = same_elements(part.ravel(), vector.reshape(-1, 3)).reshape(2, -1)
    n = count(element)
    label = np.full(g.group.shape, -1, dtype=np.intp)
    label[:, joints] = element
    axes = np.zeros((*g.group.shape, 3))
    axes[:, joints] = sign * axis
    of_label, of_part = np.zeros((n, 3)), np.zeros(n, dtype=np.intp)
    of_label[element], of_part[element] = vector, part
    return Directions(label, axes, of_label, of_part)


def _normals(d: Directions, used: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return each prismatic direction's index in its part, normals of pairs, and the normals."""
    rank = np.full(len(d.vector), -1, dtype=np.intp)
    of_pair = np.full((len(d.vector), MANY_DIRECTIONS), -1, dtype=np.intp)
    used = used[np.argsort(d.part[used], kind="stable")]
    used = used[np.bincount(d.part[used], minlength=1)[d.part[used]] <= MANY_DIRECTIONS]
    part = d.part[used]
    rank[used] = np.arange(len(used)) - np.searchsorted(part, part)
    steps = range(1, min(MANY_DIRECTIONS, len(part)))
    at = [np.flatnonzero(part[step:] == part[:-step]) for step in steps]
    none = [np.zeros(0, dtype=np.intp)]
    one = used[np.concatenate(none + at)]
    other = used[np.concatenate(none + [k + step for k, step in zip(at, steps, strict=True)])]
    normal = np.cross(d.vector[one], d.vector[other])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    normal *= signs(normal)
    label = same_elements(d.part[one], normal)
    of_pair[one, rank[other]] = of_pair[other, rank[one]] = label
    normals = np.zeros((count(label), 3))
    normals[label] = normal
    return rank, of_pair, normals


MANY = 8  # revolute and spherical joints on a group beyond which pairs are not tried


def point_links(g: Geometry) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return joints (k,), elements (2, k) that they link, groups (n_elements,) and heights (k,).

    An element is a point of a group, so high above the origin of the joint frame. A revolute whose
    axis passes through several points links several pairs.
    """
    joints = g.joints(REVOLUTE, SPHERICAL)
    groups = g.group[:, joints]
    is_spherical = g.code[joints] == SPHERICAL
    point = np.ascontiguousarray(g.point[:, joints])
    axis = np.ascontiguousarray(g.rotation[:, joints][..., 2])
    size = sizes(groups.ravel(), point.reshape(-1, 3), count(g.bodies.label))
    revolute, height = model.crossings(
        (groups, is_spherical, point, axis, size), MANY, ELEMENT_TOLERANCE
    )
    unit = np.minimum(*size[groups[:, revolute]])
    _, first = np.unique(same_elements(revolute, (height / unit)[:, None]), return_index=True)
    edge = np.concatenate([np.flatnonzero(is_spherical), revolute[first]])
    height = np.concatenate([np.zeros(np.count_nonzero(is_spherical)), height[first]])
    order = np.argsort(edge, kind="stable")
    edge, height = edge[order], height[order]
    at = point[:, edge] + height[:, None] * axis[:, edge]
    of = groups[:, edge]
    node = same_elements(of.ravel(), (at / size[of][..., None]).reshape(-1, 3))
    group = np.zeros(count(node), dtype=np.intp)
    group[node] = of.ravel()
    return joints[edge], node.reshape(2, -1), group, height


@dataclass(frozen=True, eq=False)
class Links:
    """The graph of one kind: joints as edges between the elements that they preserve."""

    kind: Kind
    joint: IntArray  # (m,) in the order in which they are taken for a tree
    ends: IntArray  # (2, m) elements
    part: IntArray  # (n_elements,) what each is an element of; see `PartNumbers`
    height: FloatArray | None = None  # (m,) of points above the origins of joint frames [m]


def all_links(g: Geometry, s: Sliding, parameter: FloatArray) -> tuple[Links, ...]:
    """Return the graph of every kind, the smallest subgroups first; `parameter` are pitches [m]."""
    joint, lines, planes, n_bodies = s.joint, s.lines, s.planes, len(g.bodies.label)
    inside = np.flatnonzero(g.is_inside)  # fixed joints first, then all others in a rigid group
    inside = inside[np.argsort(g.code[inside] != FIXED, kind="stable")]
    return (
        Links(Kind.RIGID, inside, g.body_ends[:, inside], s.begin.bodies + np.arange(n_bodies)),
        _line_links(g, s, Kind.ROTATION),
        Links(Kind.LINE_TRANSLATION, joint, lines.ends, lines.group),
        _line_links(g, s, Kind.SCREW, parameter),
        Links(Kind.PLANE_TRANSLATION, joint[planes.edge], planes.ends, planes.group),
        _line_links(g, s, Kind.CYLINDER),
        Links(Kind.SPHERE, *point_links(g)),
        Links(Kind.TRANSLATION, joint, g.group[:, joint], np.arange(count(g.bodies.label))),
        _plane_links(g, s),
        _numbered(
            Kind.SCHOENFLIES,  # directions, which all prismatic joints keep
            of_axes := g.joints(*IN_KIND[Kind.SCHOENFLIES]),
            s.begin.space + s.space.label[g.group[:, of_axes]],
            s.directions.label[:, of_axes],
        ),
    )


def _line_links(g: Geometry, s: Sliding, kind: Kind, pitch: FloatArray | None = None) -> Links:
    """Return a graph of lines, by Plücker coordinates; in CYLINDER also lines of parts."""
    joint = g.joints(*IN_KIND[kind])
    group, d = g.group[:, joint], s.directions
    direction = d.label[:, joint]
    part, axis, point = group.copy(), d.axis[:, joint], g.point[:, joint]
    if kind == Kind.CYLINDER:
        index = find(s.lines.keys, paired(group, direction, max(len(d.vector), 1)))
        on_part = index >= 0
        turn = s.placed.rotation[index[on_part]]
        axis, point = axis.copy(), point.copy()
        axis[on_part] = np.einsum("kab,kb->ka", turn, axis[on_part])
        point[on_part] = np.einsum("kab,kb->ka", turn, point[on_part])
        point[on_part] += s.placed.offset[index[on_part]]
        part[on_part] = s.begin.lines + s.lines.label[index[on_part]]
    size = sizes(part.ravel(), point.reshape(-1, 3), int(part.max(initial=0)) + 1)
    numbers = np.cross(point, axis) / size[part][..., None]
    if pitch is not None:
        relative = pitch[joint] / np.abs(pitch).max(initial=1e-300)
        numbers = np.concatenate([numbers, np.stack([relative] * 2)[..., None]], axis=2)
    of = paired(part, direction, max(len(d.vector), 1))
    same = same_elements(of.ravel(), numbers.reshape(of.size, numbers.shape[2]))
    return _numbered(kind, joint, part, same)


def _plane_links(g: Geometry, s: Sliding) -> Links:
    """Return the graph of normals; a prismatic joint across a normal preserves it."""
    joint = g.joints(*IN_KIND[Kind.PLANE])
    group, d = g.group[:, joint], s.directions
    normal = d.label[:, joint]
    if len(s.joint) == 0 or len(joint) == 0:
        return _numbered(Kind.PLANE, joint, group, normal)
    along = np.flatnonzero(s.rank >= 0)  # the directions of prismatic joints, by part
    along = along[np.lexsort((s.rank[along], d.part[along]))]
    first = np.searchsorted(d.part[along], d.part[normal])
    last = np.searchsorted(d.part[along], d.part[normal], side="right")
    one, other = np.full(normal.shape, -1), np.full(normal.shape, -1)  # directions across a normal
    for step in range(int((last - first).max(initial=0))):
        is_there = first + step < last
        slide = along[np.minimum(first + step, len(along) - 1)]
        cosine = np.einsum("smi,smi->sm", d.vector[slide], d.vector[normal])
        across = is_there & (np.abs(cosine) <= ELEMENT_TOLERANCE)
        other = np.where(across & (one >= 0), slide, other)
        one = np.where(across & (one < 0), slide, one)
    index = find(s.lines.keys, paired(group, one, len(d.vector)))
    is_alone = (one >= 0) & (other < 0) & (index >= 0)
    part = np.where(is_alone, s.begin.lines + s.lines.label[index], group)
    if len(s.normal):
        plane = s.of_pair[one, s.rank[other]]
        index = find(s.planes.keys, paired(plane, group, count(g.bodies.label)))
        part = np.where((other >= 0) & (index >= 0), s.begin.planes + s.planes.label[index], part)
    return _numbered(Kind.PLANE, joint, part, paired(part, normal, len(d.vector)))


def _numbered(kind: Kind, joint: IntArray, part: IntArray, key: IntArray) -> Links:
    """Return a graph of joints (m,) whose nodes are the keys (2, m) that occur, on parts (2, m)."""
    keys, ends = numbered_ends(key)
    of_element = np.zeros(len(keys), dtype=np.intp)
    of_element[ends] = part
    return Links(kind, joint, ends, of_element)
