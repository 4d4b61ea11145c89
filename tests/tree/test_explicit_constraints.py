"""The four forms of a constrained system are one system. Featherstone (2008), sec. 3.2."""

import math

import numpy as np
import pytest
from linkages import at_start, one_body
from oracles import loop_system
from random_mechanisms import add_joint, random_loops

import sparsebody as sb
from examples.ex06_ram import JOINTS, arm, positions, slopes, velocity_products
from sparsebody.errors import ModelError, ShapeError
from sparsebody.tree import ExplicitDynamics, LoopClosure, joint_coordinates, spanning_tree
from sparsebody.tree.explicit_constraints import (
    _DERIVATIVES,
    differentiate,
    dual_system,
    explicit_system,
    implicit_system,
    projected_system,
)
from sparsebody.tree.loops_projection import explicit_at
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.recursions import joint_space_bias_force, joint_space_inertia, symmetric

Y, V = np.array([0.9, -0.4]), np.array([0.7, -1.1])


def ram_tree(joints=JOINTS):
    return spanning_tree(arm(Y).compile(), joints=joints)


def test_given_derivatives_of_the_ram_are_those_of_automatic_differentiation():
    tree = ram_tree()
    automatic = LoopClosure(tree, positions)
    given = LoopClosure(tree, positions, jacobian=slopes, bias=velocity_products)
    for y0 in np.linspace(-2.5, 2.5, 11):
        result, expected = (closure(np.array([y0, 0.3]), V) for closure in (automatic, given))
        for field in ("q", "G", "g", "qd"):
            np.testing.assert_allclose(
                getattr(result, field), getattr(expected, field), atol=1e-13, err_msg=field
            )
    q, qd = joint_coordinates(tree, given.state(Y, V))
    motion = given(Y, V)
    np.testing.assert_allclose(q, motion.q, atol=1e-14)
    np.testing.assert_allclose(qd, motion.qd, atol=1e-14)


def test_the_arm_moves_as_the_sparse_system_says_under_joint_forces_and_loads():
    rng = np.random.default_rng(1)
    closure = LoopClosure(ram_tree(), positions)
    dynamics = ExplicitDynamics(closure)
    load = rng.normal(size=(4, 6))
    tau = rng.normal(size=4)
    equations = dynamics.equations(Y, V, tau=tau, body_force=load)
    result = dynamics.body_accelerations(equations, equations.acceleration())
    mechanism = arm(Y)
    for name, k in zip(JOINTS, closure.tree.tree_index, strict=False):
        effort = float(tau[closure.tree.first_velocity[k]])
        mechanism.add_joint_force(name, name, effort=effort)
    system = mechanism.compile()
    state = closure.state(Y, V).with_(coordinate=np.zeros(4))
    expected = sb.forward_dynamics(system, state, body_force=load).acceleration
    np.testing.assert_allclose(result, expected, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(
        dynamics.acceleration(Y, V, tau=tau, body_force=load), equations.acceleration()
    )


def two_balls():
    """A body on a ball, and one that hangs on its tip; free in the tree, so that this is a loop."""
    mechanism = sb.Mechanism("two balls")
    mechanism.add_body("top", mass=2.0, inertia=[0.1, 0.2, 0.25], position=[0, 0, 0])
    mechanism.add_body("slider", mass=1.0, inertia=[0.1, 0.1, 0.1], position=[0.5, 0, 1.0])
    mechanism.add_joint("ball", sb.Spherical(), sb.WORLD, "top")
    tip, frame = sb.Frame([0.5, 0, 1.0]), sb.Frame()
    add_joint(mechanism, "guide", sb.Free(), (sb.WORLD, "slider"), frame, frame)
    add_joint(mechanism, "tip", sb.Spherical(), ("top", "slider"), tip, frame)
    return mechanism.compile()


def product(p, q):
    """Of quaternions, (a, u) (b, w) = (a b - u . w, a w + b u + u x w)."""
    (a, u), (b, w) = ((x[0], np.array(x[1:])) for x in (p, q))
    return np.array([a * b - u @ w, *(a * w + b * u + np.cross(u, w))])


def test_independent_quaternions_move_with_angular_velocities():
    """Of two bodies, the tip of one of which carries the other."""

    def gamma(y):
        first, second = y[:4] / np.linalg.norm(y[:4]), y[4:]
        inverse = first * np.array([1.0, -1, -1, -1])
        tip = product(product(first, np.array([0.0, 0.5, 0.0, 1.0])), inverse)[1:]
        return {"ball": first, "guide": np.concatenate([second, tip])}

    def rates(y, v):
        turns = [
            product(y[a : a + 4], np.concatenate([[0.0], w]) / 2.0)
            for a, w in ((0, v[:3]), (4, v[3:]))
        ]
        return np.concatenate(turns)

    system = two_balls()
    tree = spanning_tree(system, joints=["ball", "guide"])
    dynamics = ExplicitDynamics(LoopClosure(tree, gamma, rates=rates))
    rng = np.random.default_rng(4)
    y, v = rng.normal(size=8), rng.normal(size=6)
    y[:4] /= np.linalg.norm(y[:4])
    y[4:] /= np.linalg.norm(y[4:])
    equations = dynamics.equations(y, v)
    state = dynamics.closure.state(y, v)
    result = dynamics.body_accelerations(equations, equations.acceleration())
    expected = sb.forward_dynamics(system, state).acceleration
    np.testing.assert_allclose(result, expected, atol=1e-12 * np.abs(expected).max())
    x = dynamics.rate(0.0, np.concatenate([y, v]), 6)
    np.testing.assert_allclose(x[:8], rates(y, v))
    np.testing.assert_allclose(x[8:], equations.acceleration())


@pytest.mark.parametrize(
    ("gamma", "error", "message"),
    [
        (lambda y: {**positions(y), "ram": 2.0}, ModelError, "leaves joint 'pin' open by"),
        (lambda y: {"knee": y[0]}, ModelError, r"gives knee; the tree has the joints .*shoulder"),
        (lambda y: [math.sin(y[0]), 0.0, 0.0, 0.0], ModelError, "instead of those of math"),
        (
            lambda y: [np.arctan2(1.0, y[0]), 0.0, 0.0, 0.0],
            ModelError,
            "the first of two arguments",
        ),
        (lambda y: y, ShapeError, r"gamma\(y\) has shape \(2,\)"),
    ],
)
def test_functions_that_do_not_fit_are_refused(gamma, error, message):
    with pytest.raises(error, match=message):
        LoopClosure(ram_tree(), gamma).state(Y, V)


def test_derivatives_and_forces_that_do_not_fit_are_refused():
    tree = ram_tree()
    with pytest.raises(ModelError, match="bias is given alone"):
        LoopClosure(tree, positions, bias=velocity_products)
    wide = LoopClosure(tree, positions, jacobian=lambda y: np.eye(3), bias=velocity_products)
    with pytest.raises(ShapeError, match="4 velocities, and there are 2 independent"):
        wide(Y, V)
    with pytest.raises(ShapeError, match="tau has shape"):
        ExplicitDynamics(LoopClosure(tree, positions)).equations(Y, V, tau=np.zeros(2))


def test_prescribed_motions_are_refused_beside_independent_variables():
    mechanism = one_body(sb.Revolute(), joint={"prescribed": {0: sb.Sinusoid(1.0, 2.0)}})
    with pytest.raises(ModelError, match="'joint' has a prescribed motion"):
        LoopClosure(spanning_tree(mechanism.compile()), lambda y: y)


FUNCTIONS = {name: getattr(np, name) for name in _DERIVATIVES} | {
    "square": np.square,
    "cube": lambda x: x**3,
    "root": lambda x: x**-0.5,
    "power": lambda x: x**x,
    "base": lambda x: 2.0**x,
    "quotient": lambda x: (1.0 - x) / (3.0 + x) - x / 2.0 + 1.0 / x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_elementary_functions_are_those_of_complex_steps(name):
    function, h = FUNCTIONS[name], 1e-20
    for x in (0.3, 0.8):
        value, slope, second = differentiate(lambda y: [function(y[0])], np.array([x]), [1.0])
        assert value[0] == pytest.approx(function(x), rel=1e-14)
        assert slope[0, 0] == pytest.approx(function(x + 1j * h).imag / h, rel=1e-13)
        circle = np.exp(1j * np.pi * (np.arange(32) + 0.5) / 16)  # Cauchy's formula
        points = function(x + 0.1 * circle)
        assert second[0] == pytest.approx(np.mean(2.0 * points / (0.1 * circle) ** 2).real, 1e-10)


def test_angles_of_points_are_differentiated_in_every_quadrant():
    for turn in np.linspace(-3.0, 3.0, 7):
        y, rate, bend = np.array([2.0, turn]), np.array([0.3, -0.7]), np.array([0.1, 0.4])

        def point(y):
            x = y[0] * np.array([np.cos(y[1]), np.sin(y[1])])
            return [np.hypot(x[0], x[1]), np.arctan2(x[1], x[0])]

        value, slope, second = differentiate(point, y, rate, bend)
        np.testing.assert_allclose(value, y, rtol=1e-14)
        np.testing.assert_allclose(slope, np.eye(2), atol=1e-14)
        np.testing.assert_allclose(second, bend, atol=1e-14)


def test_arrays_go_through_products_and_norms():
    A = np.array([[1.0, 2.0], [3.0, -1.0]])
    y, rate = np.array([0.4, -0.3]), np.array([1.0, 2.0])
    value, slope, second = differentiate(
        lambda y: [*(A @ y), y @ A @ y, np.linalg.norm(y), 7.0, abs(y[1]), max(y)], y, rate
    )
    length = np.linalg.norm(y)
    np.testing.assert_allclose(value, [*(A @ y), y @ A @ y, length, 7.0, 0.3, 0.4])
    expected = [*A, (A + A.T) @ y, y / length, [0, 0], [0, -1], [1, 0]]
    np.testing.assert_allclose(slope, expected, atol=1e-15)
    across = rate @ rate / length - (rate @ y) ** 2 / length**3
    np.testing.assert_allclose(second, [0, 0, rate @ (A + A.T) @ rate, across, 0, 0, 0], atol=1e-13)


@pytest.fixture(params=range(4))
def constrained(request):
    """H, C, tau, K, k, G, g and qd of a mechanism with loops."""
    rng = np.random.default_rng(request.param)
    while True:
        mechanism = random_loops(rng, 6, 2, loop_names=("spherical", "universal"), moving=True)
        system, state = at_start(mechanism)
        tree = spanning_tree(system)
        problem = TreeProblem(tree, state)
        explicit = explicit_at(problem)
        G, g = explicit.G, explicit.blocks.g
        if G.shape[1] and tree.n_loops == 2:
            break
    H = symmetric(tree.pattern, joint_space_inertia(tree, problem.motion))
    C = joint_space_bias_force(tree, problem.motion, problem.force)
    _, K, k = loop_system(problem)
    _, qd = joint_coordinates(tree, state)
    return H, C, rng.normal(size=len(C)), K, k, G, g, qd


def solution(matrix, right):
    return np.linalg.lstsq(matrix, right, rcond=1e-12)[0]


def test_the_implicit_the_explicit_the_dual_and_the_projected_system_agree(constrained):
    H, C, tau, K, k, G, g, _ = constrained
    n, m = G.shape
    x = solution(*implicit_system(H, K, tau - C, k))
    qdd, force = x[:n], -K.T @ x[n:]
    size, strength = np.abs(qdd).max(), np.abs(force).max()
    y = solution(*explicit_system(H, G, tau - C, g))
    np.testing.assert_allclose(y[:n], qdd, atol=1e-9 * size)
    np.testing.assert_allclose(y[n : 2 * n], force, atol=1e-9 * strength)
    z = solution(*dual_system(H, G, tau - C, g))
    np.testing.assert_allclose(z[:n], force, atol=1e-9 * strength)
    np.testing.assert_allclose(-z[n:], y[2 * n :], atol=1e-9 * size)
    H_G, C_G = projected_system(H, C, G, g)
    ydd = np.linalg.solve(H_G, G.T @ tau - C_G)
    np.testing.assert_allclose(G @ ydd + g, qdd, atol=1e-9 * size)
    np.testing.assert_allclose(G.T @ force, np.zeros(m), atol=1e-9 * strength)
