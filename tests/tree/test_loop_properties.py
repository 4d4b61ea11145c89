import itertools

import numpy as np
import pytest
from overconstrained import figure_8_2_a, hinge, linkage, random_system
from random_mechanisms import random_tree

import sparsebody as sb
from sparsebody.errors import ModelError
from sparsebody.tree import spanning_tree
from sparsebody.tree.loop_constraints import loop_clusters, loop_equations
from sparsebody.tree.loop_properties import (
    assemblies,
    loop_properties,
    loop_rank,
    nearby_mobilities,
    rank_of_loops,
)
from sparsebody.tree.method import TreeProblem


def figure_8_2_b(scale=1.0):
    """A four-bar of sides of about `scale` [m], whose crank angle leaves two configurations."""
    corners = {"O": (0, 0), "A": (0, 1), "B": (1.2, 1.5), "C": (1.5, 0)}
    points = {name: scale * np.array(corner) for name, corner in corners.items()}
    bars = {"crank": ("O", "A"), "coupler": ("A", "B"), "rocker": ("B", "C")}
    mechanism = linkage(points, bars)
    ends = [("world", "crank"), ("crank", "coupler"), ("coupler", "rocker"), ("world", "rocker")]
    for name, (first, second) in zip("OABC", ends, strict=True):
        hinge(mechanism, name, first, second, points[name])
    system = mechanism.compile()
    return spanning_tree(system, joints="OAB"), system.initial_state


@pytest.mark.parametrize(
    ("crank", "arms", "rank", "mobility"),
    [(0.7, (0.7, 0.7), 4, 1), (0.0, (0.9, -0.6), 3, 2), (0.0, (0.0, 0.0), 2, 3)],
)
def test_the_mobility_of_figure_8_2_a_is_one_two_or_three(crank, arms, rank, mobility):
    tree, state = figure_8_2_a(crank, arms)
    assert tree.n_velocities == 5
    assert loop_rank(tree, state) == rank
    result = loop_properties(loop_clusters(tree), rank)
    assert (result.mobility, result.loops, result.constraints) == (mobility, 2, 10)
    assert result.overconstraint == 10 - rank
    assert not result.is_properly_constrained
    dynamics = sb.ForwardDynamics(tree.system, state)
    assert sb.count_mobility(tree.system, dynamics).mobility == mobility


def test_singular_poses_have_neighbours_of_less_mobility_and_others_do_not():
    tree, state = figure_8_2_a(0.0, (0.0, 0.0))
    assert set(nearby_mobilities(tree, state, tries=20)) <= {1, 2}
    assert nearby_mobilities(tree, state, tries=20)
    tree, state = figure_8_2_a(0.7, (0.7, 0.7))
    assert nearby_mobilities(tree, state) == (1,)
    tree, state = figure_8_2_a(0.0, (0.9, -0.6))
    assert nearby_mobilities(tree, state) == (2,)


@pytest.mark.parametrize("scale", [1e6, 1.0, 1e-3, 1e-8])
def test_figure_8_2_b_has_two_configurations_for_one_crank_angle_at_any_size(scale):
    tree, state = figure_8_2_b(scale)
    result = assemblies(tree, state, independent=["O"])
    assert len(result) == 2
    crank = tree.system.body("crank")
    moved = result[1].position[crank] - state.position[crank]
    np.testing.assert_allclose(moved / scale, 0.0, atol=1e-12)
    for one in result:  # in the plane only lengths can be open
        error = TreeProblem(tree, one).position_error / scale
        np.testing.assert_allclose(error, 0.0, atol=1e-9)
    result = loop_properties(loop_clusters(tree), loop_rank(tree, state))
    assert (result.freedoms, result.constraints, result.rank, result.mobility) == (3, 5, 2, 1)


def test_an_independent_coordinate_beside_a_quaternion_keeps_its_value():
    mechanism = sb.Mechanism("slider on a plane")
    mechanism.add_body("slider", mass=1.0, inertia=np.eye(3))
    mechanism.add_joint("A", sb.PointOnPlane(), sb.WORLD, "slider", axis=(0, 0, 1))
    mechanism.add_joint("B", sb.Prismatic(), sb.WORLD, "slider", axis=(1, 0, 0))
    system = mechanism.compile()
    tree = spanning_tree(system, joints="A")
    assert len(assemblies(tree, system.initial_state, independent=[("A", 3)])) == 1


def test_a_choice_of_coordinates_that_leaves_freedoms_open_or_is_none_is_refused():
    tree, state = figure_8_2_a(0.0, (0.9, -0.6))
    with pytest.raises(ModelError, match=r"leave coordinate 0 of joint .* open"):
        assemblies(tree, state, independent=[tree.system.joint_names[tree.joint[-1]]])
    tree, state = figure_8_2_b()
    with pytest.raises(ModelError, match="given as independent: coordinate 0 of joint 'O'"):
        assemblies(tree, state, independent=["O", "A"])
    with pytest.raises(ModelError, match="joint 'C' closes a loop"):
        assemblies(tree, state, independent=["C"])
    with pytest.raises(ModelError, match="there is no 3"):
        assemblies(tree, state, independent=[("O", 3)])


def test_configurations_of_random_loops_are_closed_and_keep_the_independent_coordinates():
    n_found, rng = 0, np.random.default_rng(2)
    for name in ("four-bar", "slider-crank", "andrews"):
        system = sb.build(name).compile()
        tree, state = spanning_tree(system), sb.consistent_state(system)
        result = assemblies(tree, state, tries=10, seed=int(rng.integers(100)))
        for one, other in itertools.combinations(result, 2):
            turn = np.einsum("na,na->n", one.orientation, other.orientation)
            far = np.abs(one.position - other.position).max()
            assert far > 1e-6 or np.abs(turn).min() < 1.0 - 1e-6
        for one in result:
            closed = sb.consistent_state(system, one)
            np.testing.assert_allclose(one.position, closed.position, atol=1e-8)
        n_found += len(result)
    assert n_found > 5


def test_the_rank_of_k_is_that_of_all_rows_less_those_of_the_tree():
    for seed in range(60):
        system = random_system(seed)
        state = sb.consistent_state(system)
        tree = spanning_tree(system)
        K = loop_equations(TreeProblem(tree, state)).matrix
        expected = np.linalg.matrix_rank(K, tol=1e-9) if K.size else 0
        assert loop_rank(tree, state) == expected
        dynamics = sb.ForwardDynamics(system, state)
        assert rank_of_loops(tree, dynamics.rank) == expected
        result = loop_properties(loop_clusters(tree), expected)
        assert result.mobility == sb.count_mobility(system, dynamics).mobility
        assert result.overconstraint == len(K) - expected


def test_trees_are_properly_constrained_and_prescribed_motions_are_no_freedoms():
    tree = spanning_tree(random_tree(np.random.default_rng(1), 6).compile())
    result = loop_properties(loop_clusters(tree), 0)
    assert result.is_properly_constrained
    assert result.mobility == tree.n_velocities
    lift = sb.build("scissor", pairs=2, drive=True).compile()
    state, tree = sb.consistent_state(lift), spanning_tree(lift)
    result = loop_properties(loop_clusters(tree), loop_rank(tree, state))
    assert result.mobility == 0
    assert nearby_mobilities(tree, state) == ()
