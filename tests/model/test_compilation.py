"""From names and user frames to flat arrays in body coordinates."""

import numpy as np
import pytest
from random_mechanisms import random_loops, random_rotation

import sparsebody as sb
from sparsebody.spatial import quaternion_from_rotation, rotation_from_quaternion


def test_body_coordinates_have_their_origin_at_the_center_of_mass():
    rng = np.random.default_rng(0)
    R, position, center = random_rotation(rng), rng.normal(size=3), rng.normal(size=3)
    u, w = rng.normal(size=(2, 3))
    mechanism = sb.Mechanism()
    solid = {"mass": 2.0, "inertia": [1, 2, 2.5], "center_of_mass": center}
    pose = {"position": position, "orientation": quaternion_from_rotation(R)}
    mechanism.add_body("a", **solid, **pose, linear_velocity=u, angular_velocity=w)
    system = mechanism.compile()
    state = system.initial_state
    np.testing.assert_allclose(state.position[0], position + R @ center)
    np.testing.assert_allclose(rotation_from_quaternion(state.orientation[0]), R, atol=1e-15)
    speed = u + np.cross(w, R @ center)
    np.testing.assert_allclose(state.velocity[0], [*(R.T @ w), *(R.T @ speed)], atol=1e-14)
    np.testing.assert_array_equal(system.spatial_inertia[0], np.diag([1, 2, 2.5, 2, 2, 2]))
    product = system.spatial_inertia[0] @ system.inverse_inertia[0]
    np.testing.assert_allclose(product, np.eye(6), atol=1e-15)


def test_joint_points_are_seen_from_the_centers_of_mass():
    mechanism, turned = sb.Mechanism(), (0.6, 0.8, 0.0, 0.0)
    types = [sb.Spherical(), sb.Revolute()]
    centers = [[1, 0, 0], [0, 2, 0]]
    mechanism.add_bodies(["a", "b"], mass=1.0, inertia=[1, 1, 1], center_of_mass=centers)
    frames = {"predecessor_frame": sb.Frames([[5, 5, 5], [4, 0, 0]])}
    frames["successor_frame"] = sb.Frames([[0, 0, 3], [0, 0, 0]], [turned, (1, 0, 0, 0)])
    mechanism.add_joints(["first", "second"], types, [-1, 0], [0, 1], **frames)
    system = mechanism.compile()
    assert system.predecessor.tolist() == [-1, 0]
    assert system.successor.tolist() == [0, 1]
    np.testing.assert_array_equal(system.predecessor_point, [[5, 5, 5], [3, 0, 0]])
    np.testing.assert_array_equal(system.successor_point, [[-1, 0, 3], [0, -2, 0]])
    np.testing.assert_allclose(system.successor_rotation[0], rotation_from_quaternion(turned))


def test_rows_follow_the_joints_and_drives_come_last_in_theirs():
    mechanism = sb.Mechanism()
    mechanism.add_bodies(["a", "b", "c"], mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("ball", sb.Spherical(), sb.WORLD, "a")
    mechanism.add_joint("cross", sb.Universal(), "a", "b", prescribed={0: 1.0, 1: 2.0})
    mechanism.add_joint("slide", sb.Prismatic(), "b", "c")
    mechanism.add_joint_force("spring", "slide", stiffness=1.0)
    system = mechanism.compile()
    assert system.first_row.tolist() == [0, 3, 9, 14]
    assert system.n_rows == 14
    assert system.row_joint.tolist() == [0] * 3 + [1] * 6 + [2] * 5
    assert system.rows(1) == slice(3, 9)
    tracked = system.coordinates
    assert tracked.joint.tolist() == [1, 1, 2]
    assert tracked.index.tolist() == [0, 1, 0]
    assert tracked.row.tolist() == [7, 8, -1]
    assert tracked.is_angle.tolist() == [True, True, False]
    assert system.joint_forces.item.tolist() == [2]
    assert system.initial_state.coordinate.shape == (3,)


@pytest.mark.parametrize("seed", range(3))
def test_every_joint_has_the_kind_the_parameter_and_the_constant_subspace_of_its_type(seed):
    system = random_loops(np.random.default_rng(seed), 12, 6).compile()
    varying = [j for j, kind in enumerate(system.joint_types) if kind.has_varying_T]
    assert system.varying_joints.tolist() == varying
    for j, joint_type in enumerate(system.joint_types):
        assert system.joint_kind[j] == joint_type.kind
        assert system.parameter[j] == (joint_type.parameter or 0.0)
        if not joint_type.has_varying_T:
            zero = joint_type.coordinates(np.eye(3), np.zeros(3))
            T = joint_type.constraint_force_subspace(zero)
            np.testing.assert_array_equal(system.subspace[system.rows(j)], T.T)
