"""Orders measured on closed forms; every row of INTEGRATORS."""

import numpy as np
import pytest
from closed_stages import close_stages
from linkages import one_body
from scipy.special import ellipj

import sparsebody as sb
from sparsebody.simulation import INTEGRATORS
from sparsebody.simulation.integrators import (
    OPEN_STAGES,
    RK4,
    ImplicitIntegrator,
    Integrator,
    semi_implicit_euler_step,
)

INERTIA = np.array([1.0, 2.0, 3.0])
START = np.array([1.0, 0.0, 1.0])  # [rad/s]; above the separatrix


def euler_top(time):
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


def slope(steps, errors):
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


@pytest.mark.parametrize("tableau", [RK4, OPEN_STAGES])
def test_coefficients_meet_the_conditions_of_order_4(tableau):
    """For y'' = f(y, y'), and of order 3 for the error. Hairer, Norsett, Wanner (1993), II.14."""
    b, c = tableau.rate[-1], np.append(0.0, tableau.node[:-1])
    a, pose = np.zeros((2, 4, 4))
    a[1:] = c[1:, None] * tableau.rate[:-1]
    pose[1:] = 0.5 * c[1:, None] ** 2 * tableau.pose[:-1]
    conditions = [(b @ c**k, 1 / (k + 1)) for k in range(4)]
    conditions += [(b @ a @ c, 1 / 6), (b @ a @ c**2, 1 / 12), (b @ (c * (a @ c)), 1 / 8)]
    conditions += [(b @ a @ a @ c, 1 / 24), (b @ pose @ c, 1 / 24)]
    b_pose = 0.5 * tableau.pose[-1]
    conditions += [(b_pose @ c**k, 1 / ((k + 1) * (k + 2))) for k in range(3)]
    conditions += [(b_pose @ a @ c, 1 / 24)]
    e, c_all = tableau.error, np.append(c, 1.0)
    conditions += [(e @ c_all**k, 0.0) for k in range(3)]
    conditions += [(e @ np.append(a @ c, b @ c), 0.0)]
    np.testing.assert_allclose(*np.transpose(conditions), atol=1e-15)
    np.testing.assert_allclose(a.sum(axis=1), c, atol=1e-15)
    np.testing.assert_allclose(pose.sum(axis=1), 0.5 * c**2, atol=1e-15)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("name", INTEGRATORS)
def test_error_of_a_free_top_falls_with_the_stated_order(name):
    top = one_body(gravity=(0, 0, 0), inertia=INERTIA, angular_velocity=START)
    system, errors = top.compile(), []
    steps = [0.2, 0.1, 0.05] if name == "radau-iia" else [0.1, 0.05, 0.025, 0.0125]
    for step in steps:
        run = sb.simulate(system, duration=2.0, step=step, method=name)
        errors.append(np.abs(run.velocity[-1, 0, :3] - euler_top(2.0)).max())
        np.testing.assert_allclose(np.linalg.norm(run.orientation, axis=2), 1.0, atol=1e-15)
    order = INTEGRATORS[name].order
    assert order - 0.2 < slope(steps, errors) < order + 0.6


@pytest.mark.filterwarnings("ignore:errors of the steps of")
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
    turn = {"linear_velocity": np.cross([0, 0, rate], arm), "angular_velocity": [0, 0, rate]}
    ball = {"inertia": [1e-9] * 3, "position": arm} | turn
    mechanism = one_body(sb.Spherical(), joint={"point": [0, 0, 0]}, **ball)
    system, steps, errors = mechanism.compile(), [0.04, 0.02, 0.01], []
    for step in steps:
        method = sb.Method(name, stabilization=stabilization)
        run = sb.simulate(system, duration=1.0, step=step, method=method)
        end = [np.sin(tilt) * np.cos(rate), np.sin(tilt) * np.sin(rate), -np.cos(tilt)]
        errors.append(np.abs(run.position[-1, 0] - end).max())
    order = INTEGRATORS[name].order
    if isinstance(INTEGRATORS[name], ImplicitIntegrator):  # uniform rotations are exact on SE(3)
        assert max(errors) < (2e-7 if name == "generalized-alpha" else 1e-9)  # C lambda, Newton
    else:
        assert order - 0.3 < slope(steps, errors) < order + 0.8


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_semi_implicit_euler_keeps_the_energy_of_an_oscillation_bounded():
    mechanism = one_body(sb.Prismatic(), gravity=(0, 0, 0))
    mechanism.add_joint_force("spring", "joint", stiffness=1.0, rest=1.0)
    system = mechanism.compile()
    run = sb.simulate(system, duration=200.0, step=0.1, method="semi-implicit-euler")
    assert run.energy_error < 0.06
    half = len(run) // 2
    assert np.ptp(run.energy[half:]) == pytest.approx(np.ptp(run.energy[:half]), rel=0.05)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("name", ["bricard", "four-bar"])
def test_compiled_semi_implicit_steps_are_those_of_evaluations(monkeypatch, name):
    system, method = sb.build(name).compile(), "semi-implicit-euler"
    options = {"duration": 0.2, "step": 0.01, "method": method}
    compiled = sb.simulate(system, **options)
    monkeypatch.setitem(INTEGRATORS, method, Integrator(semi_implicit_euler_step, order=1))
    general = sb.simulate(system, **options)
    for array in ("position", "orientation", "velocity"):
        expected = getattr(general, array)
        np.testing.assert_allclose(getattr(compiled, array), expected, atol=1e-12, err_msg=array)


@pytest.mark.parametrize("name", ["ladder", "four-bar", "n-four-bar", "chain", "tree"])
def test_stages_that_stay_open_leave_smaller_errors_than_closed_ones(monkeypatch, name):
    system, errors = sb.build(name).compile(), []
    exact = sb.simulate(system, duration=0.1, step=5e-4, method="rk4")
    for closes in (False, True):
        if closes:
            close_stages(monkeypatch)
        run = sb.simulate(system, duration=0.1, step=4e-3, method="rk4")
        assert run.position_error.max() < 1e-13
        errors.append(np.abs(run.position[-1] - exact.position[-1]).max())
    assert 1e-13 < errors[0] < errors[1] < 1e-7  # above rounding
