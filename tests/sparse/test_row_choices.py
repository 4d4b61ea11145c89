"""When two methods are enough, and what is said where they are not."""

import networkx as nx
import numpy as np
import pytest
from front_rows import random_rows
from linkages import matrix_at_start
from patterns import ladder
from random_saddles import loop_of_hinges, scissor

import sparsebody.sparse.rank as rank_module
from sparsebody.model.gallery import build
from sparsebody.sparse.rank import independent_rows
from sparsebody.sparse.rank.constraint_parts import PartOfRows, equilibrate, part_of_rows
from sparsebody.sparse.rank.row_choices import (
    FRONTAL,
    HALVES,
    PIVOTED,
    SWEPT,
    RowChoice,
    agree,
    doubt_about,
    generic_bars,
    generic_rank,
    narrow_choices,
)
from sparsebody.sparse.rank.row_fronts import fronts
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix

KEEP = np.array([True, True, False])


def choice(least=0.1, dropped=1e-15, method=FRONTAL, keep=KEEP):
    return RowChoice(keep, least / dropped, method, least, dropped)


@pytest.mark.parametrize(
    ("least", "dropped", "method", "doubt"),
    [
        (0.1, 1e-15, FRONTAL, ""),
        (0.1, 1e-11, FRONTAL, "nearly singular: a row that was left out is 1e-11 off zero"),
        (1e-4, 1e-11, FRONTAL, ""),  # errors grow with the inverse of what was kept
        (1e-4, 1e-11, PIVOTED, "nearly singular: a row that was left out is 1e-11 off zero"),
        (3e-8, 1e-15, FRONTAL, "nearly singular: a row that was kept is only 3e-08 off the others"),
    ],
)
def test_remainders_between_rounding_and_zero_are_in_doubt(least, dropped, method, doubt):
    assert doubt_about(choice(least, dropped, method)) == doubt


def test_two_methods_agree_if_both_are_clear_and_keep_as_many_rows():
    assert agree(choice(), choice(method=HALVES))
    assert not agree(choice(), choice())
    assert not agree(choice(), choice(method=HALVES, keep=~KEEP))
    assert not agree(choice(), choice(least=1e-9, method=HALVES))
    assert agree(choice(), RowChoice(KEEP, 30.0, SWEPT))
    assert not agree(choice(), RowChoice(KEEP, 3.0, SWEPT))


def test_the_pebble_game_is_a_second_method_where_nothing_is_special(monkeypatch):
    monkeypatch.setattr(
        rank_module, "narrow_choices", lambda *arguments: [next(iter(narrow_choices(*arguments)))]
    )
    decision = independent_rows(matrix_at_start(build("ladder", rungs=150).compile()))
    assert decision.is_regular
    assert "pebble game" in decision.method
    decision = independent_rows(scissor(200, np.random.default_rng(0)))
    assert decision.n_dependent == 3 * 199
    assert "pebble game" not in decision.method


def test_bodies_of_different_freedoms_have_no_generic_rank():
    pattern = matrix_at_start(build("ladder", rungs=3).compile()).pattern
    assert generic_rank(pattern) == 27
    sizes = pattern.block_sizes.copy()
    sizes[0] = 3
    assert generic_rank(type(pattern)(sizes, pattern.ends)) == -1


def random_graph(rng, k):
    """Ends and bars of a random multigraph, with the world in it."""
    n = int(rng.integers(1, 12))
    ends = rng.integers(-1, n, (int(rng.integers(1, 3 * n + 2)), 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    return n, ends, rng.integers(1, k + 1, len(ends))


def rank_of_random_bars(rng, ends, bars, n, k):
    """Rank of rows with random values, opposite on the two bodies."""
    rows = np.zeros((int(bars.sum()), n + 1, k))
    start = 0
    for (a, b), count in zip(ends, bars, strict=True):
        values = rng.normal(size=(count, k))
        rows[start : start + count, a] -= values
        rows[start : start + count, b] += values
        start += count
    return np.linalg.matrix_rank(rows.reshape(len(rows), -1)) if len(rows) else 0


@pytest.mark.parametrize("k", [3, 6])
def test_as_many_bars_are_accepted_as_are_independent_at_random(k):
    for seed in range(200):
        rng = np.random.default_rng((seed, k))
        n, ends, bars = random_graph(rng, k)
        accepted = generic_bars(ends, bars, n, k)
        assert np.all((accepted >= 0) & (accepted <= bars))
        assert accepted.sum() == rank_of_random_bars(rng, ends, bars, n, k)


def test_the_count_does_not_depend_on_the_order_of_joints():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n, ends, bars = random_graph(rng, 6)
        order = rng.permutation(len(ends))
        first = generic_bars(ends, bars, n).sum()
        assert generic_bars(ends[order], bars[order], n).sum() == first


def test_a_joint_that_closes_a_rigid_ring_is_refused():
    ends = np.array([[-1, 0], [0, 1], [1, -1]])
    np.testing.assert_array_equal(generic_bars(ends, np.array([6, 6, 5]), 2), [6, 6, 0])
    np.testing.assert_array_equal(generic_bars(ends, np.array([5, 5, 5]), 2), [5, 5, 2])


def test_a_large_grid_of_hinges_is_rigid():
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(60, 60))
    ends = np.array([(-1, 0), *grid.edges])
    accepted = generic_bars(ends, np.full(len(ends), 5), 3600)
    assert accepted.sum() == 6 * 3600 - 1  # all but the hinge to the world


def test_nothing_is_nothing():
    assert len(generic_bars(np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int), 3)) == 0


@pytest.mark.parametrize("seed", range(10))
def test_a_joint_is_in_the_front_from_its_first_body_to_its_last(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, _ = random_rows(rng, n_bodies=8)
    order = rng.permutation(pattern.n_primal)
    sweep, place = fronts(pattern, order), np.argsort(order)
    spans = [[place[body] for body in pair if body >= 0] for pair in pattern.ends]
    size = pattern.block_sizes[pattern.n_primal :]
    width = max(
        sum(size[j] for j, span in enumerate(spans) if min(span) <= step <= max(span))
        for step in range(pattern.n_primal)
    )
    assert sweep.width == width


def test_a_ladder_has_a_front_of_fixed_width() -> None:
    for rungs in (5, 50, 500):
        pattern = ladder(rungs)
        assert fronts(pattern, np.arange(pattern.n_primal)).width == 12


def part_of(matrix: SaddleMatrix) -> PartOfRows:
    label = np.full(matrix.pattern.n_primal, -1)
    return part_of_rows(matrix, np.arange(matrix.pattern.n_dual), label)


def equilibrated(matrix: SaddleMatrix) -> PartOfRows:
    part = part_of(matrix)
    equilibrate(part)
    return part


def dense(part: PartOfRows) -> np.ndarray:
    nothing = np.empty((part.pattern.n_primal, 0, 0))
    return constraint_matrix(SaddleMatrix(part.pattern, nothing, nothing, part.rows)).toarray()


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
def test_rows_keep_their_rank_and_have_unit_norm(size: float) -> None:
    matrix = loop_of_hinges(np.random.default_rng(1), 6, size=size)
    part = equilibrated(matrix)
    rows = dense(part)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-12)
    sigma = np.linalg.svd(rows, compute_uv=False)
    assert sigma[-4] > 1e-3
    assert sigma[-3] < 1e-12


def test_rows_on_a_body_are_nearly_orthonormal_columns() -> None:
    rows = dense(equilibrated(scissor(5, np.random.default_rng(0))))
    for body in range(1, 9):
        columns = rows[:, 6 * body : 6 * body + 6]
        sigma = np.linalg.svd(columns, compute_uv=False)
        assert sigma[0] < 3.0
        assert sigma[-1] > 0.1


def test_masses_do_not_matter() -> None:
    light = loop_of_hinges(np.random.default_rng(2), 4)
    heavy = loop_of_hinges(np.random.default_rng(2), 4, masses=[1e-3, 1e3, 1e-3, 1e3])
    np.testing.assert_array_equal(equilibrated(light).rows, equilibrated(heavy).rows)


def test_zero_rows_stay() -> None:
    matrix = loop_of_hinges(np.random.default_rng(2), 4)
    matrix.rows[3] = 0.0
    part = equilibrated(matrix)
    np.testing.assert_array_equal(part.rows[3], 0.0)
    assert np.all(np.isfinite(part.rows))
