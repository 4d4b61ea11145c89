"""Published reference solutions: the IFToMM library, the IVP test set, ADAMS."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import sparsebody as sb
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model.gallery.open_chains import pendulum
from sparsebody.model.gallery.planar_linkages import andrews, n_four_bar
from sparsebody.spatial import quaternion_from_rotation, rotation_about

DATA = Path(__file__).parent / "data"
# Test Set for IVP Solvers, Andrews: beta, Theta, gamma, Phi, delta, Omega, epsilon at 0.03 s.
ANDREWS = (
    *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
    *(0.5244099658805303, 0.5347301163226948, 1.048080741042263),
)


def read(name: str) -> np.ndarray:
    return np.genfromtxt(DATA / f"{name}.csv", delimiter=",", names=True)


def test_simple_pendulum_follows_the_published_curve_and_the_elliptic_functions():
    reference = read("iftomm_a01")
    system = pendulum().compile()
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
    system = n_four_bar(40).compile()
    run = sb.simulate(system, duration=20.0, step=0.005, record=sb.Recording(step=0.05))
    B0 = [sb.point_position(system, run.state(i), "vertical-0", [0.5, 0, 0]) for i in range(401)]
    np.testing.assert_allclose(run.time, reference["t"], atol=1e-9)
    expected = np.column_stack([reference["x_B0"], reference["y_B0"]])
    np.testing.assert_allclose(np.array(B0)[:, :2], expected, rtol=0, atol=1e-3)
    assert run.position_error.max() < 1e-9
    assert run.energy_error < 1e-5
    assert any(event.kind == "passed pose" for event in run.events)


def test_andrews_squeezer_reaches_the_published_positions():
    system = andrews().compile()
    run = sb.simulate(system, duration=0.03, step=5e-5, record=sb.Recording(step=0.03))
    beta, theta, gamma, phi, delta, omega, epsilon = ANDREWS
    angles = (beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon)
    R = body_rotations(run.state(-1))
    for i, angle in enumerate(angles):
        np.testing.assert_allclose(R[i, :2, 0], [np.cos(angle), np.sin(angle)], rtol=0, atol=1e-6)
    assert run.coordinate[-1, 0] == pytest.approx(beta, abs=1e-6)  # whole turns counted


@pytest.mark.parametrize(
    ("joint_type", "frame_rotation", "name"),
    [
        (sb.Revolute(), rotation_about([1, 0, 0], -np.pi / 2), "adams_revolute"),
        (sb.Spherical(), np.eye(3), "adams_spherical"),
    ],
)
def test_swinging_bar_moves_and_loads_its_joint_as_adams_says(joint_type, frame_rotation, name):
    reference = read(name)
    mechanism = sb.Mechanism("bar", gravity=(0, 0, -9.80665))
    mechanism.add_body("bar", mass=1.0, inertia=[0.04, 0.1, 0.1], position=[2.0, 0.0, 0.0])
    turned = quaternion_from_rotation(frame_rotation)
    mechanism.add_joint(
        "joint",
        joint_type,
        sb.WORLD,
        "bar",
        predecessor_frame=sb.Frame((0, 0, 0), turned),
        successor_frame=sb.Frame((-2, 0, 0), turned),
    )
    system = mechanism.compile()
    run = sb.simulate(
        system, duration=5.0, step=0.01, record=sb.Recording(step=0.05, reactions=True)
    )
    np.testing.assert_allclose(run.time, reference["t"], atol=1e-9)
    for axis, x in enumerate("xyz"):
        np.testing.assert_allclose(run.position[:, 0, axis], reference[x], rtol=0, atol=1e-3)
    R = np.array([body_rotations(run.state(i))[0] for i in range(len(run))]) @ frame_rotation
    on_ground = -np.einsum("tij,tkj->tki", R, run.joint_wrench[:, 0].reshape(-1, 2, 3))
    for axis, x in enumerate("xyz"):
        np.testing.assert_allclose(on_ground[:, 0, axis], reference[f"T{x}"], rtol=0, atol=2e-2)
        np.testing.assert_allclose(on_ground[:, 1, axis], reference[f"F{x}"], rtol=0, atol=2e-2)
