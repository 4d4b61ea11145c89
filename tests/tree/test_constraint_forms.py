"""The four forms of a constrained system are one system. Featherstone (2008), sec. 3.2."""

import numpy as np
import pytest
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.tree import joint_coordinates, spanning_tree
from sparsebody.tree.crba import joint_space_inertia
from sparsebody.tree.loops.explicit_dynamics import (
    dual_system,
    explicit_system,
    implicit_system,
    projected_system,
)
from sparsebody.tree.loops.loop_equations import (
    loop_matrix,
    loop_right_hand_side,
    loop_rows,
)
from sparsebody.tree.ltl import symmetric
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.rnea import joint_space_bias_force
from sparsebody.tree.tree_inverse import independent_velocities


@pytest.fixture(params=range(4))
def constrained(request):
    """H, C, tau, K, k, G, g and qd of a mechanism with loops."""
    rng = np.random.default_rng(request.param)
    while True:
        mechanism = random_loops(rng, 6, 2, loop_names=("spherical", "universal"), moving=True)
        system = mechanism.compile()
        state = sb.consistent_state(system)
        tree = spanning_tree(system)
        problem = TreeProblem(tree, state)
        G, g = independent_velocities(problem)
        if G.shape[1] and tree.n_loops == 2:
            break
    H = symmetric(tree.pattern, joint_space_inertia(tree, problem.motion))
    C = joint_space_bias_force(tree, problem.motion, problem.force)
    rows = loop_rows(problem)
    K, k = loop_matrix(problem, rows), loop_right_hand_side(problem, rows)
    _, qd = joint_coordinates(tree, state)
    return H, C, rng.normal(size=len(C)), K, k, G, g, qd


def solution(matrix, right):
    return np.linalg.lstsq(matrix, right, rcond=1e-12)[0]


def test_both_constraints_describe_the_same_motions(constrained):
    *_, K, k, G, g, qd = constrained
    np.testing.assert_allclose(K @ G, 0.0, atol=1e-12 * np.abs(K).max())
    np.testing.assert_allclose(K @ g, k, atol=1e-10 * np.abs(k).max())
    assert np.linalg.matrix_rank(K, 1e-9) + np.linalg.matrix_rank(G) == len(qd)
    yd = np.linalg.lstsq(G, qd, rcond=None)[0]
    np.testing.assert_allclose(G @ yd, qd, atol=1e-9 * np.abs(qd).max())


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


def test_energy_and_power_are_those_of_the_tree(constrained):
    H, C, tau, *_, G, g, qd = constrained
    H_G, _ = projected_system(H, C, G, g)
    yd = np.linalg.lstsq(G, qd, rcond=None)[0]
    assert np.linalg.eigvalsh(H_G).min() > 0.0
    assert yd @ H_G @ yd == pytest.approx(qd @ H @ qd, rel=1e-9)
    assert (G.T @ tau) @ yd == pytest.approx(tau @ qd, rel=1e-9, abs=1e-12)
