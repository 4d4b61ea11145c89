"""Layouts and kernels, compared with SciPy's sparse algebra."""

import numpy as np
import pytest
from patterns import lattice, pattern_of
from random_saddles import dense_solution, random_matrix, scaled_error

import sparsebody as sb
from sparsebody.factorization import unit_factors
from sparsebody.factorization.unit_factors import analyze_qr, in_parts, safe_order
from sparsebody.ordering import order as ordered
from sparsebody.sparse.elimination_tree import elimination, is_admissible


def tree(n):
    """A random tree on the world."""
    rng = np.random.default_rng(n)
    parents = [-1, *(int(rng.integers(i)) for i in range(1, n))]
    return pattern_of(list(zip(parents, range(n), strict=True)), n, joint_size=5)


def star(n):
    """Bodies on one that is fixed to the world: many small subtrees of one root."""
    return pattern_of([(-1, 0), *((0, i) for i in range(1, n))], n, joint_size=5)


LARGE = [
    (star(200), "leaves-first"),
    (lattice(9, joint_size=1), "nested-dissection"),
    (tree(80), "leaves-first"),
]


@pytest.mark.parametrize(("pattern", "name"), LARGE)
def test_parts_do_not_couple_and_change_only_their_ancestors(pattern, name):
    order, starts = in_parts(pattern, safe_order(pattern, ordered(pattern, name)), fewest=1)
    assert is_admissible(pattern, order)
    assert len(starts) > 2
    part = np.searchsorted(starts, np.arange(pattern.n_blocks), side="right")
    parent = elimination(pattern, order).parent
    inner = (parent >= 0) & (part < len(starts))
    assert np.all((part[parent[inner]] == part[inner]) | (part[parent[inner]] == len(starts)))


@pytest.mark.parametrize(("pattern", "name"), LARGE)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_solutions_in_parts_are_those_of_lapack_whatever_the_threads(pattern, name, threads):
    matrix = random_matrix(np.random.default_rng(0), pattern)
    rhs = np.random.default_rng(1).normal(size=pattern.n_rows)
    order, starts = in_parts(pattern, safe_order(pattern, ordered(pattern, name)), fewest=1)
    exact = dense_solution(matrix, rhs[:, None])
    alone = unit_factors.analyze_ldl(pattern, order, starts).factorize(matrix).solve(rhs)
    symbolic = unit_factors.analyze_ldl(pattern, order, starts)
    symbolic.factors.threads = threads
    x = symbolic.factorize(matrix).solve(rhs)
    np.testing.assert_array_equal(x, alone)
    assert scaled_error(matrix, x[:, None], exact) < 1e-9


@pytest.mark.parametrize(("pattern", "name"), LARGE[1:])  # the joints of a star all couple
@pytest.mark.parametrize("threads", [1, 2])
def test_qr_in_parts_solves_as_without(pattern, name, threads):
    order = ordered(pattern, name)
    duals, starts = unit_factors.dual_parts(pattern, order, fewest=1)
    assert len(starts) > 2
    n = pattern.n_primal
    own = sb.BlockPattern(
        np.concatenate([pattern.block_sizes[:n], pattern.block_sizes[n:][duals]]),
        pattern.ends[duals],
    )
    matrix = random_matrix(np.random.default_rng(0), own)
    rhs = np.random.default_rng(1).normal(size=(own.n_rows, 1))
    natural = np.arange(own.n_blocks, dtype=np.intp)
    symbolic, alone = (analyze_qr(own, natural, starts) for _ in range(2))
    symbolic.factors.threads = threads
    x = symbolic.factorize(matrix).solve(rhs)
    assert scaled_error(matrix, x, dense_solution(matrix, rhs)) < 1e-9
    np.testing.assert_array_equal(x, alone.factorize(matrix).solve(rhs))


def test_paths_are_factorized_from_both_ends():
    """A ladder's tree of fronts is a path; QR gets two halves, and fronts no wider than before."""
    n = 60  # rails of two rows of bodies
    rungs = [(2 * i, 2 * i + 1) for i in range(n)]
    rails = [(2 * i + side - 2, 2 * i + side) for i in range(n) for side in (0, 1)]
    ends = [(max(p, -1), s) for p, s in [*rungs, *rails]]
    pattern = pattern_of(ends, 2 * n, joint_size=2)
    order = ordered(pattern, "pathwidth-sweep")
    duals, starts = unit_factors.dual_parts(pattern, order, fewest=1)
    assert len(starts) == 3
    assert abs(starts[1] - n * 3 / 2) < 6
    both = np.concatenate([np.arange(pattern.n_primal), duals + pattern.n_primal])
    alone = analyze_qr(pattern, order, np.zeros(1, dtype=np.intp))
    fronts = (analyze_qr(pattern, both, starts), alone)
    widths = [symbolic.factors.front_shapes()[:, 2].max() for symbolic in fronts]
    assert widths[0] <= widths[1]
