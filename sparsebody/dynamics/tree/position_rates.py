"""Rates of the joints' positions and their velocities: dq/dt = Q(q) qd, and back.

Balls and free joints have quaternions as positions and angular velocities as velocities, so that qd
is not dq/dt. Featherstone (2008), eqs. (3.6) and (3.7), sec. 4.6.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.coordinates import checked_coordinates
from sparsebody.dynamics.tree.joint_kinds import (
    CONSTANT_DISTANCE,
    FIXED,
    FREE,
    POINT_ON_LINE,
    POINT_ON_PLANE,
    SPHERICAL,
    UNIVERSAL,
    joint_drift,
    joint_pose,
    joint_rate,
    joint_subspace,
)
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.dynamics.tree.tables import TreeTables


def position_rates(tree: SpanningTree, q: FloatArray, qd: FloatArray) -> FloatArray:
    """Return dq/dt (n_positions,) = Q(q) qd; quaternions keep their length."""
    q = checked_coordinates(tree, q, "q", tree.n_positions)
    qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
    rate = np.empty(tree.n_positions)
    _position_rates(tree.tables, q, qd, rate)
    return rate


def velocities_of_rates(
    tree: SpanningTree, q: FloatArray, rate: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return qd and qdd (n_velocities,) of joint positions with given time derivatives.

    Parameters
    ----------
    tree : SpanningTree
        The spanning tree.
    q, rate, second : (n_positions,) float arrays
        Positions, dq/dt and d^2 q/dt^2; quaternions may have any length, and change it.
    """
    qd, qdd = np.empty(tree.n_velocities), np.empty(tree.n_velocities)
    _velocities_of_rates(tree.tables, q, rate, second, qd, qdd)
    return qd, qdd


@njit(cache=True)
def _has_quaternion(kind: int) -> bool:
    return kind >= SPHERICAL and kind not in (UNIVERSAL, FIXED)


@njit(cache=True)
def _position_rates(tables: TreeTables, q: FloatArray, qd: FloatArray, rate: FloatArray) -> None:
    E, r, S, v = np.empty((3, 3)), np.empty(3), np.empty((6, 6)), np.empty(6)
    for i in range(tables.kind.size):
        kind, first = tables.kind[i], tables.first_velocity[i]
        freedoms = tables.first_velocity[i + 1] - first
        own = q[tables.first_position[i] : tables.first_position[i + 1]]
        out = rate[tables.first_position[i] : tables.first_position[i + 1]]
        if not _has_quaternion(kind):
            out[:] = qd[first : first + freedoms]
            continue
        joint_pose(kind, own, tables.parameter[i], E, r)
        joint_subspace(kind, E, r, tables.parameter[i], S[:freedoms])
        v[:] = 0.0
        for k in range(freedoms):
            for a in range(6):
                v[a] += S[k, a] * qd[first + k]
        w, x, y, z = own[0], own[1], own[2], own[3]
        out[0] = -0.5 * (x * v[0] + y * v[1] + z * v[2])
        out[1] = 0.5 * (w * v[0] + y * v[2] - z * v[1])
        out[2] = 0.5 * (w * v[1] + z * v[0] - x * v[2])
        out[3] = 0.5 * (w * v[2] + x * v[1] - y * v[0])
        scale = 1.0
        if kind == CONSTANT_DISTANCE:  # positions along the rod may have any length
            length = math.sqrt(own[4] ** 2 + own[5] ** 2 + own[6] ** 2)
            scale = length / tables.parameter[i]
        for k in range(4, own.size):
            a = k - 4 if kind != POINT_ON_LINE else 2
            out[k] = scale * (E[0, a] * v[3] + E[1, a] * v[4] + E[2, a] * v[5])


@njit(cache=True)
def _velocities_of_rates(
    tables: TreeTables,
    q: FloatArray,
    rate: FloatArray,
    second: FloatArray,
    qd: FloatArray,
    qdd: FloatArray,
) -> None:
    """Qd = W' v_J and qdd = W' (dv_J/dt - (dS/dt) qd), seen from S."""
    E, r, c, v, a = np.empty((3, 3)), np.empty(3), np.empty(6), np.empty(6), np.empty(6)
    for i in range(tables.kind.size):
        kind = tables.kind[i]
        first, last = tables.first_velocity[i], tables.first_velocity[i + 1]
        here, end = tables.first_position[i], tables.first_position[i + 1]
        if not _has_quaternion(kind):
            qd[first:last] = rate[here:end]
            qdd[first:last] = second[here:end]
            continue
        joint_pose(kind, q[here:end], tables.parameter[i], E, r)
        _turning(q[here:end], rate[here:end], second[here:end], v, a)
        _moving(kind, E, tables.parameter[i], q[here:end], rate[here:end], second[here:end], v, a)
        joint_rate(kind, E, r, v, qd[first:last])
        joint_drift(kind, E, r, v, c)
        for k in range(6):
            a[k] -= c[k]
        joint_rate(kind, E, r, a, qdd[first:last])


@njit(cache=True)
def _turning(
    q: FloatArray, rate: FloatArray, second: FloatArray, v: FloatArray, a: FloatArray
) -> None:
    """Fill the angular velocity 2 vec(q* dq/dt) / q'q, in S axes, and its rate."""
    square = q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2
    growth = 2.0 * (q[0] * rate[0] + q[1] * rate[1] + q[2] * rate[2] + q[3] * rate[3]) / square
    for k in range(3):
        i, j = (k + 1) % 3 + 1, (k + 2) % 3 + 1
        v[k] = (
            2.0
            / square
            * (q[0] * rate[k + 1] - q[k + 1] * rate[0] - q[i] * rate[j] + q[j] * rate[i])
        )
        a[k] = (
            2.0
            / square
            * (q[0] * second[k + 1] - q[k + 1] * second[0] - q[i] * second[j] + q[j] * second[i])
        )
        a[k] -= growth * v[k]


@njit(cache=True)
def _moving(
    kind: int,
    E: FloatArray,
    length: float,
    q: FloatArray,
    rate: FloatArray,
    second: FloatArray,
    v: FloatArray,
    a: FloatArray,
) -> None:
    """Fill the linear velocity E dr/dt, in S axes, and its rate seen from S."""
    u, du = np.zeros(3), np.zeros(3)  # of the origin of S, in P axes
    if kind == CONSTANT_DISTANCE:
        p, dp, ddp = q[4:7], rate[4:7], second[4:7]
        s = math.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2)
        ds = (p[0] * dp[0] + p[1] * dp[1] + p[2] * dp[2]) / s
        dds = (dp[0] ** 2 + dp[1] ** 2 + dp[2] ** 2 - ds * ds) / s
        dds += (p[0] * ddp[0] + p[1] * ddp[1] + p[2] * ddp[2]) / s
        for k in range(3):  # of p / s
            along = p[k] / s
            turn = (dp[k] - along * ds) / s
            u[k] = length * turn
            du[k] = length * (ddp[k] - 2.0 * turn * ds - along * dds) / s
    elif kind == POINT_ON_LINE:
        u[2], du[2] = rate[4], second[4]
    elif kind in (POINT_ON_PLANE, FREE):
        for k in range(q.size - 4):
            u[k], du[k] = rate[4 + k], second[4 + k]
    for k in range(3):
        v[3 + k] = E[k, 0] * u[0] + E[k, 1] * u[1] + E[k, 2] * u[2]
        a[3 + k] = E[k, 0] * du[0] + E[k, 1] * du[1] + E[k, 2] * du[2]
    for k in range(3):  # dE/dt = -w x E
        i, j = (k + 1) % 3, (k + 2) % 3
        a[3 + k] -= v[i] * v[3 + j] - v[j] * v[3 + i]
