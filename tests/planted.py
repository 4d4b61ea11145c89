"""Random mechanisms with dependent constraints planted in them, and how many there must be.

Every family grows on a random tree, whose constraints are independent whatever its joints, so that
the number is known from the construction; half of the mechanisms are regular.
"""

from dataclasses import dataclass, replace

import numpy as np
from overconstrained import add_twin
from random_mechanisms import (
    TREE_TYPES,
    random_frame,
    random_inertia,
    random_loops,
    random_rotation,
    random_tree,
)

import sparsebody as sb
from sparsebody.spatial import quaternion_from_rotation, rotation_about

RANDOM_LOOP = "random loop"
Points = np.ndarray  # (n, 3)


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

    def host(self):
        """A body at random, or the world."""
        return str(self.rng.choice([sb.WORLD, *self.mechanism.bodies]))

    def axes(self, host):
        """Random axes (columns) and a random point near a body, in the world."""
        place = np.zeros(3) if host == sb.WORLD else np.asarray(self.mechanism.body(host).position)
        return random_rotation(self.rng), place + self.rng.normal(size=3)

    def name(self):
        self.n_plants += 1
        return f"plant {self.n_plants}"

    def body(self, name, place, size):
        """Add a body of about that size, its center of mass not quite at `place`."""
        mass = float(self.rng.uniform(0.5, 2.0)) * size**3
        self.mechanism.add_body(
            name,
            mass=mass,
            inertia=size**2 * random_inertia(self.rng, mass),
            position=place,
            orientation=quaternion_from_rotation(random_rotation(self.rng)),
            center_of_mass=0.2 * size * self.rng.normal(size=3),
            linear_velocity=size * self.rng.normal(size=3),
            angular_velocity=self.rng.normal(size=3),
        )
        return name

    def join(self, kind, first, second, point, axis):
        name = f"{first} - {second} {len(self.mechanism.joints)}"
        self.mechanism.add_joint(name, kind, first, second, point=point, axis=axis)

    def loop(self, host, corners, axes, size):
        """Hinge bars from corner to corner, the first and the last one to the host."""
        plant, joints = self.name(), len(corners)
        bars = [
            self.body(f"{plant} bar {i}", (corners[i] + corners[i + 1]) / 2, size)
            for i in range(joints - 1)
        ]
        names = [host, *bars, host]
        for i in range(joints):
            self.join(sb.Revolute(), names[i], names[i + 1], corners[i], axes[i])
        return bars


# ---- plants: each adds to the mechanism and returns how many rows it makes dependent -----------


def twin(garden, size):
    """A joint declared twice."""
    name = str(garden.rng.choice(list(garden.mechanism.joints)))
    add_twin(garden.mechanism, name, garden.name())
    return garden.mechanism.joints[name].type.n_constraints


def double_weld(garden, size):
    """A body welded to another at two places."""
    host = garden.host()
    _, x = garden.axes(host)
    body = garden.body(garden.name(), x, size)
    for k in range(2):
        point = x + size * garden.rng.normal(size=3)
        garden.join(sb.Fixed(), host, body, point, random_rotation(garden.rng)[:, k])
    return 6


def double_slide(garden, size):
    """A body on two parallel slides."""
    host = garden.host()
    R, x = garden.axes(host)
    body = garden.body(garden.name(), x, size)
    for _ in range(2):
        garden.join(sb.Prismatic(), host, body, x + size * garden.rng.normal(size=3), R[:, 0])
    return 5


def coaxial_hinges(garden, size):
    """A door on three hinges."""
    host = garden.host()
    R, x = garden.axes(host)
    body = garden.body(garden.name(), x, size)
    for height in (0.0, 1.0, 2.5):
        garden.join(sb.Revolute(), host, body, x + size * height * R[:, 2], R[:, 2])
    return 10


def planar_loop(garden, size):
    """Four to six bars hinged in a plane."""
    return _planar_loop(garden, garden.host(), size)


def _planar_loop(garden, host, size):
    R, x = garden.axes(host)
    n = int(garden.rng.integers(3, 6))
    angle = np.linspace(0.0, 1.6 * np.pi, n + 1) + garden.rng.uniform(-0.25, 0.25, n + 1)
    corner = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    corner *= garden.rng.uniform(0.6, 1.4, (n + 1, 1))
    garden.loop(host, x + size * corner @ R.T, np.tile(R[:, 2], (n + 1, 1)), size)
    return 3


def nested_loops(garden, size):
    """A planar loop on a bar of another one, whose joint is declared twice."""
    first = _planar_loop(garden, garden.host(), size)
    bar = list(garden.mechanism.bodies)[-1]
    return first + _planar_loop(garden, bar, size / 3) + twin(garden, size)


def spherical_loop(garden, size):
    """Five hinges whose axes meet in a point."""
    host = garden.host()
    R, x = garden.axes(host)
    angle = np.linspace(0.0, 1.6 * np.pi, 5) + garden.rng.uniform(-0.2, 0.2, 5)
    axis = np.stack([np.cos(angle), np.sin(angle), garden.rng.uniform(0.4, 1.0, 5)], axis=1)
    axis = axis @ R.T
    garden.loop(host, x + size * axis, axis, size)
    return 3


def translational_loop(garden, size):
    """Slides in four directions between bodies that never turn."""
    host = garden.host()
    R, x = garden.axes(host)
    bodies = [garden.body(garden.name(), x + size * R[:, k], size) for k in range(3)]
    names = [host, *bodies, host]
    axes = [*R.T, R @ np.array([0.5, -0.6, 0.7])]
    for i, axis in enumerate(axes):
        garden.join(
            sb.Prismatic(), names[i], names[i + 1], x + size * garden.rng.normal(size=3), axis
        )
    return 3


def parallel_cranks(garden, size):
    """A coupler on three or four equal and parallel cranks: more than its symmetry needs."""
    host, n = garden.host(), int(garden.rng.integers(3, 5))
    R, x = garden.axes(host)
    plant, turn = garden.name(), garden.rng.uniform(0.5, 2.5)
    crank = size * R @ np.array([np.cos(turn), np.sin(turn), 0.0])
    coupler = garden.body(f"{plant} coupler", x + crank, size)
    for i in range(n):
        foot = x + size * R @ np.array([1.3 * i, 0.4 * i * (-1) ** i, 0.0])
        bar = garden.body(f"{plant} crank {i}", foot + crank / 2, size)
        garden.join(sb.Revolute(), host, bar, foot, R[:, 2])
        garden.join(sb.Revolute(), bar, coupler, foot + crank, R[:, 2])
    return 4 * n - 5


def sarrus(garden, size):
    """A platform on two or three folding legs, each of which keeps it level in one direction."""
    host, n = garden.host(), int(garden.rng.integers(2, 4))
    R, x = garden.axes(host)
    plant = garden.name()
    platform = garden.body(f"{plant} platform", x + size * R[:, 2], size)
    for i in range(n):
        out = R @ rotation_about(np.array([0.0, 0.0, 1.0]), 1.9 * i + 0.3)[:, 0]
        axis = np.cross(R[:, 2], out)
        foot = x + size * out
        knee = foot + size * (garden.rng.uniform(0.4, 0.9) * out + 0.45 * R[:, 2])
        top = x + size * (0.8 * out + R[:, 2])
        corners = np.array([foot, knee, top])
        shins = [
            garden.body(f"{plant} bar {i} {k}", corners[k : k + 2].mean(axis=0), size)
            for k in (0, 1)
        ]
        for point, ends in zip(
            corners, ((host, shins[0]), tuple(shins), (shins[1], platform)), strict=True
        ):
            garden.join(sb.Revolute(), ends[0], ends[1], point, axis)
    return 3 * n - 5


def bricard(garden, size):
    """Six hinges along edges of a cube, each across the next: one row too many, but not locally."""
    host = garden.host()
    R, x = garden.axes(host)
    corner = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1.0]])
    edge = np.roll(corner, -1, axis=0) - corner
    axis = np.cross(np.roll(edge, 1, axis=0), edge)
    garden.loop(host, x + size * corner @ R.T, axis @ R.T, size)
    return 1


def four_spheres(garden, size):
    """A body on four spheres, where two and a rod would do."""
    host = garden.host()
    R, x = garden.axes(host)
    body = garden.body(garden.name(), x, size)
    for _ in range(4):
        garden.join(sb.Spherical(), host, body, x + size * garden.rng.normal(size=3), R[:, 2])
    return 6


PLANTS = {
    function.__name__: function
    for function in (
        twin,
        double_weld,
        double_slide,
        coaxial_hinges,
        planar_loop,
        nested_loops,
        spherical_loop,
        translational_loop,
        parallel_cranks,
        sarrus,
        bricard,
        four_spheres,
    )
}


# ---- mechanisms --------------------------------------------------------------------------------


def planted(seed):
    """One mechanism: three in eight with one plant, one with two, the others with none.

    Masses, sizes and places differ by seed: masses of neighbours by up to 1e6, a plant from a
    hundredth to ten times the size of its tree, everything together from millimetres to 100 m.
    """
    rng = np.random.default_rng((seed, 99))
    names = plants(seed)
    if names == (RANDOM_LOOP,):
        loops = random_loops(rng, int(rng.integers(3, 7)), 1, loop_names=TREE_TYPES, moving=True)
        return Planted(_rescaled(loops.compile(), rng), None, RANDOM_LOOP)
    garden = Garden(rng, random_tree(rng, int(rng.integers(1, 5)), moving=True))
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
    shift = length * 10.0 ** rng.uniform(-1.0, 2.0) * random_frame(rng).origin
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
