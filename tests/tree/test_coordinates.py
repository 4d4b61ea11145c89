import numpy as np
import pytest
from random_mechanisms import random_loops, random_position, random_tree, random_type

from sparsebody._core import joints
from sparsebody.errors import ModelError, ShapeError
from sparsebody.kinematics.joint_motion import joint_motion
from sparsebody.model.joints import JOINT_TYPES
from sparsebody.spatial import plucker_parts, rotation_exponential
from sparsebody.tree.joint_coordinates import joint_coordinates, tree_state
from sparsebody.tree.tree_choice import TREE_CHOICES, spanning_tree


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
        system = random_tree(rng, 9, tuple(JOINT_TYPES)).compile()
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
    system = random_tree(rng, 30, tuple(JOINT_TYPES)).compile()
    tree = spanning_tree(system, root="b9")
    q, qd = joint_coordinates(tree, system.initial_state)
    motion = joint_motion(system, system.initial_state)
    for i, j in enumerate(tree.joint):
        if j < 0:
            continue
        joint_type = system.joint_types[j]
        own = joint_type.coordinates(motion.rotation[j], motion.translation[j])
        np.testing.assert_allclose(q[tree.positions(i)], own, atol=1e-12)
        if joint_type.name != "constant-distance":  # its basis of S is any
            S = joint_type.motion_subspace(own)
            v_J = S @ qd[tree.velocities(i)]
            np.testing.assert_allclose(v_J, motion.velocity[j], atol=1e-11)


@pytest.mark.parametrize("name", JOINT_TYPES)
def test_rates_are_the_components_of_the_joint_velocity(name):
    rng = np.random.default_rng(2)
    for _ in range(20):
        joint_type = random_type(rng, name)
        E, r = joint_type.pose(random_position(rng, joint_type))
        S = joints.motion_subspace(joint_type.kind, joint_type.parameter, E, r)
        again = joint_type.coordinates(E, r)
        for array, other in zip(joint_type.pose(again), (E, r), strict=True):
            np.testing.assert_allclose(array, other, atol=1e-13)
        T = joint_type.constraint_force_subspace(again)
        np.testing.assert_allclose(S.T @ T, 0.0, atol=1e-13)
        qd = rng.normal(size=joint_type.n_velocities)
        W = joints.active_force_subspace(joint_type.kind, joint_type.parameter, E, r)
        np.testing.assert_allclose(W.T @ S @ qd, qd, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in JOINT_TYPES if name != "constant-distance"])
def test_drift_is_the_change_of_the_subspace_along_the_motion(name):
    rng = np.random.default_rng(3)
    joint_type = random_type(rng, name)
    q, qd = random_position(rng, joint_type), rng.normal(size=joint_type.n_velocities)
    E, r = plucker_parts(joint_type.transform(q))
    v = joint_type.motion_subspace(q) @ qd
    drift = joints.drift(joint_type.kind, E, r, v)
    h = 1e-6
    ends = []
    for sign in (-1, 1):  # E <- exp(-h w x) E, r <- r + h E' v
        turned = rotation_exponential(-sign * h * v[:3]) @ E
        moved = joint_type.coordinates(turned, r + sign * h * E.T @ v[3:])
        ends.append(joint_type.motion_subspace(moved) @ qd)
    np.testing.assert_allclose(drift, (ends[1] - ends[0]) / (2 * h), atol=1e-8)


def test_drift_of_a_rod_keeps_the_velocity_across_it():
    rng = np.random.default_rng(4)
    joint_type = random_type(rng, "constant-distance")
    E, r = plucker_parts(joint_type.transform(random_position(rng, joint_type)))
    S = joints.motion_subspace(joint_type.kind, joint_type.parameter, E, r)
    v = S @ rng.normal(size=5)
    drift = joints.drift(joint_type.kind, E, r, v)
    u, h = [], 1e-6
    for sign in (-1, 1):
        place = rotation_exponential(-sign * h * v[:3]) @ E @ (r + sign * h * E.T @ v[3:])
        u.append(place / np.linalg.norm(place))
    rate = (u[1] - u[0]) / (2 * h)
    axis = E @ r / joint_type.length
    np.testing.assert_allclose(axis @ drift[3:] + rate @ v[3:], 0.0, atol=1e-8)
    np.testing.assert_allclose(np.cross(axis, drift[3:]), 0.0, atol=1e-12)


def test_tracked_angles_keep_their_turns():
    mechanism = random_tree(np.random.default_rng(5), 6, ("revolute", "cylindrical"))
    for name in ("j1", "j4"):
        mechanism.add_joint_force(f"spring {name}", name, stiffness=1.0)
    system = mechanism.compile()
    tree = spanning_tree(system)
    state = system.initial_state
    q, qd = joint_coordinates(tree, state)
    place = tree.first_position[tree.tree_index[system.joint("j4")]]
    q[place] += 6.0 * np.pi
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
