"""Short independent cycles."""

import networkx as nx
import numpy as np
import pytest

from sparsebody.model.gallery import build
from sparsebody.sparse.cycles import (
    Cycles,
    cycle_rank,
    face_cycles,
    fundamental_cycles,
    minimum_cycles,
    short_cycles,
)


def random_ends(seed: int) -> tuple[int, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    first = rng.integers(-1, n, size=int(rng.integers(n, 3 * n)))
    second = (first + 1 + rng.integers(1, n + 1, size=len(first))) % (n + 1) - 1
    return n, np.stack([first, second], axis=1)


@pytest.mark.parametrize("seed", range(20))
def test_cycles_are_closed_and_independent(seed: int) -> None:
    n, ends = random_ends(seed)
    assert (ends[:, 0] != ends[:, 1]).all()
    cycles = short_cycles(n, ends)
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(-1, n))
    graph.add_edges_from(ends.tolist())
    n_independent = len(ends) - (n + 1) + nx.number_connected_components(graph)
    assert len(cycles) == n_independent
    passed = np.zeros((len(cycles), len(ends)))
    np.add.at(passed, (cycles.cycle, cycles.edge), cycles.sign)
    incidence = np.zeros((len(ends), n + 1))
    np.add.at(incidence, (np.arange(len(ends)), ends[:, 0] % (n + 1)), -1.0)
    np.add.at(incidence, (np.arange(len(ends)), ends[:, 1] % (n + 1)), 1.0)
    np.testing.assert_array_equal(passed @ incidence, 0.0)
    assert n_independent == 0 or np.linalg.matrix_rank(passed) == n_independent
    for c in range(len(cycles)):
        assert cycles[c][0] not in set().union(*(cycles[k].tolist() for k in range(c)))


@pytest.mark.parametrize("seed", range(20))
def test_consecutive_edges_meet(seed: int) -> None:
    n, ends = random_ends(seed)
    cycles = short_cycles(n, ends)
    for c in range(len(cycles)):
        sign = cycles.sign[cycles.start[c] : cycles.start[c + 1]]
        from_to = [
            ends[e] if s > 0 else ends[e][::-1] for e, s in zip(cycles[c], sign, strict=True)
        ]
        for (_, to), (following, _) in zip(from_to, [*from_to[1:], from_to[0]], strict=True):
            assert to == following


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
def test_ladders_and_lattices_have_cycles_of_four(name: str, parameters: dict[str, int]) -> None:
    system = build(name, **parameters).compile()
    ends = np.stack([system.predecessor, system.successor], axis=1)
    assert np.diff(short_cycles(system.n_bodies, ends).start).max() == 4


def test_trees_have_none() -> None:
    assert len(short_cycles(3, np.array([[-1, 0], [0, 1], [0, 2]]))) == 0
    with pytest.raises(IndexError):
        short_cycles(3, np.array([[-1, 0]]))[0]


def random_graph(seed):
    """Return n, ends with the world and parallel edges, weights with zeros, and the dimension."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    first = rng.integers(-1, n, size=int(rng.integers(1, 2 * n + 4)))
    ends = np.stack([first, (first + 1 + rng.integers(1, n + 1, len(first))) % (n + 1) - 1], axis=1)
    graph = nx.MultiGraph(ends.tolist())
    dimension = len(ends) - len(graph) + nx.number_connected_components(graph)
    return n, ends, rng.integers(0, 5, len(ends)), dimension


def subdivided(ends, weight):
    """Return the simple graph with a node for every edge; weights just above the given ones."""
    graph = nx.Graph()
    for e, (pair, w) in enumerate(zip(ends.tolist(), weight.tolist(), strict=True)):
        graph.add_edges_from(((end, ("edge", e)) for end in pair), weight=w + 1e-6)
    return graph


def assert_basis(cycles, n, ends, dimension):
    """Cycles are closed, passed one edge after the other, simple and independent."""
    assert len(cycles) == cycle_rank(cycles) == dimension
    assert set(np.abs(cycles.sign)) <= {1}
    for c in range(len(cycles)):
        assert len(set(cycles[c].tolist())) == len(cycles[c])
        sign = cycles.sign[cycles.start[c] : cycles.start[c + 1]]
        ways = [ends[e][::s].tolist() for e, s in zip(cycles[c], sign, strict=True)]
        for (_, to), (following, _) in zip(ways, [*ways[1:], ways[0]], strict=True):
            assert to == following


@pytest.mark.parametrize("seed", range(8))
def test_no_basis_weighs_less_than_the_minimum_one(seed):
    n, ends, weight, dimension = random_graph(seed)
    cycles = minimum_cycles(n, ends, weight)
    assert_basis(cycles, n, ends, dimension)
    known = nx.minimum_cycle_basis(subdivided(ends, weight), weight="weight")
    least = sum(weight[node[1]] for nodes in known for node in nodes if isinstance(node, tuple))
    assert weight[cycles.edge].sum() == least


@pytest.mark.parametrize("seed", range(8))
def test_faces_are_a_basis_that_has_every_edge_twice_at_most(seed):
    n, ends, weight, dimension = random_graph(seed)
    cycles = face_cycles(n, ends, weight)
    is_planar = nx.check_planarity(nx.Graph(ends.tolist()))[0]
    assert (cycles is not None) == is_planar
    if cycles is not None:
        assert_basis(cycles, n, ends, dimension)
        assert np.bincount(cycles.edge).max(initial=0) <= 2


@pytest.mark.parametrize("seed", range(8))
def test_fundamental_cycles_hold_one_edge_outside_of_the_tree(seed):
    n, ends, _, dimension = random_graph(seed)
    rng, graph = np.random.default_rng(seed), nx.MultiGraph()
    for e in rng.permutation(len(ends)).tolist():
        graph.add_edge(*ends[e].tolist(), key=e, weight=rng.random())
    is_tree = np.zeros(len(ends), dtype=bool)
    is_tree[[key for _, _, key in nx.minimum_spanning_edges(graph, data=False)]] = True
    cycles = fundamental_cycles(n, ends, is_tree)
    assert_basis(cycles, n, ends, dimension)
    assert cycles.edge[cycles.start[:-1]].tolist() == np.flatnonzero(~is_tree).tolist()
    assert np.count_nonzero(~is_tree[cycles.edge]) == dimension


def test_a_drawing_tells_which_faces_are_meant():
    """Two squares side by side, and one of their sides bent: the ladder's faces can be others."""
    ends = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [1, 4], [4, 5], [5, 2]])
    place = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [2, 0], [2, 1]], dtype=float)
    drawing = np.concatenate([place, [[9, 9]], place[ends].mean(axis=1)])
    cycles = face_cycles(6, ends, np.ones(7, dtype=np.intp), drawing)
    assert sorted(map(len, cycles)) == [4, 4]
    crossed = drawing.copy()
    crossed[[0, 1]] = drawing[[1, 0]]  # lines cross: any embedding will do
    assert_basis(face_cycles(6, ends, np.ones(7, dtype=np.intp), crossed), 6, ends, 2)


def test_sums_of_others_do_not_count():
    edges = [0, 1, 2, 2, 3, 4, 0, 1, 3, 4]  # the third is the sum of the first two
    cycles = Cycles(np.array([0, 3, 6, 10]), np.array(edges), np.ones(10, dtype=np.intp))
    assert cycle_rank(cycles) == 2


def test_trees_have_no_cycles():
    ends, weight = np.array([[-1, 0], [0, 1]]), np.ones(2, dtype=np.intp)
    assert len(minimum_cycles(2, ends, weight)) == 0
    assert len(face_cycles(2, ends, weight)) == 0
