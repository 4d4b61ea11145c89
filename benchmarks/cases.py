"""The mechanisms of the benchmarks, moving and with gravity tilted, at any size.

Gravity is tilted because a ladder under a vertical one carries no load in its rungs, so that
leaving out its loops would pass unnoticed. All velocities are consistent in closed form, stay
bounded in long mechanisms, and do not depend on how bodies and joints are numbered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model.frames import Frames
from sparsebody.model.gallery import build
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import State, System

TILTED = (1.3, -2.1, -9.493155)  # gravity, 9.81 m/s^2 in no special direction [m/s^2]
SPIN = 0.7  # [rad/s]


@dataclass(frozen=True)
class Case:
    """A family of mechanisms: how it is built for about n bodies, and how it moves."""

    letter: str
    summary: str
    build: Callable[[int, int], Mechanism]  # of the number of bodies and the seed
    velocity: Callable[[System, int], tuple[FloatArray, FloatArray]]  # angular, linear; world axes
    size: Callable[[int], int]  # number of bodies that comes out


@dataclass(frozen=True, eq=False)
class Problem:
    """One mechanism at one state: what every method is given."""

    mechanism: str
    system: System
    state: State


def problem(name: str, n_bodies: int, seed: int = 0, relabelled: bool = False) -> Problem:
    """Return a mechanism of CASES, compiled, at its moving state.

    Parameters
    ----------
    name : str
        A key of CASES.
    n_bodies : int
        About how many bodies; a lattice takes the nearest square, ladder and scissor an even
        number.
    seed : int
        Of the random parts: the lattice's joints, the velocities, the shuffling.
    relabelled : bool
        Declare bodies and joints in a random order.
    """
    system = mechanism(name, n_bodies, seed, relabelled).compile()
    return at_state(name, system, seed)


def mechanism(name: str, n_bodies: int, seed: int = 0, relabelled: bool = False) -> Mechanism:
    """Return a mechanism of CASES; parameters as of `problem`."""
    built = CASES[name].build(n_bodies, seed)
    return shuffled(built, seed) if relabelled else built


def at_state(name: str, system: System, seed: int = 0) -> Problem:
    """Return a compiled mechanism of CASES at its moving state."""
    return Problem(name, system, moving_state(system, *CASES[name].velocity(system, seed)))


def moving_state(system: System, angular: FloatArray, linear: FloatArray) -> State:
    """Return the initial pose with velocities (n, 3) given in world axes [rad/s, m/s]."""
    state = system.initial_state
    to_world = body_axes(system)
    velocity = np.concatenate(
        [np.einsum("nij,ni->nj", to_world, part) for part in (angular, linear)], axis=1
    )
    return state.with_(velocity=velocity)


def body_axes(system: System) -> FloatArray:
    """Return (n, 3, 3) rotations from body to world axes at the initial pose."""
    return body_rotations(system.initial_state)


def shuffled(mechanism: Mechanism, seed: int) -> Mechanism:
    """Return the same mechanism with bodies and joints declared in a random order."""
    rng = np.random.default_rng((seed, 1))
    other = Mechanism(mechanism.name, mechanism.gravity)
    bodies, joints = mechanism.columns()
    order = rng.permutation(len(bodies))
    names = list(mechanism.body_names)
    other.add_bodies(
        [names[i] for i in order.tolist()],
        mass=bodies.mass[order],
        inertia=bodies.inertia[order],
        center_of_mass=bodies.center_of_mass[order],
        position=bodies.position[order],
        orientation=bodies.orientation[order],
    )
    place = np.full(len(bodies) + 1, -1)  # the world stays -1
    place[order] = np.arange(len(bodies))
    order = rng.permutation(len(joints))
    names = list(mechanism.joint_names)
    frames = [
        Frames(frame.origins[order], frame.quaternions[order])
        for frame in (joints.predecessor_frame, joints.successor_frame)
    ]
    other.add_joints(
        [names[j] for j in order.tolist()],
        [joints.types[t] for t in joints.type_index[order].tolist()],
        place[joints.predecessor[order]],
        place[joints.successor[order]],
        predecessor_frame=frames[0],
        successor_frame=frames[1],
    )
    return other


# ---- how they move ---------------------------------------------------------------------------


def _ladder_velocity(system: System, seed: int) -> tuple[FloatArray, FloatArray]:
    """Pairs of bars swing about y like planks hinged to each other; bars spin about x in turn."""
    x, y = np.rint(system.initial_state.position[:, :2]).astype(int).T
    lift = np.random.default_rng((seed, 2)).uniform(-0.5, 0.5, x.max() + 2)
    lift[0] = 0.0  # of the line of hinges at x - 0.5, at the world first [m/s]
    angular, linear = np.zeros((2, len(x), 3))
    angular[:, 0] = SPIN * (-1.0) ** (x + y)
    angular[:, 1] = lift[x] - lift[x + 1]
    linear[:, 2] = (lift[x] + lift[x + 1]) / 2
    return angular, linear


def _scissor_velocity(system: System, seed: int) -> tuple[FloatArray, FloatArray]:
    """It rises; the higher it is, the more slowly its bars turn."""
    axes = body_axes(system)
    along = np.where(axes[:, 0, 0] > 0.0, 1.0, -1.0)  # left bars rise to the right
    cosine, sine = np.abs(axes[:, 0, 0]), axes[:, 2, 0]
    rate = SPIN / math.sqrt(system.n_bodies)
    angular, linear = np.zeros((2, system.n_bodies, 3))
    angular[:, 1] = -along * rate
    linear[:, 0] = -0.5 * sine * rate
    linear[:, 2] = system.initial_state.position[:, 2] * cosine / sine * rate
    return angular, linear


def _lattice_velocity(system: System, seed: int) -> tuple[FloatArray, FloatArray]:
    """Neighbours turn in opposite directions; all drift so that the corner stays on its base."""
    cell = np.rint(system.initial_state.position).astype(int)
    spin = SPIN * np.array([0.6, -0.3, 0.74])
    angular = (-1.0) ** cell.sum(axis=1)[:, None] * spin
    return angular, np.broadcast_to(np.cross(spin, [0.5, 0.0, 0.0]), angular.shape).copy()


def _chain_velocity(system: System, seed: int) -> tuple[FloatArray, FloatArray]:
    """Each hinge turns at random, the velocities of the hinge points staying bounded."""
    rng = np.random.default_rng((seed, 2))
    bar = np.rint(system.initial_state.position[:, 0] - 0.5).astype(int)
    n = len(bar) + 3
    up, aside = rng.uniform(-0.5, 0.5, (2, n))  # of the points at x = 0, 1, 2, ...
    up[0] = 0.0
    up[1:-1:2] = (up[0:-2:2] + up[2::2]) / 2  # the slope changes at even points, about y
    aside[:2] = 0.0
    aside[2:-1:2] = (aside[1:-2:2] + aside[3::2]) / 2  # and at odd points about z
    angular, linear = np.zeros((2, len(bar), 3))
    angular[:, 1] = up[bar] - up[bar + 1]
    angular[:, 2] = aside[bar + 1] - aside[bar]
    linear[:, 1] = (aside[bar] + aside[bar + 1]) / 2
    linear[:, 2] = (up[bar] + up[bar + 1]) / 2
    return angular, linear


def _half(n_bodies: int) -> int:
    return max(1, round(n_bodies / 2))


def _square(n_bodies: int) -> int:
    return max(1, round(math.sqrt(n_bodies)))


CASES: dict[str, Case] = {
    "ladder": Case(
        "A",
        "ladder of bars with ball joints",
        lambda n, seed: build("ladder", rungs=_half(n), gravity=TILTED),
        _ladder_velocity,
        lambda n: 2 * _half(n),
    ),
    "scissor": Case(
        "B",
        "scissor lift of spatial hinges, undriven",
        lambda n, seed: build("scissor", pairs=_half(n), gravity=TILTED),
        _scissor_velocity,
        lambda n: 2 * _half(n),
    ),
    "lattice": Case(
        "C50",
        "square lattice with ball joints: a random tree and half of the other joints",
        lambda n, seed: build(
            "lattice", rows=_square(n), columns=_square(n), keep=0.5, seed=seed, gravity=TILTED
        ),
        _lattice_velocity,
        lambda n: _square(n) ** 2,
    ),
    "chain": Case(
        "D",
        "open chain of hinges about y and z in turn",
        lambda n, seed: build("chain", bodies=n, gravity=TILTED),
        _chain_velocity,
        lambda n: n,
    ),
}
