"""Reactions of slightly compliant joints, against statics on springs."""

import numpy as np
import oracles
import pytest
from linkages import at_start, one_body
from textbook import assemble

import sparsebody as sb
from sparsebody.dynamics.compliant_reactions import joint_compliances
from sparsebody.errors import AccuracyWarning, ModelError, UnknownNameError


def test_a_beam_on_three_supports_rests_as_on_three_springs():
    """F_i = k_i (z + theta x_i), with sum F_i = m g and sum x_i F_i = 0."""
    m, x, k = 2.0, np.array([-1.0, 0.5, 2.0]), np.array([1e6, 3e5, 5e5])
    mechanism = one_body(sb.Planar(), [0, 0, -10.0], {"axis": [0, 1, 0]}, mass=m)
    for i in range(3):
        mechanism.add_joint(f"support {i}", sb.PointOnPlane(), sb.WORLD, "body", point=[x[i], 0, 0])
    compliance = {f"support {i}": [1, 1, 1, 1, 1, 1 / k[i]] for i in range(3)} | {None: 1e-9}
    result = sb.forward_dynamics(mechanism.compile(), reactions=sb.LeastEnergy(compliance))
    z, theta = np.linalg.solve([[k.sum(), k @ x], [k @ x, k @ x**2]], [m * 10.0, 0.0])
    np.testing.assert_allclose(result.joint_wrench[1:, 5], k * (z + theta * x), rtol=1e-10)
    np.testing.assert_allclose(result.acceleration, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("scissor", {"pairs": 4}), ("rotating-squares", {}), ("bricard", {}), ("n-four-bar", {})],
)
def test_mechanisms_share_loads_like_bodies_on_bushings(name, parameters):
    """Wrenches of bushings, T K T' x for displacements x that balance the constraint forces."""
    system, state = at_start(sb.build(name, gravity=(1.0, -2.0, 3.0), **parameters))
    rng = np.random.default_rng(5)
    C = np.array([np.diag(10.0 ** rng.uniform(-2, 2, 6)) for _ in range(system.n_joints)])
    compliance = dict(zip(system.joint_names, C, strict=True))
    dynamics = sb.ForwardDynamics(system, state, reactions=sb.LeastEnergy(compliance))
    result = dynamics(state)
    T = dynamics.evaluate(state).constraint.subspace
    A = assemble(system, state).rows
    stiffness = np.zeros((system.n_rows, system.n_rows))
    for j in range(system.n_joints):
        rows = system.rows(j)
        stiffness[rows, rows] = np.linalg.inv(T[rows] @ C[j] @ T[rows].T)
    force = A.T @ oracles.gauss_accelerations(system, state)[1]
    x = np.linalg.lstsq(A.T @ stiffness @ A, force, rcond=1e-12)[0]
    expected = stiffness @ A @ x
    np.testing.assert_allclose(result.multiplier, expected, atol=1e-8 * np.abs(expected).max())


def scattered_compliances(decades):
    """Return a lift with joints of very different compliances, and what multipliers are right."""
    system, state = at_start(sb.build("scissor", pairs=20, gravity=(1.0, -2.0, 3.0)))
    rng, half = np.random.default_rng(5), decades / 2
    compliance = {name: 10.0 ** rng.uniform(-half, half, 6) for name in system.joint_names}
    A = assemble(system, state).rows
    return system, state, compliance, A, oracles.gauss_accelerations(system, state)[1]


def test_compliances_far_apart_still_give_the_least_energy():
    """Against the null space of A', by QR, in which energies are compared."""
    system, state, compliance, A, some = scattered_compliances(decades=12)
    result = sb.forward_dynamics(system, state, reactions=sb.LeastEnergy(compliance))
    subspace = sb.ForwardDynamics(system, state).evaluate(state).constraint.subspace
    root = np.zeros((6 * system.n_joints, system.n_rows))  # L' of C = L L'
    for j, name in enumerate(system.joint_names):
        rows = system.rows(j)
        root[6 * j : 6 * j + 6, rows] = (subspace[rows] * np.sqrt(compliance[name])).T
    left, values, _ = np.linalg.svd(A)
    null = left[:, np.count_nonzero(values > 1e-9 * values[0]) :]
    least = some - null @ np.linalg.lstsq(root @ null, root @ some, rcond=None)[0]
    np.testing.assert_allclose(result.multiplier, least, atol=1e-5 * abs(least).max())
    energy = [np.sum((root @ one) ** 2) for one in (result.multiplier, least)]
    np.testing.assert_allclose(*energy, rtol=1e-9)


def test_compliances_too_far_apart_are_told_and_forces_stay_right():
    system, state, compliance, A, some = scattered_compliances(decades=24)
    with pytest.warns(AccuracyWarning, match="sixteen decades"):
        result = sb.forward_dynamics(system, state, reactions=sb.LeastEnergy(compliance))
    expected = A.T @ some
    np.testing.assert_allclose(A.T @ result.multiplier, expected, atol=1e-9 * abs(expected).max())


def test_equal_compliances_give_the_smallest_multipliers():
    system = sb.build("n-four-bar", loops=3, gravity=(1.0, -2.0, 3.0)).compile()
    smallest = sb.forward_dynamics(system)
    result = sb.forward_dynamics(system, reactions=sb.LeastEnergy(1e-7))
    np.testing.assert_allclose(result.joint_wrench, smallest.joint_wrench, atol=1e-9)
    one = sb.forward_dynamics(system, reactions=sb.LeastEnergy(sb.uniform_compliance(1.0)))
    np.testing.assert_allclose(one.joint_wrench, smallest.joint_wrench, atol=1e-9)


def test_with_a_length_the_unit_of_length_does_not_matter():
    """The smallest multipliers share a load differently in metres and in millimetres."""
    wrench = {}
    for unit in (1.0, 1e3):  # units of length in a metre
        door = {"mass": 20.0, "inertia": np.array([5, 5, 2]) * unit**2}
        mechanism = one_body(gravity=[0, 0, -10.0 * unit], position=[0.4 * unit, 0, 0], **door)
        for name, height in (("low", -0.9), ("high", 0.9)):
            mechanism.add_joint(name, sb.Revolute(), sb.WORLD, "body", point=[0, 0, height * unit])
        system = mechanism.compile()
        rules = sb.LeastEnergy(sb.uniform_compliance(0.5 * unit)), "minimum-norm"
        results = [sb.forward_dynamics(system, reactions=rule) for rule in rules]
        wrench[unit] = [result.joint_wrench[0, 3] / unit for result in results]
    assert wrench[1.0][0] == pytest.approx(wrench[1e3][0])
    assert wrench[1.0][1] != pytest.approx(wrench[1e3][1], rel=0.1)


def test_a_compliance_that_cannot_be_is_refused():
    system = sb.build("four-bar").compile()
    for value, message in (
        ([1.0, 2.0], r"\(2,\)"),
        (-1.0, "positive semidefinite"),
        (np.diag([1.0] * 5 + [0.0]), "positive definite"),
        (np.triu(np.ones((6, 6))), "symmetric"),
        (np.nan, "must be finite"),
        ({"crank-pin": 1.0}, "'crank-pivot' has no compliance"),
        ({"nothing": 1.0, None: 1.0}, "'nothing'"),
    ):
        with pytest.raises(ModelError, match=message):
            joint_compliances(system, value)
    with pytest.raises(ModelError, match="characteristic length"):
        sb.uniform_compliance(0.0)
    with pytest.raises(UnknownNameError, match="give one of minimum-norm, basic"):
        sb.ForwardDynamics(system, reactions="compliance")
    with pytest.raises(ModelError, match="'loops-direct' takes no LeastEnergy"):
        sb.forward_dynamics(system, method="loops-direct", reactions=sb.LeastEnergy(1.0))


def test_drives_share_a_load_with_what_they_double():
    mechanism = one_body(sb.Fixed())
    mechanism.add_joint("turn", sb.Revolute(), sb.WORLD, "body", prescribed={0: 0.0})
    mechanism.add_joint("cross", sb.Universal(), sb.WORLD, "body", prescribed={0: 0.0, 1: 0.0})
    system = mechanism.compile()
    result = sb.forward_dynamics(system, reactions=sb.LeastEnergy(1.0))
    shares = result.joint_wrench[:, 5]
    np.testing.assert_allclose(shares, shares.sum() / 3.0)
