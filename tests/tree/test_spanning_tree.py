import itertools

import networkx as nx
import numpy as np
import pytest
from random_mechanisms import random_loops, random_tree

import sparsebody as sb
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.tree.tree_choice import TREE_CHOICES, spanning_tree

CHOICES = list(TREE_CHOICES)


def grid_of_balls(rungs):
    """A ladder that floats: bodies of two rails, joined along them and across by balls."""
    mechanism = sb.Mechanism("floating ladder")
    for name in itertools.product(range(2), range(rungs)):
        mechanism.add_body(f"{name}", mass=1.0, inertia=np.eye(3))
    for side, k in itertools.product(range(2), range(rungs - 1)):
        mechanism.add_joint(f"rail {side} {k}", sb.Spherical(), f"{(side, k)}", f"{(side, k + 1)}")
    for k in range(rungs):
        mechanism.add_joint(f"rung {k}", sb.Spherical(), f"{(0, k)}", f"{(1, k)}")
    return mechanism.compile()


@pytest.fixture(scope="module", params=range(4))
def system(request):
    return random_loops(np.random.default_rng(request.param), 12, 5).compile()


@pytest.mark.parametrize("choice", CHOICES)
def test_numbering_is_regular_and_subtrees_are_contiguous(system, choice):
    tree = spanning_tree(system, choice)
    assert np.all(tree.parent < np.arange(tree.n_bodies))
    assert sorted(tree.body) == list(range(system.n_bodies))
    for i in range(tree.n_bodies):
        descendants = [k for k in range(tree.n_bodies) if i in tree.support(k)]
        assert descendants == list(range(i, i + len(descendants)))
        assert tree.depth[i] == len(tree.support(i))


@pytest.mark.parametrize("choice", CHOICES)
def test_tree_and_loop_joints_are_all_joints(system, choice):
    tree = spanning_tree(system, choice)
    assert sorted([*tree.joint, *tree.loop_joint]) == list(range(system.n_joints))
    for i, j in enumerate(tree.joint):
        ends = system.predecessor[j], system.successor[j]
        parent = tree.body[tree.parent[i]] if tree.parent[i] >= 0 else -1
        assert ends == ((parent, tree.body[i]) if tree.direction[i] > 0 else (tree.body[i], parent))
        assert tree.tree_index[j] == i
    back = np.append(tree.body, -1)
    assert np.array_equal(back[tree.loop_ends[:, 0]], system.predecessor[tree.loop_joint])
    assert np.array_equal(back[tree.loop_ends[:, 1]], system.successor[tree.loop_joint])


def test_breadth_first_is_as_shallow_as_can_be_and_depth_first_has_no_cross_edge(system):
    graph = nx.MultiGraph()
    graph.add_edges_from(zip(system.predecessor, system.successor, strict=True))
    distance = nx.single_source_shortest_path_length(graph, -1)
    free = [t.name == "free" for t in system.joint_types]
    shallow, deep = spanning_tree(system, "breadth-first"), spanning_tree(system, "depth-first")
    if not any(free):
        assert all(shallow.depth[shallow.index[b]] == distance[b] for b in range(system.n_bodies))
    for j in deep.loop_joint:
        if not any(free) and min(system.predecessor[j], system.successor[j]) >= 0:
            i, k = sorted((deep.index[system.predecessor[j]], deep.index[system.successor[j]]))
            assert i in deep.support(k)


@pytest.mark.parametrize(("rungs", "blocks"), [(2, 8), (3, 13), (4, 20), (5, 27)])
def test_the_ladder_has_as_few_blocks_as_any_tree_of_it(rungs, blocks):
    tree = spanning_tree(grid_of_balls(rungs), "minimum-nonzeros")
    assert tree.depth.sum() == blocks
    least = min(
        spanning_tree(tree.system, choice, root=root).depth.sum()
        for choice in CHOICES
        for root in tree.system.body_names
    )
    assert least == blocks


def test_bodies_that_no_joint_leads_to_get_a_virtual_free_joint():
    mechanism = random_tree(np.random.default_rng(0), 3, ("revolute",))
    mechanism.add_body("loose", mass=1.0, inertia=np.eye(3))
    mechanism.add_body("other", mass=1.0, inertia=np.eye(3))
    mechanism.add_joint("pair", sb.Revolute(), "other", "loose")
    tree = spanning_tree(mechanism.compile(), "breadth-first")
    assert list(tree.joint).count(-1) == 1
    assert tree.n_velocities == 3 + 6 + 1
    k = int(np.flatnonzero(tree.joint == -1)[0])
    assert tree.parent[k] == -1
    assert "'loose'" in tree.velocity_name(int(tree.first_velocity[k]))


def test_joints_with_springs_are_in_the_tree():
    system = sb.build("four-bar").compile()
    for choice, active in itertools.product(CHOICES, system.joint_names):
        mechanism = sb.build("four-bar")
        mechanism.add_joint_force("spring", active, stiffness=1.0)
        tree = spanning_tree(mechanism.compile(), choice)
        assert tree.tree_index[system.joint(active)] >= 0


def test_a_given_root_carries_a_virtual_joint_and_given_joints_are_in_the_tree():
    system = sb.build("four-bar").compile()
    for choice, body, joint in itertools.product(CHOICES, system.body_names, system.joint_names):
        tree = spanning_tree(system, choice, root=body)
        assert tree.joint[0] == -1
        assert tree.body[0] == system.body(body)
        assert tree.n_loops == 2
        assert tree.parent[0] == -1
        assert np.all(tree.parent[1:] >= 0)
        assert spanning_tree(system, choice, joints=[joint]).tree_index[system.joint(joint)] >= 0


def test_fewer_nonzeros_are_found_where_joints_differ():
    for seed in range(20):
        system = random_loops(np.random.default_rng(seed), 30, 20).compile()
        count = {choice: spanning_tree(system, choice).n_inertia_nonzeros for choice in CHOICES}
        assert count["minimum-nonzeros"] <= count["minimum-depth"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"choice": "best"}, UnknownNameError, "breadth-first"),
        ({"joints": sb.build("four-bar").joints}, ModelError, "closes a loop"),
        ({"root": "nobody"}, ModelError, "no body 'nobody'"),
        ({"joints": ["none"]}, ModelError, "no joint 'none'"),
        ({"root": "crank", "joints": ["rocker-pivot"]}, ModelError, "closes a loop"),
    ],
)
def test_a_spanning_tree_that_cannot_be_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        spanning_tree(sb.build("four-bar").compile(), **options)


@pytest.mark.parametrize("choice", CHOICES)
def test_the_inertia_of_a_ladder_has_a_quadratic_number_of_entries_on_any_tree(choice):
    for case in (grid_of_balls, lambda rungs: sb.build("ladder", rungs=rungs).compile()):
        short, long = (spanning_tree(case(n), choice).n_inertia_nonzeros for n in (40, 80))
        assert 3.5 < long / short < 4.1
