"""Costs of heuristic orders on graphs whose widths are known, and beside each other."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import graph_pattern, ladder, metrics, pattern_of, patterns, shuffled
from scipy.sparse import csr_array

import sparsebody as sb
from sparsebody import ordering as tables
from sparsebody._core import ordering as kernels
from sparsebody.errors import MissingDependencyError, UnknownNameError
from sparsebody.ordering import available_general_orderings, general_order, heuristics, order
from sparsebody.sparse.elimination_tree import column_structures, ordering_metrics
from sparsebody.sparse.pattern import check_order, dual_graph, symmetric_pattern


def lattice(*sizes):
    return graph_pattern(nx.grid_graph(sizes), joint_size=3)


def path(n):
    return graph_pattern(nx.path_graph(n))


def cycle(n):
    return graph_pattern(nx.cycle_graph(n))


def tree(n, seed=0):
    return graph_pattern(nx.random_labeled_tree(n, seed=seed))


def cost(pattern, name, *positions):
    return metrics(pattern, order, name, *positions)


def flops(pattern, name, *positions):
    return cost(pattern, name, *positions).flops


by_cholmod = partial(pytest.param, marks=pytest.mark.cholmod)
WHEEL = pattern_of([(0, k) for k in range(1, 9)] + [(k, k % 8 + 1) for k in range(1, 9)], 9)
STRIP = graph_pattern(nx.grid_2d_graph(3, 20))
TWO_PARTS = graph_pattern(nx.disjoint_union(nx.path_graph(7), nx.cycle_graph(9)))


@pytest.mark.parametrize(
    ("ordering", "pattern", "metric", "most"),
    [
        ("minimum-degree", WHEEL, "largest_front", 50),  # thin joints first, wide fronts late
        ("leaves-first", graph_pattern(nx.star_graph(40)), "largest_front", 11),
        ("treewidth-fill", ladder(20), "largest_front", 18),
        ("treewidth-degree", ladder(20), "largest_front", 18),
        ("treewidth-fill", tree(50), "largest_front", 11),
        ("treewidth-degree", tree(50), "largest_front", 11),
        ("nested-dissection", lattice(16, 16), "largest_front", 3 * (16 + 16 + 1)),
        ("nested-dissection", ladder(500), "etree_height", 79),
        ("reverse-cuthill-mckee", path(100), "block_bandwidth", 4),
        ("reverse-cuthill-mckee", cycle(100), "block_bandwidth", 8),
        ("reverse-cuthill-mckee", ladder(100), "block_bandwidth", 20),
        ("spectral", path(20), "block_bandwidth", 3),  # each joint after its later body
        ("spectral", path(200), "block_bandwidth", 3),  # by a sparse eigenvalue solver
        ("pathwidth-sweep", path(30), "largest_front", 5 * 2 + 6),
        ("pathwidth-sweep", cycle(30), "largest_front", 5 * 3 + 6),
        ("pathwidth-sweep", STRIP, "largest_front", 5 * 6 + 6),
        ("level-sweep", path(40), "block_bandwidth", 1),
        ("level-sweep", cycle(40), "block_bandwidth", 3),
        ("level-sweep", graph_pattern(nx.grid_2d_graph(3, 30)), "block_bandwidth", 6),
        ("level-sweep", TWO_PARTS, "block_bandwidth", 3),
        ("level-sweep", ladder(100_000), "block_bandwidth", 3),
        ("level-sweep", pattern_of(np.arange(20_000).reshape(-1, 2), 20_000), "block_bandwidth", 1),
    ],
)
def test_graphs_of_known_width_are_eliminated_in_it_however_they_are_numbered(
    ordering, pattern, metric, most
):
    for seed in range(3 if pattern.n_blocks < 1_000 else 1):
        assert getattr(cost(shuffled(pattern, seed), ordering), metric) <= most


@pytest.mark.parametrize(
    ("better", "worse", "pattern", "share"),
    [
        ("minimum-degree", "natural", graph_pattern(nx.grid_2d_graph(32, 32)), 0.35),
        ("minimum-degree", "leaves-first", tree(300), 1.01),  # the articulated-body algorithm
        ("minimum-degree", "leaves-first", tree(300, 1), 1.01),
        ("minimum-fill", "leaves-first", tree(200, 1), 1.0 + 1e-12),
        ("minimum-fill", "minimum-degree", lattice(16, 16), 0.95),
        ("minimum-fill", "minimum-degree", lattice(5, 5, 5), 0.95),
        ("nested-dissection", "minimum-degree", lattice(24, 24), 0.95),
        ("nested-dissection", "minimum-degree", lattice(7, 7, 7), 0.95),
        ("pathwidth-sweep", "reverse-cuthill-mckee", graph_pattern(nx.grid_2d_graph(6, 60)), 0.9),
        by_cholmod("nested-dissection", "cholmod-metis", lattice(32, 32), 1.05),
        by_cholmod("nested-dissection", "cholmod-metis", lattice(8, 8, 8), 1.05),
        by_cholmod("cholmod-metis", "cholmod-amd", graph_pattern(nx.grid_2d_graph(48, 48)), 1.0),
    ],
)
def test_one_ordering_predicts_less_work_than_another(better, worse, pattern, share):
    pattern = shuffled(pattern, 0)
    assert flops(pattern, better) < share * flops(pattern, worse)


@pytest.mark.parametrize(
    ("ordering", "small", "large", "most"),
    [
        ("minimum-degree", ladder(200), ladder(2_000), 12.0),
        ("minimum-degree", cycle(300), cycle(3_000), 12.0),
        ("minimum-degree", *(graph_pattern(nx.grid_2d_graph(3, n)) for n in (100, 1_000)), 12.0),
        ("minimum-fill", ladder(20), ladder(200), 10.5),
        ("pathwidth-sweep", ladder(30), ladder(300), 10.5),
        ("nested-dissection", lattice(24, 24), lattice(48, 48), 8.5),  # n^1.5, of four times n
    ],
)
def test_work_grows_with_a_known_power_of_the_size(ordering, small, large, most):
    ratio = flops(shuffled(large, 0), ordering) / flops(shuffled(small, 1), ordering)
    assert most / 1.5 < ratio < most


@pytest.mark.parametrize(
    ("ordering", "pattern", "most"),
    [
        ("minimum-degree", graph_pattern(nx.grid_2d_graph(32, 32)), 1.33),
        ("spectral", graph_pattern(nx.grid_2d_graph(9, 9)), 1.05),  # of its modes none is chosen
    ],
)
def test_numbering_hardly_matters(ordering, pattern, most):
    costs = [flops(shuffled(pattern, seed), ordering) for seed in range(6)]
    assert max(costs) < most * min(costs)


# ---- minimum degree ------------------------------------------------------------------------------


@given(pattern=patterns())
def test_bodies_wait_for_no_joint_that_they_couple_to(pattern):
    position = {block: k for k, block in enumerate(order(pattern, "bodies-first").tolist())}
    for j, ends in enumerate(pattern.ends.tolist()):
        assert all(position[body] < position[pattern.n_primal + j] for body in ends if body >= 0)


@given(n_bodies=st.integers(2, 200), seed=st.integers(0, 99), is_grounded=st.booleans())
def test_nothing_fills_in_on_a_tree_but_one_block_for_each_body(n_bodies, seed, is_grounded):
    pattern = tree(n_bodies, seed)
    if is_grounded:
        pattern = pattern_of([*pattern.ends, (-1, 0)], n_bodies)
    start, rows = column_structures(pattern, order(pattern, "leaves-first"))
    assert np.all(np.diff(start) <= 1)  # a body couples to its joint, the joint to the inner body
    assert len(rows) == np.count_nonzero(pattern.ends >= 0)  # as many as before: no fill at all
    assert cost(pattern, "leaves-first").largest_front <= 11


@pytest.mark.parametrize("n_leaves", [10, 10_000])
def test_a_hub_with_many_arms_costs_as_much_as_its_arms(n_leaves):
    star = graph_pattern(nx.star_graph(n_leaves))
    arm = sum(m * (m + 2) for m in [*range(5, 11), *range(6, 11)])
    hub = sum(m * (m + 2) for m in range(6))
    assert flops(star, "leaves-first") == pytest.approx(n_leaves * arm + hub)


def test_loops_follow_the_tree_parts_that_hang_on_them():
    graph = nx.cycle_graph(6)
    nx.add_path(graph, [0, 6, 7])
    pattern = graph_pattern(graph)
    tail = {6, 7} | {8 + j for j, pair in enumerate(pattern.ends) if pair.max() >= 6}
    position = np.argsort(order(pattern, "leaves-first"))
    assert all(position[block] < position[0] for block in tail)


# ---- minimum fill, tree decompositions -----------------------------------------------------------


def fills(pattern, joints):
    """Return, for each step, the fill of the joint taken and the least fill of any: brute force."""
    indptr, indices = dual_graph(pattern)
    ones = np.ones(len(indices))
    graph = nx.from_scipy_sparse_array(csr_array((ones, indices, indptr), (pattern.n_dual,) * 2))
    rows = pattern.block_sizes[pattern.n_primal :]

    def fill(j):
        near = list(graph.neighbors(j))
        pairs = ((a, b) for k, a in enumerate(near) for b in near[:k])
        return sum(rows[a] * rows[b] for a, b in pairs if not graph.has_edge(a, b))

    for joint in joints.tolist():
        yield fill(joint), min(map(fill, graph))
        eliminate(graph, joint)


def eliminate(graph, node):
    """Take a node out of a graph, its neighbours joined with each other; return these."""
    near = list(graph.neighbors(node))
    graph.remove_node(node)
    graph.add_edges_from((a, b) for k, a in enumerate(near) for b in near[:k])
    return near


@given(pattern=patterns())
def test_every_joint_is_one_that_fills_in_least(pattern):
    rows = np.ascontiguousarray(pattern.block_sizes[pattern.n_primal :])
    joints = kernels.minimum_fill(dual_graph(pattern), rows)
    assert all(taken == least for taken, least in fills(pattern, joints))


@given(n=st.integers(1, 14), p=st.floats(0.05, 0.9), seed=st.integers(0, 50))
def test_the_order_has_the_width_of_the_decomposition(n, p, seed):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    width, decomposition = nx.approximation.treewidth_min_fill_in(graph)
    sequence = heuristics.elimination_of(decomposition)
    assert sorted(sequence) == list(range(n))
    assert max(len(eliminate(graph, node)) for node in sequence) <= width


# ---- dissection ----------------------------------------------------------------------------------


def test_the_last_separator_of_a_lattice_holds_as_many_joints_as_a_side_has():
    pattern = lattice(16, 16)
    assert np.all(order(pattern, "nested-dissection")[-8:] >= pattern.n_primal)


def test_positions_tell_where_to_cut_and_their_axes_do_not_matter():
    pattern, at = lattice(6, 7, 8), np.array(nx.grid_graph((6, 7, 8)).nodes, dtype=float)
    upright, turned = (
        flops(pattern, "geometric-dissection", points) for points in (at, -2.0 * at[:, ::-1] + 3.0)
    )
    assert turned == pytest.approx(upright, rel=0.05)
    assert upright == pytest.approx(flops(pattern, "nested-dissection"), rel=0.25)
    without = order(pattern, "geometric-dissection")
    np.testing.assert_array_equal(without, order(pattern, "nested-dissection"))


# ---- sweeps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [nx.path_graph(60), nx.cycle_graph(60), nx.grid_2d_graph(4, 20)])
def test_the_profile_is_nearly_that_of_cuthill_and_mckee_or_smaller(graph):
    pattern = shuffled(graph_pattern(graph), 1)
    band = cost(pattern, "reverse-cuthill-mckee")
    assert cost(pattern, "sloan").profile <= 1.1 * band.profile


def test_fronts_of_a_ladder_do_not_grow_with_its_length():
    short, long = (cost(shuffled(ladder(n), 0), "sloan") for n in (20, 200))
    assert short.largest_front == long.largest_front
    assert long.profile < 0.2 * cost(ladder(200), "natural").profile


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(5, 9), nx.grid_2d_graph(10, 12)])
def test_the_mode_is_that_of_the_second_eigenvalue(graph):
    weight = heuristics._weights(graph_pattern(graph, joint_size=3))
    mode = heuristics._fiedler_vector(weight, np.arange(float(len(graph))))
    laplacian = 3.0 * nx.laplacian_matrix(graph).toarray()
    values = np.linalg.eigvalsh(laplacian)
    np.testing.assert_allclose(laplacian @ mode, values[1] * mode, atol=1e-6)


@pytest.mark.parametrize("n_rungs", [3, 6, 50])
@pytest.mark.parametrize("seed", [0, 1])
def test_ladder_is_ordered_as_in_figure_8_4(n_rungs, seed):
    pattern = shuffled(ladder(n_rungs), seed)
    sequence = order(pattern, "level-sweep")
    assert len(sequence) == 5 * n_rungs - 2
    assert ordering_metrics(pattern, sequence).block_bandwidth == 3
    number = {}  # bodies as in the figure: 1, 2 the first rung, 3, 4 the second
    for block in sequence[sequence < pattern.n_primal]:
        number[block] = len(number) + 1
    result = []
    for block in sequence:
        bodies = [block] if block in number else pattern.ends[block - pattern.n_primal]
        result.append("".join(str(number[body]) for body in sorted(bodies, key=number.get)))
    assert result[:10] == ["1", "2", "12", "13", "24", "3", "4", "34", *result[8:10]]
    if n_rungs == 3:
        assert result == ["1", "2", "12", "13", "24", "3", "4", "34", "35", "46", "5", "6", "56"]


def test_joints_to_the_world_follow_their_body_and_hubs_are_ordered():
    chain = pattern_of([(-1, 0), (0, 1), (1, 2), (2, -1)], 3)
    sequence = order(chain, "level-sweep").tolist()
    assert sequence.index(3) == sequence.index(0) + 1
    assert sequence.index(6) == sequence.index(2) + 1
    star = graph_pattern(nx.star_graph(3_000))  # of whose bodies some are tried only
    check_order(star, order(star, "level-sweep"))


# ---- CHOLMOD, and any symmetric pattern ----------------------------------------------------------


@pytest.mark.cholmod
@pytest.mark.parametrize("name", ["cholmod-amd", "cholmod-metis"])
def test_each_body_comes_right_before_its_first_joint_and_joints_are_weighed(name):
    pattern = shuffled(ladder(10), seed=2)
    sequence = order(pattern, name)
    position = np.argsort(sequence)
    for body in range(pattern.n_primal):
        following = next(b for b in sequence[position[body] :] if b >= pattern.n_primal)
        assert following in pattern.neighbours(body)
        assert position[following] == position[pattern.neighbours(body)].min()
    mixed = graph_pattern(nx.grid_2d_graph(12, 12))
    mixed.block_sizes[mixed.n_primal :: 2] = 1
    mixed = sb.BlockPattern(mixed.block_sizes, mixed.ends)
    assert flops(mixed, name) < 0.5 * flops(mixed, "natural")


def grid(n, sizes=None):
    row, column = np.array(nx.convert_node_labels_to_integers(nx.grid_2d_graph(n, n)).edges).T
    if sizes is None:
        return symmetric_pattern(row, column, np.ones(n * n, dtype=np.intp))
    start = np.cumsum(sizes) - sizes
    return symmetric_pattern(start[row], start[column], sizes)


@pytest.mark.parametrize("name", available_general_orderings())
def test_every_ordering_lists_every_block_of_any_symmetric_pattern_once(name):
    none = np.zeros(0, dtype=int)
    separate = symmetric_pattern(none, none, np.ones(3, dtype=int))
    for pattern in (grid(6), grid(4, np.arange(1, 17) % 5 + 1), separate):
        result = general_order(pattern, name)
        np.testing.assert_array_equal(np.sort(result), np.arange(pattern.n_blocks))


def test_minimum_degree_fills_nothing_in_on_a_tree_and_beats_the_numbering_on_a_grid():
    edges = np.array(nx.random_labeled_tree(40, seed=1).edges).T
    acyclic = symmetric_pattern(*edges, np.ones(40, dtype=np.intp))
    assert metrics(acyclic, general_order, "minimum-degree").nnz_l == 40 + 39
    by_degree, as_numbered, at_random = (
        metrics(grid(16), general_order, name).flops
        for name in ("minimum-degree", "natural", "random")
    )
    assert by_degree < 0.6 * as_numbered < at_random
    assert metrics(grid(9), general_order, "reverse-cuthill-mckee").block_bandwidth == 9


def test_unknown_names_and_missing_packages_are_told(monkeypatch):
    with pytest.raises(UnknownNameError, match=r"no ordering 'level-sweep'.*minimum-degree"):
        general_order(grid(2), "level-sweep")
    monkeypatch.setattr("sparsebody.ordering.find_spec", lambda package: None)
    with pytest.raises(MissingDependencyError, match="needs sksparse: pip install"):
        general_order(grid(2), "cholmod-amd")
    assert available_general_orderings() == [
        name for name, entry in tables.GENERAL_ORDERINGS.items() if entry.needs is None
    ]
