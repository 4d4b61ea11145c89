"""Factorizations where D is one: lost pivots, shifts, and QR with a right-hand side along."""

import dataclasses

import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern
from random_saddles import draw, natural, random_matrix, scissor

import sparsebody as sb
from sparsebody._core import factorization as native
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import analyze, unit_factors
from sparsebody.factorization.krylov import quasi_definite
from sparsebody.factorization.unit_factors import REGULAR
from sparsebody.sparse.saddle import constraint_matrix

every_ldl = pytest.mark.parametrize("name", ["block-ldl", "multifrontal"])


@every_ldl
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [10, 1000])
def test_a_dependent_row_of_a_long_mechanism_is_named(name, n, threads):
    matrix = scissor(2 * n)
    pattern = matrix.pattern
    twice = sb.BlockPattern(np.append(pattern.block_sizes, 1), np.vstack([pattern.ends, [[0, 1]]]))
    rows = np.concatenate([matrix.rows, matrix.rows[5:6]])  # the first joint within a pair
    doubled = dataclasses.replace(matrix, pattern=twice, rows=rows)
    symbolic = analyze(name, twice, natural(twice))
    symbolic.factors.threads = threads
    with pytest.raises(SingularSystemError, match="a pivot of dual block"):
        symbolic.factorize(doubled)


@every_ldl
def test_the_shifted_matrix_is_solved(name):
    pattern, delta = graph_pattern(nx.grid_graph([6, 6]), 3), 1e-3
    matrix = random_matrix(np.random.default_rng(0), pattern)
    A = constraint_matrix(matrix).toarray()
    r = np.random.default_rng(1).normal(size=len(A))
    factors = quasi_definite(analyze(name, pattern, natural(pattern)))
    factors.factorize(matrix.rows, delta)
    exact = np.linalg.solve(A @ A.T + delta * np.eye(len(A)), r)
    np.testing.assert_allclose(factors.solve(r), exact, rtol=1e-9, atol=1e-9)


# ---- QR ---------------------------------------------------------------------------------------

IN_REGISTERS = {*((2, n_rows, 8) for n_rows in range(3, 9)), (2, 3, 4), (2, 4, 4)}


def carried(matrix, order, rng):
    """The multipliers (A A')^-1 (A f - b) by the code under test and by an SVD, with shapes."""
    pattern = matrix.pattern
    symbolic = unit_factors.analyze_qr(pattern, order)
    rows = np.empty(matrix.rows.shape)
    native.unit_rows(matrix.blocks, rows, np.empty(matrix.diagonal.shape))
    n, width = pattern.n_primal, rows.shape[2]
    forces = rng.normal(size=(n, width)) * (np.arange(width) < pattern.block_sizes[:n, None])
    gamma = rng.normal(size=len(rows))
    y = np.empty(len(rows))
    A = constraint_matrix(dataclasses.replace(matrix, rows=rows)).toarray()
    f = forces[np.arange(width) < pattern.block_sizes[:n, None]]
    result = symbolic.factors.factorize(rows, np.concatenate([f, gamma]), y)
    assert result == REGULAR or np.linalg.cond(A) > 1e10
    symbolic.factors.substitute_back(y)
    expected = np.linalg.lstsq(A.T, f - np.linalg.lstsq(A, gamma, rcond=None)[0], rcond=None)[0]
    shapes = {
        (size, n_rows, stride)
        for size, n_rows, stride, n_remaining in symbolic.factors.front_shapes().tolist()
        if n_rows == size + n_remaining
    }
    return y, expected, np.linalg.cond(A), shapes


@pytest.mark.parametrize("seed", range(12))
def test_forces_and_accelerations_asked_for_go_through_the_factorization(seed):
    rng = np.random.default_rng(seed)
    matrix = draw(seed)
    y, expected, kappa, _ = carried(matrix, rng.permutation(matrix.pattern.n_blocks), rng)
    assert np.abs(y - expected).max() < 1e-15 * kappa * max(100.0, np.abs(expected).max() * 100)


def planar_loops(rng):
    """A tree of bodies with three freedoms, hinged by two rows, and some loops."""
    n = int(rng.integers(2, 12))
    ends = [(int(rng.integers(max(-1, i - 3), i)), i) for i in range(n)]
    for _ in range(int(rng.integers(0, n // 2 + 1))):
        first, second = rng.choice(n, size=2, replace=False)
        ends.append((int(first), int(second)))
    free = 3 * n - 2 * len(ends)
    ends = ends if free > 0 else ends[:n]
    sizes = np.array([3] * n + [2] * len(ends), dtype=np.intp)
    return random_matrix(rng, sb.BlockPattern(sizes, np.array(ends, dtype=np.intp)))


def test_small_fronts_of_every_shape_are_eliminated_in_registers():
    met, rng = set(), np.random.default_rng(0)
    for _ in range(150):
        matrix = planar_loops(rng)
        y, expected, kappa, shapes = carried(matrix, rng.permutation(matrix.pattern.n_blocks), rng)
        met |= shapes
        if kappa < 1e6:
            assert np.abs(y - expected).max() < 1e-13 * kappa * np.abs(expected).max()
    assert met >= IN_REGISTERS
