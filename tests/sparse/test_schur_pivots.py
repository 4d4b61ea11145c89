"""Pivots of the Schur complement against dense LDL', and gaps against sorting."""

import numpy as np
import pytest
from front_rows import dense, random_rows

from sparsebody.sparse.rank.row_fronts import fronts, largest_gap, schur_pivots
from sparsebody.sparse.rank.tolerances import SCHUR_SHIFT as DELTA


@pytest.mark.parametrize("seed", range(8))
def test_pivots_are_those_of_the_dense_schur_complement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=6)
    order = rng.permutation(pattern.n_primal)
    pivots = schur_pivots(pattern, rows, fronts(pattern, order), delta=0.5)
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


@pytest.mark.parametrize("seed", range(5))
def test_repeated_rows_have_pivots_of_about_delta(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=20, n_repeated=3, joints_per_body=1.2)
    pivots = schur_pivots(pattern, rows, fronts(pattern, rng.permutation(20)))
    threshold, ratio = largest_gap(pivots)
    assert np.sum(pivots > threshold) == np.linalg.matrix_rank(dense(pattern, rows))
    assert ratio > 1e5


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_gap_is_that_between_sorted_pivots(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pivots = 10 ** rng.uniform(-14, 0, int(rng.integers(1, 15)))
    ordered = np.sort(np.append(pivots.clip(min=DELTA), DELTA))
    ratios = ordered[1:] / ordered[:-1]
    threshold, ratio = largest_gap(pivots)
    assert ratio == pytest.approx(ratios.max())
    k = int(np.argmax(ratios))
    assert ordered[k] < threshold < ordered[k + 1]


def test_a_gap_to_delta_itself_drops_nothing() -> None:
    threshold, ratio = largest_gap(np.array([0.5, 1.0, 0.3]))
    assert DELTA < threshold < 0.3
    assert ratio == pytest.approx(0.3 / DELTA)
