"""Cycle bases: short, least, fundamental ones and faces."""

import networkx as nx
import numpy as np
import pytest
from exact_rank import rank_over_gf2

import sparsebody as sb
from sparsebody.sparse.cycles import face_cycles, fundamental_cycles, minimum_cycles, short_cycles

seeds = pytest.mark.parametrize("seed", range(8))


def random_graph(seed, most=12):
    """Return n, ends with the world and parallel edges, weights with zeros, and the dimension."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most))
    first = rng.integers(-1, n, size=int(rng.integers(1, 2 * n + 4)))
    ends = np.stack([first, (first + 1 + rng.integers(1, n + 1, len(first))) % (n + 1) - 1], axis=1)
    graph = nx.MultiGraph(ends.tolist())
    dimension = len(ends) - len(graph) + nx.number_connected_components(graph)
    return n, ends, rng.integers(0, 5, len(ends)), dimension


def assert_basis(cycles, ends, dimension):
    """Cycles are closed, passed one edge after the other, simple and independent."""
    assert len(cycles) == rank_over_gf2(cycles) == dimension
    assert set(np.abs(cycles.sign)) <= {1}
    for c in range(len(cycles)):
        assert len(set(cycles[c].tolist())) == len(cycles[c])
        sign = cycles.sign[cycles.start[c] : cycles.start[c + 1]]
        ways = [ends[e][::s].tolist() for e, s in zip(cycles[c], sign, strict=True)]
        for (_, to), (following, _) in zip(ways, [*ways[1:], ways[0]], strict=True):
            assert to == following


@pytest.mark.parametrize("seed", range(20))
def test_short_cycles_are_a_basis_and_each_starts_with_an_edge_of_its_own(seed):
    n, ends, _, dimension = random_graph(seed, most=15)
    cycles = short_cycles(n, ends)
    assert_basis(cycles, ends, dimension)
    for c in range(len(cycles)):
        assert cycles[c][0] not in cycles.edge[: cycles.start[c]]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("scissor", {"pairs": 50}),
        ("n-four-bar", {"loops": 50}),
        ("rotating-squares", {"rows": 8, "columns": 8}),
        ("lattice", {"rows": 8, "columns": 8}),
        ("ladder", {"rungs": 50}),
    ],
)
def test_ladders_and_lattices_have_cycles_of_four(name, parameters):
    system = sb.build(name, **parameters).compile()
    ends = np.stack([system.predecessor, system.successor], axis=1)
    assert np.diff(short_cycles(system.n_bodies, ends).start).max() == 4


@seeds
def test_no_basis_weighs_less_than_the_minimum_one(seed):
    n, ends, weight, dimension = random_graph(seed)
    cycles = minimum_cycles(n, ends, weight)
    assert_basis(cycles, ends, dimension)
    graph = nx.Graph()  # with a node for every edge; weights just above the given ones
    for e, pair in enumerate(ends.tolist()):
        graph.add_edges_from(((end, ("edge", e)) for end in pair), weight=weight[e] + 1e-6)
    known = nx.minimum_cycle_basis(graph, weight="weight")
    least = sum(weight[node[1]] for nodes in known for node in nodes if isinstance(node, tuple))
    assert weight[cycles.edge].sum() == least


@seeds
def test_faces_are_a_basis_that_has_every_edge_twice_at_most(seed):
    n, ends, weight, dimension = random_graph(seed)
    cycles = face_cycles(n, ends, weight)
    is_planar = nx.check_planarity(nx.Graph(ends.tolist()))[0]
    assert (cycles is not None) == is_planar
    if cycles is not None:
        assert_basis(cycles, ends, dimension)
        assert np.bincount(cycles.edge).max(initial=0) <= 2


@seeds
def test_fundamental_cycles_hold_one_edge_outside_of_the_tree(seed):
    n, ends, _, dimension = random_graph(seed)
    rng, graph = np.random.default_rng(seed), nx.MultiGraph()
    for e in rng.permutation(len(ends)).tolist():
        graph.add_edge(*ends[e].tolist(), key=e, weight=rng.random())
    is_tree = np.zeros(len(ends), dtype=bool)
    is_tree[[key for _, _, key in nx.minimum_spanning_edges(graph, data=False)]] = True
    cycles = fundamental_cycles(n, ends, is_tree)
    assert_basis(cycles, ends, dimension)
    assert cycles.edge[cycles.start[:-1]].tolist() == np.flatnonzero(~is_tree).tolist()
    assert np.count_nonzero(~is_tree[cycles.edge]) == dimension


def test_an_edge_from_a_node_to_itself_is_a_cycle_alone():
    ends = np.array([[0, 0], [-1, 0], [-1, -1]])
    cycles = fundamental_cycles(1, ends, np.array([False, True, False]))
    assert [cycle.tolist() for cycle in cycles] == [[0], [2]]


def test_a_forest_that_does_not_connect_the_ends_of_an_edge_is_refused():
    with pytest.raises(ValueError, match="no usable edges connect the ends of a chord"):
        fundamental_cycles(2, np.array([[0, 1]]), np.array([False]))


def test_a_drawing_tells_which_faces_are_meant():
    """Two squares side by side, and one of their sides bent: the ladder's faces can be others."""
    ends = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [1, 4], [4, 5], [5, 2]])
    position = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [2, 0], [2, 1]], dtype=float)
    drawing = np.concatenate([position, [[9, 9]], position[ends].mean(axis=1)])
    cycles = face_cycles(6, ends, np.ones(7, dtype=np.intp), drawing)
    assert sorted(map(len, cycles)) == [4, 4]
    crossed = drawing.copy()
    crossed[[0, 1]] = drawing[[1, 0]]  # lines cross: any embedding will do
    assert_basis(face_cycles(6, ends, np.ones(7, dtype=np.intp), crossed), ends, 2)
