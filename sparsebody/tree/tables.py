"""The constants of a spanning tree as flat arrays, one row a body in the tree's numbering."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from sparsebody.tree.spanning_tree import SpanningTree


class TreeTables(NamedTuple):
    """What compiled code needs to know of a tree; joint frames as in System, along tree joints.

    The predecessor and successor of a virtual free joint are the world and its body.
    """

    kind: IntArray  # (n,) index of the joint type
    parent: IntArray  # (n,)
    direction: IntArray  # (n,) 1, or -1 where the parent is the joint's successor
    body: IntArray  # (n,) number in the system
    first_velocity: IntArray  # (n + 1,)
    first_position: IntArray  # (n + 1,)
    predecessor: IntArray  # (n,) numbers in the system, -1 for the world
    successor: IntArray
    predecessor_rotation: FloatArray  # (n, 3, 3) joint frame to body axes
    predecessor_point: FloatArray  # (n, 3) from the com in body axes [m]
    successor_rotation: FloatArray
    successor_point: FloatArray
    parameter: FloatArray  # (n,) pitch or length
    mass: FloatArray  # (n,)
    inertia: FloatArray  # (n, 3, 3) about the com in body axes


def tree_tables(tree: SpanningTree) -> TreeTables:
    """Return the tables of a tree; SpanningTree.tables keeps them."""
    system, joint = tree.system, tree.joint
    is_virtual = joint < 0

    def along(array: Any, virtual: Any) -> Any:
        """Rows of the tree joints."""
        rows = np.empty((len(joint), *array.shape[1:]), dtype=array.dtype)
        rows[~is_virtual] = array[joint[~is_virtual]]
        rows[is_virtual] = virtual
        return rows

    one, zero = np.eye(3), np.zeros(3)
    return TreeTables(
        kind=tree.kind,
        parent=tree.parent,
        direction=tree.direction,
        body=tree.body,
        first_velocity=tree.first_velocity,
        first_position=tree.first_position,
        predecessor=along(system.predecessor, -1),
        successor=along(system.successor, tree.body[is_virtual]),
        predecessor_rotation=along(system.predecessor_rotation, one),
        predecessor_point=along(system.predecessor_point, zero),
        successor_rotation=along(system.successor_rotation, one),
        successor_point=along(system.successor_point, zero),
        parameter=along(system.parameter, 0.0),
        mass=system.mass[tree.body],
        inertia=system.inertia[tree.body],
    )
