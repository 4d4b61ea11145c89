"""Random mechanisms with dependent constraints planted in them, and how many there must be.

Every family grows on a random tree, whose constraints are independent whatever its joints, so that
the number is known from the construction; half of the mechanisms are regular.
"""

from dataclasses import dataclass, replace

import numpy as np
import random_mechanisms
from overconstrained import add_twin

import sparsebody as sb
from sparsebody.spatial import rotation_about

RANDOM_LOOP = "random loop"


@dataclass(frozen=True)
class Planted:
    """A mechanism, and how many of its rows depend on others; None where only numbers tell."""

    system: sb.System
    n_dependent: int | None
    family: str


@dataclass
class Garden:
    """A mechanism under construction, which things are planted in."""

    rng: np.random.Generator
    mechanism: sb.Mechanism
    n_dependent: int = 0
    n_plants: int = 0

    def site(self):
        """A body at random or the world, and random axes (columns) and a point near it."""
        host = str(self.rng.choice([sb.WORLD, *self.mechanism.bodies]))
        return host, *self.axes(host)

    def axes(self, host):
        x = random_mechanisms.pose(self.mechanism, host)[1]
        return random_mechanisms.random_rotation(self.rng), x + self.rng.normal(size=3)

    def name(self):
        self.n_plants += 1
        return f"plant {self.n_plants}"

    def body(self, name, position, size):
        random_mechanisms.add_moving_body(self.mechanism, self.rng, name, position, size)
        return name

    def join(self, kind, first, second, point, axis):
        name = f"{first} - {second} {len(self.mechanism.joints)}"
        self.mechanism.add_joint(name, kind, first, second, point=point, axis=axis)

    def loop(self, host, corners, axes, size):
        return random_mechanisms.add_loop(
            self.mechanism, self.rng, self.name(), host, corners, axes, size
        )

    def guest(self, size, kind, points, n_dependent):
        """A body on joints at points (n, 3) along the same axis; n of them: at random."""
        at_random = isinstance(points, int)
        points = self.rng.normal(size=(points, 3)) if at_random else np.array(points)
        host, R, x = self.site()
        body = self.body(self.name(), x, size)
        for point in points:
            self.join(kind, host, body, x + size * R @ point, R[:, 2])
        return n_dependent


class Plants(Garden):
    """Each adds to the mechanism and returns how many rows it makes dependent."""

    def twin(self, size):
        """A joint declared twice."""
        name = str(self.rng.choice(list(self.mechanism.joints)))
        add_twin(self.mechanism, name, self.name())
        return self.mechanism.joints[name].type.n_constraints

    def planar_loop(self, size, host=None):
        """Four to six bars hinged in a plane."""
        host, R, x = self.site() if host is None else (host, *self.axes(host))
        n = int(self.rng.integers(3, 6))
        angle = np.linspace(0.0, 1.6 * np.pi, n + 1) + self.rng.uniform(-0.25, 0.25, n + 1)
        corner = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
        corner *= self.rng.uniform(0.6, 1.4, (n + 1, 1))
        self.loop(host, x + size * corner @ R.T, np.tile(R[:, 2], (n + 1, 1)), size)
        return 3

    def nested_loops(self, size):
        """A planar loop on a bar of another one, whose joint is declared twice."""
        first = self.planar_loop(size)
        bar = list(self.mechanism.bodies)[-1]
        return first + self.planar_loop(size / 3, bar) + self.twin(size)

    def spherical_loop(self, size):
        """Five hinges whose axes meet in a point."""
        host, R, x = self.site()
        angle = np.linspace(0.0, 1.6 * np.pi, 5) + self.rng.uniform(-0.2, 0.2, 5)
        axis = np.stack([np.cos(angle), np.sin(angle), self.rng.uniform(0.4, 1.0, 5)], axis=1)
        axis = axis @ R.T
        self.loop(host, x + size * axis, axis, size)
        return 3

    def translational_loop(self, size):
        """Slides in four directions between bodies that never turn."""
        host, R, x = self.site()
        bodies = [self.body(self.name(), x + size * R[:, k], size) for k in range(3)]
        names = [host, *bodies, host]
        for i, axis in enumerate([*R.T, R @ np.array([0.5, -0.6, 0.7])]):
            point = x + size * self.rng.normal(size=3)
            self.join(sb.Prismatic(), *names[i : i + 2], point, axis)
        return 3

    def parallel_cranks(self, size):
        """A coupler on three or four equal and parallel cranks: more than its symmetry needs."""
        (host, R, x), n = self.site(), int(self.rng.integers(3, 5))
        plant, turn = self.name(), self.rng.uniform(0.5, 2.5)
        crank = size * R @ np.array([np.cos(turn), np.sin(turn), 0.0])
        coupler = self.body(f"{plant} coupler", x + crank, size)
        for i in range(n):
            foot = x + size * R @ np.array([1.3 * i, 0.4 * i * (-1) ** i, 0.0])
            bar = self.body(f"{plant} crank {i}", foot + crank / 2, size)
            self.join(sb.Revolute(), host, bar, foot, R[:, 2])
            self.join(sb.Revolute(), bar, coupler, foot + crank, R[:, 2])
        return 4 * n - 5

    def sarrus(self, size):
        """A platform on two or three folding legs, each of which keeps it level in one way."""
        (host, R, x), n = self.site(), int(self.rng.integers(2, 4))
        plant = self.name()
        platform = self.body(f"{plant} platform", x + size * R[:, 2], size)
        for i in range(n):
            out = R @ rotation_about(np.array([0.0, 0.0, 1.0]), 1.9 * i + 0.3)[:, 0]
            foot = x + size * out
            knee = foot + size * (self.rng.uniform(0.4, 0.9) * out + 0.45 * R[:, 2])
            corners = np.array([foot, knee, x + size * (0.8 * out + R[:, 2])])
            shins = [
                self.body(f"{plant} bar {i} {k}", corners[k : k + 2].mean(axis=0), size)
                for k in (0, 1)
            ]
            names = [host, *shins, platform]
            for k, point in enumerate(corners):
                self.join(sb.Revolute(), *names[k : k + 2], point, np.cross(R[:, 2], out))
        return 3 * n - 5

    def bricard(self, size):
        """Six hinges along edges of a cube, each across the next: one row too many in space."""
        host, R, x = self.site()
        corner = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1.0]])
        edge = np.roll(corner, -1, axis=0) - corner
        axis = np.cross(np.roll(edge, 1, axis=0), edge)
        self.loop(host, x + size * corner @ R.T, axis @ R.T, size)
        return 1


GUESTS = {  # a body welded twice, on two slides, a door on three hinges, a body on four spheres
    "double_weld": (sb.Fixed(), 2, 6),
    "double_slide": (sb.Prismatic(), 2, 5),
    "coaxial_hinges": (sb.Revolute(), [[0, 0, 0], [0, 0, 1], [0, 0, 2.5]], 10),
    "four_spheres": (sb.Spherical(), 4, 6),
}
PLANTS = {"twin": Plants.twin}
PLANTS |= {name: lambda garden, size, of=of: garden.guest(size, *of) for name, of in GUESTS.items()}
PLANTS |= {name: plant for name, plant in vars(Plants).items() if not name.startswith("_")}


# ---- mechanisms --------------------------------------------------------------------------------


def planted(seed):
    """One mechanism: three in eight with one plant, one with two, the others with none.

    Masses, sizes and places differ by seed: masses of neighbours by up to 1e6, a plant from a
    hundredth to ten times the size of its tree, everything together from millimetres to 100 m.
    """
    rng = np.random.default_rng((seed, 99))
    names = plants(seed)
    if names == (RANDOM_LOOP,):
        loops = random_mechanisms.random_loops(
            rng, int(rng.integers(3, 7)), 1, loop_names=random_mechanisms.TREE_TYPES, moving=True
        )
        return Planted(_rescaled(loops.compile(), rng), None, RANDOM_LOOP)
    garden = Plants(rng, random_mechanisms.random_tree(rng, int(rng.integers(1, 5)), moving=True))
    for name in names:
        size = float(10.0 ** rng.uniform(-2.0, 1.0)) if rng.random() < 0.5 else 1.0
        garden.n_dependent += PLANTS[name](garden, size)
    system = _rescaled(garden.mechanism.compile(), rng)
    return Planted(system, garden.n_dependent, " and ".join(names) or "regular")


def plants(seed):
    """What is planted in the mechanism with that seed."""
    kind, names = seed % 8, list(PLANTS)
    if kind == 7:
        return (RANDOM_LOOP,)
    count = 0 if kind < 3 else 2 if kind == 6 else 1
    return tuple(names[(seed // 8 + 5 * k + kind) % len(names)] for k in range(count))


def _rescaled(system, rng):
    """Return a system with other masses, of another size and somewhere else."""
    n, length = system.n_bodies, 10.0 ** rng.uniform(-3.0, 2.0)
    decades = 3.0 if rng.random() < 0.5 else 0.5
    factor = 10.0 ** rng.uniform(-decades, decades, n)
    shift = length * 10.0 ** rng.uniform(-1.0, 2.0) * 0.5 * rng.normal(size=3)
    state = system.initial_state
    near, far = (
        length * point + np.where(body[:, None] < 0, shift, 0.0)
        for body, point in (
            (system.predecessor, system.predecessor_point),
            (system.successor, system.successor_point),
        )
    )
    return replace(
        system,
        mass=system.mass * factor,
        inertia=system.inertia * (factor * length**2)[:, None, None],
        gravity=length * system.gravity,
        predecessor_point=near,
        successor_point=far,
        parameter=length * system.parameter,
        initial_state=state.with_(
            position=length * state.position + shift,
            velocity=state.velocity * np.array([1.0, 1.0, 1.0, length, length, length]),
        ),
    )
