import numpy as np
import pytest
from linkages import at_start
from random_mechanisms import random_loops, random_tree
from scipy.sparse import csr_array

import sparsebody as sb
from sparsebody.dynamics.inverse_dynamics import Equilibrium
from sparsebody.equations.inverse import actuator_rows, actuators_of, body_matrix, freedom_inertia
from sparsebody.errors import (
    ModelError,
    MotionError,
    ShapeError,
    SingularSystemError,
    UnknownNameError,
)
from sparsebody.kinematics.joint_motion import joint_motion
from sparsebody.methods import INVERSE_METHODS

OF_LOOPS = [name for name, kind in INVERSE_METHODS.items() if getattr(kind, "takes_loops", True)]


def acted(mechanism, rng, share=0.5):
    """Efforts on some joints; the system without them, one with them, and their values."""
    efforts = {
        (name, k): float(rng.normal())
        for name, joint in mechanism.joints.items()
        for k in joint.type.scalar_positions
        if rng.random() < share
    }
    plain = mechanism.compile()
    for (name, k), effort in efforts.items():
        mechanism.add_joint_force(f"{name} {k}", name, coordinate=k, effort=effort)
    return plain, mechanism.compile(), efforts


def moving(plain, loaded, body_force=None):
    """A consistent state, and what forward dynamics makes of it."""
    state = sb.consistent_state(plain)
    coordinate = np.zeros(len(loaded.coordinates.joint))
    return state, sb.forward_dynamics(
        loaded, state.with_(coordinate=coordinate), body_force=body_force
    )


def assert_close(result, expected, tolerance=1e-9):
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance * size)


@pytest.mark.parametrize("method", INVERSE_METHODS)
def test_on_trees_it_gives_the_forces_back_that_forward_dynamics_was_given(method):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        plain, loaded, efforts = acted(random_tree(rng, 9, tuple(sb.JOINT_TYPES)), rng)
        force = rng.normal(size=(plain.n_bodies, 6))
        state, forward = moving(plain, loaded, force)
        options = {"actuated": list(efforts), "method": method, "body_force": force}
        result = sb.inverse_dynamics(plain, state, forward.acceleration, **options)
        assert_close(result.force, list(efforts.values()))
        assert_close(result.multiplier, forward.multiplier)
        assert_close(result.joint_wrench, forward.joint_wrench)
        assert result.residual < 1e-13
        assert result.violation < 1e-12
        assert result.actuation.is_underactuated
        assert not result.actuation.is_redundant


@pytest.mark.parametrize("everything", [True, False])
def test_all_methods_agree_on_mechanisms_with_loops_and_cause_the_motion(everything):
    kinds = set()
    for seed in range(25):
        rng = np.random.default_rng(seed)
        mechanism = random_loops(rng, int(rng.integers(2, 9)), int(rng.integers(1, 4)), moving=True)
        plain, loaded, efforts = acted(mechanism, rng)
        state, forward = moving(plain, loaded)
        actuated = None if everything else list(efforts)
        actuators = actuators_of(plain, actuated)
        weights = rng.uniform(0.1, 10.0, size=len(actuators))
        options = {"actuated": actuated, "weights": weights}
        result = [
            sb.inverse_dynamics(plain, state, forward.acceleration, method=method, **options)
            for method in OF_LOOPS
        ]
        kinds.add((result[0].actuation.is_underactuated, result[0].actuation.is_redundant))
        for other in result[1:]:
            assert other.actuation == result[0].actuation
            assert_close(other.force, result[0].force)
            assert_close(other.multiplier, result[0].multiplier)
        assert max(one.residual for one in result) < 1e-11
        if everything:
            work = forces_on_bodies(plain, state, actuators, result[0].force)
            again = sb.forward_dynamics(plain, state, body_force=work)
            assert_close(again.acceleration, forward.acceleration, 1e-8)
            index = actuators.keys.tolist().index  # of six a joint
            cost = sum(
                weights[index(6 * plain.joint(n) + k)] * e**2 for (n, k), e in efforts.items()
            )
            assert weights @ result[0].force ** 2 <= cost * (1 + 1e-12)
        elif not result[0].actuation.is_redundant:
            assert_close(result[0].force, list(efforts.values()))
    assert everything or len(kinds) > 2


def forces_on_bodies(system, state, actuators, force):
    rows = actuator_rows(system, actuators, joint_motion(system, state))
    return (body_matrix(system, actuators.joint, rows.rows).T @ force).reshape(-1, 6)


@pytest.mark.parametrize("pairs", [1, 7, 60])
def test_a_drive_lifts_a_scissor_by_virtual_work(pairs):
    angle = 0.4
    system, state = at_start(sb.build("scissor", pairs=pairs, angle=angle, drive=True))
    exact = 9.81 * pairs**2 * np.cos(angle)
    forward = sb.forward_dynamics(system, state)
    for method in OF_LOOPS if pairs < 10 else ["sparse"]:
        options = {"actuated": ["base"], "method": method}
        result = sb.inverse_dynamics(system, state, forward.acceleration, **options)
        assert result.force == pytest.approx([exact], rel=1e-10)
        row = int(system.coordinates.row[system.coordinates.prescribed[0]])
        assert result.multiplier[row] == result.force[0]
        assert_close(result.multiplier, forward.multiplier, 1e-8)
        assert_close(result.joint_wrench, forward.joint_wrench, 1e-8)


def test_drives_that_no_actuator_replaces_are_constraints():
    system, state = at_start(sb.build("scissor", pairs=3, drive=True))
    forward = sb.forward_dynamics(system, state)
    for method in OF_LOOPS:
        options = {"actuated": [], "method": method}
        result = sb.inverse_dynamics(system, state, forward.acceleration, **options)
        assert result.actuation == sb.Actuation(0, 0, 0)
        assert_close(result.multiplier, forward.multiplier, 1e-9)
        released = sb.driven_accelerations(system, state, {"base": 1.0})
        with pytest.raises(MotionError, match="violate the prescribed motion of joint 'base'"):
            sb.inverse_dynamics(system, state, released, **options)


@pytest.mark.parametrize("method", OF_LOOPS)
@pytest.mark.parametrize("weights", [None, [1.0, 1.0], [3.0, 0.2]])
def test_two_cranks_share_the_work_as_their_weights_say(weights, method):
    system, names = sb.build("four-bar", speed=1.0).compile(), ("crank-pivot", "rocker-pivot")
    state = sb.consistent_state(system)
    desired = sb.driven_accelerations(system, state, {"crank-pivot": 0.5})
    given = system, state, desired
    alone = [sb.inverse_dynamics(*given, actuated=[n], method=method).force[0] for n in names]
    options = {"actuated": list(names), "weights": weights, "method": method}
    result = sb.inverse_dynamics(*given, **options)
    w = np.ones(2) if weights is None else np.array(weights)
    G_u = 1.0 / np.array(alone)  # u1 / alone1 + u2 / alone2 = 1
    np.testing.assert_allclose(result.force, G_u / w / (G_u @ (G_u / w)), rtol=1e-11)
    assert result.actuation == sb.Actuation(2, 1, 1)
    assert str(result.actuation) == "redundantly actuated: 2 actuators move 1 of 1 freedoms"


@pytest.mark.parametrize("method", OF_LOOPS)
def test_actuators_may_be_on_loop_joints_and_on_joints_that_cannot_move(method):
    system, state = at_start(sb.build("four-bar"))
    result = [
        sb.inverse_dynamics(system, state, actuated=[name], method=method, tree=tree).force[0]
        for name in system.joint_names
        for tree in ("breadth-first", "depth-first")
    ]
    np.testing.assert_allclose(result[::2], result[1::2], rtol=1e-11)
    rigid = sb.build("ladder", rungs=3, joint="revolute", gravity=(0.0, -9.81, 0.0)).compile()
    result = sb.inverse_dynamics(rigid, method=method)
    assert result.actuation.mobility == 0
    assert not result.actuation.is_underactuated
    np.testing.assert_allclose(result.force, 0.0, atol=1e-9)


@pytest.mark.parametrize("method", OF_LOOPS)
def test_accelerations_that_a_loop_forbids_are_refused_and_the_joint_is_named(method):
    system, state = at_start(sb.build("four-bar"))
    acceleration = np.zeros((system.n_bodies, 6))
    acceleration[system.body("rocker"), 4] = 2.0
    with pytest.raises(MotionError, match=r"violate joint 'rocker-pi.*by .* m/s\^2.*driven_accel"):
        sb.inverse_dynamics(system, state, acceleration, method=method)
    acceleration[:] = 0.0
    acceleration[system.body("crank"), 0] = 1.0
    with pytest.raises(MotionError, match=r"'crank-pi.*rad/s\^2"):
        sb.inverse_dynamics(system, state, acceleration, method=method)
    result = sb.inverse_dynamics(
        system, state, acceleration * 1e-9, actuated=["crank-pivot"], tolerance=1e-3, method=method
    )
    assert 0.0 < result.violation < 1e-3


@pytest.mark.parametrize("method", INVERSE_METHODS)
def test_motions_beyond_the_actuators_are_refused_and_a_joint_to_actuate_is_named(method):
    system = sb.build("chain", bodies=3).compile()
    state, names = system.initial_state, list(system.joint_names)
    required = sb.driven_accelerations(system, state, {names[0]: 0.3, names[2]: -0.2})
    sb.inverse_dynamics(system, state, required, actuated=[names[0], names[2]], method=method)
    with pytest.raises(MotionError, match=rf"underactuated: 1 .* 1 of 3.*actuate '{names[2]}' too"):
        sb.inverse_dynamics(system, state, required, actuated=names[:1], method=method)


def test_bodies_that_nothing_holds_fall_and_cannot_be_held():
    mechanism = sb.Mechanism("loose")
    position = [[0, 0, 0], [1.0, 0, 0]]
    mechanism.add_bodies(["a", "b"], mass=[2.0, 1.0], inertia=[1, 1, 1], position=position)
    mechanism.add_joint("ball", sb.Spherical(), "a", "b", point=[0.5, 0, 0])
    system = mechanism.compile()
    state = system.initial_state
    falling = sb.forward_dynamics(system, state)
    for method in INVERSE_METHODS:
        result = sb.inverse_dynamics(system, state, falling.acceleration, method=method)
        np.testing.assert_allclose(result.force, 0.0, atol=1e-12)
        assert result.actuation == sb.Actuation(3, 3, 9)
        with pytest.raises(MotionError, match=r"on body '[ab]'.* force of .* N"):
            sb.inverse_dynamics(system, state, method=method)


def test_one_preparation_serves_many_states():
    system = sb.build("four-bar", speed=1.0).compile()
    dynamics = sb.InverseDynamics(system, actuated=["crank-pivot"])
    motion = sb.simulate(system, duration=0.3, step=0.05)
    for k in range(len(motion)):
        state = motion.state(k)
        required = sb.driven_accelerations(system, state, {"crank-pivot": 1.0})
        expected = sb.inverse_dynamics(
            system, state, required, actuated=["crank-pivot"], method="loops-projection"
        )
        assert_close(dynamics(state, required).force, expected.force, 1e-11)


def test_the_factors_of_long_ladders_grow_as_their_length_does():
    fill = []
    for rungs in (50, 100, 200):
        system = sb.build("ladder", rungs=rungs, disorder=0.1, gravity=(1.0, 2.0, -9.0)).compile()
        state = system.initial_state
        dynamics = sb.InverseDynamics(system, state, reactions="basic")
        result = dynamics(state, np.zeros((system.n_bodies, 6)))
        assert result.residual < 1e-12
        assert dynamics.actuation.is_redundant
        motion = joint_motion(system, state)
        rows = actuator_rows(system, dynamics.actuators, motion)
        constraint = sb.ForwardDynamics(system, state).evaluate(state).constraint
        factor = Equilibrium(
            body_matrix(system, system.row_joint, constraint.rows),
            body_matrix(system, dynamics.actuators.joint, rows.rows),
            freedom_inertia(system).ravel(),
            dynamics.weights,
            False,
        ).factor
        fill.append((factor.L.nnz + factor.U.nnz) / rungs)
    assert fill[2] < 1.15 * fill[0]


def test_constraint_rows_that_depend_on_each_other_are_refused():
    rows = csr_array(np.array([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(SingularSystemError, match="make InverseDynamics"):
        Equilibrium(rows, csr_array(np.eye(2)), np.ones(2), np.ones(2), False)


BAD = np.zeros((3, 6))
BAD[1, 2] = np.nan


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "best"}, UnknownNameError, "sparse, rnea, loops-projection"),
        ({"method": "rnea"}, ModelError, "'rnea' takes trees only"),
        ({"reactions": "best"}, UnknownNameError, "minimum-norm, basic"),
        ({"acceleration": BAD[:, :3]}, ShapeError, r"the acceleration is \(3, 3\), not \(3, 6\)"),
        ({"acceleration": BAD}, ModelError, "the acceleration of 'coupler' is not finite"),
        ({"body_force": BAD}, ModelError, "body_force of 'coupler' is not finite"),
        ({"weights": [1.0]}, ShapeError, "weights has shape"),
        ({"weights": [1.0, -2.0, 1.0, 1.0]}, ModelError, "'crank-pin': weight is -2"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        sb.inverse_dynamics(sb.build("four-bar").compile(), **arguments)
