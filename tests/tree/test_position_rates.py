import numpy as np
import pytest
from random_mechanisms import random_tree
from scipy.integrate import solve_ivp

import sparsebody as sb
from sparsebody.dynamics.energy import energy
from sparsebody.errors import ShapeError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model.joints import JOINT_TYPES
from sparsebody.tree import (
    StateSpace,
    joint_coordinates,
    spanning_tree,
    tree_dynamics,
    tree_state,
)
from sparsebody.tree.joint_coordinates import position_rates, velocities_of_rates
from sparsebody.tree.rnea import recursion
from sparsebody.tree.tree_motion import body_accelerations, motion_at_coordinates

STEP = 1e-6


def tree_of(name, seed=0):
    """Three joints of a type, with links reversed where the tree can."""
    mechanism = random_tree(np.random.default_rng(seed), 3, (name,))
    system = mechanism.compile()
    tree = spanning_tree(system)
    return tree, *joint_coordinates(tree, system.initial_state)


@pytest.mark.parametrize("name", JOINT_TYPES)
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


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_velocities_are_found_again_from_rates_of_positions_of_any_length(name):
    tree, q, qd = tree_of(name)
    if name in ("spherical", "free", "constant-distance"):
        q = q * 1.7  # quaternions and rods need not be of their length
    if name == "free":
        q[tree.first_position[:-1, None] + np.arange(4)] *= 0.3
    rate = position_rates(tree, q, qd)
    found, _ = velocities_of_rates(tree, q, rate, np.zeros_like(q))
    np.testing.assert_allclose(found, qd, atol=1e-13)
    found, _ = velocities_of_rates(tree, q, rate + grown(tree, q, name), np.zeros_like(q))
    np.testing.assert_allclose(found, qd, atol=1e-13)


def grown(tree, q, name):
    """Rates that lengthen quaternions, which nothing shows of."""
    rate = np.zeros_like(q)
    if np.any(np.diff(tree.first_position) > np.diff(tree.first_velocity)):
        place = tree.first_position[:-1, None] + np.arange(4)
        rate[place] = 0.6 * q[place]
    return rate


@pytest.mark.parametrize("name", JOINT_TYPES)
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
    found = body_accelerations(tree, motion, recursion(tree, motion, qdd)[1])
    np.testing.assert_allclose(found, expected, atol=1e-7 * max(1.0, np.abs(expected).max()))


def test_trees_of_balls_and_free_bodies_are_integrated_with_quaternions():
    mechanism = random_tree(np.random.default_rng(2), 4, ("spherical", "free", "constant-distance"))
    system = mechanism.compile()
    space = StateSpace(tree_dynamics("aba", system))
    x = space.pack(system.initial_state)
    found = solve_ivp(space, (0.0, 0.5), x, rtol=1e-10, atol=1e-11)
    assert found.success
    state = space.unpack(found.y[:, -1], 0.5)
    before, after = energy(system, system.initial_state), energy(system, state)
    assert after.total == pytest.approx(before.total, abs=1e-8 * after.kinetic)
    assert state.time == 0.5


def test_the_rate_of_the_state_is_that_of_forward_dynamics():
    mechanism = random_tree(np.random.default_rng(3), 5)
    system = mechanism.compile()
    space = StateSpace(tree_dynamics("crba", system))
    x = space.pack(system.initial_state)
    rate, n = space(0.0, x), space.tree.n_positions
    motion = motion_at_coordinates(space.tree, x[:n], x[n:])
    found = body_accelerations(
        space.tree, motion, recursion(space.tree, motion, np.ascontiguousarray(rate[n:]))[1]
    )
    expected = sb.forward_dynamics(system, system.initial_state).acceleration
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_states_of_another_length_are_refused():
    tree, q, _ = tree_of("spherical")
    space = StateSpace(tree_dynamics("aba", tree.system, tree))
    with pytest.raises(ShapeError, match="12 positions and 9 velocities"):
        space(0.0, np.zeros(18))
    with pytest.raises(ShapeError, match="qd has shape"):
        position_rates(tree, q, q)
