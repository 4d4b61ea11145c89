"""The system (8.64) where bodies move within displacement subgroups about the world.

Rows and forces are assembled as for all freedoms, in units in which inertias are one, and then
multiplied by an orthonormal basis Q of what each body can do there. Q is constant in its axes, so
that the acceleration is Q times that of the freedoms. Vectors and rows have six places for every
body, of which the first ones are used; what is saved are the rows outside the subgroups.
"""

# numba's structref is untyped.
# mypy: disable-error-code="attr-defined, no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.experimental import structref

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import KERNEL, PHASE, assemble
from sparsebody.dynamics.compiled.solution import factorize_assembled, refine, unscramble
from sparsebody.dynamics.compiled.struct import Struct, register
from sparsebody.dynamics.compiled.workspace import MASS_INVERSE, MASS_ROOT, ROOT, Index, Workspace
from sparsebody.factorization.block_ldl import REGULAR
from sparsebody.spatial.tuples import (
    INLINE,
    add,
    difference,
    dot,
    load9,
    load_triangle,
    load_vector,
    rotation_of,
    scaled,
    store_vector,
    turned,
    upper_times,
)

OFF = 1e-9  # how far a state may leave its subgroup: directions, and parts of velocities
STRAY = 1e-6  # how far a point may, in sizes of the body: integrators keep it by corrections only
STILL = 1e-12  # velocities that are none [m/s]
GOOD, NOT_FINITE, OUTSIDE = 0, 1, 2

# Columns of the table `held`: two directions on the body and in the world; a point on the body, in
# the world, the directions in which it must not move, and how far it may.
FIRST, FIRST_AT, SECOND, SECOND_AT, POINT, POINT_AT, ACROSS, REACH = 0, 3, 6, 9, 12, 15, 18, 27
N_HELD = 28


@register
class _ReducedWorkspaceType(types.StructRef):
    """The type of ReducedWorkspace in compiled code."""


class ReducedWorkspace(Struct):
    """What an evaluation needs beyond that of all freedoms: n bodies, k kept rows."""

    whole: Workspace  # with all freedoms, where rows are assembled
    reduced: Workspace  # what is factorized and solved

    freedoms: Index  # (n + 1,) of the world 0
    basis: FloatArray  # (n + 1, 36) Q, row by row; columns beyond the freedoms are zero
    held: FloatArray  # (n, N_HELD) see above


structref.define_proxy(
    ReducedWorkspace, _ReducedWorkspaceType, list(ReducedWorkspace.__annotations__)
)


@njit(**INLINE)
def _on_freedoms(Q, d, row):
    """Return Q' row; three freedoms or less are half the work."""
    r0, r1, r2, r3, r4, r5 = row
    y0 = r0 * Q[0] + r1 * Q[6] + r2 * Q[12] + r3 * Q[18] + r4 * Q[24] + r5 * Q[30]
    y1 = r0 * Q[1] + r1 * Q[7] + r2 * Q[13] + r3 * Q[19] + r4 * Q[25] + r5 * Q[31]
    y2 = r0 * Q[2] + r1 * Q[8] + r2 * Q[14] + r3 * Q[20] + r4 * Q[26] + r5 * Q[32]
    if d <= 3:
        return y0, y1, y2, 0.0, 0.0, 0.0
    y3 = r0 * Q[3] + r1 * Q[9] + r2 * Q[15] + r3 * Q[21] + r4 * Q[27] + r5 * Q[33]
    y4 = r0 * Q[4] + r1 * Q[10] + r2 * Q[16] + r3 * Q[22] + r4 * Q[28] + r5 * Q[34]
    y5 = r0 * Q[5] + r1 * Q[11] + r2 * Q[17] + r3 * Q[23] + r4 * Q[29] + r5 * Q[35]
    return y0, y1, y2, y3, y4, y5


@njit(**INLINE)
def _in_body(Q, d, y):
    """Return Q y."""
    y0, y1, y2, y3, y4, y5 = y
    r0 = Q[0] * y0 + Q[1] * y1 + Q[2] * y2
    r1 = Q[6] * y0 + Q[7] * y1 + Q[8] * y2
    r2 = Q[12] * y0 + Q[13] * y1 + Q[14] * y2
    r3 = Q[18] * y0 + Q[19] * y1 + Q[20] * y2
    r4 = Q[24] * y0 + Q[25] * y1 + Q[26] * y2
    r5 = Q[30] * y0 + Q[31] * y1 + Q[32] * y2
    if d <= 3:
        return r0, r1, r2, r3, r4, r5
    r0 += Q[3] * y3 + Q[4] * y4 + Q[5] * y5
    r1 += Q[9] * y3 + Q[10] * y4 + Q[11] * y5
    r2 += Q[15] * y3 + Q[16] * y4 + Q[17] * y5
    r3 += Q[21] * y3 + Q[22] * y4 + Q[23] * y5
    r4 += Q[27] * y3 + Q[28] * y4 + Q[29] * y5
    r5 += Q[33] * y3 + Q[34] * y4 + Q[35] * y5
    return r0, r1, r2, r3, r4, r5


@njit(**INLINE)
def _load(array, first):
    a, b = load_vector(array, first), load_vector(array, first + np.uintp(3))
    return a[0], a[1], a[2], b[0], b[1], b[2]


@njit(**INLINE)
def _store(array, first, v):
    store_vector(array, first, (v[0], v[1], v[2]))
    store_vector(array, first + np.uintp(3), (v[3], v[4], v[5]))


@njit(**KERNEL)
def _bodies(freedoms, basis, held, unit, position, rotation, velocity, right, reduced):
    """Fill the forces on the freedoms; return GOOD, or OUTSIDE if the state is not in there."""
    fastest = astray = 0.0
    is_held = True
    for i in range(np.uintp(held.shape[0])):
        d, first, Q = freedoms[i], np.uintp(6) * i, basis[i]
        _store(reduced, first, _on_freedoms(Q, d, _load(right, first)))
        w = upper_times(load_triangle(unit, i, ROOT), load_vector(velocity[i], 0))
        u = scaled(unit[i, MASS_ROOT], load_vector(velocity[i], 3))
        v = w[0], w[1], w[2], u[0], u[1], u[2]
        share = unit[i, MASS_INVERSE]
        fastest = max(fastest, share * _largest(v))
        if d < 6:
            r = _in_body(Q, d, _on_freedoms(Q, d, v))
            gone = v[0] - r[0], v[1] - r[1], v[2] - r[2], v[3] - r[3], v[4] - r[4], v[5] - r[5]
            astray = max(astray, share * _largest(gone))
            is_held &= _is_held(held[i], load_vector(position[i], 0), load9(rotation, i))
    return GOOD if is_held and astray <= OFF * fastest + STILL else OUTSIDE


@njit(**INLINE)
def _largest(v):
    return max(max(abs(v[0]), abs(v[1]), abs(v[2])), max(abs(v[3]), abs(v[4]), abs(v[5])))


@njit(**KERNEL)
def _is_held(held, x, R):
    """Tell whether directions and a point of a body are where they belong."""
    for near, at in ((FIRST, FIRST_AT), (SECOND, SECOND_AT)):
        gap = difference(turned(R, load_vector(held, near)), load_vector(held, at))
        if not max(abs(gap[0]), abs(gap[1]), abs(gap[2])) <= OFF:
            return False
    there = add(x, turned(R, load_vector(held, POINT)))
    gap = difference(there, load_vector(held, POINT_AT))
    for a in range(0, 9, 3):
        line = load_vector(held, ACROSS + a)
        if not abs(line[0] * gap[0] + line[1] * gap[1] + line[2] * gap[2]) <= held[REACH]:
            return False
    return True


@njit(cache=True)
def retract(
    held: FloatArray, position: FloatArray, orientation: FloatArray, nearer: FloatArray
) -> float:
    """Fill positions (n, 3) with points where they belong; return how far away they were.

    In terms of how far they may be, bodies being numbered as the user does.
    """
    farthest = 0.0
    for i in range(len(held)):
        q, at = orientation[i], held[i]
        R = rotation_of(q[0], q[1], q[2], q[3])
        there = add(load_vector(position[i], 0), turned(R, load_vector(at, POINT)))
        gap = difference(there, load_vector(at, POINT_AT))
        for a in range(3):
            part = dot(load_vector(at, ACROSS + 3 * a), gap)
            nearer[i, a] = position[i, a] - part
            farthest = max(farthest, abs(part) / at[REACH])
    return farthest


@njit(**KERNEL)
def _rows(predecessor, successor, first_row, is_given, rows, freedoms, basis, both, reduced):
    """Fill the rows on the freedoms; those on successors only where they vary, or for `both`."""
    for j in range(np.uintp(predecessor.size)):
        p, s = np.uintp(predecessor[j]), np.uintp(successor[j])
        is_varying = both or is_given[j]
        for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
            on_p = _load(rows[k, 0], np.uintp(0))
            _store(reduced[k, 0], np.uintp(0), _on_freedoms(basis[p], freedoms[p], on_p))
            if is_varying:
                on_s = _load(rows[k, 1], np.uintp(0))
                _store(reduced[k, 1], np.uintp(0), _on_freedoms(basis[s], freedoms[s], on_s))


@njit(**PHASE)
def assemble_reduced(
    r: ReducedWorkspace,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    load: FloatArray,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
    both: bool,
) -> int:
    """Fill rows and right-hand side at a state; return GOOD, NOT_FINITE or OUTSIDE."""
    w, to = r.whole, r.reduced
    state = position, orientation, velocity
    if not assemble(w, *state, load, given_rows, given, shift):
        return NOT_FINITE
    table = r.freedoms, r.basis
    found = _bodies(*table, r.held, w.unit, w.position, w.rotation, w.velocity, w.right, to.right)
    kept = w.kept
    joints = kept.predecessor, kept.successor, kept.first_row, kept.is_given
    _rows(*joints, kept.rows, *table, both, to.kept.rows)
    for k in range(6 * w.body.size, w.right.size):
        to.right[k] = w.right[k]
    return found


@njit(**PHASE)
def unscramble_reduced(
    r: ReducedWorkspace, acceleration: FloatArray, multiplier: FloatArray
) -> None:
    """Give bodies all their coordinates, and bodies and rows the user's numbers."""
    x, whole = r.reduced.x, r.whole.x
    for i in range(np.uintp(r.whole.body.size)):
        first = np.uintp(6) * i
        _store(whole, first, _in_body(r.basis[i], r.freedoms[i], _load(x, first)))
    for k in range(6 * r.whole.body.size, x.size):
        whole[k] = x[k]
    unscramble(r.whole, acceleration, multiplier)


@njit(**PHASE)
def accelerate_reduced(
    r: ReducedWorkspace,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    load: FloatArray,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
    steps: int,
    goal: float,
    acceleration: FloatArray,
    multiplier: FloatArray,
) -> tuple[int, int, float, float]:
    """Do a whole evaluation; return what assembly, factorization and refinement return."""
    state = position, orientation, velocity
    found = assemble_reduced(r, *state, load, given_rows, given, shift, False)
    if found != GOOD:
        return found, REGULAR, np.nan, np.nan
    status = factorize_assembled(r.reduced)
    if status != REGULAR:
        return found, status, np.nan, np.nan
    left, change = refine(r.reduced, r.reduced.right, steps, goal, False)
    unscramble_reduced(r, acceleration, multiplier)
    return found, status, left, change
