import networkx as nx
import numpy as np
from hypothesis import given
from patterns import graph_pattern, patterns

from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import bisected


@given(pattern=patterns(max_bodies=20, max_joints=40))
def test_every_block_is_listed_once(pattern: BlockPattern) -> None:
    assert sorted(bisected(pattern)) == list(range(pattern.n_primal))


def test_halves_of_a_path_are_paths() -> None:
    labels = np.random.default_rng(0).permutation(64)
    ends = np.stack([labels[:-1], labels[1:]], axis=1)
    pattern = BlockPattern(np.repeat([6, 5], [64, 63]), ends)
    place = np.argsort(labels)[bisected(pattern)]
    for parts in (2, 4, 8, 16):
        for part in np.split(place, parts):
            assert np.ptp(part) == len(part) - 1


def test_the_halves_of_a_long_grid_share_a_short_side() -> None:
    pattern = graph_pattern(nx.grid_2d_graph(6, 50))
    half = np.zeros(300, dtype=bool)
    half[bisected(pattern)[:150]] = True
    assert np.count_nonzero(half[pattern.ends[:, 0]] != half[pattern.ends[:, 1]]) <= 12
