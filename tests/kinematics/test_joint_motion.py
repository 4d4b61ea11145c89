"""Relative motion at the joints against one-by-one arithmetic in world axes."""

import numpy as np
import oracles
import pytest
from random_mechanisms import random_loops, random_tree

from sparsebody.equations.system_motion import constraint_errors
from sparsebody.kinematics.joint_motion import (
    CoordinateMotion,
    coordinate_motion,
    joint_motion,
    prescribed_motion,
)
from sparsebody.kinematics.poses import displaced
from sparsebody.model.joints import (
    Helical,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import Polynomial, Sinusoid

some_seeds = pytest.mark.parametrize("seed", range(5))


def sample(seed: int) -> tuple[System, State, np.random.Generator]:
    """Loops between bodies and to the world, with velocities that obey no joint."""
    rng = np.random.default_rng(seed)
    system = random_loops(rng, 6, 4).compile()
    state = system.initial_state
    return system, state.with_(velocity=rng.normal(size=state.velocity.shape)), rng


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


def errors_of(system: System, state: State) -> np.ndarray:
    return constraint_errors(system, state)[0]


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
    state = system.initial_state.with_(time=0.4)
    asked = -constraint_errors(system, state)[1]
    np.testing.assert_allclose(asked, [0, 0, 0, 0, 0, wave(0.4)[1]])
