import numpy as np
import pytest

import sparsebody as sb
from sparsebody.dynamics.energy import kinetic_energy
from sparsebody.kinematics.poses import world_wrenches


def test_a_pendulum_has_its_moment_of_inertia_and_the_moment_of_its_weight():
    m, l, q = 2.0, 1.5, 0.4
    pendulum = sb.build("pendulum", length=l, mass=m, radius=0.1).compile()
    turned = sb.Mechanism("turned", [0, -9.81, 0])
    center = -l * np.array([np.cos(q), np.sin(q), 0])
    turned.add_body("mass", mass=m, inertia=pendulum.inertia[0], position=center)
    turned.add_joint("pivot", sb.Revolute(), sb.WORLD, "mass", point=[0, 0, 0])
    system = turned.compile()
    found = sb.joint_space(system, system.initial_state)
    H, C = 0.4 * m * 0.1**2 + m * l**2, m * 9.81 * center[0]
    np.testing.assert_allclose([found.H[0, 0], found.C[0], found.qdd[0]], [H, C, -C / H])
    assert "pivot" in found.names[0]


@pytest.mark.parametrize("name", ["tree", "four-bar", "bricard", "stewart", "governor", "lattice"])
def test_energy_and_power_are_those_of_the_bodies(name):
    system = sb.build(name).compile()
    state = sb.consistent_state(system)
    found = sb.joint_space(system, state)
    energy = kinetic_energy(system, state)
    assert 0.5 * found.qd @ found.H @ found.qd == pytest.approx(energy, rel=1e-10, abs=1e-12)
    tau = found.H @ found.qdd + found.C  # of loops, which do no work
    size = np.abs(found.C).max() * max(1.0, np.abs(found.qd).max())
    if not len(system.coordinates.prescribed):
        assert abs(found.qd @ tau) <= 1e-8 * size


def test_joints_tell_their_coordinates_and_rates_wherever_they_are():
    system = sb.build("four-bar", angle=1.2, speed=0.7).compile()
    state = sb.consistent_state(system)
    q, qd = sb.joint_positions(system, state), sb.joint_velocities(system, state)
    assert q["crank-pivot"] == pytest.approx([1.2])
    assert qd["crank-pivot"] == pytest.approx([0.7])
    turn = np.array([q["crank-pin"] + q["crank-pivot"], q["rocker-pivot"] - q["rocker-pin"]])
    assert np.exp(1j * turn[0]) == pytest.approx(np.exp(1j * turn[1]))  # of the coupler


def test_the_wrench_of_a_hanging_weight_points_upwards():
    weight = sb.Mechanism("weight")
    weight.add_body("ball", mass=3.0, inertia=[1, 1, 1], position=[0, 0, -2])
    weight.add_joint("hinge", sb.Revolute(), sb.WORLD, "ball", point=[0, 0, 0], axis=[1, 0, 0])
    system = weight.compile()
    wrench = sb.forward_dynamics(system).joint_wrench
    found = world_wrenches(system, system.initial_state, wrench)
    np.testing.assert_allclose(found, [[0, 0, 0, 0, 0, 3 * 9.81]], atol=1e-9)
