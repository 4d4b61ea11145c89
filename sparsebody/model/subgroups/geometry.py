"""Joint frames on rigid groups: bodies that fixed joints hold together, the world being one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.subgroups.kinds import CODES, FIXED, OTHER
from sparsebody.model.subgroups.placement import Placement, placement
from sparsebody.model.system import System


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
