"""Choices of independent rows: remainders in sweeps and on halves, and when two are enough."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
from linkages import matrix_at_start, scissor
from patterns import graph_pattern, pattern_of
from random_saddles import loop_of_hinges

import sparsebody as sb
from sparsebody._core import rank as kernels
from sparsebody.sparse import row_choices as choices
from sparsebody.sparse.pattern import bisected
from sparsebody.sparse.rank import independent_rows
from sparsebody.sparse.row_choices import FRONTAL, HALVES, PIVOTED, SWEPT, agree, narrow_choices
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix
from sparsebody.tolerances import SCHUR_SHIFT as DELTA

largest_gap = partial(kernels.largest_gap, delta=DELTA)


def unit_rows(rng, pattern):
    """Random rows of unit norm that fit the pattern."""
    sizes = pattern.block_sizes
    ends = np.repeat(pattern.ends, sizes[pattern.n_primal :], axis=0)
    used = np.where(ends >= 0, sizes[ends], 0)[:, :, None] > np.arange(6)
    rows = rng.normal(size=(len(ends), 2, 6)) * used
    return rows / np.linalg.norm(rows, axis=(1, 2))[:, None, None]


def random_rows(rng, n_bodies, n_repeated=0, joints_per_body=3.0):
    """Joints of 1 to 4 rows between random bodies, or a body and the world; some are repeated."""
    n = int(rng.integers(2, joints_per_body * n_bodies))
    ends = np.array([rng.choice(n_bodies, 2, replace=False) for _ in range(n)])
    ends[rng.random(n) < 0.2, 0] = -1
    size = rng.integers(1, 5, n)
    pattern = sb.BlockPattern(np.concatenate([np.full(n_bodies, 6), size]), ends)
    rows = unit_rows(rng, pattern)
    again = rng.integers(0, n, n_repeated)
    start = np.cumsum([0, *size])
    more = [rows[start[j] : start[j + 1]] for j in again]
    sizes = np.concatenate([pattern.block_sizes, size[again]])
    pattern = sb.BlockPattern(sizes, np.concatenate([ends, ends[again]]))
    return pattern, np.concatenate([rows, *more])


def dense(pattern, rows):
    """A as a dense matrix."""
    return constraint_matrix(SaddleMatrix.of_rows(pattern, rows)).toarray()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("parts", [choices.path, choices.halves])
def test_the_rows_kept_are_a_basis_of_all_rows(parts, seed):
    rng = np.random.default_rng(seed)
    n_bodies = int(rng.integers(2, 9 if parts is choices.path else 30))
    pattern, rows = random_rows(rng, n_bodies, n_repeated=2)
    order = bisected(pattern) if seed % 2 else rng.permutation(pattern.n_primal)
    keep = choices.row_remainders(pattern, rows, parts(order), 1e-9) > 1e-9
    A = dense(pattern, rows)
    assert np.count_nonzero(keep) == np.linalg.matrix_rank(A) == np.linalg.matrix_rank(A[keep])


def remainder_flops(pattern, parts):
    rows = np.zeros((pattern.n_rows - pattern.n_primal_rows, 2, 6))
    return kernels.remainder_flops(parts, choices.kernel_part(pattern, rows))


def test_work_on_a_grid_grows_with_the_cube_of_its_side():
    grids = [graph_pattern(nx.grid_2d_graph(k, k), joint_size=3) for k in (32, 128)]
    small, large = (remainder_flops(grid, choices.halves(bisected(grid))) for grid in grids)
    assert 4.0**2 < large / small < 1.5 * 4.0**3


def test_joints_to_the_world_cost_no_more_than_their_own_fronts():
    n = 400
    chain = [(k, k + 1) for k in range(n - 1)]
    standing = pattern_of([*chain, *((-1, k) for k in range(n))], n)
    floating, parts = pattern_of(chain, n), choices.halves(np.arange(n))
    assert remainder_flops(standing, parts) < 1.1 * remainder_flops(floating, parts)


TOLERANCE = 1e-9
PANEL = 32  # columns of joints whose reflections are applied together
SECOND = 20  # freedoms of the second body


def random_joints(m, n, n_ready, seed, n_dependent=0):
    """Rows of joints, three each, on bodies of m and SECOND freedoms; the first are on one alone.

    Some rows of these combine others.
    """
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, 2, m))
    rows[:, 0] = rng.normal(size=(n, m))
    rows[n_ready:, 1, :SECOND] = rng.normal(size=(n - n_ready, SECOND))
    for r in rng.permutation(n_ready)[:n_dependent]:
        others = np.setdiff1d(np.arange(n_ready), r)  # which may have others among them in turn
        rows[r, 0] = rng.normal(size=len(others)) @ rows[others, 0] / len(others)
    joints = np.arange(n // 3)
    ends = np.where(joints < n_ready // 3, -1, 1)
    sizes = np.concatenate([[m, SECOND], np.full(n // 3, 3)])
    return sb.BlockPattern(sizes, np.stack([np.zeros_like(joints), ends], axis=1)), rows


def expected_remainders(pattern, rows):
    """Remainders row by row, by an orthonormal basis of the ones taken before."""
    A = np.hstack([rows[:, 0], rows[:, 1]])
    joint = np.arange(len(A)) // 3
    is_second = pattern.ends[joint, 1] == 1
    basis, remainder = np.zeros((A.shape[1], 0)), np.empty(len(A))
    for stage in (~is_second, is_second):
        for j in np.unique(joint[stage])[::-1]:
            waiting = list(np.flatnonzero(joint == j))
            while waiting:
                residual = A[waiting].T - basis @ (basis.T @ A[waiting].T)
                residual -= basis @ (basis.T @ residual)
                sizes = np.linalg.norm(residual, axis=0)
                k = int(np.argmax(sizes))
                remainder[waiting[k]] = sizes[k]
                if sizes[k] > TOLERANCE:
                    basis = np.column_stack([basis, residual[:, k] / sizes[k]])
                del waiting[k]
    return remainder


@pytest.mark.parametrize(
    ("m", "n", "n_ready", "n_dependent"),
    [
        (200, 150, 60, 0),
        (200, 150, 60, 7),
        (120, 150, 90, 0),
        (40, 150, 90, 0),  # fewer equations than rows to decide
        (200, 150, 0, 0),
        (200, 150, 150, 11),
        (SECOND, 3, 3, 0),
        (PANEL + 1, PANEL + 1, PANEL + 1, 1),
    ],
)
def test_remainders_in_two_fronts_are_those_of_projections(m, n, n_ready, n_dependent):
    pattern, rows = random_joints(m, n, n_ready, m + n_ready, n_dependent)
    remainders = choices.row_remainders(pattern, rows, choices.path(np.arange(2)), TOLERANCE)
    scale = np.linalg.norm(rows.reshape(n, -1), 2)
    np.testing.assert_allclose(remainders, expected_remainders(pattern, rows), atol=1e-12 * scale)
    rank = np.linalg.matrix_rank(rows.reshape(n, -1))
    assert np.count_nonzero(remainders > TOLERANCE) == rank


@pytest.mark.parametrize("seed", range(8))
def test_pivots_are_those_of_the_dense_schur_complement(seed):
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=6)
    order = rng.permutation(pattern.n_primal)
    pivots = choices.schur_pivots(pattern, rows, choices.fronts(pattern, order), delta=0.5)
    A = dense(pattern, rows)
    # the determinant of a leading part is the product of its pivots, in whatever order they come
    whole = np.linalg.slogdet(A @ A.T + 0.5 * np.eye(len(A)))[1]
    assert np.log(pivots).sum() == pytest.approx(whole)
    step = np.where(pattern.ends >= 0, np.argsort(order)[pattern.ends], -1).max(axis=1)
    last = np.repeat(step, pattern.block_sizes[pattern.n_primal :])
    for step in range(pattern.n_primal):
        part = A[last <= step]
        expected = np.linalg.slogdet(part @ part.T + 0.5 * np.eye(len(part)))[1]
        assert np.log(pivots[last <= step]).sum() == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_gap_is_that_between_sorted_pivots(seed):
    rng = np.random.default_rng(seed)
    pivots = 10 ** rng.uniform(-14, 0, int(rng.integers(1, 15)))
    ordered = np.sort(np.append(pivots.clip(min=DELTA), DELTA))
    ratios = ordered[1:] / ordered[:-1]
    threshold, ratio = largest_gap(pivots)
    assert ratio == pytest.approx(ratios.max())
    k = int(np.argmax(ratios))
    assert ordered[k] < threshold < ordered[k + 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_pivots_that_are_not_finite_have_no_gap(bad):
    assert largest_gap(np.array([1e-3, bad, 1.0])) == (DELTA, 1.0)


KEEP = np.array([True, True, False])


def choice(least=0.1, dropped=1e-15, method=FRONTAL, keep=KEEP):
    return choices.RowChoice(keep, least / dropped, method, least, dropped)


@pytest.mark.parametrize(
    ("least", "dropped", "method", "doubt"),
    [
        (0.1, 1e-15, FRONTAL, ""),
        (0.1, 1e-11, FRONTAL, "nearly singular: a dependent row has a remainder of 1e-11"),
        (1e-4, 1e-11, FRONTAL, ""),  # errors grow with the inverse of what was kept
        (1e-4, 1e-11, PIVOTED, "nearly singular: a dependent row has a remainder of 1e-11"),
        (3e-8, 1e-15, FRONTAL, "nearly singular: an independent row has a remainder of only 3e-08"),
    ],
)
def test_remainders_between_rounding_and_zero_are_in_doubt(least, dropped, method, doubt):
    assert choice(least, dropped, method).doubt == doubt


def test_two_methods_agree_if_both_are_clear_and_keep_as_many_rows():
    assert agree(choice(), choice(method=HALVES))
    assert not agree(choice(), choice())
    assert not agree(choice(), choice(method=HALVES, keep=~KEEP))
    assert not agree(choice(), choice(least=1e-9, method=HALVES))
    assert agree(choice(), choices.RowChoice(KEEP, 30.0, SWEPT))
    assert not agree(choice(), choices.RowChoice(KEEP, 3.0, SWEPT))


def test_the_pebble_game_is_a_second_method_where_nothing_is_special(monkeypatch):
    monkeypatch.setattr(
        choices, "narrow_choices", lambda *given: [next(iter(narrow_choices(*given)))]
    )
    decision = independent_rows(matrix_at_start(sb.build("ladder", rungs=150).compile()))
    assert decision.is_regular
    assert "pebble game" in decision.method
    decision = independent_rows(scissor(200))
    assert decision.n_dependent == 3 * 199
    assert "pebble game" not in decision.method


def test_bodies_of_different_freedoms_have_no_generic_rank():
    pattern = matrix_at_start(sb.build("ladder", rungs=3).compile()).pattern
    assert choices.generic_rank(pattern) == 27
    sizes = pattern.block_sizes.copy()
    sizes[0] = 3
    assert choices.generic_rank(type(pattern)(sizes, pattern.ends)) == -1


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
        accepted = choices.generic_bars(ends, bars, n, k)
        assert np.all((accepted >= 0) & (accepted <= bars))
        assert accepted.sum() == rank_of_random_bars(rng, ends, bars, n, k)


@pytest.mark.parametrize("seed", range(10))
def test_a_joint_is_in_the_front_from_its_first_body_to_its_last(seed):
    rng = np.random.default_rng(seed)
    pattern, _ = random_rows(rng, n_bodies=8)
    order = rng.permutation(pattern.n_primal)
    sweep, position = choices.fronts(pattern, order), np.argsort(order)
    spans = [[position[body] for body in pair if body >= 0] for pair in pattern.ends]
    size = pattern.block_sizes[pattern.n_primal :]
    width = max(
        sum(size[j] for j, span in enumerate(spans) if min(span) <= step <= max(span))
        for step in range(pattern.n_primal)
    )
    assert sweep.width == width


def equilibrated(matrix):
    label = np.full(matrix.pattern.n_primal, -1)
    part = choices.part_of_rows(matrix, np.arange(matrix.pattern.n_dual), label)
    choices.equilibrate(part)
    return part


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
def test_rows_keep_their_rank_and_have_unit_norm(size):
    matrix = loop_of_hinges(np.random.default_rng(1), 6, size=size)
    part = equilibrated(matrix)
    rows = dense(part.pattern, part.rows)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-12)
    sigma = np.linalg.svd(rows, compute_uv=False)
    assert sigma[-4] > 1e-3
    assert sigma[-3] < 1e-12


def test_rows_on_a_body_are_nearly_orthonormal_columns():
    part = equilibrated(scissor(5))
    rows = dense(part.pattern, part.rows)
    for body in range(1, 9):
        columns = rows[:, 6 * body : 6 * body + 6]
        sigma = np.linalg.svd(columns, compute_uv=False)
        assert sigma[0] < 3.0
        assert sigma[-1] > 0.1
