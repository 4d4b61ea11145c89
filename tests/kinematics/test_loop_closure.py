"""Position errors of joints and drives, and the velocities that drives ask for."""

import numpy as np
import pytest
from random_mechanisms import random_loops

from sparsebody.kinematics.joint_motion import (
    coordinate_motion,
    joint_motion,
    position_errors,
    prescribed_velocities,
)
from sparsebody.kinematics.poses import displaced
from sparsebody.model.joints import Prismatic, Revolute, Spherical
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import Polynomial, Sinusoid


def errors_of(system: System, state: State) -> np.ndarray:
    motion = joint_motion(system, state)
    return position_errors(system, state, motion, coordinate_motion(system, state, motion))


@pytest.mark.parametrize("seed", range(4))
def test_closed_loops_have_no_error(seed: int) -> None:
    system = random_loops(np.random.default_rng(seed), 8, 5).compile()
    np.testing.assert_allclose(errors_of(system, system.initial_state), 0.0, atol=1e-13)


def test_a_ball_is_off_by_the_gap_of_its_points() -> None:
    mechanism = Mechanism()
    mechanism.add_body("a", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("ball", Spherical(), WORLD, "a")
    system = mechanism.compile()
    gap = np.array([0.1, -0.2, 0.3])
    state = system.initial_state.with_(position=gap[None])
    np.testing.assert_allclose(errors_of(system, state), gap, atol=1e-15)


def driven(joint_type: Revolute | Prismatic, rate: float) -> System:
    mechanism = Mechanism()
    mechanism.add_body("a", mass=1.0, inertia=[1, 1, 1])
    drive = Polynomial((0.2, rate))
    mechanism.add_joint("drive", joint_type, WORLD, "a", prescribed=drive)
    return mechanism.compile()


def test_a_driven_angle_is_wrong_only_up_to_whole_turns() -> None:
    system = driven(Revolute(), 3.0)
    state = displaced(system.initial_state, np.array([[0, 0, 0.3, 0, 0, 0]]))
    for time, error in ((0.0, 0.1), (2 * np.pi / 3.0, 0.1), (0.1, -0.2)):
        found = errors_of(system, state.with_(time=time))
        np.testing.assert_allclose(found, [0, 0, 0, 0, 0, error], atol=1e-14)


def test_a_driven_distance_is_wrong_by_any_amount() -> None:
    system = driven(Prismatic(), 100.0)
    found = errors_of(system, system.initial_state.with_(time=1.0))
    np.testing.assert_allclose(found, [0, 0, 0, 0, 0, -100.2])


def test_drives_ask_for_their_rates_and_joints_for_none() -> None:
    mechanism = Mechanism()
    mechanism.add_body("a", mass=1.0, inertia=[1, 1, 1])
    wave = Sinusoid(2.0, 3.0)
    mechanism.add_joint("slide", Prismatic(), WORLD, "a", prescribed=wave)
    system = mechanism.compile()
    asked = prescribed_velocities(system, 0.4)
    np.testing.assert_allclose(asked, [0, 0, 0, 0, 0, wave(0.4)[1]])
