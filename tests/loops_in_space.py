"""Loops of hinges in space that move although counting says that they cannot."""

import numpy as np
from random_mechanisms import add_random_body, random_rotation

import sparsebody as sb
from sparsebody.spatial import rotation_about

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
        R = R @ rotation_about([0, 0, 1], angle)
        x = x + length * R[:, 0]
        R = R @ rotation_about([1, 0, 0], twist)
    assert np.abs(x).max() < 1e-12
    return np.array(points), np.array(axes)


def sarrus(angle=0.7):
    """Points and axes of two folds of three parallel hinges: mobility 1, one row is dependent."""
    c, s = np.cos(angle), np.sin(angle)
    fold = np.array([[0, 0, 0], [c, 0, s], [0, 0, 2 * s]])
    other = np.array([[-1, 0, 2 * s], [-1, c, s], [-1, 0, 0]])
    axes = np.array([[0, 1, 0]] * 3 + [[1, 0, 0]] * 3, dtype=float)
    return np.vstack([fold, other]), axes


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
    around = 2 * np.pi * np.arange(n_units) / n_units
    position = 1.5 * n_units * np.column_stack([np.cos(around), np.sin(around), 0 * around])
    bodies = [[f"body {u} {i}" for i in range(n)] for u in range(n_units)]
    for u in range(n_units if ring else n_units - 1):
        bodies[u][half] = bodies[(u + 1) % n_units][0]
    for u in range(n_units):
        for i in range(n):
            if bodies[u][i] == f"body {u} {i}":
                where = position[u] + turns[u] @ (points[i] + points[i - 1]) / 2
                add_random_body(mechanism, rng, bodies[u][i], (np.eye(3), where), arm=0.0)
    for u in range(n_units):
        for i in range(n):
            ends = bodies[u][i], bodies[u][(i + 1) % n]
            frame = {"point": position[u] + turns[u] @ points[i], "axis": turns[u] @ axes[i]}
            mechanism.add_joint(f"hinge {u} {i}", sb.Revolute(), *ends, **frame)
    mechanism.add_joint("base", sb.Fixed(), sb.WORLD, bodies[0][0], point=position[0])
    return mechanism
