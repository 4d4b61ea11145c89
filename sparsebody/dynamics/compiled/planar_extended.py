"""Corrections of planar solutions by residuals of 31 digits.

What rounding of A does to the accelerations grows with its condition number, and corrections with
the rounded A do not see it. So rows and what they ask for are made anew from the state, taken as
exact, with twice the digits; the factors of the rounded A serve to solve for the corrections.
"""

# numba's structref is untyped.
# mypy: disable-error-code="attr-defined, no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.extended_tables import (
    COSINE,
    FIRST,
    NORMAL,
    PASS,
    SECOND,
    SINE,
    TURN,
    U_X,
    U_Y,
    Extended,
    X,
    Y,
    axis_of,
)
from sparsebody.dynamics.compiled.planar import (
    GIVEN,
    LINE,
    MASS_INVERSE,
    TURN_INVERSE,
    PlanarRows,
    PlanarWorkspace,
)
from sparsebody.dynamics.compiled.workspace import Index
from sparsebody.factorization.block_qr.kernels import Storage, Tables, substitute
from sparsebody.spatial.doubled import (
    EXACT,
    cross,
    dot,
    inverse_root,
    minus,
    pair,
    plus,
    scaled,
    times,
    vector_of,
)

STEPS = 12  # corrections at most
DONE = 1e-17  # of the largest acceleration, a correction that nothing has to follow


@njit(**EXACT)
def _turned(q, v):
    """Return the vector v, turned by the quaternion q of doubles and scaled by its square."""
    w, u = (q[0], 0.0), vector_of(q[1], q[2], q[3])
    uv = cross(u, v)
    uuv = cross(u, uv)
    length = plus(times(w, w), dot(u, u))
    twice = scaled(w, 2.0)
    a = plus(times(length, v[0]), plus(times(twice, uv[0]), scaled(uuv[0], 2.0)))
    b = plus(times(length, v[1]), plus(times(twice, uv[1]), scaled(uuv[1], 2.0)))
    c = plus(times(length, v[2]), plus(times(twice, uv[2]), scaled(uuv[2], 2.0)))
    return a, b, c


@njit(**EXACT)
def _store(line, which, value):
    line[which], line[which + 7] = value


@njit(**EXACT)
def _load(line, which):
    return line[which], line[which + 7]


@njit(**PASS)
def _gather(
    body: Index,
    frame: FloatArray,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    motion: FloatArray,
) -> None:
    """Fill the motion of all bodies in the plane."""
    n = len(body)
    first, second = axis_of(frame[n], FIRST), axis_of(frame[n], SECOND)
    for i in range(n):
        b, line = np.intp(body[i]), motion[i]
        normal, x, y = (
            axis_of(frame[i], NORMAL),
            axis_of(frame[i], FIRST),
            axis_of(frame[i], SECOND),
        )
        p, v = position[b], velocity[b]
        place = vector_of(p[0], p[1], p[2])
        turned = _turned(orientation[b], x)
        c, s = dot(first, turned), dot(second, turned)
        size = inverse_root(pair(c, c, s, s))
        _store(line, X, dot(first, place))
        _store(line, Y, dot(second, place))
        _store(line, COSINE, times(c, size))
        _store(line, SINE, times(s, size))
        _store(line, TURN, dot(normal, vector_of(v[0], v[1], v[2])))
        _store(line, U_X, dot(x, vector_of(v[3], v[4], v[5])))
        _store(line, U_Y, dot(y, vector_of(v[3], v[4], v[5])))


@njit(**EXACT)
def _relative(on_p, on_s):
    """Return cosine, sine from successor's axes to predecessor's, and what lies between, there."""
    c_p, s_p = _load(on_p, COSINE), _load(on_p, SINE)
    c_s, s_s = _load(on_s, COSINE), _load(on_s, SINE)
    cosine = pair(c_p, c_s, s_p, s_s)
    sine = minus(times(c_p, s_s), times(s_p, c_s))
    x = minus(_load(on_s, X), _load(on_p, X))
    y = minus(_load(on_s, Y), _load(on_p, Y))
    return cosine, sine, pair(c_p, x, s_p, y), minus(times(c_p, y), times(s_p, x))


@njit(**EXACT)
def _store_row(row, unit, sign, moment, f_x, f_y):
    row[0, 0], row[0, 1] = scaled(moment, sign * unit[TURN_INVERSE])
    row[1, 0], row[1, 1] = scaled(f_x, sign * unit[MASS_INVERSE])
    row[2, 0], row[2, 1] = scaled(f_y, sign * unit[MASS_INVERSE])


@njit(**PASS)
def _carried(on_p, on_s, unit_p, unit_s, arm, force, rows, asked) -> None:
    """Fill the rows that are constant on the successor; as `planar._joints` does."""
    cosine, sine, d_x, d_y = _relative(on_p, on_s)
    a_x, a_y = (arm[0], arm[1]), (arm[2], arm[3])
    w, w_s = _load(on_p, TURN), _load(on_s, TURN)
    at_x = minus(_load(on_p, U_X), times(w, d_y))
    at_y = plus(_load(on_p, U_Y), times(w, d_x))
    u_x, u_y = pair(cosine, at_x, sine, at_y), minus(times(cosine, at_y), times(sine, at_x))
    w_J, gone_x, gone_y = minus(w_s, w), minus(_load(on_s, U_X), u_x), minus(_load(on_s, U_Y), u_y)
    e_x = minus(times(w, gone_y), times(w_J, u_y))
    e_y = minus(times(w_J, u_x), times(w, gone_x))
    for k in range(len(force)):
        f_x, f_y = (force[k, 1], 0.0), (force[k, 2], 0.0)
        moment = plus((force[k, 0], 0.0), minus(times(a_x, f_y), times(a_y, f_x)))
        g_x, g_y = minus(times(cosine, f_x), times(sine, f_y)), pair(sine, f_x, cosine, f_y)
        back = plus(moment, minus(times(d_x, g_y), times(d_y, g_x)))
        _store_row(rows[k, 1], unit_s, 1.0, moment, f_x, f_y)
        _store_row(rows[k, 0], unit_p, -1.0, back, g_x, g_y)
        high, low = pair(f_x, e_x, f_y, e_y)
        asked[k, 0], asked[k, 1] = -high, -low


@njit(**PASS)
def _line(on_p, on_s, unit_p, unit_s, arm, normal, rows, asked) -> None:
    """Fill the row of a point on a line; as `planar._line` does."""
    cosine, sine, d_x, d_y = _relative(on_p, on_s)
    n_x, n_y = (normal[0], 0.0), (normal[1], 0.0)
    a_x, a_y = (arm[0], arm[1]), (arm[2], arm[3])
    m_x, m_y = pair(cosine, n_x, sine, n_y), minus(times(cosine, n_y), times(sine, n_x))
    r_x = plus(d_x, minus(times(cosine, a_x), times(sine, a_y)))
    r_y = plus(d_y, pair(sine, a_x, cosine, a_y))
    on_line = minus(times(n_y, r_x), times(n_x, r_y))
    _store_row(rows[0], unit_p, -1.0, on_line, n_x, n_y)
    _store_row(rows[1], unit_s, 1.0, minus(times(m_y, a_x), times(m_x, a_y)), m_x, m_y)
    w_p, w_s = _load(on_p, TURN), _load(on_s, TURN)
    at_x = minus(_load(on_s, U_X), times(w_s, a_y))
    at_y = plus(_load(on_s, U_Y), times(w_s, a_x))
    V_x, V_y = minus(times(cosine, at_x), times(sine, at_y)), pair(sine, at_x, cosine, at_y)
    gone_x = plus(minus(V_x, _load(on_p, U_X)), times(w_p, r_y))
    gone_y = minus(minus(V_y, _load(on_p, U_Y)), times(w_p, r_x))
    turned_away = times(w_p, minus(times(n_x, gone_y), times(n_y, gone_x)))
    across = times(minus(w_s, w_p), minus(times(n_y, V_x), times(n_x, V_y)))
    high, low = plus(turned_away, across)
    asked[0], asked[1] = -high, -low


@njit(**PASS)
def _assemble(w: PlanarWorkspace, e: Extended, shift: FloatArray) -> None:
    """Fill rows and what they ask for; given ones as they are."""
    kept, n = w.kept, w.body.size
    for j in range(kept.predecessor.size):
        p, s = np.intp(kept.predecessor[j]), np.intp(kept.successor[j])
        first, last = np.intp(kept.first_row[j]), np.intp(kept.first_row[j + 1])
        ends = e.motion[p], e.motion[s], w.unit[p], w.unit[s], e.arm[j]
        if kept.kind[j] == GIVEN:
            for k in range(first, last):
                e.rows[k, :, :, 0] = kept.rows[k]
                e.rows[k, :, :, 1] = 0.0
                e.asked[k, 0], e.asked[k, 1] = w.right[3 * n + k], 0.0
            continue
        if kept.kind[j] == LINE:
            _line(*ends, kept.constant[j], e.rows[first], e.asked[first])
        else:
            _carried(*ends, e.force[first:last], e.rows[first:last], e.asked[first:last])
        if shift.size > 0:
            for k in range(first, last):
                asked = plus((e.asked[k, 0], e.asked[k, 1]), (shift[np.intp(kept.row[k])], 0.0))
                e.asked[k, 0], e.asked[k, 1] = asked


@njit(**PASS)
def _fill_gaps(kept: PlanarRows, e: Extended, n: int, gap: FloatArray) -> None:
    """Fill gap = A x - asked."""
    for j in range(kept.predecessor.size):
        p, s = np.intp(kept.predecessor[j]), np.intp(kept.successor[j])
        for k in range(np.intp(kept.first_row[j]), np.intp(kept.first_row[j + 1])):
            total = (-e.asked[k, 0], -e.asked[k, 1])
            for side in range(2):
                body = p if side == 0 else s
                if body < n:
                    for a in range(3):
                        x = e.x[3 * body + a]
                        row = e.rows[k, side, a]
                        total = plus(total, times((row[0], row[1]), (x[0], x[1])))
            gap[k] = total[0]


@njit(**PASS)
def _take_forces(kept: PlanarRows, e: Extended, n: int, y: FloatArray) -> float:
    """Take A' y from x; return the largest change."""
    largest = 0.0
    for j in range(kept.predecessor.size):
        p, s = np.intp(kept.predecessor[j]), np.intp(kept.successor[j])
        for k in range(np.intp(kept.first_row[j]), np.intp(kept.first_row[j + 1])):
            for side in range(2):
                body = p if side == 0 else s
                if body < n:
                    for a in range(3):
                        x, row = e.x[3 * body + a], e.rows[k, side, a]
                        change = scaled((row[0], row[1]), y[k])
                        largest = max(largest, abs(change[0]))
                        x[0], x[1] = minus((x[0], x[1]), change)
    return largest


@njit(**PASS)
def solve_extended(
    w: PlanarWorkspace,
    e: Extended,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    shift: FloatArray,
) -> float:
    """Fill w.x with the solution at the state whose factors w has; return the last correction.

    Relative to the largest acceleration, both where inertias are one.
    """
    n, kept, f = w.body.size, w.kept, w.factor
    _gather(w.body, e.frame, position, orientation, velocity, e.motion)
    _assemble(w, e, shift)
    tables = Tables(f.fronts, f.columns, f.places, f.children, f.parts)
    storage = Storage(f.values, f.front, f.stack)
    e.x[:, 0], e.x[:, 1] = w.right[: 3 * n], 0.0
    multiplier = w.x[3 * n :]
    multiplier[:] = 0.0
    before, left = np.inf, 0.0
    for step in range(STEPS):
        _fill_gaps(kept, e, n, f.gap)
        worst = np.max(np.abs(f.gap)) if f.gap.size > 0 else 0.0
        if step > 1 and not worst < before / 2:
            break
        before = worst
        substitute(tables, storage, f.gap)
        for k in range(multiplier.size):
            multiplier[k] += f.gap[k]
        largest = _take_forces(kept, e, n, f.gap)
        size = np.max(np.abs(e.x[:, 0]))
        left = largest / size if size > 0.0 else 0.0
        if left <= DONE:
            break
    w.x[: 3 * n] = e.x[:, 0]
    return left
