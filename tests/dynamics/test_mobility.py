"""Loops, rows, rank and mobility against what the literature counts."""

import networkx as nx
import numpy as np
import oracles
import pytest
from linkages import at_start
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.dynamics.mobility import count_loops, generic_mobility, generic_mobility_in_plane
from sparsebody.dynamics.preparation import SPATIAL


@pytest.mark.parametrize("seed", range(8))
def test_loops_are_the_cycles_of_a_basis(seed):
    mechanism = random_loops(np.random.default_rng(seed), 9, 5)
    graph = nx.MultiGraph()
    graph.add_nodes_from(mechanism.graph)
    for name, joint in mechanism.joints.items():
        if joint.n_constraints:
            graph.add_edge(joint.predecessor, joint.successor, key=name)
    n_trees = nx.number_connected_components(graph)
    expected = graph.number_of_edges() - graph.number_of_nodes() + n_trees
    assert count_loops(mechanism.compile()) == expected


@pytest.mark.parametrize("seed", range(8))
def test_mobility_is_what_the_rank_leaves(seed):
    names = ("spherical", "universal", "cylindrical", "planar")
    mechanism = random_loops(np.random.default_rng(seed), 6, 2, names)
    system, state = at_start(mechanism)
    result = sb.count_mobility(system, sb.ForwardDynamics(system, state))
    assert result.mobility == 6 * system.n_bodies - oracles.rank(system, state)
    assert result.redundant_rows == system.n_rows - oracles.rank(system, state)


def test_bodies_apart_are_counted_apart():
    mechanism = sb.Mechanism()
    mechanism.add_bodies(["a", "b", "c"], mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("ball", sb.Spherical(), "a", "b")
    mechanism.add_joint("hinge", sb.Revolute(), "a", "b")  # closes a loop away from the world
    mechanism.add_joint("air", sb.Free(), sb.WORLD, "c")  # closes nothing, having no row
    system = mechanism.compile()
    result = sb.count_mobility(system, sb.ForwardDynamics(system))
    assert result.loops == 1
    assert result.mobility == 18 - 5
    assert result.redundant_rows == 3


@pytest.mark.parametrize("seed", range(12))
def test_hinges_at_random_have_the_generic_rank(seed):
    rng = np.random.default_rng(seed)
    hinges = ("revolute",)
    mechanism = random_loops(rng, int(rng.integers(4, 12)), int(rng.integers(0, 6)), hinges, hinges)
    system = mechanism.compile()
    generic = generic_mobility(system)
    assert generic.rank == oracles.rank(system, system.initial_state)
    assert generic.mobility == 6 * system.n_bodies - generic.rank


@pytest.mark.parametrize(
    ("name", "parameters", "special", "special_in_plane"),
    [
        ("bricard", {}, 1, None),
        ("scissor", {"pairs": 8}, 1, 0),
        ("rotating-squares", {"rows": 5, "columns": 5}, 1, 1),
        ("n-four-bar", {"loops": 4}, 1, 0),
        ("four-bar-torus", {"rows": 4, "columns": 4}, 3, 3),
        ("stewart", {}, 0, None),
        ("ladder", {}, 0, None),
    ],
)
def test_special_geometry_lets_more_move_than_counting_says(
    name, parameters, special, special_in_plane
):
    system = sb.build(name, **parameters).compile()
    dynamics = sb.ForwardDynamics(system, formulation=SPATIAL)
    assert generic_mobility(system).rank - dynamics.rank == special
    in_plane = generic_mobility_in_plane(system)
    if special_in_plane is None:
        assert in_plane is None
    else:
        assert in_plane is not None
        assert in_plane.rank + 3 * system.n_bodies - dynamics.rank == special_in_plane
        assert in_plane.freedoms == 3


def test_a_mechanism_that_leaves_its_plane_has_no_generic_rank_there():
    system = sb.build("scissor", pairs=2).compile()
    turn = np.tile([np.cos(0.1), np.sin(0.1), 0.0, 0.0], (system.n_bodies, 1))
    state = system.initial_state.with_(orientation=turn)
    assert generic_mobility_in_plane(system, state) is None
