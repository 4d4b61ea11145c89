import networkx as nx
import numpy as np
import pytest
from loop_matrix import joint_freedoms, loop_closure_matrix, loop_cycles
from oracles import rank
from random_mechanisms import random_loops
from scipy.linalg import null_space, subspace_angles

import sparsebody as sb
from sparsebody.analysis.cycle_bases import FUNDAMENTAL, LOOP_BASES, compare_loop_bases
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.gallery import build
from sparsebody.tree import spanning_tree
from sparsebody.tree.loop_constraints import loop_equations
from sparsebody.tree.method import TreeProblem

FAMILIES = {
    "ladder": {"rungs": 6},
    "lattice": {"rows": 4, "columns": 4},
    "scissor": {"pairs": 5},
    "stewart": {},
    "rotating-squares": {"rows": 4, "columns": 4},
}


def lines(name, *bases, **size):
    found = compare_loop_bases(build(name, **size), bases)
    return {line.name: line for line in found.lines}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_basis_has_the_dimension_of_the_cycle_space(name):
    system = build(name, **FAMILIES[name]).compile()
    found = compare_loop_bases(system)
    graph = nx.MultiGraph(zip(system.predecessor.tolist(), system.successor.tolist(), strict=True))
    n_parts = nx.number_connected_components(graph)
    assert found.dimension == graph.number_of_edges() - graph.number_of_nodes() + n_parts
    assert sorted(found.cycles) == sorted(LOOP_BASES)
    for line in found.lines:
        cycles = found.cycles[line.name]
        signs = np.zeros((len(cycles), system.n_joints))
        np.add.at(signs, (cycles.cycle, cycles.edge), cycles.sign)
        assert line.loops == np.linalg.matrix_rank(signs) == found.dimension
    assert found.is_planar
    assert found.lines[0].nnz_k == {line.name: line for line in found.lines}["minimum"].nnz_k


@pytest.mark.parametrize("basis", LOOP_BASES)
@pytest.mark.parametrize("name", ["lattice", "stewart"])
def test_nonzeros_are_those_of_dense_matrices(name, basis):
    system = build(name, **FAMILIES[name]).compile()
    (line,) = compare_loop_bases(system, (basis,)).lines
    cycles, state = loop_cycles(system, basis), system.initial_state
    K = loop_closure_matrix(system, state, cycles)
    assert line.nnz_k == K.nnz  # stored, zeros or not
    n_free = joint_freedoms(system, state)[1]
    joint = np.repeat(np.arange(system.n_joints), n_free)
    dense = np.where(K.toarray() != 0, np.random.default_rng(0).normal(size=K.shape), 0.0)
    assert line.nnz_coupling == _n_block_entries(dense @ dense.T)
    tree = _tree(system, line.tree)
    inertia = _random_inertia(tree, joint) + np.eye(len(joint))
    assert line.nnz_product == _n_block_entries(dense @ np.linalg.solve(inertia, dense.T))
    assert line.nnz_h == tree.n_inertia_nonzeros


def _tree(system, name):
    if name != "random":
        return spanning_tree(system, name)
    cycles = loop_cycles(system, "random tree")
    chords = set(cycles.edge[cycles.start[:-1]].tolist())
    joints = [system.joint_names[j] for j in range(system.n_joints) if j not in chords]
    return spanning_tree(system, "breadth-first", joints=joints)


def _n_block_entries(matrix):
    """Return the entries of the 6 x 6 blocks that are not zero."""
    n = len(matrix) // 6
    blocks = np.abs(matrix).reshape(n, 6, n, 6).max(axis=(1, 3))
    return 36 * np.count_nonzero(blocks > 1e-12 * blocks.max(initial=0.0))


def _random_inertia(tree, joint):
    """Return a joint-space inertia on all joints with what branches couple, zero on loop joints."""
    rng, inertia = np.random.default_rng(1), np.zeros((len(joint), len(joint)))
    for i in range(tree.n_bodies):
        jacobian = rng.normal(size=(6, len(joint))) * np.isin(joint, tree.joint[tree.support(i)])
        inertia += jacobian.T @ jacobian
    return inertia


@pytest.mark.parametrize("choice", ["breadth-first", "depth-first", "minimum-nonzeros"])
def test_k_of_tree_joints_has_the_blocks_of_table_8_4(choice):
    system = build("lattice", rows=3, columns=4, joint="universal").compile()
    (line,) = compare_loop_bases(system, (f"{choice} tree",)).lines
    tree = spanning_tree(system, choice)
    K = loop_equations(TreeProblem(tree, system.initial_state)).matrix
    n_rows = np.diff(system.first_row)[tree.loop_joint]
    row_loop = np.repeat(np.arange(tree.n_loops), n_rows)
    column_joint = np.repeat(np.arange(tree.n_bodies), tree.freedoms)
    blocks = np.zeros((tree.n_loops, tree.n_bodies))
    np.maximum.at(blocks, (row_loop[:, None], column_joint), np.abs(K))
    dense = (blocks > 0) * np.outer(n_rows, tree.freedoms)
    assert dense.sum() <= line.nnz_tree_k  # blocks may vanish where axes are parallel
    cycles = loop_cycles(system, f"{choice} tree")
    assert line.nnz_tree_k == 4 * 2 * (len(cycles.edge) - len(cycles))


def test_on_a_ladder_trees_that_make_h_sparse_make_k_dense():
    short, long = (lines("ladder", rungs=n) for n in (40, 80))
    growth = {name: long[name].nnz_k / short[name].nnz_k for name in short}
    assert growth["minimum"] == growth["faces"] == pytest.approx(2.0, abs=0.1)
    assert growth["depth-first tree"] == pytest.approx(2.0, abs=0.1)
    assert growth["breadth-first tree"] == pytest.approx(4.0, abs=0.1)
    assert long["breadth-first tree"].nnz_h < 0.7 * long["depth-first tree"].nnz_h


def test_no_basis_makes_the_product_with_h_sparse_where_all_stand_on_one_joint():
    for line in lines("lattice", rows=5, columns=5).values():
        assert line.nnz_product == 36 * line.loops**2
    assert lines("lattice", "minimum", rows=5, columns=5)["minimum"].nnz_coupling < 36 * 5 * 16


def test_a_lattice_of_three_layers_has_no_faces():
    found = compare_loop_bases(build("lattice", rows=3, columns=3, layers=3))
    assert found.is_planar is False
    assert "faces" not in found.cycles
    assert compare_loop_bases(build("ladder"), ("minimum",)).is_planar is None


def test_trees_have_no_loops():
    for line in compare_loop_bases(build("chain")).lines:
        assert (line.loops, line.nnz_k, line.nnz_product, line.longest) == (0, 0, 0, 0)


def test_the_same_seed_gives_the_same_random_tree():
    system = build("lattice", rows=4, columns=4).compile()
    first, same, other = (loop_cycles(system, FUNDAMENTAL[-1], seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.edge, same.edge)
    assert not np.array_equal(first.edge, other.edge)


def test_unknown_bases_and_too_many_loops_are_told(monkeypatch):
    with pytest.raises(UnknownNameError, match=r"no loop basis 'mcb'; there are minimum, short"):
        compare_loop_bases(build("ladder"), ("mcb",))
    with pytest.raises(ModelError, match="seed is -1; give"):
        compare_loop_bases(build("ladder"), seed=-1)
    monkeypatch.setattr("sparsebody.analysis.cycle_bases.MOST_LOOPS", 5)
    with pytest.raises(ModelError, match="ladder has 10 loops, more than 5"):
        compare_loop_bases(build("ladder"))


def door():
    """Return a door on two hinges, and a bar that nothing joins to the world."""
    mechanism = sb.Mechanism("door")
    for name in ("door", "knob", "loose"):
        mechanism.add_body(name, mass=1.0, inertia=[1, 1, 1])
    for height in (0, 1):
        mechanism.add_joint(
            f"hinge {height}", sb.Revolute(), sb.WORLD, "door", point=[0, 0, height]
        )
        mechanism.add_joint(f"lock {height}", sb.Spherical(), "knob", "loose", point=[1, 0, height])
    mechanism.add_joint("free", sb.Free(), sb.WORLD, "knob")
    return mechanism


MECHANISMS = {
    "ladder": lambda: build("ladder", rungs=4),
    "lattice": lambda: build("lattice", rows=3, columns=3, joint="universal"),
    "cube": lambda: build("lattice", rows=2, columns=2, layers=2),
    "scissor": lambda: build("scissor", pairs=3, drive=True),
    "torus": lambda: build("four-bar-torus", rows=3, columns=3),
    "stewart": lambda: build("stewart", drive=True),
    "door": door,
    "random": lambda: random_loops(np.random.default_rng(1), 8, 4),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_all_bases_leave_the_same_velocities_and_as_many_as_the_bodies_have(name):
    system = MECHANISMS[name]().compile()
    state = consistent_state(system)
    left = None
    for basis in LOOP_BASES:
        cycles = loop_cycles(system, basis)
        if cycles is None:
            assert basis == "faces"
            continue
        null = null_space(loop_closure_matrix(system, state, cycles).toarray(), rcond=1e-10)
        if left is None:
            left = null
            assert null.shape[1] == _mobility(system, state)
        assert null.shape == left.shape, basis
        if null.shape[1]:
            assert subspace_angles(null, left).max() < 1e-6, basis


def _mobility(system, state):
    """Freedoms of the joints: those of the bodies, less six for what hangs on no joint with rows.

    What moves as one with joints of no rows alone has no velocity in a joint.
    """
    rooted = np.arange(system.n_bodies + 1)
    for j in np.flatnonzero(np.diff(system.first_row) > 0):
        one, two = rooted[system.predecessor[j]], rooted[system.successor[j]]
        rooted[rooted == one] = two
    n_loose = len(set(rooted[:-1].tolist()) - {rooted[-1]})
    return 6 * (system.n_bodies - n_loose) - rank(system, state)


def test_velocities_around_a_loop_add_up_to_nothing():
    system = random_loops(np.random.default_rng(4), 6, 3, moving=True).compile()
    state = consistent_state(system)
    free, n_free = joint_freedoms(system, state)
    motion = sb.ForwardDynamics(system, state).evaluate(state).joints
    velocities = []
    for j in range(system.n_joints):
        S = free[j, : n_free[j]]
        qd = np.linalg.lstsq(S.T, motion.velocity[j], rcond=None)[0]
        np.testing.assert_allclose(S.T @ qd, motion.velocity[j] * bool(n_free[j]), atol=1e-9)
        velocities.append(qd)
    for basis in LOOP_BASES:
        cycles = loop_cycles(system, basis)
        if cycles is not None:
            K = loop_closure_matrix(system, state, cycles)
            assert np.abs(K @ np.concatenate(velocities)).max() < 1e-9
