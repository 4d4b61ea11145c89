"""Published reference solutions: the IFToMM library, the IVP test set, ADAMS."""

from pathlib import Path

import numpy as np
import pytest
from linkages import one_body
from scipy.special import ellipj, ellipk

import sparsebody as sb
from sparsebody.spatial import quaternion_from_rotation, rotation_about


def read(name):
    path = Path(__file__).parent / "data" / f"{name}.csv"
    return np.genfromtxt(path, delimiter=",", names=True)


def test_simple_pendulum_follows_the_published_curve_and_the_elliptic_functions():
    reference = read("iftomm_a01")
    system = sb.build("pendulum").compile()
    run = sb.simulate(system, duration=10.0, step=0.01, record=sb.Recording(step=0.5))
    np.testing.assert_allclose(run.time, reference["t"], atol=1e-12)
    x, y = run.position[:, 0, 0], run.position[:, 0, 1]
    np.testing.assert_allclose(x, reference["x"], rtol=0, atol=1e-5)
    np.testing.assert_allclose(y, reference["y"], rtol=0, atol=1e-5)
    sn = ellipj(np.sqrt(9.81) * run.time + ellipk(0.5), 0.5)[0]
    angle = 2.0 * np.arcsin(np.sqrt(0.5) * sn)
    np.testing.assert_allclose(np.abs(x), np.abs(np.sin(angle)), rtol=0, atol=2e-6)


def test_forty_four_bars_stay_on_the_parallelogram_branch_through_singular_poses():
    reference = read("iftomm_a02_n40")
    system = sb.build("n-four-bar", loops=40).compile()
    run = sb.simulate(system, duration=20.0, step=0.005, record=sb.Recording(step=0.25))
    B0 = sb.point_position(system, run, "vertical-0", [0.5, 0, 0])
    np.testing.assert_allclose(run.time, reference["t"], atol=1e-9)
    expected = np.column_stack([reference["x_B0"], reference["y_B0"]])
    np.testing.assert_allclose(B0[:, :2], expected, rtol=0, atol=1e-3)
    assert run.position_error.max() < 1e-9
    assert run.energy_error < 1e-5
    assert any(event.kind == "passed pose" for event in run.events)


@pytest.mark.parametrize(
    ("joint_type", "frame_rotation", "name"),
    [
        (sb.Revolute(), rotation_about([1, 0, 0], -np.pi / 2), "adams_revolute"),
        (sb.Spherical(), np.eye(3), "adams_spherical"),
    ],
)
def test_swinging_bar_moves_and_loads_its_joint_as_adams_says(joint_type, frame_rotation, name):
    reference = read(name)
    near, far = (
        sb.Frame(x, quaternion_from_rotation(frame_rotation)) for x in ([0, 0, 0], [-2, 0, 0])
    )
    frames = {"predecessor_frame": near, "successor_frame": far}
    bar = {"inertia": [0.04, 0.1, 0.1], "position": [2.0, 0.0, 0.0]}
    system = one_body(joint_type, (0, 0, -9.80665), frames, **bar).compile()
    record = sb.Recording(step=0.25, reactions=True)
    run = sb.simulate(system, duration=5.0, step=0.01, record=record)
    np.testing.assert_allclose(run.time, reference["t"], atol=1e-9)
    for axis, x in enumerate("xyz"):
        np.testing.assert_allclose(run.position[:, 0, axis], reference[x], rtol=0, atol=1e-3)
    on_ground = -sb.world_wrenches(system, run, run.joint_wrench).reshape(-1, 2, 3)
    for axis, x in enumerate("xyz"):
        np.testing.assert_allclose(on_ground[:, 0, axis], reference[f"T{x}"], rtol=0, atol=2e-2)
        np.testing.assert_allclose(on_ground[:, 1, axis], reference[f"F{x}"], rtol=0, atol=2e-2)
