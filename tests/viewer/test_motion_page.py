from dataclasses import replace

import numpy as np
import pytest
from page_documents import quaternions, unpacked

import sparsebody as sb
from sparsebody.errors import ShapeError, SimulationError, UnknownNameError
from sparsebody.kinematics.joint_motion import body_rotations, world_wrenches
from sparsebody.viewer import motion_page


@pytest.fixture(scope="module")
def motion():
    system = sb.build("four-bar", speed=3.0).compile()
    record = sb.Recording(reactions=True)
    return system, sb.simulate(system, duration=0.5, step=0.01, record=record)


def test_poses_on_the_page_are_those_of_the_trajectory(motion):
    system, trajectory = motion
    header, page = unpacked(motion_page(system, trajectory).document)
    n, shape = header["n_frames"], trajectory.position.shape
    level = page["position"].reshape(shape)
    low, step = (page[f"position_{part}"].reshape(shape[1:]) for part in ("low", "step"))
    points = page["center"] + low + step * level
    assert np.abs(points - trajectory.position).max() < 2e-5 * np.ptp(trajectory.position)
    q = quaternions(page["orientation"].reshape(n, -1, 3))
    cosine = np.abs(np.sum(q * trajectory.orientation, axis=2))
    assert cosine.min() > 1 - 1e-9
    np.testing.assert_array_equal(page["time"], trajectory.time)


@pytest.mark.parametrize(("n", "expected"), [(1, [0.0]), (2, [0.0, 0.5]), (3, [0.0, 0.25, 0.5])])
def test_frames_are_equally_spaced_in_time(motion, n, expected):
    _, page = unpacked(motion_page(*motion, n_frames=n).document)
    np.testing.assert_allclose(page["time"], expected, rtol=1e-12)


def test_frames_of_a_motion_of_nanoseconds_are_not_its_first_ones(motion):
    system, trajectory = motion
    short = replace(trajectory, time=trajectory.time * 1e-9)
    _, page = unpacked(motion_page(system, short, n_frames=3).document)
    np.testing.assert_allclose(page["time"], [0.0, 0.25e-9, 0.5e-9], rtol=1e-12)


@pytest.mark.parametrize("n", [0, -1])
def test_less_than_one_frame_is_refused(motion, n):
    with pytest.raises(SimulationError, match="choose at least one"):
        motion_page(*motion, n_frames=n)


def test_vertices_on_the_page_are_those_of_the_mesh():
    corners = np.array([[0.0, 0, 0], [3, 0, 0], [0, 0.2, 0], [0.1, 0.1, 1]])
    blue = (0.0, 0.2, 1.0)
    shapes = [
        sb.Mesh(corners, [[0, 1, 2], [1, 2, 3]], color=blue),
        sb.Mesh(corners[::-1], [[0, 1, 2]]),
    ]
    mechanism = sb.Mechanism("meshes")
    mechanism.add_bodies("body {}", mass=np.ones(2), inertia=[1.0, 1.0, 1.0], shape=shapes)
    system = mechanism.compile()
    _, page = unpacked(motion_page(system, system.initial_state).document)
    unit = page["mesh_vertex"].reshape(2, 4, 3) / 65535 - 0.5
    frame = page["part_frame"].reshape(-1, 3, 4)[[list(page["part_kind"]).index(k) for k in (5, 6)]]
    placed = np.einsum("nij,nkj->nki", frame[:, :, :3], unit) + frame[:, None, :, 3]
    np.testing.assert_allclose(placed, [corners, corners[::-1]], atol=3.0 / 65535)
    assert page["mesh_n_triangles"].tolist() == [2, 1]
    colors = page["part_color"][[list(page["part_kind"]).index(k) for k in (5, 6)]]
    assert colors.tolist() == [0x0033FF, -1]
    assert page["mesh_triangle"].reshape(3, 3).tolist() == [[0, 1, 2], [1, 2, 3], [0, 1, 2]]


def test_speeds_and_energies_are_those_of_the_trajectory(motion):
    system, trajectory = motion
    _, page = unpacked(motion_page(system, trajectory).document)
    energy = page["energy_step"] * page["energy"]
    np.testing.assert_allclose(energy.sum(axis=1), trajectory.kinetic_energy, rtol=1e-4)
    speed = np.linalg.norm(np.gradient(trajectory.position, trajectory.time, axis=0), axis=2)
    np.testing.assert_allclose((page["speed_step"] * page["speed"])[1:-1], speed[1:-1], rtol=0.02)


def test_reactions_are_told_in_the_axes_of_the_successor(motion):
    system, trajectory = motion
    _, page = unpacked(motion_page(system, trajectory).document)
    wrench = page["wrench_low"] + page["wrench_step"] * page["wrench"]
    force = wrench.reshape(len(trajectory), -1, 2, 3)[20, :, 1]
    state = trajectory.state(20)
    R = np.concatenate([body_rotations(state), np.eye(3)[None]])[system.successor]
    expected = world_wrenches(system, state, trajectory.joint_wrench[20])[:, 3:]
    np.testing.assert_allclose(np.einsum("nij,nj->ni", R, force), expected, atol=0.02)


def test_redundant_joints_and_the_order_are_those_of_forward_dynamics(motion):
    system, trajectory = motion
    _, page = unpacked(motion_page(system, trajectory).document)
    dynamics = sb.ForwardDynamics(system, trajectory.state(0))
    assert page["redundant"].sum() == len(dynamics.redundant_rows)
    order = dynamics.choice.order
    assert page["order"][order[0]] == 0
    assert sorted(page["order"]) == list(range(len(order)))


def test_four_hundred_bodies_and_frames_stay_below_five_megabytes():
    system = sb.build("lattice", rows=20, columns=20).compile()
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 4.0, 400)
    phase = rng.uniform(0, 6, (2, 400))
    swing = np.sin(3 * t[:, None, None] + phase.T[None]) + 0.1 * np.sin(17 * t)[:, None, None]
    state, still = system.initial_state, np.zeros((400, 400, 6))
    position = state.position + 0.1 * np.concatenate([swing, swing[..., :1]], axis=2)
    orientation = np.concatenate(
        [np.cos(0.2 * swing[..., :1]), np.zeros((400, 400, 2)), np.sin(0.2 * swing[..., :1])],
        axis=2,
    )
    still[..., 3:] = np.gradient(position, t, axis=0)
    wrench = 10 * np.repeat(swing[:, :1], system.n_joints, axis=1)[..., [0, 1, 0, 1, 0, 1]]
    wrench = wrench * rng.uniform(0.5, 1, system.n_joints)[:, None]
    short = sb.simulate(system, duration=1e-3, step=1e-3)
    series = {"kinetic_energy": t, "potential_energy": t, "position_error": t, "velocity_error": t}
    series |= {"position": position, "orientation": orientation, "velocity": still}
    series |= {"momentum": np.zeros((400, 6)), "joint_wrench": wrench, "coordinate": t[:, None]}
    whole = replace(short, time=t, elastic_energy=None, **series)
    assert len(motion_page(system, whole).html) < 5e6


def test_up_is_against_gravity():
    down = sb.build("pendulum", gravity=(0.0, 0.0, 9.81)).compile()
    header, _ = unpacked(motion_page(down, down.initial_state).document)
    assert header["up"] == [0.0, 0.0, -1.0]
    flat = sb.build("rotating-squares", gravity=(0.0, 0.0, 0.0)).compile()
    header, _ = unpacked(motion_page(flat, flat.initial_state).document)
    assert header["up"] == [0.0, 1.0, 0.0]


def test_what_cannot_be_shown_is_refused(motion):
    system, trajectory = motion
    with pytest.raises(UnknownNameError, match="plain, speed, energy, load, order"):
        motion_page(system, trajectory, color="blue")
    with pytest.raises(UnknownNameError, match="no reactions are recorded"):
        motion_page(system, trajectory.state(0), color="load")
    with pytest.raises(ShapeError, match="other body names"):
        motion_page(sb.build("chain").compile(), trajectory)
