"""The articulated-body algorithm in local products of exponentials and body twists.

The clear form in NumPy, one body at a time, for joints of one freedom; the oracle of the compiled
one, which shares no formula with it. Twists are angular first, in the frame of their body.
After the lecture notes on direct dynamics of kinematic trees, University of Pisa, 2022/23.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.tree.spanning_tree import SpanningTree


@dataclass(frozen=True, eq=False)
class ScrewTree:
    """A tree of joints with one freedom; the pose of body i in its parent is home exp(screw q)."""

    parent: IntArray  # (n,) -1 for the base; parents come before children
    home: FloatArray  # (n, 4, 4) g(0), from coordinates of the body to those of its parent
    screw: FloatArray  # (n, 6) X, in body coordinates
    inertia: FloatArray  # (n, 6, 6) M, in body coordinates


@dataclass(frozen=True, eq=False)
class ArticulatedBodies:
    """What the recursions leave, one row a body, in body coordinates."""

    qdd: FloatArray  # (n,)
    velocity: FloatArray  # (n, 6) V
    acceleration: FloatArray  # (n, 6) dV/dt
    inertia: FloatArray  # (n, 6, 6) articulated
    bias: FloatArray  # (n, 6) articulated


def articulated_bodies(
    tree: ScrewTree,
    q: FloatArray,
    qd: FloatArray,
    tau: FloatArray,
    wrench: FloatArray | None = None,
    base_acceleration: FloatArray | None = None,
) -> ArticulatedBodies:
    """Return the accelerations of a tree.

    Parameters
    ----------
    tree : ScrewTree
        The tree, of n bodies.
    q, qd, tau : (n,) float arrays
        Joint positions, velocities and forces.
    wrench : (n, 6) float array, optional
        External wrenches on the bodies, in their coordinates.
    base_acceleration : (6,) float array, optional
        dV/dt of the base; that of (0, -g) stands for gravity.
    """
    n, X = len(tree.parent), tree.screw
    w_ext = np.zeros((n, 6)) if wrench is None else wrench
    base = np.zeros(6) if base_acceleration is None else base_acceleration
    A = np.empty((n, 6, 6))  # Ad of the inverse of g: from the parent's coordinates to the body's
    V, from_parent, a = np.zeros((n, 6)), np.zeros((n, 6)), np.empty((n, 6, 6))
    for i, p in enumerate(tree.parent):
        A[i] = adjoint(np.linalg.inv(tree.home[i] @ expm(hat(X[i]) * q[i])))
        from_parent[i] = A[i] @ V[p] if p >= 0 else 0.0
        V[i] = from_parent[i] + X[i] * qd[i]
        a[i] = twist_cross(X[i] * qd[i])
    M = tree.inertia.copy()
    b = np.array([-twist_cross(V[i]).T @ M[i] @ V[i] for i in range(n)]).reshape(n, 6) - w_ext
    for i in reversed(range(n)):
        p = tree.parent[i]
        if p < 0:
            continue
        m = X[i] @ M[i] @ X[i]
        projector = np.eye(6) - np.outer(M[i] @ X[i], X[i]) / m
        structural = projector @ M[i]
        M[p] += A[i].T @ structural @ A[i]
        passed = projector @ b[i] - structural @ a[i] @ from_parent[i] + M[i] @ X[i] * (tau[i] / m)
        b[p] += A[i].T @ passed
    qdd, dV = np.empty(n), np.empty((n, 6))
    for i, p in enumerate(tree.parent):
        carried = A[i] @ (dV[p] if p >= 0 else base) - a[i] @ from_parent[i]
        qdd[i] = (tau[i] - X[i] @ (M[i] @ carried + b[i])) / (X[i] @ M[i] @ X[i])
        dV[i] = carried + X[i] * qdd[i]
    return ArticulatedBodies(qdd, V, dV, M, b)


def screw_tree(tree: SpanningTree) -> ScrewTree:
    """Return a spanning tree in these terms, with body coordinates as everywhere.

    Raises
    ------
    ModelError
        If a tree joint has not one freedom.
    """
    system, n = tree.system, tree.n_bodies
    home, screw = np.empty((n, 4, 4)), np.empty((n, 6))
    for i in range(n):
        if tree.freedoms[i] != 1:
            raise ModelError(f"{tree.velocity_name(int(tree.first_velocity[i]))} is not a screw's")
        j = int(tree.joint[i])
        P = pose(system.predecessor_rotation[j], system.predecessor_point[j])
        S = pose(system.successor_rotation[j], system.successor_point[j])
        near, far = (P, S) if tree.direction[i] > 0 else (S, P)
        home[i] = near @ np.linalg.inv(far)
        axis = np.zeros(6)
        own = system.joint_types[j].motion_subspace(np.zeros(1))[:, 0]
        axis[[2, 5]] = tree.direction[i] * own[[2, 5]]
        screw[i] = adjoint(far) @ axis
    inertia = system.spatial_inertia[tree.body]
    return ScrewTree(tree.parent, home, screw, inertia)


def pose(rotation: FloatArray, point: FloatArray) -> FloatArray:
    """Return g (4, 4)."""
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = rotation, point
    return g


def adjoint(g: FloatArray) -> FloatArray:
    """Return Ad_g (6, 6), which takes twists (angular, linear) along g."""
    R, p = g[:3, :3], g[:3, 3]
    Ad = np.zeros((6, 6))
    Ad[:3, :3] = Ad[3:, 3:] = R
    Ad[3:, :3] = _skew(p) @ R
    return Ad


def twist_cross(V: FloatArray) -> FloatArray:
    """Return ad_V (6, 6); ad_V* = -ad_V' takes wrenches."""
    ad = np.zeros((6, 6))
    ad[:3, :3] = ad[3:, 3:] = _skew(V[:3])
    ad[3:, :3] = _skew(V[3:])
    return ad


def hat(V: FloatArray) -> FloatArray:
    """Return the (4, 4) matrix of a twist."""
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = _skew(V[:3]), V[3:]
    return matrix


def _skew(a: FloatArray) -> FloatArray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
