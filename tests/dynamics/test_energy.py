import numpy as np
import pytest
from linkages import one_body
from random_mechanisms import random_tree

import sparsebody as sb
from sparsebody.dynamics.energy import energy, is_conservative, total_momentum
from sparsebody.kinematics.joint_motion import body_rotations


def test_energy_of_a_moving_body_is_that_of_its_center_and_its_rotation():
    position = {"center_of_mass": [0.5, 0, 0], "position": [0, 0, 3.0]}
    motion = {"linear_velocity": [1.0, 0, 0], "angular_velocity": [0, 0, 2.0]}
    stone = {"mass": 2.0, "inertia": [1.0, 2.0, 2.5]} | position | motion
    system = one_body(gravity=(0, 0, -10.0), **stone).compile()
    result = energy(system, system.initial_state)  # the center moves with (1, 1, 0)
    assert result.kinetic == pytest.approx(0.5 * 2.0 * 2.0 + 0.5 * 2.5 * 4.0)
    assert result.potential == pytest.approx(2.0 * 10.0 * 3.0)
    assert result.total == pytest.approx(result.kinetic + result.potential)


def test_springs_hold_half_stiffness_times_stretch_squared():
    mechanism = one_body(sb.Prismatic(), gravity=(0, 0, 0))
    mechanism.add_joint_force("spring", "joint", stiffness=3.0, rest=2.0)
    coil = {"first_point": [0, 4, 0], "stiffness": 5.0, "rest_length": 1.0}
    mechanism.add_point_force("point", sb.WORLD, "body", **coil)
    system = mechanism.compile()
    result = energy(system, sb.consistent_state(system))
    assert result.potential == pytest.approx(0.5 * 3.0 * 4.0 + 0.5 * 5.0 * 9.0)


def test_momentum_is_about_the_origin_of_the_world():
    system = random_tree(np.random.default_rng(0), 2).compile()
    state = system.initial_state
    expected = np.zeros(6)
    for i, R in enumerate(body_rotations(state)):
        p = system.mass[i] * R @ state.velocity[i, 3:]
        expected[3:] += p
        expected[:3] += np.cross(state.position[i], p)
        expected[:3] += R @ system.inertia[i] @ state.velocity[i, :3]
    np.testing.assert_allclose(total_momentum(system, state), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("forces", "drive", "expected"),
    [
        ({}, None, True),
        ({"stiffness": 1.0}, None, True),
        ({"damping": 1.0}, None, False),
        ({"effort": 1.0}, None, False),
        ({"effort": sb.Sinusoid(1.0, 1.0)}, None, False),
        ({}, 0.3, True),  # a drive that stands still does no work
        ({}, sb.Sinusoid(1.0, 1.0), False),
    ],
)
def test_only_gravity_springs_and_drives_at_rest_are_conservative(forces, drive, expected):
    mechanism = one_body(sb.Prismatic(), joint={"prescribed": drive})
    mechanism.add_joint_force("force", "joint", **forces)
    assert is_conservative(mechanism.compile()) is expected
