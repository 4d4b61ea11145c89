from dataclasses import replace

import numpy as np
import pytest
from linkages import one_body
from scipy.spatial.transform import Rotation

import sparsebody as sb
from sparsebody._core import simulation as native
from sparsebody.kinematics.joint_motion import body_rotations


def end(system, step, method):
    return sb.simulate(system, duration=0.5, step=step, method=method).position[-1]


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize(
    ("name", "method", "step", "order"),
    [
        ("four-bar", "variational", 0.01, 2),
        ("bricard", "variational", 0.01, 2),
        ("bricard", "variational-4", 0.02, 4),
    ],
)
def test_halving_the_step_shows_the_order(name, method, step, order):
    system = sb.build(name).compile()
    exact = end(system, 0.001, "rk4")
    errors = [np.abs(end(system, h, method) - exact).max() for h in (step, step / 2)]
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.1)


@pytest.mark.parametrize("name", ["four-bar", "bricard", "ladder"])
def test_compiled_steps_are_those_of_evaluations(name):
    system = sb.build(name).compile()
    options = {"duration": 0.2, "step": 0.01, "method": "variational-4"}
    compiled = sb.simulate(system, **options)
    still = np.zeros((system.n_bodies, 6))
    general = sb.simulate(system, control=lambda time, state: still, **options)
    np.testing.assert_allclose(compiled.position, general.position, atol=1e-12)
    scale = np.abs(general.velocity).max()
    np.testing.assert_allclose(compiled.velocity, general.velocity, atol=1e-11 * scale)


def test_products_of_inertia_with_the_normal_turn_no_body_out_of_its_plane():
    system = sb.build("four-bar").compile()
    inertia = system.inertia + np.array([[0.1, 0.0, 0.01], [0.0, 0.1, 0.02], [0.01, 0.02, 0.1]])
    system = replace(system, inertia=inertia)
    options = {"duration": 0.5, "step": 0.01, "method": "variational"}
    in_plane, in_space = (
        sb.simulate(system, dynamics=sb.Solver(reduction=kind), **options)
        for kind in ("auto", "none")
    )
    np.testing.assert_allclose(in_plane.orientation, in_space.orientation, atol=1e-12)


def test_a_free_body_keeps_its_momenta_and_its_energy():
    """It turns about all of its axes."""
    brick = {"mass": 2.0, "inertia": [1.0, 2.0, 2.5], "angular_velocity": [0.3, 2.0, -0.4]}
    system = one_body(gravity=[0, 0, 0], **brick).compile()
    run = sb.simulate(system, duration=15.0, step=0.02, method="variational")
    R = [body_rotations(run.state(k))[0] for k in range(len(run))]
    momenta = np.einsum("tij,jk,tk->ti", R, system.inertia[0], run.velocity[:, 0, :3])
    np.testing.assert_allclose(momenta, momenta[:1].repeat(len(run), 0), rtol=1e-12, atol=1e-12)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-10  # what rounding adds up to


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_the_energy_of_a_linkage_errs_no_more_later():
    run = sb.simulate(sb.build("bricard").compile(), duration=40.0, step=0.01, method="variational")
    error = np.abs(run.energy - run.energy[0]).reshape(-1)[1:].reshape(10, -1).max(axis=1)
    assert error[-1] < 1.1 * error[:5].max()


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("method", ["variational", "variational-4"])
def test_a_motion_leads_back(method):
    system = sb.build("four-bar").compile()
    state = sb.consistent_state(system)
    options = {"duration": 0.3, "step": 0.01, "method": method}
    there = sb.simulate(system, state, **options).state(-1)
    turned = there.with_(velocity=-there.velocity, time=0.0)
    back = sb.simulate(system, turned, **options).state(-1)
    np.testing.assert_allclose(back.position, state.position, atol=1e-11)
    np.testing.assert_allclose(back.velocity, -state.velocity, atol=1e-10)


def test_singular_poses_are_passed_and_told_of():
    run = sb.simulate(
        sb.build("n-four-bar", loops=4).compile(), duration=1.0, step=0.005, method="variational-4"
    )
    assert np.abs(run.energy - run.energy[0]).max() < 1e-6
    assert run.events[-1].kind == "other steps"
    assert "steps near singular poses were those of rk4" in run.events[-1].message


@pytest.mark.parametrize("angle", [1e-4, 0.1, 0.8, 1.3])
def test_discrete_rotations_have_their_momentum_to_rounding_at_any_angle(angle):
    """vee(F J - J F') = p for F = exp(t), J = tr(I) / 2 - I: Lee, Leok and McClamroch (2007)."""
    rng = np.random.default_rng(0)
    inertia = np.array([np.diag(rng.uniform(1.0, 1.9, 3)) for _ in range(20)])
    t = rng.normal(size=(20, 3))
    t *= angle / np.linalg.norm(t, axis=1, keepdims=True)
    F = Rotation.from_rotvec(t).as_matrix()
    J = np.trace(inertia, axis1=1, axis2=2)[:, None, None] / 2.0 * np.eye(3) - inertia
    skew = F @ J - J @ np.swapaxes(F, 1, 2)
    momentum = np.ascontiguousarray(skew[:, [2, 0, 1], [1, 2, 0]])
    np.testing.assert_allclose(native.discrete_rotations(inertia, momentum), t, atol=1e-14)


def test_there_is_no_discrete_rotation_with_too_large_a_momentum():
    rotation = native.discrete_rotations(np.eye(3)[None], np.array([[1.2, 0.0, 0.0]]))
    assert np.isnan(rotation).all()
