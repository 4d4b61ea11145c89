"""Planar linkages of hinges at given points, with the exact rank of their constraints."""

from dataclasses import dataclass

import numpy as np
from exact_rank import rank_modulo_prime
from scipy.sparse import csr_array

import sparsebody as sb
from sparsebody.assembly.constraint import constraint_rows, kkt_structure
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion

GRID = 2.0**-16  # of the points, so that their ratios are integers [m]
DOWN_Y = (0.0, -9.81, 0.0)


@dataclass(frozen=True, eq=False)
class Linkage:
    """Bodies joined by hinges about z, where -1 is the world."""

    ends: np.ndarray  # (n_joints, 2) predecessor and successor
    points: np.ndarray  # (n_joints, 2) [m]

    @property
    def n_bodies(self):
        return int(self.ends.max()) + 1

    @property
    def n_loops(self):
        """Independent loops; every body hangs on the world in some way."""
        return len(self.ends) - self.n_bodies

    def mechanism(self, masses=1.0):
        """Bodies as wide as their hinges lie apart, all in the plane z = 0."""
        mechanism = sb.Mechanism("linkage", DOWN_Y)
        middle, square = self.spread()
        mass = np.broadcast_to(masses, self.n_bodies)
        moment = mass * np.maximum(square, 1e-3 * square.mean())
        position = np.column_stack([middle, np.zeros(self.n_bodies)])
        body = mechanism.add_bodies(
            "body-{}", mass=mass, inertia=moment[:, None] * [0.6, 0.6, 1.0], position=position
        )
        body = np.append(body, -1)
        mechanism.add_joints(
            "hinge-{}",
            sb.Revolute(),
            body[self.ends[:, 0]],
            body[self.ends[:, 1]],
            point=np.column_stack([self.points, np.zeros(len(self.points))]),
            axis=(0.0, 0.0, 1.0),
        )
        return mechanism

    def spread(self):
        """Middle of each body's hinges, and their mean square distance from there."""
        body, point = self.ends.ravel(), np.repeat(self.points, 2, axis=0)
        body, point = body[body >= 0], point[body >= 0]
        count = np.bincount(body)
        middle = np.column_stack([np.bincount(body, point[:, a]) for a in (0, 1)]) / count[:, None]
        square = np.bincount(body, ((point - middle[body]) ** 2).sum(axis=1)) / count
        square[count == 1] = square[count > 1].mean() if np.any(count > 1) else 1.0
        return middle, square

    @property
    def planar_rank(self):
        """Rank within the plane, about the world's origin and modulo a prime."""
        x, y = np.round(self.points / GRID).T
        row = 2 * np.arange(len(x))
        entries = []
        for side, sign in ((0, -1.0), (1, 1.0)):
            body = self.ends[:, side]
            moving = body >= 0
            for r, c, value in ((0, 0, -y), (0, 1, 1.0 + 0 * x), (1, 0, x), (1, 2, 1.0 + 0 * x)):
                entries.append((row[moving] + r, 3 * body[moving] + c, sign * value[moving]))
        r, c, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        return rank_modulo_prime(csr_array((value, (r, c)), shape=(2 * len(x), 3 * self.n_bodies)))

    @property
    def dependent_in_plane(self):
        """Rows within the plane, two for each hinge, that depend on others."""
        return 2 * len(self.ends) - self.planar_rank

    @property
    def dependent(self):
        """Rows in space: three more for each loop, as a tree already holds bodies in the plane."""
        return 3 * self.n_loops + self.dependent_in_plane


class Builder:
    """Joins bodies one by one."""

    def __init__(self):
        self.ends, self.points, self.n = [], [], 0

    def bodies(self, count):
        """New ones, by number."""
        self.n += count
        return list(range(self.n - count, self.n))

    def hinge(self, a, b, point):
        self.ends.append((a, b))
        self.points.append(point)

    def linkage(self, jitter=0.0, seed=0, scale=1.0):
        """All hinges move at random by up to `jitter`, and lie on the grid."""
        points = np.array(self.points, dtype=float)
        points += np.random.default_rng(seed).uniform(-jitter, jitter, points.shape)
        points = np.round(scale * points / GRID) * GRID
        return Linkage(np.array(self.ends, dtype=np.intp), points)

    def sheet(self, k, columns, origin=(0.0, 0.0)):
        """Rotating squares of 5/4 m turned by 3-4-5 triangles; return their numbers."""
        square = np.array(self.bodies(k * columns)).reshape(k, columns)
        c, s = 4.0, 3.0
        spacing = c + s
        corner = {"right": ((1, -1), (1, 1)), "top": ((1, 1), (-1, 1))}
        for r in range(k):
            for q in range(columns):
                parity = (r + q) % 2
                middle = np.array([(q + 0.5) * spacing, (r + 0.5) * spacing])
                sign = s if parity == 0 else -s
                turn = np.array([[c, -sign], [sign, c]]) / 2
                if q + 1 < columns:
                    point = middle + turn @ corner["right"][parity]
                    self.hinge(square[r, q], square[r, q + 1], origin + point / 4)
                if r + 1 < k:
                    point = middle + turn @ corner["top"][parity]
                    self.hinge(square[r, q], square[r + 1, q], origin + point / 4)
        return square

    def scissor(self, first, second, pairs, origin=(0.0, 0.0), step=(0.6, 0.0), across=(0.0, 0.8)):
        """Crossed bars from bodies `first` (below) and `second` (above); return the last pair."""
        origin, step, across = map(np.asarray, (origin, step, across))
        for k in range(pairs):
            a, b = self.bodies(2)
            at = origin + k * step
            self.hinge(first, a, at)
            self.hinge(second, b, at + across)
            self.hinge(a, b, at + step / 2 + across / 2)
            first, second = b, a
        return first, second

    def ladder(self, first, second, rungs, origin=(0.0, 0.0), step=(1.0, 0.0), across=(0.0, 1.0)):
        """Two rails of bars with a crossbar at each joint: parallelograms; return the last bars."""
        origin, step, across = map(np.asarray, (origin, step, across))
        for k in range(rungs):
            a, b, rung = self.bodies(3)
            at = origin + k * step
            self.hinge(first, a, at)
            self.hinge(second, b, at + across)
            self.hinge(a, rung, at + step / 2)
            self.hinge(b, rung, at + step / 2 + across)
            first, second = a, b
        return first, second


def matrix_at_start(system):
    """All rows of a system at its initial state, with six freedoms a body."""
    state = system.initial_state
    motion = joint_motion(system, state)
    rows = constraint_rows(system, state, motion, coordinate_motion(system, state, motion))
    return kkt_structure(system).matrix(rows)


def scissor(pairs):
    """The matrix of a scissor lift."""
    return matrix_at_start(sb.build("scissor", pairs=pairs).compile())


def in_motion(system, seed=0):
    """A consistent state at random velocities."""
    state = system.initial_state
    velocity = np.random.default_rng(seed).normal(size=state.velocity.shape)
    return sb.consistent_state(system, state.with_(velocity=velocity))


def small_sizes(name):
    """Parameters that make a mechanism of the gallery small, whatever its sizes are called."""
    sizes = {"bodies": 4, "layers": 1}
    return {key: sizes.get(key, 3) for key in sb.model.gallery.GALLERY[name].size_parameters}


def one_body(kind=None, gravity=(0.0, 0.0, -9.81), joint=None, **body):
    """The body "body", and the joint "joint" of that kind, if any, from the world to it."""
    mechanism = sb.Mechanism("one body", gravity)
    mechanism.add_body("body", **{"mass": 1.0, "inertia": [1.0, 1.0, 1.0]} | body)
    if kind is not None:
        mechanism.add_joint("joint", kind, sb.WORLD, "body", **(joint or {}))
    return mechanism


def at_start(mechanism):
    """The compiled mechanism, and its consistent state at the start."""
    system = mechanism.compile()
    return system, sb.consistent_state(system)
