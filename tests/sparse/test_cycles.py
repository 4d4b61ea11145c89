"""Short independent cycles."""

import networkx as nx
import numpy as np
import pytest

from sparsebody.model.gallery import build
from sparsebody.sparse.cycles import short_cycles


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
