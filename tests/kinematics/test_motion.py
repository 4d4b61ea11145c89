"""Relative motion at the joints against one-by-one arithmetic in world axes."""

import numpy as np
import oracles
import pytest
from random_mechanisms import random_loops

from sparsebody.kinematics.joint_motion import body_rotations, joint_motion
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State, System
from sparsebody.spatial import rotation_from_quaternion

some_seeds = pytest.mark.parametrize("seed", range(5))


def sample(seed: int) -> tuple[System, State, np.random.Generator]:
    """Loops between bodies and to the world, with velocities that obey no joint."""
    rng = np.random.default_rng(seed)
    system = random_loops(rng, 6, 4).compile()
    state = system.initial_state
    return system, state.with_(velocity=rng.normal(size=state.velocity.shape)), rng


@some_seeds
def test_rotations_are_those_of_the_quaternions(seed: int) -> None:
    _, state, _ = sample(seed)
    expected = [rotation_from_quaternion(q) for q in state.orientation]
    np.testing.assert_allclose(body_rotations(state), expected, atol=1e-15)


@some_seeds
def test_joint_poses_and_velocities_are_differences_of_the_two_bodies(seed: int) -> None:
    system, state, _ = sample(seed)
    motion, view = joint_motion(system, state), oracles.WorldView(system, state)
    for j in range(system.n_joints):
        E, r = view.relative_pose(j)
        np.testing.assert_allclose(motion.rotation[j], E, atol=1e-14)
        np.testing.assert_allclose(motion.translation[j], r, atol=1e-13)
        np.testing.assert_allclose(motion.velocity[j], view.joint_velocity(j), atol=1e-13)


@some_seeds
def test_the_predecessor_is_seen_from_the_successor_frame(seed: int) -> None:
    system, state, _ = sample(seed)
    motion, view = joint_motion(system, state), oracles.WorldView(system, state)
    for j in range(system.n_joints):
        p = system.predecessor[j]
        R_S, x_S = view.joint_frame(j, "S")
        R_p, x_p = (view.rotation[p], view.center[p]) if p >= 0 else (np.eye(3), np.zeros(3))
        spin = view.spin[p] if p >= 0 else np.zeros(3)
        velocity = np.concatenate([R_S.T @ spin, R_S.T @ view.point_velocity(p, x_S)])
        np.testing.assert_allclose(motion.to_successor[j], R_S.T @ R_p, atol=1e-14)
        np.testing.assert_allclose(motion.arm[j], R_p.T @ (x_S - x_p), atol=1e-13)
        np.testing.assert_allclose(motion.predecessor_velocity[j], velocity, atol=1e-13)


@some_seeds
def test_joint_velocities_are_the_rates_of_the_joint_poses(seed: int) -> None:
    """dr/dt = E' u, and dE/dt = -w x E."""
    system, state, _ = sample(seed)
    h = 1e-6
    now = joint_motion(system, state)
    ahead = joint_motion(system, displaced(state, h * state.velocity))
    behind = joint_motion(system, displaced(state, -h * state.velocity))
    rate = (ahead.translation - behind.translation) / (2 * h)
    slide = np.einsum("jba,jb->ja", now.rotation, now.velocity[:, 3:])
    # S turns with the predecessor as well: what P sees of it
    np.testing.assert_allclose(rate, slide, atol=1e-7)
    turning = (ahead.rotation - behind.rotation) / (2 * h)
    spin = np.cross(now.velocity[:, None, :3], np.swapaxes(now.rotation, 1, 2))
    np.testing.assert_allclose(turning, -np.swapaxes(spin, 1, 2), atol=1e-7)


def test_nothing_is_lost_far_from_the_origin() -> None:
    system, state, _ = sample(1)
    inner = (system.predecessor >= 0) & (system.successor >= 0)
    far = state.with_(position=state.position + 2.0**20)
    near = joint_motion(system, state).translation[inner]
    np.testing.assert_allclose(
        joint_motion(system, far).translation[inner], near, atol=2.0**20 * 1e-15
    )
