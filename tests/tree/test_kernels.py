import json
from pathlib import Path

import numpy as np
import pytest
from random_mechanisms import random_tree

import sparsebody as sb
from sparsebody._core import tree as native
from sparsebody.errors import SingularSystemError
from sparsebody.tree import recursions
from sparsebody.tree.method import CompositeRigidBody
from sparsebody.tree.tree_choice import spanning_tree

AUTOTREE = json.loads((Path(__file__).parent / "data" / "autotree.json").read_text())["cases"]


@pytest.fixture(params=[(seed, root) for seed in range(4) for root in (None, "b6")])
def moving(request):
    """A tree, its motion, and random numbers."""
    seed, root = request.param
    rng = np.random.default_rng(seed)
    system = random_tree(rng, 10, tuple(sb.JOINT_TYPES)).compile()
    tree = spanning_tree(system, "breadth-first", root=root)
    return tree, recursions.motion_at_state(tree, system.initial_state), rng


def test_the_motion_is_the_same_from_bodies_and_from_coordinates(moving):
    tree, motion, _ = moving
    other = recursions.motion_at_coordinates(
        tree, *recursions.joint_coordinates(tree, tree.system.initial_state)
    )
    for field in motion._fields:
        np.testing.assert_allclose(
            getattr(motion, field), getattr(other, field), atol=1e-11, err_msg=field
        )


def test_jacobians_give_velocities_and_inertia(moving):
    tree, motion, _ = moving
    system = tree.system
    J = np.array([recursions.body_jacobian(tree, motion, i) for i in range(system.n_bodies)])
    np.testing.assert_allclose(J @ motion.rate, system.initial_state.velocity, atol=1e-11)
    H = np.einsum("iak,iab,ibl->kl", J, system.spatial_inertia, J)
    result = recursions.symmetric(tree.pattern, recursions.joint_space_inertia(tree, motion))
    np.testing.assert_allclose(result, H, atol=1e-12 * np.abs(H).max())
    x, y = np.random.default_rng(0).normal(size=tree.n_velocities), np.empty(tree.n_velocities)
    native.multiply(tree.pattern, recursions.joint_space_inertia(tree, motion), x, y)
    np.testing.assert_allclose(y, H @ x, atol=1e-11 * np.abs(H).max())


def test_forward_and_inverse_dynamics_undo_each_other(moving):
    tree, motion, rng = moving
    tau = rng.normal(size=tree.n_velocities)
    force = rng.normal(size=(tree.n_bodies, 6))
    qdd = recursions.forward_dynamics_tree(tree, motion, tau, force)
    size = np.abs(recursions.joint_space_bias_force(tree, motion, force)).max()
    np.testing.assert_allclose(
        recursions.inverse_dynamics(tree, motion, qdd, force), tau, atol=1e-11 * size
    )
    H = recursions.joint_space_inertia(tree, motion)
    solved = recursions.ltl_solve(
        tree,
        recursions.ltl_factor(tree, H),
        tau - recursions.joint_space_bias_force(tree, motion, force),
    )
    np.testing.assert_allclose(qdd, solved, atol=1e-11 * np.abs(solved).max())


def test_factors_give_the_inertia_back_and_solve_with_it(moving):
    tree, motion, rng = moving
    packed = recursions.joint_space_inertia(tree, motion)
    H = recursions.symmetric(tree.pattern, packed)
    L = np.tril(recursions.symmetric(tree.pattern, recursions.ltl_factor(tree, packed)))
    np.testing.assert_allclose(L.T @ L, H, atol=1e-13 * np.abs(H).max())
    LD = np.tril(recursions.symmetric(tree.pattern, recursions.ltdl_factor(tree, packed)))
    D = np.diag(LD)
    unit = np.tril(LD, -1) + np.eye(len(D))
    np.testing.assert_allclose(unit.T * D @ unit, H, atol=1e-13 * np.abs(H).max())
    right = rng.normal(size=(3, tree.n_velocities))
    for x in (
        recursions.ltl_solve(tree, recursions.ltl_factor(tree, packed), right),
        recursions.ltdl_solve(tree, recursions.ltdl_factor(tree, packed), right),
    ):
        np.testing.assert_allclose(x @ H, right, atol=1e-10)
    assert np.count_nonzero(np.tril(H)) <= tree.n_inertia_nonzeros == len(packed)


def test_the_factor_at_coordinates_is_that_of_the_inertia():
    system = random_tree(np.random.default_rng(8), 9).compile()
    dynamics = CompositeRigidBody(system)
    tree = dynamics.tree
    q, _ = recursions.joint_coordinates(tree, system.initial_state)
    motion = recursions.motion_at_state(tree, system.initial_state)
    expected = recursions.ltl_factor(tree, recursions.joint_space_inertia(tree, motion))
    for _ in range(2):
        np.testing.assert_allclose(dynamics.inertia_factor(q), expected, rtol=1e-11, atol=1e-11)


def test_an_inertia_that_is_not_positive_definite_is_refused_and_the_joint_named():
    tree = spanning_tree(sb.build("chain", bodies=3).compile())
    H = recursions.joint_space_inertia(
        tree, recursions.motion_at_state(tree, tree.system.initial_state)
    )
    H[tree.pattern.start[1] + 1] = -1.0
    for factor in (recursions.ltl_factor, recursions.ltdl_factor):
        with pytest.raises(SingularSystemError, match="coordinate 0 of joint 'joint-1'"):
            factor(tree, H)


@pytest.mark.parametrize("case", AUTOTREE, ids=lambda case: f"{case['nb']} bodies")
def test_the_published_trees_come_out_right(case):
    n = case["nb"]
    shape = {"branching": float(case["bf"]), "skew": case["skew"], "taper": float(case["taper"])}
    mechanism = sb.build("tree", bodies=n, moving=True, **shape)
    tree = spanning_tree(mechanism.compile(), "breadth-first")
    parent = tree.parent[tree.index[:-1]]
    assert [tree.body[p] + 1 if p >= 0 else 0 for p in parent] == case["parent"]
    i = np.arange(1, n + 1)
    own = tree.body  # the coordinate of joint i + 1 is number index[i]
    q, qd = 0.1 * i * np.cos(i), 0.3 * np.sin(2 * i)
    qdd, tau = 0.5 * np.cos(1.7 * i), 2 * np.sin(0.9 * i)
    motion = recursions.motion_at_coordinates(tree, q[own], qd[own])
    at_state = recursions.joint_coordinates(tree, tree.system.initial_state)
    np.testing.assert_allclose(at_state[0], q[own], atol=1e-13)
    np.testing.assert_allclose(at_state[1], qd[own], atol=1e-13)
    H = recursions.symmetric(tree.pattern, recursions.joint_space_inertia(tree, motion))
    exact = {"rtol": 1e-12, "atol": 1e-12}
    for name, result in (
        ("ID_tau", recursions.inverse_dynamics(tree, motion, qdd[own])),
        ("FD_qdd", recursions.forward_dynamics_tree(tree, motion, tau[own])),
        ("C", recursions.joint_space_bias_force(tree, motion)),
    ):
        np.testing.assert_allclose(result, np.array(case[name])[own], **exact)
    np.testing.assert_allclose(np.trace(H), case["H_trace"], **exact)
    np.testing.assert_allclose(np.linalg.slogdet(H)[1], case["logdet_H"], **exact)
    assert 2 * tree.n_inertia_nonzeros - n == case["H_nonzeros"]
