"""Orders measured on closed forms; every row of INTEGRATORS."""

import numpy as np
import pytest
from scipy.special import ellipj

import sparsebody as sb
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.simulation import INTEGRATORS
from sparsebody.simulation.integrators import ImplicitIntegrator, moved, pose_derivatives

INERTIA = np.array([1.0, 2.0, 3.0])
START = np.array([1.0, 0.0, 1.0])  # [rad/s]; above the separatrix


def free_top() -> sb.System:
    mechanism = sb.Mechanism("free top", gravity=(0, 0, 0))
    mechanism.add_body("top", mass=1.0, inertia=INERTIA, angular_velocity=START)
    return mechanism.compile()


def euler_top(time: float) -> np.ndarray:
    """Angular velocity of the free top, Landau and Lifshitz, Mechanics, sec. 37."""
    I1, I2, I3 = INERTIA
    twice_energy, L2 = INERTIA @ START**2, np.sum((INERTIA * START) ** 2)
    assert twice_energy * I2 < L2
    rate = np.sqrt((I3 - I2) * (L2 - twice_energy * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (twice_energy * I3 - L2) / ((I3 - I2) * (L2 - twice_energy * I1))
    sn, cn, dn, _ = ellipj(rate * time, m)
    return np.array(
        [
            np.sqrt((twice_energy * I3 - L2) / (I1 * (I3 - I1))) * cn,
            np.sqrt((twice_energy * I3 - L2) / (I2 * (I3 - I2))) * sn,
            np.sqrt((L2 - twice_energy * I1) / (I3 * (I3 - I1))) * dn,
        ]
    )


def slope(steps: list[float], errors: list[float]) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


@pytest.mark.parametrize("name", INTEGRATORS)
def test_error_of_a_free_top_falls_with_the_stated_order(name):
    system, errors = free_top(), []
    steps = [0.2, 0.1, 0.05] if name == "radau-iia" else [0.1, 0.05, 0.025, 0.0125]
    for step in steps:
        run = sb.simulate(system, duration=2.0, step=step, method=name)
        errors.append(np.abs(run.velocity[-1, 0, :3] - euler_top(2.0)).max())
    order = INTEGRATORS[name].order
    assert order - 0.2 < slope(steps, errors) < order + 0.6


@pytest.mark.filterwarnings("ignore::sparsebody.errors.EnergyWarning")
@pytest.mark.parametrize(
    ("name", "stabilization"),
    [
        *((name, "projection") for name in INTEGRATORS),
        *((name, "none") for name in INTEGRATORS if not name.startswith("variational")),
    ],
)
def test_error_of_a_constrained_motion_falls_with_the_stated_order(name, stabilization):
    """A rolling precession: a spherical pendulum on a cone, which turns uniformly."""
    tilt, length = 0.7, 1.0
    rate = np.sqrt(9.81 / (length * np.cos(tilt)))
    arm = length * np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    mechanism = sb.Mechanism("conical pendulum")
    mechanism.add_body(
        "ball",
        mass=1.0,
        inertia=[1e-9] * 3,
        position=arm,
        linear_velocity=np.cross([0, 0, rate], arm),
        angular_velocity=[0, 0, rate],
    )
    mechanism.add_joint("hook", sb.Spherical(), sb.WORLD, "ball", point=[0, 0, 0])
    system, steps, errors = mechanism.compile(), [0.04, 0.02, 0.01], []
    for step in steps:
        run = sb.simulate(
            system, duration=1.0, step=step, method=sb.Method(name, stabilization=stabilization)
        )
        end = [np.sin(tilt) * np.cos(rate), np.sin(tilt) * np.sin(rate), -np.cos(tilt)]
        errors.append(np.abs(run.position[-1, 0] - end).max())
    order = INTEGRATORS[name].order
    if isinstance(INTEGRATORS[name], ImplicitIntegrator):  # uniform rotations are exact on SE(3)
        assert max(errors) < (2e-7 if name == "generalized-alpha" else 1e-9)  # C lambda, Newton
    else:
        assert order - 0.3 < slope(steps, errors) < order + 0.8


@pytest.mark.parametrize("name", INTEGRATORS)
def test_quaternions_stay_of_unit_length(name):
    run = sb.simulate(free_top(), duration=1.0, step=0.1, method=name)
    np.testing.assert_allclose(np.linalg.norm(run.orientation, axis=2), 1.0, atol=1e-15)


def test_semi_implicit_euler_keeps_the_energy_of_an_oscillation_bounded():
    mechanism = sb.Mechanism("swing", gravity=(0, 0, 0))
    mechanism.add_body("cart", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("rail", sb.Prismatic(), sb.WORLD, "cart")
    mechanism.add_joint_force("spring", "rail", stiffness=1.0, rest=1.0)
    system = mechanism.compile()
    run = sb.simulate(system, duration=200.0, step=0.1, method="semi-implicit-euler")
    assert run.energy_error < 0.06
    half = len(run) // 2
    assert np.ptp(run.energy[half:]) == pytest.approx(np.ptp(run.energy[:half]), rel=0.05)


def test_pose_derivatives_are_those_of_the_pose():
    """Of a body that moves with a linear velocity and acceleration in its axes."""
    rng = np.random.default_rng(0)
    q = rng.normal(size=(3, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    state = sb.State(rng.normal(size=(3, 3)), q, rng.normal(size=(3, 6)), np.zeros(0))
    acceleration = rng.normal(size=(3, 6))
    rate, curvature = pose_derivatives(state, acceleration)
    h = 1e-4
    ahead, behind = (
        sb.displaced(state, sign * h * (state.velocity + 0.5 * sign * h * acceleration))
        for sign in (1, -1)
    )
    pose, first, last = (np.hstack([s.position, s.orientation]) for s in (state, ahead, behind))
    np.testing.assert_allclose(rate, (first - last) / (2 * h), atol=1e-6)
    # `displaced` keeps the axes for the translation: w x u is added
    w, u = state.velocity[:, :3], state.velocity[:, 3:]
    turned = np.einsum("nij,nj->ni", body_rotations(state), np.cross(w, u))
    expected = (first - 2 * pose + last) / h**2 + np.hstack([turned, np.zeros((3, 4))])
    np.testing.assert_allclose(curvature, expected, atol=1e-5)


def test_velocities_follow_the_rates_of_the_pose():
    rng = np.random.default_rng(1)
    q = rng.normal(size=(3, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    state = sb.State(rng.normal(size=(3, 3)), q, rng.normal(size=(3, 6)), np.zeros(0))
    rate, curvature = pose_derivatives(state, rng.normal(size=(3, 6)))
    h = 0.1
    end = moved(state, rate, curvature, curvature, h)
    assert end.time == h
    np.testing.assert_allclose(
        end.position, state.position + h * rate[:, :3] + h**2 / 2 * curvature[:, :3]
    )
    there = pose_derivatives(end, np.zeros((3, 6)))[0]
    np.testing.assert_allclose(there[:, :3], (rate + h * curvature)[:, :3])
    same = moved(state, rate, curvature, curvature, 0.0)
    np.testing.assert_allclose(same.velocity, state.velocity, atol=1e-14)
