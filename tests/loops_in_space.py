"""Loops of hinges in space that move although counting says that they cannot."""

import numpy as np
from random_mechanisms import random_rotation

import sparsebody as sb

BRICARD = (  # corners and axes: the edges of a cube
    np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float),
    np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float),
)


def bennett(a=1.0, b=1.4, alpha=0.6, theta=1.1):
    """Points and axes of four skew hinges with mobility 1, so three rows are dependent.

    Bennett (1903): sin(alpha) / a = sin(beta) / b, opposite links alike.
    """
    beta = np.pi - np.arcsin(b * np.sin(alpha) / a)
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    phi = 2 * np.arctan(ratio / np.tan(theta / 2))
    R, x = np.eye(3), np.zeros(3)
    points, axes = [], []
    for angle, length, twist in zip(
        (theta, phi, -theta, -phi), (a, b, a, b), (alpha, beta, alpha, beta), strict=True
    ):
        points.append(x)
        axes.append(R[:, 2])
        R = R @ _about(2, angle)
        x = x + length * R[:, 0]
        R = R @ _about(0, twist)
    assert np.abs(x).max() < 1e-12
    return np.array(points), np.array(axes)


def sarrus(angle=0.7):
    """Points and axes of two folds of three parallel hinges: mobility 1, one row is dependent."""
    c, s = np.cos(angle), np.sin(angle)
    fold = np.array([[0, 0, 0], [c, 0, s], [0, 0, 2 * s]])
    other = np.array([[-1, 0, 2 * s], [-1, c, s], [-1, 0, 0]])
    axes = np.array([[0, 1, 0]] * 3 + [[1, 0, 0]] * 3, dtype=float)
    return np.vstack([fold, other]), axes


def _about(axis, angle):
    b, c = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[b, b] = R[c, c] = np.cos(angle)
    R[c, b], R[b, c] = np.sin(angle), -np.sin(angle)
    return R


def loops(kind, n_units, ring, seed=0):
    """Loops that share a body with the next one, turned at random; as a ring, with the first too.

    In a ring all loops are one biconnected component, and if there are at least seven the ring adds
    no dependence of its own.
    """
    points, axes = kind
    rng = np.random.default_rng(seed)
    n = len(points)
    half = n // 2
    mechanism = sb.Mechanism("loops")
    turns = [random_rotation(rng) for _ in range(n_units)]
    radius = 1.5 * n_units
    around = 2 * np.pi * np.arange(n_units) / n_units
    place = np.column_stack([np.cos(around), np.sin(around), 0 * around]) * radius
    bodies = [[f"body {u} {i}" for i in range(n)] for u in range(n_units)]
    for u in range(n_units):
        following = (u + 1) % n_units if ring else u + 1
        if following < n_units:
            bodies[u][half] = bodies[following][0]
    for u in range(n_units):
        for i in range(n):
            if (i, u) != (half, u) or bodies[u][half] == f"body {u} {half}":
                where = place[u] + turns[u] @ (points[i] + points[i - 1]) / 2
                mass = float(rng.uniform(0.5, 2.0))
                inertia = 0.2 * mass * np.eye(3)
                mechanism.add_body(bodies[u][i], mass=mass, inertia=inertia, position=where)
    for u in range(n_units):
        for i in range(n):
            mechanism.add_joint(
                f"hinge {u} {i}",
                sb.Revolute(),
                bodies[u][i],
                bodies[u][(i + 1) % n],
                point=place[u] + turns[u] @ points[i],
                axis=turns[u] @ axes[i],
            )
    mechanism.add_joint("base", sb.Fixed(), sb.WORLD, bodies[0][0], point=place[0])
    return mechanism
