"""The frames of a joint in the world, and its vectors in them; a frame is (axes, origin).

Near and far are the joint's frames on the parent and on the link; P and S, or S and P where the
tree runs from successor to predecessor.
"""

from __future__ import annotations

import math

from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.joint_kinds import HELICAL, PRISMATIC, joint_drift
from sparsebody.dynamics.tree.registers import moved, product, store3, times
from sparsebody.spatial.tuples import (
    INLINE,
    Rotation,
    Vector,
    add,
    between,
    cross,
    difference,
    rotation_of,
    scaled,
    turned_back,
)


@njit(**INLINE)
def screw(kind: int, sign: float, pitch: float, z: Vector) -> tuple[Vector, Vector]:
    """Return S of a revolute, prismatic or helical joint along z."""
    along = sign if kind != PRISMATIC else 0.0
    slide = sign if kind == PRISMATIC else (sign * pitch if kind == HELICAL else 0.0)
    return scaled(along, z), scaled(slide, z)


@njit(**INLINE)
def turned_about_z(R: Rotation, angle: float) -> Rotation:
    """Return R Rz(angle)."""
    c, s = math.cos(angle), math.sin(angle)
    return (
        c * R[0] + s * R[1],
        c * R[1] - s * R[0],
        R[2],
        c * R[3] + s * R[4],
        c * R[4] - s * R[3],
        R[5],
        c * R[6] + s * R[7],
        c * R[7] - s * R[6],
        R[8],
    )


@njit(**INLINE)
def transposed(R: Rotation) -> Rotation:
    """Return R'."""
    return R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]


@njit(**INLINE)
def ball(q: FloatArray, first: int) -> Rotation:
    """Return the rotation of a quaternion at q[first], which need not be of unit length."""
    w, x, y, z = q[first], q[first + 1], q[first + 2], q[first + 3]
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    return rotation_of(scale * w, scale * x, scale * y, scale * z)


@njit(**INLINE)
def store_ball(subspace: FloatArray, first: int, sign: float, axes: Rotation, way: Vector) -> None:
    """Fill S' of a ball with these axes of S, `way` from the origin of S to the link's."""
    for k in range(3):
        w = (sign * axes[k], sign * axes[3 + k], sign * axes[6 + k])
        store3(subspace, first + k, 0, w)
        store3(subspace, first + k, 3, cross(w, way))


@njit(cache=True)
def far_pose(
    near: Rotation, arm: Vector, forward: bool, E: FloatArray, r: FloatArray
) -> tuple[Rotation, Vector]:
    """Return the link's axes and its origin from the parent's, of a joint at pose (E, r)."""
    e = (E[0, 0], E[0, 1], E[0, 2], E[1, 0], E[1, 1], E[1, 2], E[2, 0], E[2, 1], E[2, 2])
    offset = (r[0], r[1], r[2])
    if forward:  # R_S = R_P E'
        transposed = (e[0], e[3], e[6], e[1], e[4], e[7], e[2], e[5], e[8])
        return product(near, transposed), add(arm, times(near, offset))
    far = product(near, e)  # R_P = R_S E
    return far, difference(arm, times(far, offset))


@njit(cache=True)
def fill_relative_pose(
    near: Rotation,
    far: Rotation,
    arm: Vector,
    d: Vector,
    forward: bool,
    E: FloatArray,
    r: FloatArray,
) -> None:
    """Fill (E, r) of S seen from P."""
    R_P, R_S = (near, far) if forward else (far, near)
    e = between(R_S, R_P)
    gap = difference(d, arm) if forward else difference(arm, d)
    offset = turned_back(R_P, gap)
    for a in range(3):
        r[a] = offset[a]
        for b in range(3):
            E[a, b] = e[3 * a + b]


@njit(cache=True)
def frame_of_successor(
    near: Rotation, far: Rotation, arm: Vector, d: Vector, forward: bool
) -> tuple[Rotation, Vector]:
    """Return the axes of S in the world, and the way from the origin of S to that of the link."""
    if forward:
        return far, (0.0, 0.0, 0.0)
    return near, difference(d, arm)


@njit(cache=True)
def vector_to_world(
    v: FloatArray, sign: float, to_world: Rotation, shift: Vector
) -> tuple[Vector, Vector]:
    """Return a motion vector, given in S coordinates at S, at the link's origin in world axes."""
    w = scaled(sign, times(to_world, (v[0], v[1], v[2])))
    u = scaled(sign, times(to_world, (v[3], v[4], v[5])))
    return w, moved(w, u, shift)


@njit(cache=True)
def subspace_to_world(
    subspace: FloatArray, first: int, last: int, sign: float, to_world: Rotation, shift: Vector
) -> None:
    """Take the rows first to last of S' there."""
    for k in range(first, last):
        w, u = vector_to_world(subspace[k], sign, to_world, shift)
        store3(subspace, k, 0, w)
        store3(subspace, k, 3, u)


@njit(cache=True)
def general_motion(
    kind: int,
    E: FloatArray,
    r: FloatArray,
    qd: FloatArray,
    first: int,
    last: int,
    forward: bool,
    to_world: Rotation,
    shift: Vector,
    subspace: FloatArray,
    v_J: FloatArray,
    c: FloatArray,
) -> tuple[Vector, Vector, Vector, Vector]:
    """Return v_J and (dS/dt) qd in the tree's direction; bring S there too."""
    sign = 1.0 if forward else -1.0
    v_J[:] = 0.0
    for k in range(first, last):
        for a in range(6):
            v_J[a] += subspace[k, a] * qd[k]
    joint_drift(kind, E, r, v_J, c)
    subspace_to_world(subspace, first, last, sign, to_world, shift)
    w_J, u_J = vector_to_world(v_J, sign, to_world, shift)
    c_w, c_u = vector_to_world(c, sign, to_world, shift)
    return w_J, u_J, c_w, c_u
