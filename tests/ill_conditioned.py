"""Long mechanisms, turned ones and sheets, at consistent moving states, for the tests."""

from dataclasses import replace

import numpy as np
from random_mechanisms import copied

import sparsebody as sb
from benchmarks.cases import Problem
from sparsebody.spatial import quaternion_product

TILTED = (1.3, -2.1, -9.493155)  # gravity [m/s^2]


def moving(system):
    """A system at a consistent state with random velocities."""
    state = system.initial_state
    velocity = np.random.default_rng(0).normal(size=state.velocity.shape)
    return Problem(system.name, system, sb.consistent_state(system, state.with_(velocity=velocity)))


def turned(given):
    """The same somewhere else and at an angle, so that no number is round."""
    system, state = given.system, given.state
    q = np.array([0.8, 0.36, -0.3, 0.37])
    q /= np.linalg.norm(q)
    R = 2.0 * (np.outer(q[1:], q[1:]) + (q[0] ** 2 - 0.5) * np.eye(3) + q[0] * skew(q[1:]))
    orientation = np.array([quaternion_product(q, p) for p in state.orientation])
    on_world = (system.predecessor < 0)[:, None]
    near = np.where(on_world, system.predecessor_point @ R.T, system.predecessor_point)
    frames = np.where(
        on_world[:, :, None], R @ system.predecessor_rotation, system.predecessor_rotation
    )
    return Problem(
        given.mechanism,
        replace(system, predecessor_point=near, predecessor_rotation=frames),
        state.with_(position=state.position @ R.T, orientation=orientation),
    )


def skew(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def floating_ladder(rungs, disorder):
    """Revolute bars in a plane that hang on the world by one hinge: two freedoms."""
    whole = sb.build("ladder", rungs=rungs, joint="revolute", disorder=disorder, gravity=TILTED)
    return moving(copied(whole, without=["base-1"]).compile())


def sheet(k):
    return moving(sb.build("rotating-squares", rows=k, columns=k, gravity=TILTED).compile())
