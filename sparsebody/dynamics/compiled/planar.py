"""The system (8.64) of a planar mechanism: three freedoms a body, rows within the plane.

Twists are (w, u_x, u_y), wrenches (n, f_x, f_y), both about the center of mass and along two axes
of the body in the plane, in units in which the body's inertia is one. Everything else is as in
`assembly`, of which this is what remains in two dimensions.
"""

# numba's structref is untyped.
# mypy: disable-error-code="attr-defined, no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.experimental import structref

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import KERNEL, PHASE, UNIT
from sparsebody.dynamics.compiled.qr_solution import QR
from sparsebody.dynamics.compiled.struct import Struct, register
from sparsebody.dynamics.compiled.workspace import Index
from sparsebody.spatial.tuples import (
    dot,
    load9,
    load_vector,
    rotation_of,
    store_vector,
    turned,
    turned_back,
)

OFF = 1e-9  # how far a state may leave the plane: angles, and parts of velocities
NONE_WITHIN = 1e-9  # part of a row within the plane that is nothing but rounding
STILL = 1e-12  # velocities that are none [rad/s, m/s]
GOOD, NOT_FINITE, OUT_OF_PLANE = 0, 1, 2

# Columns of the table `motion`: center of mass, direction of the body's x axis, twist.
X, Y, COSINE, SINE, TURN, U_X, U_Y = range(7)
# Columns of the table `unit`: roots of rotational inertia and mass, and their inverses.
TURN_ROOT, MASS_ROOT, TURN_INVERSE, MASS_INVERSE = range(4)


# Kinds of joints: rows that are constant on the successor; given; a point of the successor on a
# line of the predecessor.
CARRIED, GIVEN, LINE = 0, 1, 2


@register
class _PlanarRowsType(types.StructRef):
    """The type of PlanarRows in compiled code."""


class PlanarRows(Struct):
    """Some rows of A, those of a joint in one piece: m joints, k rows."""

    predecessor: Index  # (m,) body, n for the world
    successor: Index  # (m,)
    kind: Index  # (m,)
    constant: FloatArray  # (m, 4) normal of the line on the predecessor, point on the successor;
    # or where the world is the successor the reference point of rows [m]
    first_row: Index  # (m + 1,)
    row: Index  # (k,) the user's number of each row
    source: Index  # (k,) place of given rows among those that are given
    rows: FloatArray  # (k, 2, 3) on predecessor and successor


@register
class _PlanarWorkspaceType(types.StructRef):
    """The type of PlanarWorkspace in compiled code."""


class PlanarWorkspace(Struct):
    """All that a planar evaluation needs: n bodies in a state, k kept rows."""

    kept: PlanarRows
    factor: QR

    body: Index  # (n,) the user's number of each body
    axes: FloatArray  # (9,) of the world: the normal, and two in the plane
    gravity: FloatArray  # (2,) in the plane [m/s^2]
    basis: FloatArray  # (n, 9) the same axes of every body, in its own
    unit: FloatArray  # (n + 1, 4) see above; of the world WORLD_ROOT
    motion: FloatArray  # (n + 1, 8) see above; body n is the world
    no_rows: FloatArray  # (0, 2, 6), no_loads (0, 6), nothing (0,): where nothing is given
    no_loads: FloatArray
    nothing: FloatArray
    right: FloatArray  # (3 n + k,) forces, then the accelerations asked for
    x: FloatArray  # (3 n + k,) accelerations, then multipliers with opposite signs


for _cls, _type in ((PlanarRows, _PlanarRowsType), (PlanarWorkspace, _PlanarWorkspaceType)):
    structref.define_proxy(_cls, _type, list(_cls.__annotations__))


@njit(**KERNEL)
def _bodies(body, axes, gravity, basis, unit, position, orientation, velocity, load, motion, right):
    """Gather a state and fill the forces; return GOOD, NOT_FINITE or OUT_OF_PLANE."""
    normal, first, second = load_vector(axes, 0), load_vector(axes, 3), load_vector(axes, 6)
    has_load = load.shape[0] > 0
    is_sound, is_upright, total = True, True, 0.0
    turning = moving = tilting = slipping = 0.0
    for i in range(np.uintp(body.size)):
        b = np.uintp(body[i])
        q = orientation[b, 0], orientation[b, 1], orientation[b, 2], orientation[b, 3]
        is_sound &= abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) < UNIT
        R, B = rotation_of(q[0], q[1], q[2], q[3]), load9(basis, i)
        up, along = turned(R, (B[0], B[1], B[2])), turned(R, (B[3], B[4], B[5]))
        a, c = dot(first, up), dot(second, up)
        is_upright &= a * a + c * c < OFF * OFF and dot(normal, up) > 0.0
        p, line, size = load_vector(position[b], 0), motion[i], unit[i]
        w, u = turned(B, load_vector(velocity[b], 0)), turned(B, load_vector(velocity[b], 3))
        total += (p[0] + p[1] + p[2]) + (w[0] + w[1] + w[2]) + (u[0] + u[1] + u[2])
        turning, tilting = max(turning, abs(w[0])), max(tilting, abs(w[1]), abs(w[2]))
        moving, slipping = max(moving, abs(u[1]), abs(u[2])), max(slipping, abs(u[0]))
        cosine, sine = dot(first, along), dot(second, along)
        line[X], line[Y], line[COSINE], line[SINE] = dot(first, p), dot(second, p), cosine, sine
        line[TURN], line[U_X], line[U_Y] = w[0], u[1], u[2]
        m, place = size[MASS_ROOT], np.uintp(3) * i
        right[place] = 0.0
        right[place + 1] = m * (cosine * gravity[0] + sine * gravity[1] + w[0] * u[2])
        right[place + 2] = m * (cosine * gravity[1] - sine * gravity[0] - w[0] * u[1])
        if has_load:
            moment = turned(B, load_vector(load[b], 0))
            force = turned(B, load_vector(load[b], 3))
            right[place] += size[TURN_INVERSE] * moment[0]
            right[place + 1] += size[MASS_INVERSE] * force[1]
            right[place + 2] += size[MASS_INVERSE] * force[2]
    if not (is_sound and total - total == 0.0):
        return NOT_FINITE
    is_level = tilting <= OFF * turning + STILL and slipping <= OFF * moving + STILL
    return GOOD if is_upright and is_level else OUT_OF_PLANE


@njit(**KERNEL)
def _joints(
    predecessor,
    successor,
    kind,
    constant,
    first_row,
    source,
    basis,
    unit,
    motion,
    given_rows,
    given,
    rows,
    asked,
):
    """Fill the rows of A on the predecessors, and the accelerations that they ask for."""
    world = np.uintp(motion.shape[0] - 1)
    for j in range(np.uintp(predecessor.size)):
        first, last = np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])
        p, s = np.uintp(predecessor[j]), np.uintp(successor[j])
        if kind[j] == GIVEN:
            for k in range(first, last):
                place = np.uintp(source[k])
                asked[k] = given[place]
                _project(given_rows[place, 0], basis, unit, p, rows[k, 0])
                _project(given_rows[place, 1], basis, unit, s, rows[k, 1])
            continue
        if kind[j] == LINE:
            asked[first] = _line(constant[j], motion[p], motion[s], unit[p], unit[s], rows[first])
            continue
        if p == world:
            for k in range(first, last):
                asked[k] = 0.0
            continue
        on_p, on_s, size_p, size_s = motion[p], motion[s], unit[p], unit[s]
        c_p, s_p = on_p[COSINE], on_p[SINE]
        cosine = c_p * on_s[COSINE] + s_p * on_s[SINE]  # from successor's axes to predecessor's
        sine = c_p * on_s[SINE] - s_p * on_s[COSINE]
        between_x, between_y = on_s[X] - on_p[X], on_s[Y] - on_p[Y]
        if s == world:
            between_x, between_y = constant[j, 0] - on_p[X], constant[j, 1] - on_p[Y]
        d_x, d_y = c_p * between_x + s_p * between_y, c_p * between_y - s_p * between_x
        w = on_p[TURN]
        at_x, at_y = on_p[U_X] - w * d_y, on_p[U_Y] + w * d_x
        u_x, u_y = cosine * at_x + sine * at_y, cosine * at_y - sine * at_x
        w_J, gone_x, gone_y = on_s[TURN] - w, on_s[U_X] - u_x, on_s[U_Y] - u_y
        e_x, e_y = w * gone_y - w_J * u_y, w_J * u_x - w * gone_x
        for k in range(first, last):
            moment = size_s[TURN_ROOT] * rows[k, 1, 0]
            f_x, f_y = size_s[MASS_ROOT] * rows[k, 1, 1], size_s[MASS_ROOT] * rows[k, 1, 2]
            asked[k] = -(f_x * e_x + f_y * e_y)
            g_x, g_y = cosine * f_x - sine * f_y, sine * f_x + cosine * f_y
            rows[k, 0, 0] = -size_p[TURN_INVERSE] * (moment + d_x * g_y - d_y * g_x)
            rows[k, 0, 1] = -size_p[MASS_INVERSE] * g_x
            rows[k, 0, 2] = -size_p[MASS_INVERSE] * g_y


@njit(**KERNEL)
def _line(constant, on_p, on_s, size_p, size_s, row):
    """Fill the row of a point on a line; return the acceleration that it asks for.

    With n fixed in the predecessor, V the velocity of the point and v that of the place where it is
    on the predecessor: n'(V - v) = 0, so that n' times the difference of accelerations is
    -(w_p x n)'(V - v) - n'((w_s - w_p) x V). In the axes of the predecessor.
    """
    n_x, n_y, a_x, a_y = constant[0], constant[1], constant[2], constant[3]
    c_p, s_p = on_p[COSINE], on_p[SINE]
    cosine = c_p * on_s[COSINE] + s_p * on_s[SINE]
    sine = c_p * on_s[SINE] - s_p * on_s[COSINE]
    m_x, m_y = cosine * n_x + sine * n_y, cosine * n_y - sine * n_x
    between_x, between_y = on_s[X] - on_p[X], on_s[Y] - on_p[Y]
    r_x = c_p * between_x + s_p * between_y + cosine * a_x - sine * a_y
    r_y = c_p * between_y - s_p * between_x + sine * a_x + cosine * a_y
    row[0, 0] = -size_p[TURN_INVERSE] * (n_y * r_x - n_x * r_y)
    row[0, 1], row[0, 2] = -size_p[MASS_INVERSE] * n_x, -size_p[MASS_INVERSE] * n_y
    row[1, 0] = size_s[TURN_INVERSE] * (m_y * a_x - m_x * a_y)
    row[1, 1], row[1, 2] = size_s[MASS_INVERSE] * m_x, size_s[MASS_INVERSE] * m_y
    w_p, w_s = on_p[TURN], on_s[TURN]
    at_x, at_y = on_s[U_X] - w_s * a_y, on_s[U_Y] + w_s * a_x
    V_x, V_y = cosine * at_x - sine * at_y, sine * at_x + cosine * at_y
    gone_x, gone_y = V_x - on_p[U_X] + w_p * r_y, V_y - on_p[U_Y] - w_p * r_x
    turned_away = w_p * (n_x * gone_y - n_y * gone_x)
    return -turned_away - (w_s - w_p) * (n_y * V_x - n_x * V_y)


@njit(**KERNEL)
def _project(given, basis, unit, body, row):
    """Fill a row with the part in the plane of one in body coordinates; the world gets zeros."""
    if body == basis.shape[0]:
        row[0], row[1], row[2] = 0.0, 0.0, 0.0
        return
    moment, force = load_vector(given, 0), load_vector(given, 3)
    of = unit[body]
    part = part_in_plane(load9(basis, body), moment, force, of[TURN_INVERSE], of[MASS_INVERSE])
    store_vector(row, 0, part)


@njit(**KERNEL)
def part_in_plane(B, moment, force, turning, moving):
    """Return a wrench's part in the plane, in units of a body with axes B; zero if it is rounding.

    All three are scaled with the roots of the body's inverse inertia.
    """
    m, f = turned(B, moment), turned(B, force)
    part = turning * m[0], moving * f[1], moving * f[2]
    rest = turning * turning * (m[1] * m[1] + m[2] * m[2]) + moving * moving * f[0] * f[0]
    if dot(part, part) <= NONE_WITHIN * NONE_WITHIN * rest:
        return 0.0, 0.0, 0.0
    return part


@njit(**PHASE)
def fill_planar_rows(
    w: PlanarWorkspace,
    table: PlanarRows,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
    asked: FloatArray,
) -> None:
    """Fill the rows of a table and the accelerations that they ask for, at the gathered state."""
    _joints(
        table.predecessor,
        table.successor,
        table.kind,
        table.constant,
        table.first_row,
        table.source,
        w.basis,
        w.unit,
        w.motion,
        given_rows,
        given,
        table.rows,
        asked,
    )
    if shift.size > 0:
        for k in range(table.row.size):
            asked[k] += shift[table.row[k]]


@njit(**PHASE)
def assemble_planar(
    w: PlanarWorkspace,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    load: FloatArray,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
) -> int:
    """Fill rows and right-hand side at a state; return GOOD, NOT_FINITE or OUT_OF_PLANE."""
    found = _bodies(
        w.body,
        w.axes,
        w.gravity,
        w.basis,
        w.unit,
        position,
        orientation,
        velocity,
        load,
        w.motion,
        w.right,
    )
    fill_planar_rows(w, w.kept, given_rows, given, shift, w.right[3 * w.body.size :])
    return found


@njit(**PHASE)
def unscramble_planar(w: PlanarWorkspace, acceleration: FloatArray, multiplier: FloatArray) -> None:
    """Give bodies and rows the user's numbers; multipliers get the sign of forces on successors."""
    for i in range(np.uintp(w.body.size)):
        b, place, size, B = np.uintp(w.body[i]), np.uintp(3) * i, w.unit[i], load9(w.basis, i)
        angular = size[TURN_INVERSE] * w.x[place]
        linear = (
            0.0,
            size[MASS_INVERSE] * w.x[place + np.uintp(1)],
            size[MASS_INVERSE] * w.x[place + np.uintp(2)],
        )
        u = turned_back(B, linear)
        for a in range(3):
            acceleration[b, a] = angular * B[a]
            acceleration[b, a + 3] = u[a]
    if multiplier.size > 0:
        first = 3 * w.body.size
        for k in range(w.kept.row.size):
            multiplier[w.kept.row[k]] = -w.x[first + k]
