"""Loops, rows, rank and mobility against what the literature counts."""

import networkx as nx
import numpy as np
import oracles
import pytest
from random_mechanisms import random_loops

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.initial import consistent_state
from sparsebody.dynamics.mobility import count_loops, count_mobility
from sparsebody.model.gallery import build
from sparsebody.model.joints import Free, Revolute, Spherical
from sparsebody.model.mechanism import WORLD, Mechanism


@pytest.mark.parametrize(
    ("name", "parameters", "counts"),
    [  # bodies, joints, loops, rows, redundant, mobility
        ("four-bar", {}, (3, 4, 1, 20, 3, 1)),
        ("n-four-bar", {"loops": 5}, (11, 16, 5, 80, 15, 1)),
        ("scissor", {"pairs": 5}, (10, 15, 5, 71, 12, 1)),
        ("scissor", {"pairs": 5, "drive": True}, (10, 15, 5, 72, 12, 0)),
        ("bricard", {}, (5, 6, 1, 30, 1, 1)),
        ("ladder", {"rungs": 4}, (8, 12, 4, 36, 0, 12)),
        ("ring", {"bodies": 7, "joint": "revolute"}, (7, 8, 1, 40, 3, 5)),
        ("chain", {"bodies": 6}, (6, 6, 0, 30, 0, 6)),
    ],
)
def test_known_mechanisms_have_their_known_mobility(
    name: str, parameters: dict[str, object], counts: tuple[int, ...]
) -> None:
    system = build(name, **parameters).compile()
    found = count_mobility(system, ForwardDynamics(system))
    assert tuple(vars(found).values()) == counts


@pytest.mark.parametrize("seed", range(8))
def test_loops_are_the_cycles_of_a_basis(seed: int) -> None:
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
def test_mobility_is_what_the_rank_leaves(seed: int) -> None:
    names = ("spherical", "universal", "cylindrical", "planar")
    mechanism = random_loops(np.random.default_rng(seed), 6, 2, names)
    system = mechanism.compile()
    state = consistent_state(system)
    found = count_mobility(system, ForwardDynamics(system, state))
    assert found.mobility == 6 * system.n_bodies - oracles.rank(system, state)
    assert found.redundant_rows == system.n_rows - oracles.rank(system, state)


def test_bodies_apart_are_counted_apart() -> None:
    mechanism = Mechanism()
    for name in ("a", "b", "c"):
        mechanism.add_body(name, mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("ball", Spherical(), "a", "b")
    mechanism.add_joint("hinge", Revolute(), "a", "b")  # closes a loop away from the world
    mechanism.add_joint("air", Free(), WORLD, "c")  # closes nothing, having no row
    system = mechanism.compile()
    found = count_mobility(system, ForwardDynamics(system))
    assert found.loops == 1
    assert found.mobility == 18 - 5
    assert found.redundant_rows == 3
