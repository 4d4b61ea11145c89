"""What corrections with residuals of 31 digits know of a planar mechanism before it moves."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.planar import PlanarMotion
from sparsebody.model.system import System
from sparsebody.spatial.doubled import (
    EXACT,
    along,
    cross,
    dot,
    inverse_root,
    minus,
    vector_of,
)

# Columns of the table `motion`: high parts, then low parts.
X, Y, COSINE, SINE, TURN, U_X, U_Y = range(7)
NORMAL, FIRST, SECOND = 0, 6, 12  # axes of a frame: high parts of a vector, then low parts
PASS: dict[str, Any] = {"cache": True, "error_model": "numpy"}  # no fastmath


class Extended(NamedTuple):
    """What is known of n bodies, m joints and k rows before they move, and room for the rest."""

    frame: FloatArray  # (n + 1, 18) axes of bodies and of the world, see above
    arm: FloatArray  # (m, 4) from the successor to the joint's point, high and low parts
    force: FloatArray  # (k, 3) rows on the successor: moment about the point, force
    motion: FloatArray  # (n + 1, 14) see planar; high parts, then low parts
    rows: FloatArray  # (k, 2, 3, 2) high and low
    asked: FloatArray  # (k, 2)
    x: FloatArray  # (3 n, 2)


def extended_arrays(
    system: System, motion: PlanarMotion, bodies: IntArray, kept: dict[str, Any]
) -> Extended:
    """Return them for the fields of PlanarRows, bodies in elimination order."""
    n, k = system.n_bodies, len(kept["row"])
    first = kept["first_row"].astype(np.intp)
    basis = np.concatenate([motion.basis[bodies], motion.axes[None]])
    frame = np.zeros((n + 1, 18))
    _fill_frames(basis.reshape(n + 1, 9), frame)
    joint = np.asarray(system.row_joint[kept["row"]])
    of_joint = joint[first[:-1]]
    rotation, T = system.successor_rotation[joint], system.subspace[kept["row"]]
    successor = basis[np.repeat(kept["successor"], np.diff(first))]
    moment, push = (
        np.einsum("kab,kbc,kc->ka", successor, rotation, part) for part in (T[:, :3], T[:, 3:])
    )
    force = np.stack([moment[:, 0], push[:, 1], push[:, 2]], axis=1)
    arm = np.zeros((len(of_joint), 4))
    _fill_arms(
        frame, kept["successor"], np.ascontiguousarray(system.successor_point[of_joint]), arm
    )
    at_rest = np.zeros((n + 1, 14))
    at_rest[n, COSINE] = 1.0
    return Extended(
        frame,
        arm,
        force,
        at_rest,
        np.zeros((k, 2, 3, 2)),
        np.zeros((k, 2)),
        np.zeros((3 * n, 2)),
    )


@njit(**EXACT)
def axis_of(frame, which):
    """Return an axis of a frame (18,)."""
    return (
        (frame[which], frame[which + 3]),
        (frame[which + 1], frame[which + 4]),
        (frame[which + 2], frame[which + 5]),
    )


@njit(**EXACT)
def _storeaxis_of(frame, which, vector):
    for a in range(3):
        frame[which + a], frame[which + 3 + a] = vector[a]


@njit(**PASS)
def _fill_frames(basis: FloatArray, frame: FloatArray) -> None:
    """Make axes orthogonal and of length one to 31 digits."""
    for i in range(len(basis)):
        b = basis[i]
        normal, first = vector_of(b[0], b[1], b[2]), vector_of(b[3], b[4], b[5])
        normal = along(normal, inverse_root(dot(normal, normal)))
        slope = along(normal, dot(normal, first))
        first = minus(first[0], slope[0]), minus(first[1], slope[1]), minus(first[2], slope[2])
        first = along(first, inverse_root(dot(first, first)))
        _storeaxis_of(frame[i], NORMAL, normal)
        _storeaxis_of(frame[i], FIRST, first)
        _storeaxis_of(frame[i], SECOND, cross(normal, first))


@njit(**PASS)
def _fill_arms(frame: FloatArray, successor: Any, point: FloatArray, arm: FloatArray) -> None:
    for j in range(len(arm)):
        of = frame[np.intp(successor[j])]
        place = vector_of(point[j, 0], point[j, 1], point[j, 2])
        arm[j, 0], arm[j, 1] = dot(axis_of(of, FIRST), place)
        arm[j, 2], arm[j, 3] = dot(axis_of(of, SECOND), place)
