"""Relative motion at the joints against one-by-one arithmetic in world axes; moving bodies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linkages import one_body
from random_mechanisms import random_loops, random_tree
from world_view import WorldView

import sparsebody as sb
from sparsebody.equations.system_motion import SystemMotion, constraint_errors
from sparsebody.kinematics import joint_motion as kinematics
from sparsebody.kinematics.joint_motion import body_rotations, joint_motion
from sparsebody.spatial import quaternion_from_rotation, rotation_exponential

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(params=range(5))
def moving(request):
    """Loops between bodies and to the world, with velocities that obey no joint."""
    rng = np.random.default_rng(request.param)
    system = random_loops(rng, 6, 4).compile()
    state = system.initial_state
    return system, state.with_(velocity=rng.normal(size=state.velocity.shape))


def test_joint_motions_are_differences_of_the_two_bodies_and_the_predecessor_is_seen_from_s(moving):
    system, state = moving
    motion, view = joint_motion(system, state), WorldView(system, state)
    for j, p in enumerate(system.predecessor):
        E, r = view.relative_pose(j)
        np.testing.assert_allclose(motion.rotation[j], E, atol=1e-14)
        np.testing.assert_allclose(motion.translation[j], r, atol=1e-13)
        np.testing.assert_allclose(motion.velocity[j], view.joint_velocity(j), atol=1e-13)
        R_S, x_S = view.joint_frame(j, "S")
        R_p, x_p = (view.rotation[p], view.center[p]) if p >= 0 else (np.eye(3), np.zeros(3))
        spin = view.spin[p] if p >= 0 else np.zeros(3)
        velocity = np.concatenate([R_S.T @ spin, R_S.T @ view.point_velocity(p, x_S)])
        np.testing.assert_allclose(motion.to_successor[j], R_S.T @ R_p, atol=1e-14)
        np.testing.assert_allclose(motion.arm[j], R_p.T @ (x_S - x_p), atol=1e-13)
        np.testing.assert_allclose(motion.predecessor_velocity[j], velocity, atol=1e-13)


def test_nothing_is_lost_far_from_the_origin(moving):
    system, state = moving
    inner = (system.predecessor >= 0) & (system.successor >= 0)
    far = joint_motion(system, state.with_(position=state.position + 2.0**20))
    near = joint_motion(system, state).translation[inner]
    np.testing.assert_allclose(far.translation[inner], near, atol=2.0**20 * 1e-15)


def coordinates_of(system, state):
    return kinematics.coordinate_motion(system, state, joint_motion(system, state))


def wheel(joint_type, coordinate=0, prescribed=None):
    """One body, its frame on the joint frame, with a tracked coordinate."""
    mechanism = one_body(joint_type, joint={"prescribed": prescribed})
    if joint_type.has_named_coordinates:
        mechanism.add_joint_force("force", "joint", coordinate=coordinate, damping=1.0)
    return mechanism.compile()


@pytest.mark.parametrize(
    ("joint_type", "coordinate", "axis"),
    [(sb.Revolute(), 0, 2), (sb.Universal(), 0, 0), (sb.Universal(), 1, 1), (sb.Planar(), 2, 2)],
)
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_angles_count_whole_turns(joint_type, coordinate, axis, direction):
    system = wheel(joint_type, coordinate)
    state, step = system.initial_state, 0.9 * direction
    twist = np.zeros((1, 6))
    twist[0, axis] = step
    for k in range(1, 20):
        state = sb.displaced(state, twist)
        value = coordinates_of(system, state).value
        np.testing.assert_allclose(value, [k * step], atol=1e-13)
        state = state.with_(coordinate=value)


@pytest.mark.parametrize("slip", [0.0, 0.02])
def test_a_screw_reads_its_turns_from_its_travel_and_its_angle_from_its_body(slip):
    """So that it grows with its dual vector: a drive then closes together with the thread."""
    system = wheel(sb.Helical(0.1))
    twist = np.array([[0, 0, 1.0, 0, 0, 0.1 * (1.0 + 6 * np.pi) + slip]])
    value = coordinates_of(system, sb.displaced(system.initial_state, twist)).value
    np.testing.assert_allclose(value, [1.0 + 6 * np.pi])  # whatever the state remembers


def test_distances_do_not_jump_by_turns():
    system = wheel(sb.Prismatic())
    state = system.initial_state.with_(coordinate=np.array([-10.0]))
    state = sb.displaced(state, np.array([[0, 0, 0, 0, 0, 25.0]]))
    np.testing.assert_allclose(coordinates_of(system, state).value, [25.0])


@pytest.mark.parametrize("seed", range(6))
def test_rates_are_the_rates_of_the_values(seed):
    mechanism = random_tree(np.random.default_rng(seed), 8)
    for name, joint in mechanism.joints.items():
        for i in joint.type.scalar_positions:
            mechanism.add_joint_force(f"{name}.{i}", name, coordinate=i, stiffness=1.0)
    system = mechanism.compile()
    state, h = system.initial_state, 1e-6
    ahead = coordinates_of(system, sb.displaced(state, h * state.velocity)).value
    behind = coordinates_of(system, sb.displaced(state, -h * state.velocity)).value
    now = coordinates_of(system, state)
    np.testing.assert_allclose(now.rate, (ahead - behind) / (2 * h), atol=1e-7)
    view = WorldView(system, state)
    for item, j in enumerate(system.coordinates.joint):
        assert now.rate[item] == pytest.approx(now.active_force[item] @ view.joint_velocity(int(j)))


TURNING, SLIDING = sb.Polynomial((0.2, 3.0)), sb.Polynomial((0.2, 100.0))


@pytest.mark.parametrize(
    ("joint_type", "drive", "twist", "time", "errors"),
    [
        (sb.Spherical(), None, [0, 0, 0, 0.1, -0.2, 0.3], 0.0, [0.1, -0.2, 0.3]),
        (sb.Revolute(), TURNING, [0, 0, 0.3, 0, 0, 0], 0.0, [0, 0, 0, 0, 0, 0.1]),
        (sb.Revolute(), TURNING, [0, 0, 0.3, 0, 0, 0], 2 * np.pi / 3.0, [0, 0, 0, 0, 0, 0.1]),
        (sb.Revolute(), TURNING, [0, 0, 0.3, 0, 0, 0], 0.1, [0, 0, 0, 0, 0, -0.2]),
        (sb.Prismatic(), SLIDING, [0] * 6, 1.0, [0, 0, 0, 0, 0, -100.2]),
    ],
)
def test_errors_are_displacements_and_prescribed_angles_count_modulo_whole_turns(
    joint_type, drive, twist, time, errors
):
    system = wheel(joint_type, prescribed=drive)
    state = sb.displaced(system.initial_state, np.array([twist], dtype=float)).with_(time=time)
    np.testing.assert_allclose(constraint_errors(system, state)[0], errors, atol=1e-14)


def test_prescribed_coordinates_and_rates_follow_their_functions():
    mechanism = sb.Mechanism()
    mechanism.add_bodies(["a", "b"], mass=1.0, inertia=[1, 1, 1])
    wave, fall = sb.Sinusoid(2.0, 3.0), sb.Polynomial((1.0, 2.0, 3.0))
    mechanism.add_joint("first", sb.Universal(), sb.WORLD, "a", prescribed={1: wave})
    mechanism.add_joint("second", sb.Prismatic(), "a", "b", prescribed=fall)
    mechanism.add_joint_force("spring", "first", coordinate=0, stiffness=1.0)
    system = mechanism.compile()
    assert system.coordinates.prescribed.tolist() == [1, 2]
    np.testing.assert_allclose(kinematics.prescribed_motion(system, 0.7), [wave(0.7), fall(0.7)])
    rates = [*np.zeros(4), wave(0.7)[1], *np.zeros(5), fall(0.7)[1]]
    at_rest = system.initial_state.with_(time=0.7)
    np.testing.assert_allclose(-constraint_errors(system, at_rest)[1], rates)
    accelerations = [*np.zeros(4), wave(0.7)[2], *np.zeros(5), fall(0.7)[2]]
    np.testing.assert_allclose(SystemMotion(system, at_rest).constraint.acceleration, accelerations)


def random_system(seed):
    rng = np.random.default_rng(seed)
    return random_tree(rng, 4).compile(), rng


@given(seed=SEEDS, size=st.sampled_from([0.0, 1e-12, 1e-9, 1e-3, 1.0, 10.0]))
def test_a_body_turns_by_the_exponential_and_moves_along_its_axes(seed, size):
    system, rng = random_system(seed)
    before = system.initial_state
    twist = size * rng.normal(size=(system.n_bodies, 6))
    after = sb.displaced(before, twist)
    R_before, R_after = body_rotations(before), body_rotations(after)
    for i, (w, u) in enumerate(twist.reshape(-1, 2, 3)):
        turned = R_before[i] @ rotation_exponential(w)
        np.testing.assert_allclose(R_after[i], turned, atol=1e-14)
        np.testing.assert_allclose(
            after.position[i], before.position[i] + R_before[i] @ u, atol=1e-14
        )
    np.testing.assert_allclose(np.linalg.norm(after.orientation, axis=1), 1.0, atol=1e-15)
    assert after.velocity is before.velocity
    assert after.time == before.time


def test_displacing_normalizes_the_quaternions():
    system, _ = random_system(0)
    state = system.initial_state
    state = state.with_(orientation=state.orientation * (1.0 + 1e-7))
    after = sb.displaced(state, np.zeros((system.n_bodies, 6)))
    np.testing.assert_allclose(after.orientation, system.initial_state.orientation, atol=1e-15)


@given(seed=SEEDS)
def test_a_point_is_where_its_body_carries_it(seed):
    rng = np.random.default_rng(seed)
    R = rotation_exponential(rng.normal(size=3))
    points, center, point = rng.normal(size=(3, 3))
    pose = {"position": points, "orientation": quaternion_from_rotation(R)}
    system = one_body(center_of_mass=center, **pose).compile()
    position = sb.point_position(system, system.initial_state, "body", point)
    np.testing.assert_allclose(position, points + R @ point, atol=1e-14)


@given(seed=SEEDS)
def test_the_velocity_of_a_point_is_the_rate_of_its_position(seed):
    system, rng = random_system(seed)
    state, h, point = system.initial_state, 1e-6, rng.normal(size=3)
    for name in system.body_names:
        ahead = sb.point_position(system, sb.displaced(state, h * state.velocity), name, point)
        behind = sb.point_position(system, sb.displaced(state, -h * state.velocity), name, point)
        rate = sb.point_velocity(system, state, name, point)
        np.testing.assert_allclose(rate, (ahead - behind) / (2 * h), atol=1e-8)


def test_points_and_wrenches_of_a_trajectory_are_those_of_its_states():
    system = sb.build("four-bar", speed=3.0).compile()
    run = sb.simulate(system, duration=0.1, step=0.01, record=sb.Recording(reactions=True))
    states, point = [run.state(i) for i in range(len(run))], ("coupler", [0.1, 0.2, 0.3])
    for function in (sb.point_position, sb.point_velocity):
        each = [function(system, state, *point) for state in states]
        np.testing.assert_allclose(function(system, run, *point), each, atol=1e-14)
    pairs = zip(states, run.joint_wrench, strict=True)
    each = [sb.world_wrenches(system, state, wrench) for state, wrench in pairs]
    np.testing.assert_allclose(sb.world_wrenches(system, run, run.joint_wrench), each, atol=1e-12)


def free_flight(t):
    """A body that turns steadily about a fixed axis while it falls: state and acceleration.

    The spatial acceleration is the rate of the velocity in body axes.
    """
    spin, start, g = np.array([0.3, -1.1, 0.7]), np.array([2.0, 1.0, 3.0]), np.array([0, 0, -9.81])
    R = rotation_exponential(t * spin)
    speed = start + t * g
    state = sb.State(
        (t * start + 0.5 * t**2 * g)[None],
        quaternion_from_rotation(R)[None],
        np.concatenate([spin, R.T @ speed])[None],
        np.zeros(0),
        t,
    )
    acceleration = np.concatenate([np.zeros(3), R.T @ g - np.cross(spin, R.T @ speed)])
    return state, acceleration[None]


@pytest.mark.parametrize("t", [0.0, 0.4, 2.0])
def test_linear_acceleration_is_the_second_difference_of_the_path(t):
    h = 1e-3
    state, acceleration = free_flight(t)
    points = [free_flight(t + step)[0].position for step in (-h, 0.0, h)]
    expected = (points[0] - 2 * points[1] + points[2]) / h**2
    linear = sb.linear_accelerations(state, acceleration)
    np.testing.assert_allclose(linear, expected, atol=1e-7)
    np.testing.assert_allclose(linear, [[0, 0, -9.81]], atol=1e-13)
