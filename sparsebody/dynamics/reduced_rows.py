"""Constraint rows on the freedoms that subgroups about the world leave to bodies."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.model.subgroups.ground import GroundMotion
from sparsebody.model.system import System

NOTHING = 1e-9  # part of a row that is rounding


def inverse_roots(system: System) -> FloatArray:
    """Return (n_bodies, 6, 6) W^-1, W = (C', sqrt(m)) taking twists to where inertias are one."""
    found = np.zeros((system.n_bodies, 6, 6))
    C = np.linalg.cholesky(system.inertia)
    found[:, :3, :3] = np.linalg.inv(np.swapaxes(C, 1, 2))
    found.reshape(-1, 36)[:, 21::7] = 1.0 / np.sqrt(system.mass)[:, None]
    return found


def bases(system: System, motion: GroundMotion) -> tuple[FloatArray, FloatArray]:
    """Return Q, orthonormal where inertias are one, and W^-1 Q, both (n_bodies, 6, 6)."""
    inverse, twists = inverse_roots(system), motion.basis()
    basis = np.zeros_like(twists)
    freedoms = motion.freedoms
    for d in range(1, 7):
        same = freedoms == d
        if d == 6:
            basis[same] = np.eye(6)
        elif same.any():
            basis[same, :, :d] = np.linalg.qr(
                np.linalg.solve(inverse[same], twists[same][:, :, :d])
            )[0]
    return basis, inverse @ basis


@njit(cache=True)
def reduce_rows(
    row_joint: IntArray,
    ends: IntArray,
    rows: FloatArray,
    to_freedoms: FloatArray,
    inverse: FloatArray,
    reduced: FloatArray,
) -> FloatArray:
    """Fill the rows on the freedoms; return (n_rows,) their sizes with all freedoms."""
    size = np.zeros(len(row_joint))
    for k in range(len(row_joint)):
        for side in range(2):
            body = ends[row_joint[k], side]
            if body < 0:
                continue
            for c in range(6):
                total, whole = 0.0, 0.0
                for a in range(6):
                    total += rows[k, side, a] * to_freedoms[body, a, c]
                    whole += rows[k, side, a] * inverse[body, a, c]
                reduced[k, side, c] = total
                size[k] += whole * whole
        size[k] = np.sqrt(size[k])
        for side in range(2):
            square = 0.0
            for c in range(6):
                square += reduced[k, side, c] ** 2
            if square <= (NOTHING * size[k]) ** 2:
                reduced[k, side] = 0.0
    return size


@njit(cache=True)
def locally_independent(
    first_row: IntArray,
    is_within: BoolArray,
    rows: FloatArray,
    size: FloatArray,
    is_drive: BoolArray,
) -> tuple[BoolArray, IntArray]:
    """Return (n_rows,) a choice of rows for each joint, and (n_joints,) how many others it has.

    By a pivoted orthogonalization of the joint's rows on the freedoms of both its bodies.
    """
    keep = np.ones(len(size), dtype=np.bool_)
    n_dropped = np.zeros(len(is_within), dtype=np.intp)
    for j in range(len(is_within)):
        if not is_within[j]:
            continue
        n = 0
        work = np.zeros((first_row[j + 1] - first_row[j], 12))
        for k in range(first_row[j], first_row[j + 1]):
            if not is_drive[k]:
                for side in range(2):
                    for c in range(6):
                        work[n, 6 * side + c] = rows[k, side, c] / max(size[k], 1e-300)
                keep[k] = False
                n += 1
        for _ in range(n):
            best, largest = -1, NOTHING * NOTHING
            for i in range(n):
                square = np.sum(work[i] ** 2)
                if square > largest:
                    best, largest = i, square
            if best < 0:
                break
            keep[first_row[j] + best] = True
            unit = work[best] / np.sqrt(largest)
            for i in range(n):
                work[i] -= np.sum(work[i] * unit) * unit
            work[best] = 0.0
        for k in range(first_row[j], first_row[j + 1]):
            n_dropped[j] += not keep[k]
    return keep, n_dropped
