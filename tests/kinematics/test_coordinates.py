"""Tracked coordinates: whole turns, rates, prescribed motions."""

import numpy as np
import oracles
import pytest
from random_mechanisms import random_tree

from sparsebody.kinematics.joint_motion import (
    CoordinateMotion,
    coordinate_motion,
    joint_motion,
    prescribed_motion,
)
from sparsebody.kinematics.poses import displaced
from sparsebody.model.joints import Helical, JointType, Planar, Prismatic, Revolute, Universal
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import Polynomial, Sinusoid


def coordinates_of(system: System, state: State) -> CoordinateMotion:
    return coordinate_motion(system, state, joint_motion(system, state))


def wheel(joint_type: JointType, coordinate: int = 0) -> System:
    """One body, its frame on the joint frame, with a tracked coordinate."""
    mechanism = Mechanism()
    mechanism.add_body("wheel", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("joint", joint_type, WORLD, "wheel")
    mechanism.add_joint_force("spring", "joint", coordinate=coordinate, stiffness=1.0)
    return mechanism.compile()


@pytest.mark.parametrize(
    ("joint_type", "coordinate", "axis"),
    [(Revolute(), 0, 2), (Universal(), 0, 0), (Universal(), 1, 1), (Planar(), 2, 2)],
)
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_angles_count_whole_turns(
    joint_type: JointType, coordinate: int, axis: int, direction: float
) -> None:
    system = wheel(joint_type, coordinate)
    state, step = system.initial_state, 0.9 * direction
    twist = np.zeros((1, 6))
    twist[0, axis] = step
    for k in range(1, 20):
        state = displaced(state, twist)
        value = coordinates_of(system, state).value
        np.testing.assert_allclose(value, [k * step], atol=1e-13)
        state = state.with_(coordinate=value)


def test_a_screw_reads_its_turns_from_its_travel() -> None:
    system = wheel(Helical(0.1))
    state = displaced(system.initial_state, np.array([[0, 0, 1.0, 0, 0, 0.1 * (1.0 + 6 * np.pi)]]))
    value = coordinates_of(system, state).value  # whatever the state remembers
    np.testing.assert_allclose(value, [1.0 + 6 * np.pi])


def test_the_angle_of_a_slipped_screw_is_that_of_its_body() -> None:
    """So that it grows with its dual vector: a drive then closes together with the thread."""
    system = wheel(Helical(0.1))
    slipped = np.array([[0, 0, 1.0, 0, 0, 0.1 * (1.0 + 6 * np.pi) + 0.02]])
    value = coordinates_of(system, displaced(system.initial_state, slipped)).value
    np.testing.assert_allclose(value, [1.0 + 6 * np.pi])


def test_distances_do_not_jump_by_turns() -> None:
    system = wheel(Prismatic())
    state = system.initial_state.with_(coordinate=np.array([-10.0]))
    state = displaced(state, np.array([[0, 0, 0, 0, 0, 25.0]]))
    np.testing.assert_allclose(coordinates_of(system, state).value, [25.0])


@pytest.mark.parametrize("seed", range(6))
def test_rates_are_the_rates_of_the_values(seed: int) -> None:
    mechanism = random_tree(np.random.default_rng(seed), 8)
    for name, joint in mechanism.joints.items():
        for i in joint.type.scalar_positions:
            mechanism.add_joint_force(f"{name}.{i}", name, coordinate=i, stiffness=1.0)
    system = mechanism.compile()
    state, h = system.initial_state, 1e-6
    ahead = coordinates_of(system, displaced(state, h * state.velocity)).value
    behind = coordinates_of(system, displaced(state, -h * state.velocity)).value
    now = coordinates_of(system, state)
    np.testing.assert_allclose(now.rate, (ahead - behind) / (2 * h), atol=1e-7)
    view = oracles.WorldView(system, state)
    for item, j in enumerate(system.coordinates.joint):
        assert now.rate[item] == pytest.approx(now.dual[item] @ view.joint_velocity(int(j)))


def test_prescribed_coordinates_follow_their_functions() -> None:
    mechanism = Mechanism()
    mechanism.add_body("a", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_body("b", mass=1.0, inertia=[1, 1, 1])
    wave, fall = Sinusoid(2.0, 3.0), Polynomial((1.0, 2.0, 3.0))
    mechanism.add_joint("first", Universal(), WORLD, "a", prescribed={1: wave})
    mechanism.add_joint("second", Prismatic(), "a", "b", prescribed=fall)
    mechanism.add_joint_force("spring", "first", coordinate=0, stiffness=1.0)
    system = mechanism.compile()
    assert system.coordinates.prescribed.tolist() == [1, 2]
    np.testing.assert_allclose(prescribed_motion(system, 0.7), [wave(0.7), fall(0.7)])


def test_without_tracked_coordinates_there_is_nothing_to_follow() -> None:
    system = random_tree(np.random.default_rng(0), 3).compile()
    found = coordinates_of(system, system.initial_state)
    assert found.value.shape == (0,)
    assert found.dual.shape == (0, 6)
    assert prescribed_motion(system, 0.0).shape == (0, 3)
