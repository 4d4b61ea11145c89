"""A System with only some of its joints: what has to be computed for them alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.model.names import Names
from sparsebody.model.system import System


def with_joints(system: System, joints: IntArray) -> System:
    """Return a System of the same bodies and forces with the given joints, in the given order.

    `joints` (m,) must contain all joints with tracked coordinates.
    """
    if np.array_equal(joints, np.arange(system.n_joints)):
        return system
    names = Names()
    names.extend([system.joint_names[j] for j in joints])
    place = np.full(system.n_joints, -1, dtype=np.intp)
    place[joints] = np.arange(len(joints))
    sizes = np.diff(system.first_row)[joints]
    first_row = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    rows = np.repeat(system.first_row[joints] - first_row[:-1], sizes) + np.arange(first_row[-1])
    tracked = system.coordinates
    joint = place[tracked.joint]
    row = np.where(
        tracked.row >= 0, tracked.row - system.first_row[tracked.joint] + first_row[joint], -1
    )
    groups = tuple(
        replace(group, joints=places[places >= 0])
        for group in system.groups
        for places in [place[group.joints]]
    )
    return replace(
        system,
        joint_names=names,
        joint_types=tuple(system.joint_types[j] for j in joints),
        predecessor=system.predecessor[joints],
        successor=system.successor[joints],
        predecessor_rotation=system.predecessor_rotation[joints],
        predecessor_point=system.predecessor_point[joints],
        successor_rotation=system.successor_rotation[joints],
        successor_point=system.successor_point[joints],
        parameter=system.parameter[joints],
        first_row=first_row,
        subspace=system.subspace[rows],
        groups=groups,
        coordinates=replace(tracked, joint=joint, row=row),
    )
