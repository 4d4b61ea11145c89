"""Rank decisions, compared with the singular values of the dense rows."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
from exact_rank import rank_modulo_prime
from linkages import matrix_at_start, scissor
from random_saddles import loop_of_hinges, rigid_matrix, scaled_rows

import sparsebody as sb
import sparsebody.sparse.rank as rank_module
import sparsebody.sparse.row_choices as methods_module
from sparsebody import tolerances
from sparsebody.errors import SingularSystemError
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank import independent_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix


def scaled_dense(matrix):
    return constraint_matrix(dataclasses.replace(matrix, rows=scaled_rows(matrix))).toarray()


def svd_rank(rows, tolerance=1e-9):
    return int(np.linalg.matrix_rank(rows, tol=tolerance)) if rows.size else 0


def assert_right(matrix, dependent=None):
    """The count is that of the singular values, and the kept rows are independent."""
    decision = independent_rows(matrix)
    dense = scaled_dense(matrix)
    assert decision.rank == svd_rank(dense) == svd_rank(dense[decision.keep])
    assert decision.certain
    if dependent is not None:
        assert decision.n_dependent == dependent
    return decision


def wrenches(rng, n):
    return rng.normal(size=(n, 6))


def test_planted_combinations_of_rows_are_dropped_and_those_before_them_kept():
    rng = np.random.default_rng(1)
    joint, bridge = wrenches(rng, 4), wrenches(rng, 3)
    matrix = rigid_matrix(rng, [(-1, 0), (0, 1), (0, 1)], [wrenches(rng, 5), joint, 2 * joint])
    assert np.all(assert_right(matrix, dependent=4).keep[:5])
    mixed = rng.normal(size=(1, 4)) @ joint + rng.normal(size=(1, 3)) @ bridge
    assert_right(rigid_matrix(rng, [(0, 1), (0, 1), (1, 0)], [joint[:2], bridge, mixed]), 0)
    mixed = rng.normal(size=(1, 2)) @ joint[:2] + rng.normal(size=(1, 3)) @ bridge
    assert_right(rigid_matrix(rng, [(0, 1), (0, 1), (1, 0)], [joint[:2], bridge, mixed]), 1)
    bridge = np.vstack([bridge, bridge[0] - bridge[2]])
    assert_right(rigid_matrix(rng, [(-1, 0), (0, 1)], [wrenches(rng, 5), bridge]), dependent=1)
    vanishing = rigid_matrix(rng, [(-1, 0)], [np.vstack([np.zeros(6), wrenches(rng, 2)])])
    np.testing.assert_array_equal(assert_right(vanishing, 1).keep, [False, True, True])


@pytest.mark.parametrize("n_bars", [3, 4, 6, 12])
@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("ratio", [1e-6, 1.0, 1e6])
def test_a_planar_loop_of_hinges_has_three_dependent_rows_in_any_unit(n_bars, size, ratio):
    masses = np.where(np.arange(n_bars) % 2, ratio, 1.0)
    rng = np.random.default_rng(n_bars)
    decision = independent_rows(loop_of_hinges(rng, n_bars, size=size, masses=masses))
    assert (decision.n_dependent, decision.certain) == (3, True)
    if ratio == 1.0:
        assert_right(loop_of_hinges(np.random.default_rng(n_bars), n_bars, size=size), 3)


def test_small_and_large_components_are_decided_alike(monkeypatch):
    matrix = scissor(3)
    small = independent_rows(matrix)
    monkeypatch.setattr(methods_module, "MOST_NATIVE_ROWS", 4)
    large = independent_rows(matrix)
    assert (small.rank, small.certain) == (large.rank, large.certain)
    dense = scaled_dense(matrix)
    assert svd_rank(dense[small.keep]) == svd_rank(dense[large.keep]) == small.rank


@pytest.mark.parametrize("n_pairs", [12, 60, 600])
def test_a_scissor_is_decided_by_pivots_or_a_sweep_at_every_length(n_pairs):
    matrix = scissor(n_pairs)
    decision = independent_rows(matrix) if n_pairs == 600 else assert_right(matrix)
    assert (decision.n_dependent, decision.certain) == (3 * (n_pairs - 1), True)
    swept, dense = "frontal QR and swept pivots", "pivoted QR by components"
    assert decision.method == (swept if n_pairs > 12 else dense)


@pytest.mark.parametrize(
    "changes",
    [
        {"NARROW": 0, "LARGEST_FRONT": 0, "MOST_FLOPS": 0.0},  # no sparse method is clear
        {"POOR_SINGULAR_VALUE": 1.0},  # what they keep is poorly conditioned
        {"LARGEST_BAND": 10.0},  # nor can that be told
    ],
)
def test_what_sparse_methods_leave_open_is_followed_by_the_dense_decision(changes, monkeypatch):
    matrix = scissor(45)
    for name, value in changes.items():
        modules = rank_module, methods_module, tolerances
        owner = next(module for module in modules if hasattr(module, name))
        monkeypatch.setattr(owner, name, value)
    decision = independent_rows(matrix)
    assert (decision.method, decision.certain) == ("pivoted QR by components", True)
    if "NARROW" in changes:
        monkeypatch.setattr(rank_module, "DENSE_ROWS", 10)
        assert not independent_rows(matrix).certain


def test_one_sparse_method_alone_is_not_certain(monkeypatch):
    matrix = scissor(45)
    monkeypatch.setattr(rank_module, "NARROW", 0)
    monkeypatch.setattr(methods_module, "MOST_WORK", 0.0)
    monkeypatch.setattr(rank_module, "DENSE_ROWS", 10)
    decision = independent_rows(matrix)
    assert (decision.n_dependent, decision.certain) == (3 * 44, True)
    assert "cut elsewhere" in decision.method
    by_halves = methods_module.by_halves
    monkeypatch.setattr(
        methods_module, "by_halves", lambda *a, elsewhere=False: [] if elsewhere else by_halves(*a)
    )
    decision = independent_rows(matrix)
    assert (decision.n_dependent, decision.certain) == (3 * 44, False)
    assert "no second method" in decision.doubt


@pytest.mark.parametrize(
    ("k", "joint", "keep"),
    [(8, "spherical", 1.0), (30, "spherical", 0.5), (45, "spherical", 0.5), (24, "revolute", 0.6)],
)
def test_as_many_rows_of_a_lattice_are_kept_as_are_exactly_independent(k, joint, keep):
    """Arms are half a meter along the axes, so that twice the rows are integers."""
    lattice = sb.build("lattice", rows=k, columns=k, joint=joint, keep=keep, seed=1)
    matrix = matrix_at_start(lattice.compile())
    decision = independent_rows(matrix)
    assert decision.certain
    assert decision.rank == rank_modulo_prime(2 * constraint_matrix(matrix))


@pytest.mark.parametrize("k", [5, 20])
def test_cubes_keep_three_motions_a_layer_whatever_their_size(k):
    """Maxwell's count says before that fronts are narrow: 9 rows meet 6 freedoms of a body."""
    matrix = matrix_at_start(sb.build("lattice", rows=k, columns=k, layers=k).compile())
    decision = independent_rows(matrix)
    assert decision.certain
    assert decision.rank == 6 * k**3 - 3 * (k + 1)
    if k == 5:
        assert decision.rank == rank_modulo_prime(2 * constraint_matrix(matrix))


OVERLAPPING_DECISIONS = """
import threading
import sparsebody as sb, sparsebody.sparse.row_choices as methods
from threadpoolctl import threadpool_info
blas = lambda: [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
count = lambda: print(*{pool["num_threads"] for pool in blas()})
system = sb.build("scissor", pairs=20).compile()
decide = lambda: sb.ForwardDynamics(system)
inside, may_leave = ([threading.Event(), threading.Event()] for _ in range(2))
by_columns = methods.by_columns

def waits(*arguments):
    count()
    k = threads.index(threading.current_thread())
    inside[k].set()
    may_leave[k].wait(10.0)
    return by_columns(*arguments)

count()
methods.by_columns = waits
threads = [threading.Thread(target=decide) for _ in range(2)]
for thread, is_inside in zip(threads, inside):
    thread.start()
    is_inside.wait(10.0)
for thread, event in zip(threads, may_leave):
    event.set()
    thread.join()
    count()
"""


def test_decisions_in_several_threads_leave_the_blas_its_threads():
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", OVERLAPPING_DECISIONS]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    before, *inside, after_one, after_both = run.stdout.split()
    assert inside == ["1", "1"]
    assert before == after_one == after_both  # two, where there are as many cores


def test_a_part_seen_from_the_wrong_end_is_swept_once_more(monkeypatch):
    matrix = scissor(3000)
    sweep_fronts = methods_module.sweep_fronts
    monkeypatch.setattr(
        methods_module, "sweep_fronts", lambda part: reversed(list(sweep_fronts(part)))
    )
    decision = independent_rows(matrix)
    assert (decision.n_dependent, decision.certain) == (3 * 2999, True)


def test_nearly_dependent_rows_without_a_gap_are_flagged():
    rng = np.random.default_rng(6)
    matrix = rigid_matrix(rng, [(-1, 0)], [wrenches(rng, 4)])
    rows = np.concatenate([matrix.rows, matrix.rows[:2]])
    rows[4, 1] += 3e-8 * rng.normal(size=6)
    rows[5, 1] += 3e-9 * rng.normal(size=6)
    pattern = dataclasses.replace(matrix.pattern, block_sizes=np.array([6, 6]))
    decision = independent_rows(dataclasses.replace(matrix, pattern=pattern, rows=rows))
    assert not decision.certain
    assert "nearly singular" in decision.doubt


def test_no_rows_are_all_independent():
    matrix = rigid_matrix(np.random.default_rng(0), [(-1, 0)], [np.zeros((1, 6))])
    pattern = sb.BlockPattern(np.array([6]), np.empty((0, 2), dtype=np.intp))
    empty = dataclasses.replace(matrix, pattern=pattern, rows=np.empty((0, 2, 6)))
    decision = independent_rows(empty)
    assert (decision.rank, decision.n_dependent, decision.certain) == (0, 0, True)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [3, 150])
def test_rows_that_are_not_finite_are_refused(n, bad):
    body = np.arange(n)
    ends = np.concatenate(
        [np.stack([body, body - 1], axis=1), np.stack([body, body[::-1]], axis=1)]
    )
    pattern = BlockPattern(np.repeat([6, 3], [n, len(ends)]), ends)
    rows = np.random.default_rng(0).normal(size=(3 * len(ends), 2, 6))
    rows[4, 0, 2] = bad
    with pytest.raises(SingularSystemError, match="constraint row 4 is not finite"):
        independent_rows(SaddleMatrix.of_rows(pattern, rows))
