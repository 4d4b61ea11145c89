"""The multifrontal LDL': its supernodes, its dense fronts, its threads, and doubtful pivots."""

import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, ladder, lattice, pattern_of
from random_saddles import natural, random_matrix, solution_error
from scipy.sparse.linalg import splu

import sparsebody as sb
from sparsebody.errors import ShapeError
from sparsebody.factorization import analyze, refined_solve, unit_factors
from sparsebody.ordering import ORDERINGS, order
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.saddle import saddle_csc, saddle_product


@pytest.mark.parametrize(("body_size", "joint_size"), [(2, 1), (3, 1), (6, 1), (6, 2), (6, 3)])
def test_a_random_graph_whose_last_front_is_wide_matches_dense_algebra(body_size, joint_size):
    n_bodies, n_joints = 60, 60 * body_size // joint_size // 2
    graph = nx.gnm_random_graph(n_bodies, n_joints, seed=2)
    pattern = graph_pattern(graph, joint_size)
    sizes = np.where(natural(pattern) < n_bodies, body_size, pattern.block_sizes)
    pattern = sb.BlockPattern(sizes, pattern.ends)
    matrix = random_matrix(np.random.default_rng(1), pattern)
    symbolic = analyze("multifrontal", pattern, order(pattern, "minimum-degree"))
    assert solution_error(symbolic, matrix) < 1e-8


@pytest.mark.parametrize("n_pivots", [47, 48, 49, 300])
def test_a_front_of_many_panels_matches_dense_algebra(n_pivots):
    """One body per joint on a hub: its joints are one front, beyond a panel and a packed block."""
    ends = [(0, i) for i in range(1, n_pivots + 1)]
    pattern = pattern_of(ends, n_pivots + 1, body_size=3, joint_size=1)
    hub_first = np.r_[0, natural(pattern)[1:]]
    matrix = random_matrix(np.random.default_rng(n_pivots), pattern)
    symbolic = analyze("multifrontal", pattern, hub_first)
    assert symbolic.factors.front_shapes()[:, 0].max() == n_pivots
    assert solution_error(symbolic, matrix) < 1e-9


@pytest.mark.parametrize("ordering", ["nested-dissection", "minimum-degree", "leaves-first"])
@pytest.mark.parametrize("pattern", [lattice(14), lattice(6, 3, 1)], ids=["square", "cube"])
def test_lattices_are_solved_to_rounding(pattern, ordering):
    matrix = random_matrix(np.random.default_rng(0), pattern)
    exact = np.random.default_rng(1).normal(size=pattern.n_rows)
    rhs = saddle_product(matrix, exact)
    numeric = analyze("multifrontal", pattern, order(pattern, ordering)).factorize(matrix)
    x, residual = refined_solve(numeric, matrix, rhs)
    assert residual < 1e-13
    n = pattern.n_primal_rows
    np.testing.assert_allclose(x[:n], splu(saddle_csc(matrix)).solve(rhs)[:n], rtol=0, atol=1e-9)


def test_any_number_of_threads_gives_the_same_bits():
    pattern = lattice(10, 3, 1)
    matrix = random_matrix(np.random.default_rng(0), pattern)
    rhs = np.random.default_rng(1).normal(size=pattern.n_rows)
    symbolic = analyze("multifrontal", pattern, order(pattern, "nested-dissection"))
    solutions = []
    for threads in (1, 2, 5):
        symbolic.factors.threads = threads
        solutions.append(symbolic.factorize(matrix).solve(rhs))
    np.testing.assert_array_equal(solutions[0], solutions[1])
    np.testing.assert_array_equal(solutions[0], solutions[2])


def test_all_blocks_but_constant_bodies_are_pivots_of_few_fronts():
    pattern = lattice(30)
    sequence = order(pattern, "nested-dissection")
    shapes = analyze("multifrontal", pattern, sequence).factors.front_shapes()
    n_pivots, n_rows = shapes[:, 0], shapes.sum(axis=1)
    assert n_pivots.sum() == pattern.n_rows - pattern.n_primal_rows
    assert len(shapes) < pattern.n_dual / 5
    metrics = ordering_metrics(pattern, sequence)
    assert n_rows.max() < 1.1 * metrics.largest_front
    assert n_pivots @ n_rows < 1.5 * metrics.nnz_l  # constant bodies are not stored


@pytest.mark.parametrize("name", ORDERINGS)
def test_the_smallest_pivot_is_that_of_block_ldl(name):
    pattern = ladder(6)
    matrix = random_matrix(np.random.default_rng(0), pattern)
    pivots = []
    for backend in ("multifrontal", "block-ldl"):
        symbolic = analyze(backend, pattern, order(pattern, name))
        rows = symbolic.factorize(matrix).rows
        pivots.append(symbolic.factors.smallest_pivot(rows))
    assert pivots[0][0] == pytest.approx(pivots[1][0], rel=1e-9)
    assert pivots[0][1] == pivots[1][1]


def test_factors_larger_than_memory_are_refused(monkeypatch):
    def too_large(*_):
        raise MemoryError

    monkeypatch.setattr(unit_factors.native, "Multifrontal", too_large)
    with pytest.raises(ShapeError, match="another ordering"):
        analyze("multifrontal", ladder(3), natural(ladder(3)))
