import numpy as np
import pytest

import sparsebody as sb
from sparsebody.export.body_tree import NEVER, body_tree


def costs(system, **by_type):
    names = [kind.name for kind in system.joint_types]
    return np.array([by_type.get(name, 2) for name in names], dtype=np.intp)


@pytest.mark.parametrize("name", ["four-bar", "stewart", "andrews"])
def test_every_body_is_reached_from_its_parent_once(name):
    system = sb.build(name).compile()
    tree = body_tree(system, costs(system))
    assert sorted(tree.order) == list(range(system.n_bodies))
    seen = {-1}
    for body in tree.order.tolist():
        j, parent = tree.joint[body], tree.parent[body]
        assert {parent, body} == {system.predecessor[j], system.successor[j]}
        assert parent in seen
        assert tree.depth[body] == (0 if parent < 0 else tree.depth[parent]) + 1
        seen.add(body)
    assert sorted([*tree.joint, *tree.loop_joints]) == list(range(system.n_joints))


def test_cheap_joints_are_in_the_tree_and_those_of_no_cost_never():
    system = sb.build("stewart").compile()
    kinds = np.array([kind.name for kind in system.joint_types])
    for dear in sorted(set(kinds)):
        tree = body_tree(system, costs(system, **{dear: 9}))
        cheap = kinds != dear
        possible = np.linalg.matrix_rank(incidence(system)[:, cheap])
        assert np.count_nonzero(cheap[tree.joint]) == possible
    none = body_tree(system, np.full(system.n_joints, NEVER))
    assert (none.parent == -1).all()
    assert (none.joint == -1).all()
    np.testing.assert_array_equal(none.loop_joints, np.arange(system.n_joints))


def incidence(system):
    matrix = np.zeros((system.n_bodies + 1, system.n_joints))
    joint = np.arange(system.n_joints)
    matrix[system.predecessor, joint] -= 1  # the world is the last
    matrix[system.successor, joint] += 1
    return matrix


def test_the_tree_is_as_shallow_as_the_graph_where_all_joints_are_alike():
    system = sb.build("ladder", rungs=6).compile()
    assert body_tree(system, costs(system)).depth.max() <= 7
