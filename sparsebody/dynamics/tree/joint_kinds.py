"""What every joint type does as a tree joint, compiled: q, qd, pose, S, and the drift of S.

As in JointType: (E, r) is the pose of S seen from P; v_J and the columns of S are in S coordinates
at the origin of S. For types whose basis of S the class leaves open (constant-distance) it is
chosen here.
"""

from __future__ import annotations

import math

from numba import njit

from sparsebody.arrays import FloatArray

REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, PLANAR, SPHERICAL = 0, 1, 2, 3, 4, 5
UNIVERSAL, FIXED, FREE, POINT_ON_LINE, POINT_ON_PLANE, CONSTANT_DISTANCE = 6, 7, 8, 9, 10, 11

KINDS: dict[str, int] = {
    "revolute": REVOLUTE,
    "prismatic": PRISMATIC,
    "helical": HELICAL,
    "cylindrical": CYLINDRICAL,
    "planar": PLANAR,
    "spherical": SPHERICAL,
    "universal": UNIVERSAL,
    "fixed": FIXED,
    "free": FREE,
    "point-on-line": POINT_ON_LINE,
    "point-on-plane": POINT_ON_PLANE,
    "constant-distance": CONSTANT_DISTANCE,
}


@njit(cache=True)
def joint_position(
    kind: int, E: FloatArray, r: FloatArray, parameter: float, q: FloatArray
) -> None:
    """Fill the position q of a joint from its pose; angles in (-pi, pi]."""
    if kind == REVOLUTE:
        q[0] = _turn(E)
    elif kind == PRISMATIC:
        q[0] = r[2]
    elif kind == HELICAL:
        q[0] = r[2] / parameter
    elif kind == CYLINDRICAL:
        q[0], q[1] = _turn(E), r[2]
    elif kind == PLANAR:
        q[0], q[1], q[2] = r[0], r[1], _turn(E)
    elif kind == UNIVERSAL:
        q[0] = math.atan2(E[1, 2], E[1, 1])
        q[1] = math.atan2(E[2, 0], E[0, 0])
    elif kind != FIXED:
        quaternion_of(E, q)
        if kind == POINT_ON_LINE:
            q[4] = r[2]
        elif kind == POINT_ON_PLANE:
            q[4], q[5] = r[0], r[1]
        elif kind in (FREE, CONSTANT_DISTANCE):
            q[4], q[5], q[6] = r[0], r[1], r[2]


@njit(cache=True)
def joint_pose(kind: int, q: FloatArray, parameter: float, E: FloatArray, r: FloatArray) -> None:
    """Fill the pose (E, r) of a joint at position q."""
    r[0], r[1], r[2] = 0.0, 0.0, 0.0
    if kind in (REVOLUTE, HELICAL, CYLINDRICAL):
        _about_z(q[0], E)
        if kind == HELICAL:
            r[2] = parameter * q[0]
        elif kind == CYLINDRICAL:
            r[2] = q[1]
    elif kind in (PRISMATIC, FIXED):
        _about_z(0.0, E)
        if kind == PRISMATIC:
            r[2] = q[0]
    elif kind == PLANAR:
        _about_z(q[2], E)
        r[0], r[1] = q[0], q[1]
    elif kind == UNIVERSAL:  # E = Ry(q1)' Rx(q0)'
        c0, s0, c1, s1 = math.cos(q[0]), math.sin(q[0]), math.cos(q[1]), math.sin(q[1])
        E[0, 0], E[0, 1], E[0, 2] = c1, s0 * s1, -c0 * s1
        E[1, 0], E[1, 1], E[1, 2] = 0.0, c0, s0
        E[2, 0], E[2, 1], E[2, 2] = s1, -s0 * c1, c0 * c1
    else:
        _rotation_of(q, E)
        if kind == POINT_ON_LINE:
            r[2] = q[4]
        elif kind == POINT_ON_PLANE:
            r[0], r[1] = q[4], q[5]
        elif kind == FREE:
            r[0], r[1], r[2] = q[4], q[5], q[6]
        elif kind == CONSTANT_DISTANCE:
            scale = parameter / math.sqrt(q[4] * q[4] + q[5] * q[5] + q[6] * q[6])
            r[0], r[1], r[2] = scale * q[4], scale * q[5], scale * q[6]


@njit(cache=True)
def joint_rate(kind: int, E: FloatArray, r: FloatArray, v: FloatArray, qd: FloatArray) -> None:
    """Fill the velocities qd of a joint from v_J: qd = W' v_J with W' S = 1."""
    if kind in (REVOLUTE, HELICAL):
        qd[0] = v[2]
    elif kind == PRISMATIC:
        qd[0] = v[5]
    elif kind == CYLINDRICAL:
        qd[0], qd[1] = v[2], v[5]
    elif kind == PLANAR:
        qd[0], qd[1], qd[2] = _along(E, 0, v), _along(E, 1, v), v[2]
    elif kind == UNIVERSAL:
        square = E[0, 0] * E[0, 0] + E[2, 0] * E[2, 0]
        qd[0], qd[1] = (E[0, 0] * v[0] + E[2, 0] * v[2]) / square, v[1]
    elif kind != FIXED:
        qd[0], qd[1], qd[2] = v[0], v[1], v[2]
        if kind == POINT_ON_LINE:
            qd[3] = _along(E, 2, v)
        elif kind == POINT_ON_PLANE:
            qd[3], qd[4] = _along(E, 0, v), _along(E, 1, v)
        elif kind == FREE:
            qd[3], qd[4], qd[5] = v[3], v[4], v[5]
        elif kind == CONSTANT_DISTANCE:
            across = _across(_rod(E, r))
            for k in range(2):
                b = across[k]
                qd[3 + k] = b[0] * v[3] + b[1] * v[4] + b[2] * v[5]


@njit(cache=True)
def joint_subspace(
    kind: int, E: FloatArray, r: FloatArray, parameter: float, S: FloatArray
) -> None:
    """Fill S' (n_velocities, 6), one row for each velocity coordinate."""
    S[:, :] = 0.0
    if kind in (REVOLUTE, HELICAL, CYLINDRICAL):
        S[0, 2] = 1.0
        if kind == HELICAL:
            S[0, 5] = parameter
        elif kind == CYLINDRICAL:
            S[1, 5] = 1.0
    elif kind == PRISMATIC:
        S[0, 5] = 1.0
    elif kind == PLANAR:
        angle = _turn(E)
        S[0, 3], S[0, 4] = math.cos(angle), -math.sin(angle)
        S[1, 3], S[1, 4] = math.sin(angle), math.cos(angle)
        S[2, 2] = 1.0
    elif kind == UNIVERSAL:
        S[1, 1] = 1.0
        for a in range(3):
            S[0, a] = E[a, 0]
    elif kind != FIXED:
        S[0, 0], S[1, 1], S[2, 2] = 1.0, 1.0, 1.0
        if kind == POINT_ON_LINE:
            for a in range(3):
                S[3, 3 + a] = E[a, 2]
        elif kind == POINT_ON_PLANE:
            for a in range(3):
                S[3, 3 + a], S[4, 3 + a] = E[a, 0], E[a, 1]
        elif kind == FREE:
            S[3, 3], S[4, 4], S[5, 5] = 1.0, 1.0, 1.0
        elif kind == CONSTANT_DISTANCE:
            across = _across(_rod(E, r))
            for k in range(2):
                S[3 + k, 3], S[3 + k, 4], S[3 + k, 5] = across[k]


@njit(cache=True)
def joint_drift(kind: int, E: FloatArray, r: FloatArray, v: FloatArray, c: FloatArray) -> None:
    """Fill c = (dS/dt) qd seen from S, for v_J = S qd. Featherstone (2008), sec. 3.5, c_J.

    Where bodies have drifted off their joints, T' c = -(dT/dt)' v_J still. The basis across a rod
    is carried along without turning about it.
    """
    for a in range(6):
        c[a] = 0.0
    if kind == UNIVERSAL:  # x_P turns with -w, seen from S
        x0, x2, square = E[0, 0], E[2, 0], E[0, 0] * E[0, 0] + E[2, 0] * E[2, 0]
        rate = (x0 * v[0] + x2 * v[2]) / square
        turn0, turn2 = v[2] * E[1, 0] - v[1] * x2, v[1] * x0 - v[0] * E[1, 0]
        c[0], c[2] = rate * turn0, rate * turn2
        c[1] = rate * (v[0] * x2 - v[2] * x0)
        gap = (turn2 * v[0] - turn0 * v[2] + x2 * c[0] - x0 * c[2]) / square
        c[0] -= gap * x2  # where v_J is not quite S qd
        c[2] += gap * x0
    elif kind == PLANAR:
        c[3], c[4] = v[2] * v[4], -v[2] * v[3]
    elif kind in (POINT_ON_LINE, POINT_ON_PLANE):  # so do the axes of slides
        for a in range(3):
            b, d = (a + 1) % 3, (a + 2) % 3
            c[3 + a] = -(v[b] * v[3 + d] - v[d] * v[3 + b])
    elif kind == CONSTANT_DISTANCE:
        p0, p1, p2 = _placed(E, r)
        length = math.sqrt(p0 * p0 + p1 * p1 + p2 * p2)
        rate0 = v[3] - v[1] * p2 + v[2] * p1  # dp/dt = v - w x p
        rate1 = v[4] - v[2] * p0 + v[0] * p2
        rate2 = v[5] - v[0] * p1 + v[1] * p0
        along = (p0 * rate0 + p1 * rate1 + p2 * rate2) / length
        speed = (p0 * v[3] + p1 * v[4] + p2 * v[5]) / length
        across = rate0 * v[3] + rate1 * v[4] + rate2 * v[5]
        scale = -(across - along * speed) / (length * length)
        c[3], c[4], c[5] = scale * p0, scale * p1, scale * p2


@njit(cache=True, inline="always")
def _turn(E: FloatArray) -> float:
    return math.atan2(E[0, 1] - E[1, 0], E[0, 0] + E[1, 1])


@njit(cache=True, inline="always")
def _about_z(angle: float, E: FloatArray) -> None:
    c, s = math.cos(angle), math.sin(angle)
    E[0, 0], E[0, 1], E[0, 2] = c, s, 0.0
    E[1, 0], E[1, 1], E[1, 2] = -s, c, 0.0
    E[2, 0], E[2, 1], E[2, 2] = 0.0, 0.0, 1.0


@njit(cache=True, inline="always")
def _along(E: FloatArray, axis: int, v: FloatArray) -> float:
    """Velocity along an axis of P."""
    return E[0, axis] * v[3] + E[1, axis] * v[4] + E[2, axis] * v[5]


@njit(cache=True, inline="always")
def _placed(E: FloatArray, r: FloatArray) -> tuple[float, float, float]:
    """E r, the place of the origin of S in S coordinates."""
    return (
        E[0, 0] * r[0] + E[0, 1] * r[1] + E[0, 2] * r[2],
        E[1, 0] * r[0] + E[1, 1] * r[1] + E[1, 2] * r[2],
        E[2, 0] * r[0] + E[2, 1] * r[1] + E[2, 2] * r[2],
    )


@njit(cache=True, inline="always")
def _rod(E: FloatArray, r: FloatArray) -> tuple[float, float, float]:
    """Direction of a rod in S coordinates."""
    p = _placed(E, r)
    length = math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    return p[0] / length, p[1] / length, p[2] / length


@njit(cache=True, inline="always")
def _across(
    u: tuple[float, float, float],
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Two unit vectors across the unit vector u and each other. Duff et al. (2017)."""
    sign = 1.0 if u[2] >= 0.0 else -1.0
    a = -1.0 / (sign + u[2])
    b = u[0] * u[1] * a
    return (1.0 + sign * u[0] * u[0] * a, sign * b, -sign * u[0]), (
        b,
        sign + u[1] * u[1] * a,
        -u[1],
    )


@njit(cache=True)
def quaternion_of(E: FloatArray, q: FloatArray) -> None:
    """Fill q[:4], the quaternion (w, x, y, z), w >= 0, of the rotation R = E' from S to P axes."""
    square = (
        1.0 + E[0, 0] + E[1, 1] + E[2, 2],
        1.0 + E[0, 0] - E[1, 1] - E[2, 2],
        1.0 - E[0, 0] + E[1, 1] - E[2, 2],
        1.0 - E[0, 0] - E[1, 1] + E[2, 2],
    )
    k = 0
    for a in range(1, 4):
        if square[a] > square[k]:
            k = a
    x, y, z = E[1, 2] - E[2, 1], E[2, 0] - E[0, 2], E[0, 1] - E[1, 0]
    xy, xz, yz = E[0, 1] + E[1, 0], E[0, 2] + E[2, 0], E[1, 2] + E[2, 1]
    if k == 0:
        q[0], q[1], q[2], q[3] = square[0], x, y, z
    elif k == 1:
        q[0], q[1], q[2], q[3] = x, square[1], xy, xz
    elif k == 2:
        q[0], q[1], q[2], q[3] = y, xy, square[2], yz
    else:
        q[0], q[1], q[2], q[3] = z, xz, yz, square[3]
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    norm = -norm if q[0] < 0.0 else norm
    for a in range(4):
        q[a] /= norm


@njit(cache=True)
def _rotation_of(q: FloatArray, E: FloatArray) -> None:
    """Fill E = R' of a quaternion, which need not be of unit length."""
    s = 2.0 / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    w, x, y, z = q[0], q[1], q[2], q[3]
    E[0, 0] = 1.0 - s * (y * y + z * z)
    E[1, 1] = 1.0 - s * (x * x + z * z)
    E[2, 2] = 1.0 - s * (x * x + y * y)
    E[1, 0], E[0, 1] = s * (x * y - w * z), s * (x * y + w * z)
    E[2, 0], E[0, 2] = s * (x * z + w * y), s * (x * z - w * y)
    E[2, 1], E[1, 2] = s * (y * z - w * x), s * (y * z + w * x)
