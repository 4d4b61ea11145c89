"""The system (8.64) at a state, in compiled code and in elimination order.

Constraint rows that are constant on the successor need no joint frames: they are carried over to
the predecessor by the transform between the two body frames.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.workspace import (
    INVERSE,
    MASS_INVERSE,
    MASS_ROOT,
    ROOT,
    RowTable,
    Workspace,
)
from sparsebody.factorization.block_ldl.kernels import LINE
from sparsebody.factorization.prefetch import LARGE, here, prefetch
from sparsebody.spatial.tuples import (
    add,
    between,
    cross,
    difference,
    dot,
    load9,
    load_triangle,
    load_vector,
    lower_times,
    rotation_of,
    scaled,
    store_vector,
    turned,
    turned_back,
    upper_times,
)

KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "_nrt": False,
}
PHASE: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "_nrt": False,
}  # counts no references
BODIES, JOINTS, ROWS = 16, 32, 50  # for which memory is asked ahead
_fetch_row, _fetch_joint, _fetch_asked = prefetch(12 * ROWS), prefetch(JOINTS), prefetch(ROWS)
UNIT = 2.00001e-6  # what the square of a unit quaternion's length may be off


@njit(**KERNEL)
def _fetch_state(body, position, orientation, velocity):
    """Ask for the state of a body."""
    here(position, np.uintp(3) * body)
    here(orientation, np.uintp(4) * body)
    here(velocity, np.uintp(6) * body)
    here(velocity, np.uintp(6) * body + np.uintp(5))


@njit(**KERNEL)
def _fetch_body(i, unit, position, rotation, velocity, right):
    """Ask for what is known and filled of a body."""
    here(unit, np.uintp(14) * i)
    here(unit, np.uintp(14) * i + np.uintp(LINE))
    here(position, np.uintp(3) * i)
    here(rotation, np.uintp(9) * i)
    here(rotation, np.uintp(9) * i + np.uintp(LINE))
    here(velocity, np.uintp(6) * i)
    here(right, np.uintp(6) * i)


@njit(**KERNEL)
def bodies(
    body,
    gravity,
    unit,
    state_position,
    state_orientation,
    state_velocity,
    load,
    position,
    rotation,
    velocity,
    right,
    begin,
    end,
):
    """Gather states of bodies in [begin, end); fill rotations and forces; tell if all are good."""
    g = (gravity[0], gravity[1], gravity[2])
    has_load = load.shape[0] > 0
    good, is_large = True, body.size > LARGE
    total = 0.0
    for i in range(np.uintp(begin), np.uintp(end)):
        b = np.uintp(body[i])
        if is_large:
            soon = min(i + np.uintp(BODIES), np.uintp(body.size - 1))
            _fetch_state(np.uintp(body[soon]), state_position, state_orientation, state_velocity)
            _fetch_body(soon, unit, position, rotation, velocity, right)
        q = (
            state_orientation[b, 0],
            state_orientation[b, 1],
            state_orientation[b, 2],
            state_orientation[b, 3],
        )
        good &= abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) < UNIT
        x, w = load_vector(state_position[b], 0), load_vector(state_velocity[b], 0)
        u = load_vector(state_velocity[b], 3)
        total += (x[0] + x[1] + x[2]) + (w[0] + w[1] + w[2]) + (u[0] + u[1] + u[2])
        R = rotation_of(q[0], q[1], q[2], q[3])
        store_vector(position[i], 0, x)
        store_vector(velocity[i], 0, w)
        store_vector(velocity[i], 3, u)
        for a in range(9):
            rotation[i, a] = R[a]
        C = load_triangle(unit, i, ROOT)
        moment = cross(lower_times(C, upper_times(C, w)), w)
        force = scaled(unit[i, MASS_ROOT], difference(turned_back(R, g), cross(w, u)))
        if has_load:
            moment = add(moment, load_vector(load[b], 0))
            force = add(force, scaled(unit[i, MASS_INVERSE], load_vector(load[b], 3)))
        store_vector(right, 6 * i, lower_times(load_triangle(unit, i, INVERSE), moment))
        store_vector(right, 6 * i + 3, force)
    return good and total - total == 0.0


@njit(**KERNEL)
def joints(
    predecessor,
    successor,
    anchor,
    is_given,
    first_row,
    source,
    unit,
    position,
    rotation,
    velocity,
    given_rows,
    given,
    rows,
    asked,
    begin,
    end,
):
    """Fill the rows of joints in [begin, end) on the predecessors, and what they ask for.

    Featherstone (2008), (8.10), (8.64): T'(a_s - a_p) = -T'(v_J x v_p).
    """
    world = np.uintp(position.shape[0] - 1)
    is_large = predecessor.size > LARGE
    for j in range(np.uintp(begin), np.uintp(end)):
        first, last = np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])
        p, s = np.uintp(predecessor[j]), np.uintp(successor[j])
        if is_large:
            for at in range(np.uintp(12) * first, np.uintp(12) * last, np.uintp(LINE)):
                _fetch_row(rows, at)
            for table in (predecessor, successor, first_row):
                _fetch_joint(table, j)
            _fetch_asked(asked, first)
        if is_given[j]:
            for k in range(first, last):
                place = np.uintp(source[k])
                asked[k] = given[place]
                _copy_row(given_rows[place, 0], unit, p, rows[k, 0])
                _copy_row(given_rows[place, 1], unit, s, rows[k, 1])
            continue
        if p == world:
            for k in range(first, last):
                asked[k] = 0.0
            continue
        R_p = load9(rotation, p)
        R = between(R_p, load9(rotation, s))  # successor's axes to predecessor's
        origin = load_vector(anchor[j], 0) if s == world else load_vector(position[s], 0)
        d = turned_back(R_p, difference(origin, load_vector(position[p], 0)))
        w, u = load_vector(velocity[p], 0), load_vector(velocity[p], 3)
        w_p = turned_back(R, w)  # v_p at the successor's reference point, in its axes
        u_p = turned_back(R, add(u, cross(w, d)))
        w_J = difference(load_vector(velocity[s], 0), w_p)
        u_J = difference(load_vector(velocity[s], 3), u_p)
        c = cross(w_J, w_p)
        e = add(cross(w_J, u_p), cross(u_J, w_p))
        C_s, C_p = load_triangle(unit, s, ROOT), load_triangle(unit, p, INVERSE)
        for k in range(first, last):
            moment = lower_times(C_s, load_vector(rows[k, 1], 0))
            force = scaled(unit[s, MASS_ROOT], load_vector(rows[k, 1], 3))
            asked[k] = -(dot(moment, c) + dot(force, e))
            f = turned(R, force)
            m = lower_times(C_p, add(turned(R, moment), cross(d, f)))
            share = -unit[p, MASS_INVERSE]
            for a in range(3):
                rows[k, 0, a] = -m[a]
                rows[k, 0, a + 3] = share * f[a]


@njit(**KERNEL)
def _copy_row(given, unit, body, row):
    """Fill a row with one in body coordinates."""
    moment = lower_times(load_triangle(unit, body, INVERSE), load_vector(given, 0))
    store_vector(row, 0, moment)
    store_vector(row, 3, scaled(unit[body, MASS_INVERSE], load_vector(given, 3)))


@njit(**PHASE)
def fill_rows(
    w: Workspace,
    table: RowTable,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
    asked: FloatArray,
    begin: int,
    end: int,
) -> None:
    """Fill the rows of joints in [begin, end) and what they ask for, at the gathered state."""
    joints(
        table.predecessor,
        table.successor,
        table.anchor,
        table.is_given,
        table.first_row,
        table.source,
        w.unit,
        w.position,
        w.rotation,
        w.velocity,
        given_rows,
        given,
        table.rows,
        asked,
        begin,
        end,
    )
    if shift.size > 0:
        for k in range(table.first_row[begin], table.first_row[end]):
            asked[k] += shift[table.row[k]]


@njit(**PHASE)
def assemble(
    w: Workspace,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    load: FloatArray,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
) -> bool:
    """Fill rows and right-hand side at a state; tell whether it is finite, its quaternions unit."""
    state = position, orientation, velocity
    ranges = 0, w.body.size, 0, w.kept.predecessor.size
    return assemble_part(w, *state, load, given_rows, given, shift, *ranges)


@njit(**PHASE)
def assemble_part(
    w: Workspace,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    load: FloatArray,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
    first_body: int,
    end_body: int,
    first_joint: int,
    end_joint: int,
) -> bool:
    """Do the same for ranges of bodies and joints; the bodies of the joints come before."""
    good = bodies(
        w.body,
        w.gravity,
        w.unit,
        position,
        orientation,
        velocity,
        load,
        w.position,
        w.rotation,
        w.velocity,
        w.right,
        first_body,
        end_body,
    )
    asked = w.right[6 * w.body.size :]
    fill_rows(w, w.kept, given_rows, given, shift, asked, first_joint, end_joint)
    return good
