from functools import cache

import numpy as np
import oracles
import pytest
from linkages import one_body
from oracles import assert_same_dynamics
from random_mechanisms import copied, random_loops, random_tree

import sparsebody as sb
from sparsebody.errors import ModelError, ShapeError, SingularSystemError, UnknownNameError
from sparsebody.tree import (
    TREE_CHOICES,
    TREE_METHODS,
    TreeDerivatives,
    spanning_tree,
    tree_dynamics,
)


def loaded_tree(seed, n_bodies=12):
    """A random tree of every joint type with springs, dampers, efforts and loads of every kind."""
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, n_bodies, tuple(sb.JOINT_TYPES))
    for name, joint in mechanism.joints.items():
        for k in joint.type.scalar_positions:
            if rng.random() < 0.4:
                mechanism.add_joint_force(
                    f"{name} {k}", name, coordinate=k, stiffness=2.0, damping=0.3, effort=1.5
                )
    bodies = list(mechanism.bodies)
    mechanism.add_point_force("rope", bodies[0], bodies[-1], stiffness=3.0, damping=0.1)
    mechanism.add_external_force("push", bodies[2], force=rng.normal(size=3), axes="body")
    return mechanism.compile(), rng


@cache
def loaded_motion(seed):
    """A loaded tree with forces on its bodies, and how it moves by the sparse system."""
    system, rng = loaded_tree(seed)
    force = rng.normal(size=(system.n_bodies, 6))
    return system, force, sb.forward_dynamics(system, system.initial_state, body_force=force)


@cache
def prescribed_tree(seed):
    """A random tree with some coordinates prescribed, at a state that fits."""
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 10)
    for name, joint in list(mechanism.joints.items()):
        own = joint.type.scalar_positions
        if own and rng.random() < 0.5:
            k = int(rng.choice(own))
            a, b = rng.normal(size=2)
            motion = {k: (lambda t, a=a, b=b: (0.0, a, b))}
            mechanism = copied(mechanism, prescribed={name: motion})
    system = mechanism.compile()
    return system, system.initial_state, system.coordinates.prescribed


@pytest.mark.parametrize("choice", TREE_CHOICES)
@pytest.mark.parametrize("method", TREE_METHODS)
def test_trees_move_as_the_sparse_system_says(method, choice):
    for seed in range(8):
        system, force, expected = loaded_motion(seed)
        options = {"method": method, "tree": choice, "body_force": force}
        result = sb.forward_dynamics(system, system.initial_state, **options)
        assert_same_dynamics(result, expected, 1e-11)


@pytest.mark.parametrize("baumgarte", [None, 0.2])
@pytest.mark.parametrize("method", TREE_METHODS)
def test_prescribed_motions_of_tree_joints_are_obeyed_and_their_forces_found(method, baumgarte):
    n_prescribed = 0
    for seed in range(8):
        system, state, items = prescribed_tree(seed)
        n_prescribed += len(items)
        assert np.abs(oracles.prescribed_velocities(system, 0.0)).max() > 0.0
        options = {"baumgarte": baumgarte}
        expected = sb.forward_dynamics(system, state, **options)
        result = sb.forward_dynamics(system, state, method=method, **options)
        assert_same_dynamics(result, expected, 1e-11)
    assert n_prescribed > 16


@pytest.mark.parametrize("method", TREE_METHODS)
def test_stabilization_is_that_of_the_sparse_system_also_where_bodies_have_drifted_apart(method):
    for seed in range(6):
        system, rng = loaded_tree(seed)
        state = system.initial_state
        state = state.with_(
            position=state.position + 1e-3 * rng.normal(size=state.position.shape),
            velocity=state.velocity + 1e-3 * rng.normal(size=state.velocity.shape),
        )
        expected = sb.forward_dynamics(system, state, baumgarte=0.1)
        result = sb.forward_dynamics(system, state, method=method, baumgarte=0.1)
        assert_same_dynamics(result, expected, 1e-11)


@pytest.mark.parametrize("root", ["b0", "b5"])
@pytest.mark.parametrize(
    "method", [name for name in TREE_METHODS if not TREE_METHODS[name].takes_loops]
)
def test_floating_trees_with_reversed_joints_move_as_the_sparse_system_says(method, root):
    rng = np.random.default_rng(3)
    for _ in range(10):
        mechanism = random_tree(rng, 9, tuple(sb.JOINT_TYPES))
        grounded = [name for name, at in mechanism.joints.items() if at.predecessor == "world"]
        system = copied(mechanism, without=grounded).compile()
        dynamics = tree_dynamics(method, system, spanning_tree(system, root=root))
        assert dynamics.tree.n_loops == 0
        expected = sb.forward_dynamics(system, system.initial_state)
        assert_same_dynamics(dynamics(system.initial_state), expected, 1e-11)


def test_methods_for_trees_refuse_loops_and_name_one_with_the_methods_that_apply():
    system = random_loops(np.random.default_rng(0), 5, 2).compile()
    for method, kind in TREE_METHODS.items():
        if not kind.takes_loops:
            with pytest.raises(ModelError, match=r"'(j|loop)\d' closes a loop.*'sparse'"):
                sb.forward_dynamics(system, system.initial_state, method=method)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "best"}, UnknownNameError, "sparse, aba, crba"),
        ({"tree": "best"}, UnknownNameError, "breadth-first"),
        ({"reactions": "best"}, UnknownNameError, "minimum-norm, basic"),
        ({"baumgarte": -1.0}, ModelError, "time constant is -1"),
        ({"body_force": np.zeros((2, 6))}, ShapeError, r"body_force is \(2, 6\)"),
        ({"body_force": [[0] * 6, [np.nan] * 6, [0] * 6]}, ModelError, "body_force of 'bar-1'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, error, message):
    system = sb.build("chain", bodies=3).compile()
    with pytest.raises(error, match=message):
        sb.forward_dynamics(system, system.initial_state, **{"method": "aba"} | options)


def test_a_tree_of_another_system_is_refused():
    chain = sb.build("chain", bodies=3)
    tree, system = spanning_tree(chain.compile()), copied(chain, masses=2.0).compile()
    for function in (
        lambda: tree_dynamics("aba", system, tree),
        lambda: TreeDerivatives(system, tree),
    ):
        with pytest.raises(ModelError, match="tree is of another system"):
            function()


@pytest.mark.parametrize("method", TREE_METHODS)
def test_bodies_alone_and_bodies_fixed_are_mechanisms_too(method):
    falling = sb.forward_dynamics(one_body(mass=2.0).compile(), method=method)
    np.testing.assert_allclose(falling.acceleration, [[0, 0, 0, 0, 0, -9.81]], atol=1e-14)
    held = sb.forward_dynamics(one_body(sb.Fixed(), mass=2.0).compile(), method=method)
    np.testing.assert_allclose(held.acceleration, 0.0, atol=1e-14)
    np.testing.assert_allclose(held.joint_wrench, [[0, 0, 0, 0, 0, 19.62]], atol=1e-13)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("method", TREE_METHODS)
def test_numbers_too_large_to_multiply_are_refused(method):
    system = sb.build("chain", bodies=3).compile()
    dynamics = tree_dynamics(method, system)
    state = system.initial_state
    state = state.with_(velocity=np.full_like(state.velocity, 1e200))
    for call in (dynamics, dynamics.acceleration):
        with pytest.raises(SingularSystemError, match="not finite"):
            call(state)


def test_an_inertia_too_large_for_memory_is_refused_and_the_sparse_method_named():
    system = sb.build("chain", bodies=30000).compile()
    with pytest.raises(ModelError, match="use method 'sparse'"):
        sb.forward_dynamics(system, system.initial_state, method="crba")


@pytest.mark.parametrize("method", TREE_METHODS)
def test_states_need_not_be_contiguous(method):
    system, _ = loaded_tree(4)
    state = system.initial_state
    wide = np.concatenate([state.velocity, state.velocity], axis=1)
    strided = state.with_(velocity=wide[:, :6], position=np.asfortranarray(state.position))
    dynamics = tree_dynamics(method, system)
    assert_same_dynamics(dynamics(strided), dynamics(state), 1e-11)
    alone = dynamics.acceleration(state)
    np.testing.assert_allclose(alone, dynamics(state).acceleration, rtol=1e-12, atol=1e-12)
    assert dynamics.explain()["loop_joints"] == 0
