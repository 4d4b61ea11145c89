"""Rows of joints whose T varies on both bodies, in one compiled call."""

# numba's structref is untyped.
# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.experimental import structref

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import fill_constraint_rows
from sparsebody.dynamics.compiled.struct import Struct, register
from sparsebody.kinematics.motion import fill_joint_motion, rotation_matrix
from sparsebody.model.joints import JOINT_TYPES
from sparsebody.model.system import System

KERNELS = [
    kind.kernels.subspace for kind in JOINT_TYPES.values() if kind.kernels.subspace is not None
]


@register
class _VaryingRowsType(types.StructRef):
    """The type of VaryingRows in compiled code."""


class VaryingRows(Struct):
    """Joints without tracked coordinates, and their rows: b bodies, m joints, k rows."""

    body: IntArray  # (b,) the user's numbers of those that the joints hold
    predecessor: IntArray  # (m,) among these bodies, -1 for the world
    successor: IntArray  # (m,)
    predecessor_rotation: FloatArray  # (m, 3, 3) from joint to body axes
    predecessor_point: FloatArray  # (m, 3) [m]
    successor_rotation: FloatArray  # (m, 3, 3)
    successor_point: FloatArray  # (m, 3) [m]
    first_row: IntArray  # (m + 1,)
    row_joint: IntArray  # (k,)
    kind: IntArray  # (len(KERNELS) + 1,) where the joints of each kind start in `joints`
    joints: IntArray  # (m,)
    position: FloatArray  # (b, 3)
    rotation: FloatArray  # (b, 3, 3)
    velocity: FloatArray  # (b, 6)
    E: FloatArray  # (m, 3, 3) predecessor's to successor's joint frame
    r: FloatArray  # (m, 3)
    to_successor: FloatArray  # (m, 3, 3)
    arm: FloatArray  # (m, 3)
    joint_velocity: FloatArray  # (m, 6)
    predecessor_velocity: FloatArray  # (m, 6)
    subspace: FloatArray  # (k, 6) T'
    drift: FloatArray  # (k,) (dT/dt)' v_J
    speed: FloatArray  # (k,) T' v_J
    rows: FloatArray  # (k, 2, 6) of A
    asked: FloatArray  # (k,) accelerations


structref.define_proxy(VaryingRows, _VaryingRowsType, list(VaryingRows.__annotations__))


def varying_arrays(system: System) -> dict[str, Any]:
    """Return the fields of VaryingRows for a system all of whose joints are to be computed."""
    m, k = system.n_joints, system.n_rows
    ends = np.stack([system.predecessor, system.successor])
    bodies = np.unique(ends[ends >= 0])
    new = np.full(system.n_bodies + 1, -1)
    new[bodies] = np.arange(len(bodies))
    groups = {id(group.kernels.subspace): group.joints for group in system.groups}
    joints = [groups.get(id(kernel), np.zeros(0, dtype=np.intp)) for kernel in KERNELS]
    names = (
        "predecessor_rotation",
        "predecessor_point",
        "successor_rotation",
        "successor_point",
        "first_row",
        "row_joint",
    )
    shapes = {
        "position": (len(bodies), 3),
        "rotation": (len(bodies), 3, 3),
        "velocity": (len(bodies), 6),
        "E": (m, 3, 3),
        "r": (m, 3),
        "to_successor": (m, 3, 3),
        "arm": (m, 3),
        "joint_velocity": (m, 6),
        "predecessor_velocity": (m, 6),
        "drift": (k,),
        "speed": (k,),
        "rows": (k, 2, 6),
        "asked": (k,),
    }
    return {
        "body": bodies,
        "predecessor": new[system.predecessor],
        "successor": new[system.successor],
        "kind": np.cumsum([0, *map(len, joints)]),
        "joints": np.concatenate(joints),
        "subspace": system.subspace.copy(),
        **{name: getattr(system, name) for name in names},
        **{name: np.zeros(shape) for name, shape in shapes.items()},
    }


def _after(others: Callable[..., Any], kernel: Any, number: int) -> Callable[..., Any]:
    """Make a function that calls the kernel for the joints of its kind, after the others."""

    @njit(cache=True)
    def fill(kind, joints, *arrays):
        others(kind, joints, *arrays)
        if kind[number] < kind[number + 1]:
            kernel(joints[kind[number] : kind[number + 1]], *arrays)

    return fill


@njit(cache=True)
def _nothing(kind, joints, *arrays):
    pass


_fill_subspaces: Callable[..., Any] = _nothing
for _number, _kernel in enumerate(KERNELS):
    _fill_subspaces = _after(_fill_subspaces, _kernel, _number)


@njit(cache=True, error_model="numpy")
def fill_varying_rows(
    v: VaryingRows, position: FloatArray, orientation: FloatArray, velocity: FloatArray
) -> None:
    """Fill `rows` and `asked` at a state."""
    for i in range(v.body.size):
        b = v.body[i]
        for a in range(3):  # assigning slices would compile an error message as well
            v.position[i, a] = position[b, a]
        for a in range(6):
            v.velocity[i, a] = velocity[b, a]
        rotation_matrix(orientation[b], v.rotation[i])
    fill_joint_motion(
        v.predecessor,
        v.successor,
        v.predecessor_rotation,
        v.predecessor_point,
        v.successor_rotation,
        v.successor_point,
        v.position,
        v.rotation,
        v.velocity,
        v.E,
        v.r,
        v.to_successor,
        v.arm,
        v.joint_velocity,
        v.predecessor_velocity,
    )
    _fill_subspaces(v.kind, v.joints, v.first_row, v.E, v.r, v.joint_velocity, v.subspace, v.drift)
    fill_constraint_rows(
        v.row_joint,
        v.predecessor,
        v.successor,
        v.successor_rotation,
        v.successor_point,
        v.to_successor,
        v.arm,
        v.joint_velocity,
        v.predecessor_velocity,
        v.subspace,
        v.drift,
        v.rows,
        v.speed,
        v.asked,
    )
