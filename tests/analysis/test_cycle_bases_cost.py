import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_array

import sparsebody as sb
from sparsebody._core import rank as kernels
from sparsebody.analysis.cycle_bases import FUNDAMENTAL, LOOP_BASES
from sparsebody.analysis.reactions import joint_sizes
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import joint_frames
from sparsebody.tolerances import CIRCULATION_TOLERANCE, REMAINDER_FLOOR
from sparsebody.tree import spanning_tree
from sparsebody.tree.loop_constraints import loop_equations
from sparsebody.tree.method import TreeProblem


def loop_cycles(system, basis, seed=0):
    """Return a basis of loops, one of LOOP_BASES; None for no faces."""
    return sb.compare_loop_bases(system, (basis,), seed=seed).cycles.get(basis)


def loop_closure_matrix(system, state, cycles):
    """Return K (6 n_cycles, sum of n_free): K qd = 0 closes the loops.

    The sum of +-S_j qd_j around a loop. Six rows a loop, angular velocities first, in world axes
    about the first joint of the loop; columns joint by joint, see `joint_freedoms`.
    """
    free, n_free = joint_freedoms(system, state)
    axes, origin = joint_frames(system, state)[1]
    first = np.concatenate([[0], np.cumsum(n_free)]).astype(np.intp)
    rows, columns, values = ([np.zeros(0, dtype=kind)] for kind in (np.intp, np.intp, float))
    for c in range(len(cycles)):
        entries = slice(cycles.start[c], cycles.start[c + 1])
        center = origin[cycles.edge[entries][0]]
        for j, sign in zip(cycles.edge[entries], cycles.sign[entries], strict=True):
            angular, linear = (
                free[j, : n_free[j], :3] @ axes[j].T,
                free[j, : n_free[j], 3:] @ axes[j].T,
            )
            linear = linear + np.cross(angular, center - origin[j])
            row, column = np.indices((6, n_free[j]))
            rows.append(6 * c + row.ravel())
            columns.append(first[j] + column.ravel())
            values.append(sign * np.hstack([angular, linear]).T.ravel())
    where = np.concatenate(rows), np.concatenate(columns)
    shape = 6 * len(cycles), int(first[-1])
    return coo_array((np.concatenate(values), where), shape=shape).tocsr()


def joint_freedoms(system, state):
    """Return S' (n_joints, 6, 6) in successor axes, n_free[j] rows of it, and n_free (n_joints,).

    The freedoms that the rows of a joint leave: a driven coordinate has a row, and is not free.
    None for a joint without rows.
    """
    sizes, subspace = joint_sizes(system), SystemMotion(system, state).subspace
    free, n_free = kernels.joint_freedoms(
        system.first_row, subspace, sizes, CIRCULATION_TOLERANCE, REMAINDER_FLOOR
    )
    free[:, :, :3] /= sizes[:, None, None]  # the kernel returns (size * angular, linear)
    n_free[np.diff(system.first_row) == 0] = 0
    return free, n_free


FAMILIES = {
    "ladder": {"rungs": 6},
    "lattice": {"rows": 4, "columns": 4},
    "scissor": {"pairs": 5},
    "stewart": {},
    "rotating-squares": {"rows": 4, "columns": 4},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_basis_has_the_dimension_of_the_cycle_space(name):
    system = sb.build(name, **FAMILIES[name]).compile()
    comparison = sb.compare_loop_bases(system)
    graph = nx.MultiGraph(zip(system.predecessor.tolist(), system.successor.tolist(), strict=True))
    n_parts = nx.number_connected_components(graph)
    n_cycles = graph.number_of_edges() - graph.number_of_nodes() + n_parts
    assert sorted(comparison.cycles) == sorted(LOOP_BASES)
    nnz_k = {}
    for line in comparison.lines:
        cycles = comparison.cycles[line.name]
        signs = np.zeros((len(cycles), system.n_joints))
        np.add.at(signs, (cycles.cycle, cycles.edge), cycles.sign)
        assert line.loops == np.linalg.matrix_rank(signs) == comparison.dimension == n_cycles
        nnz_k[line.name] = line.nnz_k
    assert comparison.is_planar
    assert min(nnz_k.values()) == comparison.lines[0].nnz_k == nnz_k["minimum"]


@pytest.mark.parametrize("basis", LOOP_BASES)
@pytest.mark.parametrize("name", ["lattice", "stewart"])
def test_nonzeros_are_those_of_dense_matrices(name, basis):
    """K, K K' and K H^-1 K' for random numbers where K and H have entries."""
    system = sb.build(name, **FAMILIES[name]).compile()
    (line,) = sb.compare_loop_bases(system, (basis,)).lines
    cycles, state = loop_cycles(system, basis), system.initial_state
    K = loop_closure_matrix(system, state, cycles)
    assert line.nnz_k == K.nnz  # stored, zeros or not
    n_free = joint_freedoms(system, state)[1]
    joint = np.repeat(np.arange(system.n_joints), n_free)
    dense = np.where(K.toarray() != 0, np.random.default_rng(0).normal(size=K.shape), 0.0)
    assert line.nnz_coupling == n_block_entries(dense @ dense.T)
    if line.tree == "random":
        chords = set(cycles.edge[cycles.start[:-1]].tolist())
        joints = [system.joint_names[j] for j in range(system.n_joints) if j not in chords]
        tree = spanning_tree(system, "breadth-first", joints=joints)
    else:
        tree = spanning_tree(system, line.tree)
    rng, H = np.random.default_rng(1), np.eye(len(joint))  # loop joints have entries of their own
    for i in range(tree.n_bodies):
        jacobian = rng.normal(size=(6, len(joint))) * np.isin(joint, tree.joint[tree.support(i)])
        H += jacobian.T @ jacobian
    assert line.nnz_product == n_block_entries(dense @ np.linalg.solve(H, dense.T))
    assert line.nnz_h == tree.n_inertia_nonzeros


def n_block_entries(matrix):
    """Return how many entries the nonzero 6 x 6 blocks have."""
    n = len(matrix) // 6
    blocks = np.abs(matrix).reshape(n, 6, n, 6).max(axis=(1, 3))
    return 36 * np.count_nonzero(blocks > 1e-12 * blocks.max(initial=0.0))


@pytest.mark.parametrize("choice", ["breadth-first", "depth-first", "minimum-nonzeros"])
def test_k_of_tree_joints_has_the_blocks_of_table_8_4(choice):
    """Featherstone (2008), table 8.4."""
    system = sb.build("lattice", rows=3, columns=4, joint="universal").compile()
    (line,) = sb.compare_loop_bases(system, (f"{choice} tree",)).lines
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
    # 4 rows of a universal loop joint, 2 freedoms of each tree joint
    assert line.nnz_tree_k == 4 * 2 * (len(cycles.edge) - len(cycles))


def lines(name, *bases, **size):
    comparison = sb.compare_loop_bases(sb.build(name, **size), bases)
    return {line.name: line for line in comparison.lines}


def test_on_a_ladder_trees_that_make_h_sparse_make_k_dense():
    short, long = (lines("ladder", rungs=n) for n in (40, 80))
    growth = {name: long[name].nnz_k / short[name].nnz_k for name in short}
    assert growth["minimum"] == growth["faces"] == pytest.approx(2.0, abs=0.1)
    assert growth["depth-first tree"] == pytest.approx(2.0, abs=0.1)
    assert growth["breadth-first tree"] == pytest.approx(4.0, abs=0.1)
    assert long["breadth-first tree"].nnz_h < 0.7 * long["depth-first tree"].nnz_h


def test_no_basis_makes_the_product_with_h_sparse_where_all_bodies_hang_on_one_joint():
    bases = lines("lattice", rows=5, columns=5)
    assert {line.nnz_product for line in bases.values()} == {36 * bases["minimum"].loops ** 2}
    # 16 cells, each coupled to itself and at most four neighbours
    assert bases["minimum"].nnz_coupling < 36 * 5 * 16


def test_a_lattice_of_three_layers_has_no_faces():
    comparison = sb.compare_loop_bases(sb.build("lattice", rows=3, columns=3, layers=3))
    assert comparison.is_planar is False
    assert "faces" not in comparison.cycles
    assert sb.compare_loop_bases(sb.build("ladder"), ("minimum",)).is_planar is None


def test_trees_have_no_loops():
    for line in sb.compare_loop_bases(sb.build("chain")).lines:
        assert (line.loops, line.nnz_k, line.nnz_product, line.longest) == (0, 0, 0, 0)


def test_the_same_seed_gives_the_same_random_tree():
    system = sb.build("lattice", rows=4, columns=4).compile()
    first, same, other = (loop_cycles(system, FUNDAMENTAL[-1], seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.edge, same.edge)
    assert not np.array_equal(first.edge, other.edge)


def test_negative_seeds_and_too_many_loops_are_told(monkeypatch):
    with pytest.raises(ModelError, match="seed is -1; give"):
        sb.compare_loop_bases(sb.build("ladder"), seed=-1)
    monkeypatch.setattr("sparsebody.analysis.cycle_bases.MOST_LOOPS", 5)
    with pytest.raises(ModelError, match="ladder has 10 loops, more than 5"):
        sb.compare_loop_bases(sb.build("ladder"))
