"""Random mechanisms whose constraints depend on each other, for the tests."""

from functools import cache, partial

import numpy as np
from random_mechanisms import add_joint, add_loop, pose, random_loops, random_rotation, random_tree

import sparsebody as sb
from benchmarks.cases import scissor_with_pendulums
from sparsebody.tree import spanning_tree

TILTED = (1.0, -2.0, 3.0)  # gravity [m/s^2]
OVERCONSTRAINED = {
    "four-bar": lambda: sb.build("four-bar", speed=3.0, gravity=TILTED),
    "n-four-bar": lambda: sb.build("n-four-bar", loops=7, gravity=TILTED),
    "scissor": lambda: sb.build("scissor", pairs=5, drive=True),
    "free scissor": lambda: sb.build("scissor", pairs=10),
    "bricard": lambda: sb.build("bricard", gravity=TILTED),
    "hinged ring": lambda: sb.build("ring", bodies=7, joint="revolute", gravity=TILTED),
    "rotating-squares": lambda: sb.build("rotating-squares", rows=5, columns=5, gravity=TILTED),
    "andrews": lambda: sb.build("andrews"),
    "stewart": lambda: sb.build("stewart", drive=True),
    "governor": lambda: sb.build("governor"),
    "slider-crank": lambda: sb.build("slider-crank"),
}


def state_of(system):
    """A consistent state, at a time when drives are moving."""
    return sb.consistent_state(system, system.initial_state.with_(time=1.3))


def random_mechanism(seed):
    """A tree, or loops: at random, of hinges in a plane, or with joints declared twice."""
    rng = np.random.default_rng(seed)
    kind, n_bodies = seed % 5, int(rng.integers(3, 9))
    if kind == 0:
        return random_tree(rng, n_bodies, tuple(sb.JOINT_TYPES))
    if kind < 3:
        return random_loops(rng, n_bodies, int(rng.integers(1, 4)), moving=True)
    if kind == 3:
        mechanism = random_tree(rng, max(n_bodies - 3, 1))
        for k in range(int(rng.integers(1, 3))):
            add_linkage(mechanism, rng, f"linkage {k}", int(rng.integers(2, 5)))
        return mechanism
    mechanism = random_loops(rng, n_bodies, int(rng.integers(0, 3)), moving=True)
    for name in rng.choice(list(mechanism.joints), size=2, replace=False):
        add_twin(mechanism, str(name))
    return mechanism


@cache
def random_system(seed):
    """The random mechanism of that seed, compiled, which many tests ask for."""
    return random_mechanism(seed).compile()


def add_linkage(mechanism, rng, name, bars, base=""):
    """Hinge bars to a body, one after the other and back to it, about parallel axes."""
    base = base or str(rng.choice([sb.WORLD, *mechanism.bodies]))
    R, x = pose(mechanism, base)
    R = R @ random_rotation(rng)
    corners = np.zeros((bars + 1, 3))
    angle = np.linspace(0.0, 1.6 * np.pi, bars + 1) + rng.uniform(-0.3, 0.3, bars + 1)
    corners[:, 0], corners[:, 1] = np.cos(angle), np.sin(angle)
    corners = x + (corners * rng.uniform(0.5, 1.5, (bars + 1, 1)) + rng.normal(size=3)) @ R.T
    add_loop(mechanism, rng, name, base, corners, np.tile(R[:, 2], (bars + 1, 1)))


def add_twin(mechanism, name, twin=""):
    """Declare a joint once more, so that all its rows depend on the first ones."""
    joint = mechanism.joints[name]
    ends = joint.predecessor, joint.successor
    frames = joint.predecessor_frame, joint.successor_frame
    add_joint(mechanism, twin or f"twin of {name}", joint.type, ends, *frames)


def add_bar(mechanism, name, middle):
    points = [middle[0], 0.0, middle[1]]
    mechanism.add_body(name, mass=1.0, inertia=0.1 * np.eye(3), position=points)


def linkage(corners, bars):
    """Bars between corners in the plane."""
    mechanism = sb.Mechanism("linkage")
    for bar, (a, b) in bars.items():
        add_bar(mechanism, bar, (np.array(corners[a]) + corners[b]) / 2)
    return mechanism


def hinge(mechanism, name, first, second, point):
    mechanism.add_joint(
        name, sb.Revolute(), first, second, point=[point[0], 0.0, point[1]], axis=[0, 1, 0]
    )


def figure_8_2_a(crank, arms):
    """Two rhombi with a common crank; `arms` are the angles of the bars from C, (1, 0), outwards.

    The rhombus O, A, B, C has sides of length one; the other one, O, A, D, C, lies upon it.
    """
    O, C = np.zeros(2), np.array([1.0, 0.0])
    A = np.array([np.cos(crank), np.sin(crank)])
    mechanism = linkage({"O": O, "A": A}, {"crank": ("O", "A")})
    hinge(mechanism, "O", "world", "crank", O)
    for i, angle in enumerate(arms):
        B = C + np.array([np.cos(angle), np.sin(angle)])
        for bar, end in ((f"coupler {i}", A), (f"rocker {i}", C)):
            add_bar(mechanism, bar, (B + end) / 2)
        hinge(mechanism, f"A {i}", "crank", f"coupler {i}", A)
        hinge(mechanism, f"B {i}", f"coupler {i}", f"rocker {i}", B)
        hinge(mechanism, f"C {i}", "world", f"rocker {i}", C)
    system = mechanism.compile()
    return spanning_tree(system, "breadth-first"), system.initial_state


def n_four_bar_state(system, phi, rate=-1.2):
    """An N-four-bar whose verticals are at an angle from the ground, horizontals staying so."""
    top, sideways = np.array([[np.cos(phi), np.sin(phi), 0.0], [-np.sin(phi), np.cos(phi), 0.0]])
    kinds, numbers = np.array([name.split("-") for name in system.body_names]).T
    upright = (kinds == "vertical")[:, None]
    points = (numbers.astype(float)[:, None] - np.where(upright, 0.0, 0.5)) * [1.0, 0.0, 0.0]
    half = np.where(upright, phi / 2, 0.0)
    orientation = np.cos(half) * [1.0, 0.0, 0.0, 0.0] + np.sin(half) * [0.0, 0.0, 0.0, 1.0]
    swung = rate * np.array([0.0, 0.0, 1.0, 0.0, 0.5, 0.0])  # in body axes
    velocity = np.where(upright, swung, [0.0, 0.0, 0.0, *rate * sideways])
    position = points + np.where(upright, 0.5, 1.0) * top
    return sb.State(position, orientation, velocity, system.initial_state.coordinate)


scissor_with_pendulum = partial(scissor_with_pendulums, 8, 1)
