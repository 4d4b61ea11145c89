"""The displacement subgroups, which rows of a joint act within one, and joints on rigid groups.

Rigid groups are bodies that fixed joints hold together, the world being one. Elements (directions,
lines, points) on a group are compared but for rounding.

References
----------
Herve (1999), Mech. Mach. Theory 34:719, on displacement subgroups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from sparsebody._core import model
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.joints import JointType
from sparsebody.model.system import System
from sparsebody.tolerances import ELEMENT_TOLERANCE

RX, RY, RZ, TX, TY, TZ = range(6)


@dataclass(frozen=True)
class Kind:
    """A displacement subgroup, the z axis of a joint in it being its axis or normal."""

    name: str
    axes: tuple[int, ...]  # twists that span it, in the frame of a joint

    @property
    def freedoms(self) -> int:
        """Its dimension."""
        return len(self.axes)


# By dimension: a loop within a smaller subgroup has more redundant rows.
RIGID, TURN, SLIDE, SCREW, SLIDES, CYLINDER, SPHERE, TRANSLATION, PLANE, SCHOENFLIES = range(10)
KINDS = (
    Kind("rigid", ()),
    Kind("rotation about a line", (RZ,)),
    Kind("translation along a line", (TZ,)),
    Kind("helical", (RZ,)),  # and the pitch times TZ
    Kind("planar translations", (TZ, TY)),  # TY or TX, with a slide along z
    Kind("cylindrical", (RZ, TZ)),
    Kind("spherical", (RX, RY, RZ)),
    Kind("translational", (TX, TY, TZ)),
    Kind("planar", (RZ, TX, TY)),
    Kind("Schoenflies", (RZ, TX, TY, TZ)),
)

# Joints by the smallest subgroups that they move in.
OTHER, FIXED, REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, PLANAR, BALL = range(8)
CODES = {
    "rigid": FIXED,
    "rotation": REVOLUTE,
    "translation": PRISMATIC,
    "screw": HELICAL,
    "cylindrical": CYLINDRICAL,
    "planar": PLANAR,
    "spherical": BALL,
}
IN_KIND = {  # joints that link bodies of a class, slides within it and fixed joints left aside
    TURN: (REVOLUTE,),
    SCREW: (HELICAL,),
    CYLINDER: (REVOLUTE, HELICAL, CYLINDRICAL),
    PLANE: (REVOLUTE, PLANAR),
    SCHOENFLIES: (REVOLUTE, HELICAL, CYLINDRICAL, PLANAR),
}


def rows_within(joint_type: JointType, kinds: int) -> BoolArray:
    """Return (n_constraints,) which rows of a joint to keep where subgroups see to the rest.

    Parameters
    ----------
    joint_type : JointType
        Its motion lies within all of the subgroups.
    kinds : int
        One bit for each kind: the motion of the bodies lies in the intersection of these.
    """
    axes = set(range(6))
    for number, kind in enumerate(KINDS):
        if kinds >> number & 1:
            axes &= set(kind.axes)
    keep = np.zeros(joint_type.n_constraints, dtype=bool)
    if axes and not kinds >> SCREW & 1:
        keep[_independent(_subspace(joint_type)[:, sorted(axes)])] = True
    return keep


def _subspace(joint_type: JointType) -> FloatArray:
    """Return T' (n_constraints, 6) in the neutral pose."""
    neutral = joint_type.coordinates(np.eye(3), np.zeros(3))
    return joint_type.constraint_force_subspace(neutral).T


def _independent(rows: FloatArray) -> list[int]:
    """Return as many rows as are independent, by a pivoted QR."""
    if rows.size == 0:
        return []
    r, order = qr(rows.T, mode="r", pivoting=True)
    n = int(np.count_nonzero(np.abs(np.diagonal(r)) > 1e-9))
    return [int(row) for row in order[:n]]


@dataclass(frozen=True, eq=False)
class Placement:
    """Nodes of a graph in the frame of the first node of their component."""

    label: IntArray  # (n,) component, numbered from 0
    place: IntArray  # (n,) when each node was reached
    rotation: FloatArray  # (n, 3, 3) from the axes of a node to those of its component
    offset: FloatArray  # (n, 3) of the origin of a node

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.label.max(initial=-1)) + 1


def placement(
    n: int, ends: IntArray, rotation: FloatArray, point: FloatArray, first: int = 0
) -> Placement:
    """Return the components of a graph whose edges are joints that do not move.

    Parameters
    ----------
    n : int
        Number of nodes.
    ends : (2, m) int array
        Nodes of the edges, predecessors first.
    rotation, point : (2, m, 3, 3) and (2, m, 3) float arrays
        The joint frames at both ends, in the frames of the nodes.
    first : int
        Where to begin, breadth first.
    """
    return Placement(*model.placement(n, ends, rotation, point, first))


_ASIDE = np.array([0.7548776662466927, 0.5698402909980532, 0.3247179572447460])  # a side to face


def same_elements(group: IntArray, numbers: FloatArray) -> IntArray:
    """Number elements (m,) so that only those of one group with equal numbers (m, k) share one."""
    label = np.unique(group, return_inverse=True)[1].astype(np.intp).reshape(len(group))
    for column in numbers.T:
        order = np.lexsort((column, label))
        is_new = np.diff(label[order]) != 0
        is_new |= np.diff(column[order]) > ELEMENT_TOLERANCE
        label[order] = np.cumsum(np.concatenate([[0], is_new])) if len(order) else 0
    return label


def signs(directions: FloatArray) -> FloatArray:
    """Return (..., 1) the signs that turn directions and their opposites the same way."""
    return np.where(directions @ _ASIDE < 0.0, -1.0, 1.0)[..., None]


def sizes(group: IntArray, points: FloatArray, n: int) -> FloatArray:
    """Return (n,) the distance of the farthest point of each group; 1 where there is none."""
    size = np.zeros(n)
    np.maximum.at(size, group, np.linalg.norm(points, axis=-1))
    return np.where(size > 0.0, size, 1.0)


def paired(first: IntArray, second: IntArray, n: int) -> IntArray:
    """Return one number for each pair of numbers, the second ones below n."""
    return first.astype(np.int64) * n + second


def find(keys: IntArray, numbers: IntArray) -> IntArray:
    """Return the places of numbers in sorted keys, -1 where there is none."""
    if len(keys) == 0:
        return np.full(numbers.shape, -1, dtype=np.intp)
    index = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
    return np.where(keys[index] == numbers, index, -1).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Rigid groups of n + 1 bodies, the world being the last, and m joints on them."""

    bodies: Placement  # in their groups
    body_ends: IntArray  # (2, m) bodies of each joint, n for the world
    code: IntArray  # (m,) type of each joint, by the subgroups that it moves in
    group: IntArray  # (2, m) groups of each joint
    rotation: FloatArray  # (2, m, 3, 3) from joint axes to those of the groups
    point: FloatArray  # (2, m, 3) origins of the joint frames in those of the groups [m]
    order: IntArray  # (m,) the joints as met from the world outwards

    @property
    def n_groups(self) -> int:
        """Number of rigid groups."""
        return self.bodies.n_components

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
    code = np.full(system.n_joints, OTHER, dtype=np.intp)
    for group in system.groups:
        code[group.joints] = CODES.get(group.subgroup, OTHER)
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
    place = placement(bodies.n_components, groups, rotation, point, int(bodies.label[n])).place
    met = np.sort(place[groups], axis=0)
    return Geometry(bodies, ends, code, groups, rotation, point, np.lexsort((met[1], met[0])))
