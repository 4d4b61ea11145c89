import numpy as np
import pytest
from linkages import at_start
from random_mechanisms import random_loops, random_tree

import sparsebody as sb
from sparsebody.errors import ModelError, MotionError
from sparsebody.tree import spanning_tree
from sparsebody.tree.recursions import joint_accelerations, motion_at_state


def test_given_joints_accelerate_as_wanted_whatever_their_type():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        system = random_tree(rng, 10, tuple(sb.JOINT_TYPES)).compile()
        state, tree = system.initial_state, spanning_tree(system)
        qdd = rng.normal(size=tree.n_velocities)
        of_joints = zip(tree.joint, tree.first_velocity[:-1], tree.freedoms, strict=True)
        desired = {system.joint_names[int(j)]: qdd[k : k + n] for j, k, n in of_joints if n}
        a = sb.driven_accelerations(system, state, desired)
        result = joint_accelerations(tree, motion_at_state(tree, state), a)
        np.testing.assert_allclose(result, qdd, atol=1e-10)


def test_what_is_not_given_moves_as_forward_dynamics_lets_it():
    system, state = at_start(random_loops(np.random.default_rng(1), 6, 2, moving=True))
    force = np.random.default_rng(0).normal(size=(system.n_bodies, 6))
    expected = sb.forward_dynamics(system, state, body_force=force).acceleration
    result = sb.driven_accelerations(system, state, body_force=force)
    np.testing.assert_allclose(result, expected, atol=1e-10 * np.abs(expected).max())


def test_a_given_acceleration_counts_in_place_of_a_drive_s():
    lift, state = at_start(sb.build("scissor", pairs=4, drive=True))
    still = sb.driven_accelerations(lift, state)
    np.testing.assert_allclose(still, sb.forward_dynamics(lift, state).acceleration, atol=1e-10)
    moved = sb.driven_accelerations(lift, state, {"base": -0.8})
    result = sb.inverse_dynamics(lift, state, moved, actuated=["base"])
    assert result.residual < 1e-12
    twice = sb.driven_accelerations(lift, state, {("base", 0): -0.8})
    np.testing.assert_array_equal(moved, twice)


def test_accelerations_that_contradict_each_other_are_refused():
    system = sb.build("four-bar").compile()
    with pytest.raises(MotionError, match="contradict each other at joint"):
        sb.driven_accelerations(system, None, {"crank-pivot": 1.0, "rocker-pivot": 1.0})
    one = sb.driven_accelerations(system, None, {"crank-pivot": 1.0})
    tree = spanning_tree(system, joints=["rocker-pivot", "crank-pivot"])
    qdd = joint_accelerations(tree, motion_at_state(tree, sb.consistent_state(system)), one)
    k = tree.tree_index[system.joint("rocker-pivot")]
    both = {"crank-pivot": 1.0, "rocker-pivot": float(qdd[tree.first_velocity[k]])}
    np.testing.assert_allclose(sb.driven_accelerations(system, None, both), one, atol=1e-9)


def test_numbers_that_do_not_fit_are_refused():
    system = sb.build("slider-crank").compile()
    with pytest.raises(ModelError, match=r"of joint 'pin' is 1\.0; give 3 finite numbers"):
        sb.driven_accelerations(system, None, {"pin": 1.0})
    with pytest.raises(ModelError, match="of joint 'slide' is nan; give 1 finite number"):
        sb.driven_accelerations(system, None, {"slide": np.nan})
