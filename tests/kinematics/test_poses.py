"""Moving bodies, and what the world sees of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mechanisms import random_tree

from sparsebody.kinematics.joint_motion import (
    body_rotations,
    displaced,
    linear_accelerations,
    point_position,
    point_velocity,
)
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import State, System
from sparsebody.spatial import quaternion_from_rotation, rotation_exponential

SEEDS = st.integers(0, 2**32 - 1)


def random_system(seed: int) -> tuple[System, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return random_tree(rng, 4).compile(), rng


@given(seed=SEEDS, size=st.sampled_from([0.0, 1e-12, 1e-9, 1e-3, 1.0, 10.0]))
def test_a_body_turns_by_the_exponential_and_moves_along_its_axes(seed: int, size: float) -> None:
    system, rng = random_system(seed)
    before = system.initial_state
    twist = size * rng.normal(size=(system.n_bodies, 6))
    after = displaced(before, twist)
    for R, R_new, x, x_new, t in zip(
        body_rotations(before),
        body_rotations(after),
        before.position,
        after.position,
        twist,
        strict=True,
    ):
        np.testing.assert_allclose(R_new, R @ rotation_exponential(t[:3]), atol=1e-14)
        np.testing.assert_allclose(x_new, x + R @ t[3:], atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(after.orientation, axis=1), 1.0, atol=1e-15)
    assert after.velocity is before.velocity
    assert after.time == before.time


def test_displacing_normalizes_the_quaternions() -> None:
    system, _ = random_system(0)
    state = system.initial_state
    state = state.with_(orientation=state.orientation * (1.0 + 1e-7))
    after = displaced(state, np.zeros((system.n_bodies, 6)))
    np.testing.assert_allclose(after.orientation, system.initial_state.orientation, atol=1e-15)


@given(seed=SEEDS)
def test_a_point_is_where_its_body_carries_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R = rotation_exponential(rng.normal(size=3))
    place, center, point = rng.normal(size=(3, 3))
    mechanism = Mechanism()
    mechanism.add_body(
        "a",
        mass=1.0,
        inertia=[1, 1, 1],
        center_of_mass=center,
        position=place,
        orientation=quaternion_from_rotation(R),
    )
    system = mechanism.compile()
    found = point_position(system, system.initial_state, "a", point)
    np.testing.assert_allclose(found, place + R @ point, atol=1e-14)


@given(seed=SEEDS)
def test_the_velocity_of_a_point_is_the_rate_of_its_position(seed: int) -> None:
    system, rng = random_system(seed)
    state, h, point = system.initial_state, 1e-6, rng.normal(size=3)
    for name in system.body_names:
        ahead = point_position(system, displaced(state, h * state.velocity), name, point)
        behind = point_position(system, displaced(state, -h * state.velocity), name, point)
        found = point_velocity(system, state, name, point)
        np.testing.assert_allclose(found, (ahead - behind) / (2 * h), atol=1e-8)


def free_flight(t: float) -> tuple[State, np.ndarray]:
    """A body that turns steadily about a fixed axis while it falls: state and acceleration.

    The spatial acceleration is the rate of the velocity in body axes.
    """
    spin, start, g = np.array([0.3, -1.1, 0.7]), np.array([2.0, 1.0, 3.0]), np.array([0, 0, -9.81])
    R = rotation_exponential(t * spin)
    speed = start + t * g
    state = State(
        (t * start + 0.5 * t**2 * g)[None],
        quaternion_from_rotation(R)[None],
        np.concatenate([spin, R.T @ speed])[None],
        np.zeros(0),
        t,
    )
    acceleration = np.concatenate([np.zeros(3), R.T @ g - np.cross(spin, R.T @ speed)])
    return state, acceleration[None]


@pytest.mark.parametrize("t", [0.0, 0.4, 2.0])
def test_linear_acceleration_is_the_second_difference_of_the_path(t: float) -> None:
    h = 1e-3
    state, acceleration = free_flight(t)
    places = [free_flight(t + step)[0].position for step in (-h, 0.0, h)]
    expected = (places[0] - 2 * places[1] + places[2]) / h**2
    found = linear_accelerations(state, acceleration)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_allclose(found, [[0, 0, -9.81]], atol=1e-13)
