"""Methods for closed loops on 250 random mechanisms, and what holds for their matrices."""

from functools import cache

import numpy as np
import pytest
from linkages import at_start
from oracles import assert_same_dynamics, relative_difference
from overconstrained import add_linkage, figure_8_2_a, random_system
from pinocchio_models import PinocchioModel
from random_mechanisms import copied, random_loops

import sparsebody as sb
from sparsebody.errors import ModelError, RankWarning, ShapeError
from sparsebody.tree import TREE_CHOICES, TREE_METHODS, spanning_tree, tree_dynamics
from sparsebody.tree.loop_methods import LoopsDirect, LoopsForce
from sparsebody.tree.loops_projection import LoopsProjection, explicit_form
from sparsebody.tree.method import free_equations
from sparsebody.tree.recursions import symmetric

BATCHES, PER_BATCH = 10, 25
LOOP_METHODS = (LoopsDirect, LoopsForce, LoopsProjection)


@cache
def random_at_start(seed):
    """A random system, and its consistent state at the start."""
    system = random_system(seed)
    return system, sb.consistent_state(system)


def relative_error(result, expected, system):
    """The largest difference relative to the largest acceleration, gravity's included."""
    return relative_difference(result, expected, np.abs(system.gravity).max())


@pytest.mark.parametrize("batch", range(BATCHES))
def test_all_methods_and_pinocchio_agree_on_random_mechanisms(batch):
    redundant = 0
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        system, state = random_at_start(seed)
        sparse = sb.ForwardDynamics(system, state)
        solution = sparse(state)
        expected = solution.acceleration
        redundant += len(sparse.redundant_rows) > 0
        tree = spanning_tree(system)
        for name, method in TREE_METHODS.items():
            if method.takes_loops or tree.n_loops == 0:
                result = tree_dynamics(name, system, tree)(state)
                assert relative_error(result.acceleration, expected, system) < 1e-9, (name, seed)
                assert max(result.residual, result.dropped_residual) < 1e-9, (name, seed)
        nothing = np.zeros((system.n_joints, 6)), np.zeros((system.n_bodies, 6))
        peer = PinocchioModel(system, state).solve(*nothing)
        assert relative_error(peer.acceleration, expected, system) < 1e-9, seed
    assert redundant > 0.4 * PER_BATCH


@pytest.mark.parametrize("batch", range(BATCHES))
def test_matrices_of_random_mechanisms_are_what_theory_says(batch):
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        system, state = random_at_start(seed)
        tree = spanning_tree(system, list(TREE_CHOICES)[seed % len(TREE_CHOICES)])
        projection = LoopsProjection(system, tree)
        problem = projection.problem(state)
        H, right = free_equations(problem)
        equations = projection.equations(problem)
        explicit = projection.explicit(equations, H)
        K, G, g = equations.matrix, explicit.G, explicit.blocks.g
        H = symmetric(tree.pattern, H)
        size = np.abs(K).max(initial=1.0) * np.abs(G).max(initial=1.0)
        np.testing.assert_allclose(K @ G, 0.0, atol=1e-12 * size)
        size = max(np.abs(equations.right).max(initial=1.0), np.abs(K).max(initial=0.0))
        np.testing.assert_allclose(
            K @ g, equations.right, atol=1e-10 * size * np.abs(g).max(initial=1.0)
        )
        assert G.shape[1] == tree.n_velocities - np.linalg.matrix_rank(K, tol=1e-8 * size)
        projected = np.triu(explicit.projected_inertia(tree.pattern, free_equations(problem)[0]))
        np.testing.assert_allclose(projected, np.triu(G.T @ H @ G), atol=1e-11 * np.abs(H).max())
        if G.shape[1]:
            assert np.linalg.eigvalsh(G.T @ H @ G).min() > 0.0
        solutions = [method(system, tree).solve(problem) for method in LOOP_METHODS]
        force = [K.T @ s.multiplier[projection.clusters.row] for s in solutions]
        size = max(np.abs(H @ solutions[0].qdd).max(initial=1.0), np.abs(right).max(initial=0.0))
        for solution, tau_c in zip(solutions, force, strict=True):
            np.testing.assert_allclose(tau_c, force[0], atol=1e-9 * size)
            np.testing.assert_allclose(H @ solution.qdd - right, tau_c, atol=1e-9 * size)
            assert solution.is_unique == (np.linalg.matrix_rank(K, tol=1e-8 * size) == len(K))


@cache
def loaded_loops(seed):
    """Loops with dampers and efforts on tree and loop joints."""
    mechanism = random_loops(np.random.default_rng(seed), 8, 2, moving=True)
    for name, joint in mechanism.joints.items():
        if joint.type.scalar_positions:
            k = joint.type.scalar_positions[0]
            mechanism.add_joint_force(name, name, coordinate=k, damping=0.2, effort=1.0)
    return mechanism.compile()


def prescribed_loop():
    """A four-bar whose prescribed joint closes the loop: efforts put the others into the tree."""
    mechanism = sb.build("four-bar")
    q = sb.joint_positions(mechanism.compile(), mechanism.compile().initial_state)
    motion = {0: lambda t: (q["rocker-pivot"][0], 0.0, 1.5)}
    mechanism = copied(mechanism, prescribed={"rocker-pivot": motion})
    for name in set(mechanism.joints) - {"rocker-pivot"}:
        mechanism.add_joint_force(f"effort {name}", name, effort=0.1)
    return mechanism.compile()


@pytest.mark.parametrize("baumgarte", [None, 0.1])
@pytest.mark.parametrize("choice", TREE_CHOICES)
def test_loads_prescribed_motions_and_stabilization_of_loops_act_as_the_sparse_system_says(
    choice, baumgarte
):
    moved = prescribed_loop(), sb.build("scissor", pairs=2, drive=True).compile()
    assert len(spanning_tree(moved[0], choice).prescribed.velocity) == 0
    for system in (*(loaded_loops(seed) for seed in range(6)), *moved):
        state, options = sb.consistent_state(system), {"baumgarte": baumgarte}
        expected = sb.forward_dynamics(system, state, **options)
        for method in (name for name, kind in TREE_METHODS.items() if kind.takes_loops):
            result = sb.forward_dynamics(system, state, method=method, tree=choice, **options)
            assert_same_dynamics(result, expected, 1e-8)
            assert result.residual < 1e-9


@pytest.mark.parametrize("method", LOOP_METHODS)
def test_one_object_serves_at_many_states_and_follows_the_rank(method):
    """From a pose of mobility three to those of one and two that begin there, and back."""
    tree, state = figure_8_2_a(0.0, (0.0, 0.0))
    dynamics = method(tree.system, tree)
    poses = [(0.0, (0.0, 0.0)), (0.7, (0.7, 0.7)), (0.0, (0.9, -0.6)), (0.7, (0.7, 0.7))]
    for crank, arms in [*poses, *poses]:
        state = figure_8_2_a(crank, arms)[1]
        result = dynamics(state)
        expected = sb.ForwardDynamics(tree.system, state)(state)
        assert relative_error(result.acceleration, expected.acceleration, tree.system) < 1e-9
        np.testing.assert_allclose(
            result.multiplier, expected.multiplier, atol=1e-9 * np.abs(expected.multiplier).max()
        )


def test_rows_that_depend_stay_left_out_where_the_loops_have_drifted_apart():
    system, state = at_start(sb.build("four-bar"))
    dynamics = LoopsForce(system)
    expected = dynamics(state)
    tilted = state.with_(velocity=state.velocity + 1e-4)
    tilted = sb.displaced(tilted, 1e-5 * np.random.default_rng(0).normal(size=(3, 6)))
    with pytest.warns(RankWarning, match="make the state consistent"):
        result = dynamics(tilted)
    assert relative_error(result.acceleration, expected.acceleration, system) < 0.01


def test_independent_coordinates_can_be_chosen_by_joint():
    """Only two bars of this squeezer move at first; the rates of the others are zero."""
    system, state = at_start(sb.build("andrews"))
    tree = spanning_tree(system)
    expected = sb.forward_dynamics(system, state).acceleration
    for given in ("O", "F", ("O", 0), ("F", 0)):
        dynamics = LoopsProjection(system, tree, independent=[given])
        (chosen,) = dynamics.explicit_at(state).independent
        assert system.joint_names[tree.joint[chosen]] == given[0]
        assert relative_error(dynamics(state).acceleration, expected, system) < 1e-9
    with pytest.raises(ModelError, match="coordinate 0 of joint 'B'"):
        LoopsProjection(system, tree, independent=["B"])(state)


def test_explanations_tell_the_size_of_what_loops_lead_to():
    result = LoopsForce(sb.build("n-four-bar", loops=3).compile()).explain()
    names = "method", "loop_rows", "loop_clusters"
    assert [result[name] for name in names] == ["loops-force", 15, 1]
    assert result["loop_matrix_entries"] == 15 * result["velocity_coordinates"]


@pytest.mark.parametrize(
    ("module", "limit", "method"),
    [
        ("loop_methods", "MOST_UNKNOWNS", LoopsDirect),
        ("loops_projection", "MOST_FREEDOMS", LoopsProjection),
        ("loop_methods", "MOST_ENTRIES", LoopsForce),
        ("loop_constraints", "MOST_ENTRIES", LoopsForce),
    ],
)
def test_mechanisms_too_large_for_a_method_are_refused_and_others_named(
    module, limit, method, monkeypatch
):
    system = sb.build("ladder", rungs=4).compile()
    monkeypatch.setattr(f"sparsebody.tree.{module}.{limit}", 10)
    with pytest.raises(ModelError, match="'sparse'"):
        method(system)(system.initial_state)


def test_loops_that_stand_on_no_common_joint_are_groups_of_their_own():
    mechanism, rng = sb.Mechanism("linkages"), np.random.default_rng(1)
    for k in range(3):
        add_linkage(mechanism, rng, f"on world {k}", 3, base="world")
    add_linkage(mechanism, rng, "on bar", 3, base="on world 1 bar 1")
    system, state = at_start(mechanism)
    dynamics = LoopsForce(system)
    assert (dynamics.clusters.n_clusters, dynamics._groups.n_groups) == (4, 3)
    expected = sb.forward_dynamics(system, state).acceleration
    assert relative_error(dynamics(state).acceleration, expected, system) < 1e-9


SHAPES = [(3, 5, 3), (6, 5, 3), (7, 7, 7), (8, 12, 5), (0, 4, 0), (4, 3, 0)]


def equations(m, n, r, seed=0):
    """K (m, n) of rank r, and k in its range."""
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(m, r)) @ rng.normal(size=(r, n))
    return K, K @ rng.normal(size=n)


@pytest.mark.parametrize(("m", "n", "r"), SHAPES)
def test_g_spans_the_null_space_and_the_independent_entries_are_y(m, n, r):
    K, k = equations(m, n, r)
    form = explicit_form(K, k)
    assert form.rank == r == len(form.rows)
    assert form.G.shape == (n, n - r)
    np.testing.assert_allclose(K @ form.G, 0.0, atol=1e-13)
    np.testing.assert_allclose(K @ form.g, k, atol=1e-13)
    np.testing.assert_array_equal(form.G[form.independent], np.eye(n - r))
    np.testing.assert_array_equal(form.g[form.independent], 0.0)
    assert sorted([*form.independent, *form.dependent]) == list(range(n))
    assert np.linalg.matrix_rank(K[np.ix_(form.rows, form.dependent)]) == r if r else True


def test_entries_that_depend_cannot_be_chosen():
    K, k = equations(5, 7, 4)
    with pytest.raises(ModelError, match=r"\[0, 1, 2, 3\] of x are not independent"):
        explicit_form(K, k, independent=[0, 1, 2, 3])
    with pytest.raises(ShapeError, match=r"k must be \(5,\)"):
        explicit_form(K, k[:3])


def test_weights_take_units_out_of_the_rank_decision():
    K, k = equations(4, 6, 4)
    unit = np.array([1.0, 1e6, 1.0, 1e-6, 1.0, 1e9])  # of the entries of x
    size = np.array([1.0, 1e-9, 1e4, 1.0])  # of the rows
    form = explicit_form(K, k)
    scaled = explicit_form(size[:, None] * K / unit, size * k, weight=unit, row_size=size)
    np.testing.assert_array_equal(scaled.independent, form.independent)
    G = form.G * unit[:, None] / unit[form.independent]
    np.testing.assert_allclose(scaled.G, G, rtol=1e-10)
    assert explicit_form(size[:, None] * K / unit, size * k).rank < 4
