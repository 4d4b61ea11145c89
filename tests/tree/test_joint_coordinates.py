import numpy as np
import pytest
from linkages import at_start, one_body
from random_mechanisms import random_loops, random_tree
from scipy.integrate import solve_ivp

import sparsebody as sb
from sparsebody.dynamics.energy import energy, kinetic_energy
from sparsebody.errors import ModelError, ShapeError
from sparsebody.kinematics.joint_motion import body_rotations, joint_motion
from sparsebody.tree import StateSpace, spanning_tree, tree_dynamics
from sparsebody.tree.recursions import (
    body_accelerations,
    joint_coordinates,
    motion_at_coordinates,
    position_rates,
    recursive_newton_euler,
    tree_state,
    velocities_of_rates,
)
from sparsebody.tree.tree_choice import TREE_CHOICES


def assert_same(state, other):
    sign = np.sign(np.sum(state.orientation * other.orientation, axis=1))[:, None]
    np.testing.assert_allclose(state.position, other.position, atol=1e-12)
    np.testing.assert_allclose(sign * state.orientation, other.orientation, atol=1e-12)
    np.testing.assert_allclose(state.velocity, other.velocity, atol=1e-11)
    np.testing.assert_allclose(state.coordinate, other.coordinate, atol=1e-12)


@pytest.mark.parametrize("root", [None, "b4"])
@pytest.mark.parametrize("choice", TREE_CHOICES)
def test_joint_coordinates_give_the_bodies_back(choice, root):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        system = random_tree(rng, 9, tuple(sb.JOINT_TYPES)).compile()
        tree = spanning_tree(system, choice, root=root)
        state = tree_state(tree, *joint_coordinates(tree, system.initial_state))
        assert_same(state, system.initial_state)


def test_bodies_give_joint_coordinates_back_also_along_reversed_joints():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        system = random_loops(rng, 8, 4).compile()
        tree = spanning_tree(system, "depth-first", root="b5")
        assert -1 in tree.direction
        q, qd = joint_coordinates(tree, system.initial_state)
        qd = rng.normal(size=len(qd))
        again = joint_coordinates(tree, tree_state(tree, q, qd))
        np.testing.assert_allclose(again[0], q, atol=1e-12)
        np.testing.assert_allclose(again[1], qd, atol=1e-11)


def test_coordinates_are_those_of_the_joint_types():
    rng = np.random.default_rng(1)
    system = random_tree(rng, 30, tuple(sb.JOINT_TYPES)).compile()
    tree = spanning_tree(system, root="b9")
    q, qd = joint_coordinates(tree, system.initial_state)
    motion = joint_motion(system, system.initial_state)
    for i, j in enumerate(tree.joint):
        if j < 0:
            continue
        joint_type = system.joint_types[j]
        own = joint_type.coordinates(motion.rotation[j], motion.translation[j])
        np.testing.assert_allclose(q[slice(*tree.first_position[i : i + 2])], own, atol=1e-12)
        if joint_type.name != "constant-distance":  # its basis of S is any
            S = joint_type.motion_subspace(own)
            v_J = S @ qd[tree.velocities(i)]
            np.testing.assert_allclose(v_J, motion.velocity[j], atol=1e-11)


def test_tracked_angles_keep_their_turns():
    mechanism = random_tree(np.random.default_rng(5), 6, ("revolute", "cylindrical"))
    for name in ("j1", "j4"):
        mechanism.add_joint_force(f"spring {name}", name, stiffness=1.0)
    system = mechanism.compile()
    tree = spanning_tree(system)
    state = system.initial_state
    q, qd = joint_coordinates(tree, state)
    position = tree.first_position[tree.tree_index[system.joint("j4")]]
    q[position] += 6.0 * np.pi
    turned = tree_state(tree, q, qd, time=2.0)
    assert turned.time == 2.0
    np.testing.assert_allclose(joint_coordinates(tree, turned)[0], q, atol=1e-12)


def test_coordinates_that_do_not_fit_are_refused():
    system = random_tree(np.random.default_rng(6), 3, ("revolute",)).compile()
    tree = spanning_tree(system)
    q, qd = joint_coordinates(tree, system.initial_state)
    with pytest.raises(ShapeError, match=r"q has shape \(2,\)"):
        tree_state(tree, q[:2], qd)
    qd[1] = np.nan
    with pytest.raises(ModelError, match="qd of coordinate 0 of joint 'j1'"):
        tree_state(tree, q, qd)


STEP = 1e-6


def tree_of(name, seed=0):
    """Three joints of a type, with links reversed where the tree can."""
    mechanism = random_tree(np.random.default_rng(seed), 3, (name,))
    system = mechanism.compile()
    tree = spanning_tree(system)
    return tree, *joint_coordinates(tree, system.initial_state)


@pytest.mark.parametrize("name", sb.JOINT_TYPES)
def test_positions_change_as_the_bodies_do(name):
    tree, q, qd = tree_of(name)
    rate = position_rates(tree, q, qd)
    before, now, after = (tree_state(tree, q + h * rate, qd) for h in (-STEP, 0.0, STEP))
    R = body_rotations(now)
    moved = (after.position - before.position) / (2 * STEP)
    expected = np.einsum("nij,nj->ni", R, now.velocity[:, 3:])
    np.testing.assert_allclose(moved, expected, atol=1e-8)
    turned = np.einsum("nji,njk->nik", R, body_rotations(after) - body_rotations(before))
    turned /= 2 * STEP
    spin = np.stack([turned[:, 2, 1], turned[:, 0, 2], turned[:, 1, 0]], axis=1)
    np.testing.assert_allclose(spin, now.velocity[:, :3], atol=1e-8)


@pytest.mark.parametrize("name", sb.JOINT_TYPES)
def test_velocities_are_found_again_from_rates_of_positions_of_any_length(name):
    tree, q, qd = tree_of(name)
    if name in ("spherical", "free", "constant-distance"):
        q = q * 1.7  # quaternions and rods need not be of their length
    if name == "free":
        q[tree.first_position[:-1, None] + np.arange(4)] *= 0.3
    rate = position_rates(tree, q, qd)
    result, _ = velocities_of_rates(tree, q, rate, np.zeros_like(q))
    np.testing.assert_allclose(result, qd, atol=1e-13)
    result, _ = velocities_of_rates(tree, q, rate + grown(tree, q, name), np.zeros_like(q))
    np.testing.assert_allclose(result, qd, atol=1e-13)


def grown(tree, q, name):
    """Rates that lengthen quaternions, which nothing shows of."""
    rate = np.zeros_like(q)
    if np.any(np.diff(tree.first_position) > np.diff(tree.first_velocity)):
        position = tree.first_position[:-1, None] + np.arange(4)
        rate[position] = 0.6 * q[position]
    return rate


@pytest.mark.parametrize("name", sb.JOINT_TYPES)
def test_accelerations_of_bodies_follow_from_second_derivatives_of_positions(name):
    tree, q, qd = tree_of(name, 1)
    rng = np.random.default_rng(5)
    rate, bend = position_rates(tree, q, qd), rng.normal(size=len(q))
    rate = rate + grown(tree, q, name)

    def velocity(t):
        here, now = q + t * rate + t * t / 2 * bend, rate + t * bend
        return tree_state(tree, here, velocities_of_rates(tree, here, now, bend)[0]).velocity

    expected = (velocity(STEP) - velocity(-STEP)) / (2 * STEP)
    qd, qdd = velocities_of_rates(tree, q, rate, bend)
    motion = motion_at_coordinates(tree, q, qd)
    result = body_accelerations(tree, motion, recursive_newton_euler(tree, motion, qdd)[1])
    np.testing.assert_allclose(result, expected, atol=1e-7 * max(1.0, np.abs(expected).max()))


def test_trees_of_balls_and_free_bodies_are_integrated_with_quaternions():
    mechanism = random_tree(np.random.default_rng(2), 4, ("spherical", "free", "constant-distance"))
    system = mechanism.compile()
    space = StateSpace(tree_dynamics("aba", system))
    x = space.pack(system.initial_state)
    result = solve_ivp(space, (0.0, 0.5), x, rtol=1e-10, atol=1e-11)
    assert result.success
    state = space.unpack(result.y[:, -1], 0.5)
    before, after = energy(system, system.initial_state), energy(system, state)
    assert after.total == pytest.approx(before.total, abs=1e-8 * after.kinetic)
    assert state.time == 0.5


def test_states_of_another_length_are_refused():
    tree, q, _ = tree_of("spherical")
    space = StateSpace(tree_dynamics("aba", tree.system, tree))
    with pytest.raises(ShapeError, match="12 positions and 9 velocities"):
        space(0.0, np.zeros(18))
    with pytest.raises(ShapeError, match="qd has shape"):
        position_rates(tree, q, q)


def test_a_pendulum_has_its_moment_of_inertia_and_the_moment_of_its_weight():
    m, l, q = 2.0, 1.5, 0.4
    pendulum = sb.build("pendulum", length=l, mass=m, radius=0.1).compile()
    center = -l * np.array([np.cos(q), np.sin(q), 0])
    turned = {"mass": m, "inertia": pendulum.inertia[0], "position": center}
    system = one_body(sb.Revolute(), [0, -9.81, 0], {"point": [0, 0, 0]}, **turned).compile()
    result = sb.joint_space(system, system.initial_state)
    H, C = 0.4 * m * 0.1**2 + m * l**2, m * 9.81 * center[0]
    np.testing.assert_allclose([result.H[0, 0], result.C[0], result.qdd[0]], [H, C, -C / H])
    assert "joint" in result.names[0]


def test_a_dense_inertia_too_large_for_memory_is_refused_and_the_packed_one_named(monkeypatch):
    system = sb.build("chain", bodies=3).compile()
    monkeypatch.setattr("sparsebody.tree.recursions.MOST_ENTRIES", 8)  # enough for six packed ones
    with pytest.raises(ModelError, match=r"'chain' has 3 rows.*tree\.joint_space_inertia"):
        sb.joint_space(system, system.initial_state)


@pytest.mark.parametrize("name", ["tree", "four-bar", "bricard", "stewart", "governor", "lattice"])
def test_energy_and_power_are_those_of_the_bodies(name):
    system, state = at_start(sb.build(name))
    result = sb.joint_space(system, state)
    energy = kinetic_energy(system, state)
    assert 0.5 * result.qd @ result.H @ result.qd == pytest.approx(energy, rel=1e-10, abs=1e-12)
    tau = result.H @ result.qdd + result.C  # of loops, which do no work
    size = np.abs(result.C).max() * max(1.0, np.abs(result.qd).max())
    if not len(system.coordinates.prescribed):
        assert abs(result.qd @ tau) <= 1e-8 * size


def test_joints_tell_their_coordinates_and_rates_wherever_they_are():
    system, state = at_start(sb.build("four-bar", angle=1.2, speed=0.7))
    q, qd = sb.joint_positions(system, state), sb.joint_velocities(system, state)
    assert q["crank-pivot"] == pytest.approx([1.2])
    assert qd["crank-pivot"] == pytest.approx([0.7])
    turn = np.array([q["crank-pin"] + q["crank-pivot"], q["rocker-pivot"] - q["rocker-pin"]])
    assert np.exp(1j * turn[0]) == pytest.approx(np.exp(1j * turn[1]))  # of the coupler
