"""Decisions on wide parts by the least singular value, held against singular values by LAPACK."""

from dataclasses import replace

import numpy as np
import pytest
from linkages import matrix_at_start
from scipy.linalg import svdvals

from sparsebody.dynamics import redundancy
from sparsebody.dynamics.redundancy import independent_rows, least_singular_value
from sparsebody.factorization import is_available
from sparsebody.factorization.quasi_definite import QUASI_DEFINITE
from sparsebody.model.gallery import build
from sparsebody.sparse import rank
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank.constraint_parts import PartOfRows, part_of_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix

BACKENDS = [name for name in QUASI_DEFINITE if is_available(name)]


def lattice(k, layers=1, disorder=0.2, keep=1.0):
    return build("lattice", rows=k, columns=k, layers=layers, disorder=disorder, keep=keep)


def whole(mechanism) -> PartOfRows:
    matrix = matrix_at_start(mechanism.compile())
    label = np.full(matrix.pattern.n_primal, -1, dtype=np.intp)
    return part_of_rows(matrix, np.arange(matrix.pattern.n_dual), label)


def exact(part: PartOfRows) -> float:
    nothing = np.empty((part.pattern.n_primal, 0, 0))
    rows = constraint_matrix(SaddleMatrix(part.pattern, nothing, nothing, part.rows))
    return float(svdvals(rows.toarray())[-1])


def only(monkeypatch, backend):
    monkeypatch.setattr(redundancy, "QUASI_DEFINITE", (backend,))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mechanism", [lattice(14), lattice(6, layers=6, keep=0.4)])
def test_it_is_the_least_singular_value(monkeypatch, backend, mechanism):
    only(monkeypatch, backend)
    part = whole(mechanism)
    assert least_singular_value(part) == pytest.approx(exact(part), rel=1e-3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_dependent_rows_show_as_nothing(monkeypatch, backend):
    only(monkeypatch, backend)
    assert least_singular_value(whole(lattice(14, disorder=0.0))) < 1e-7


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("off", [0.0, 1e-10, 1e-8])
def test_one_dependent_row_of_many_is_found(monkeypatch, backend, off):
    """A joint is taken twice, but for a little in one of its rows."""
    only(monkeypatch, backend)
    part = whole(lattice(14))
    pattern, rng = part.pattern, np.random.default_rng(3)
    again = rng.integers(pattern.n_dual)
    first = pattern.offsets[pattern.n_primal + again] - pattern.n_primal_rows
    copied = part.rows[first : first + 1].copy()
    copied[0, 0] += off * rng.normal(size=6)
    sizes = np.append(pattern.block_sizes, 1)
    ends = np.vstack([pattern.ends, pattern.ends[again]])
    twice = replace(part, pattern=BlockPattern(sizes, ends), rows=np.vstack([part.rows, copied]))
    assert least_singular_value(twice) < rank.REGULAR_SINGULAR_VALUE


def test_wide_parts_without_dependent_rows_are_decided_by_it():
    found = independent_rows(matrix_at_start(lattice(16).compile()))
    assert found.keep.all()
    assert found.certain
    assert rank.SPECTRUM in found.method


def test_wide_parts_with_dependent_rows_are_decided_row_by_row():
    matrix = matrix_at_start(lattice(16, disorder=0.0).compile())
    found, other = independent_rows(matrix), rank.independent_rows(matrix)
    assert found.n_dependent == 14**2
    assert np.array_equal(found.keep, other.keep)


def test_what_would_take_minutes_is_not_begun(monkeypatch):
    monkeypatch.setattr(redundancy, "LONGEST", 1e-9)
    assert least_singular_value(whole(lattice(14))) is None
    found = independent_rows(matrix_at_start(lattice(16).compile()))
    assert found.keep.all()
    assert rank.SPECTRUM not in found.method


def test_many_rows_are_not_even_tried(monkeypatch):
    """More rows than freedoms cannot be independent."""
    monkeypatch.setattr(redundancy, "least_singular_value", pytest.fail)
    matrix = matrix_at_start(
        build("lattice", rows=12, columns=12, layers=3, disorder=0.2).compile()
    )
    assert matrix.pattern.n_rows > 2 * matrix.pattern.n_primal_rows
    assert independent_rows(matrix).n_dependent > 0


@pytest.mark.parametrize("seed", [35, 57])
def test_poses_near_singular_ones_are_decided_by_pivoting_over_all_rows(seed):
    """Remainders joint by joint fall to rounding bit by bit; singular values have a clear gap."""
    mechanism = build("lattice", rows=7, columns=7, layers=2, disorder=1e-6, seed=seed)
    matrix = matrix_at_start(mechanism.compile())
    rows = constraint_matrix(matrix).toarray()
    values = svdvals(rows / np.linalg.norm(rows, axis=1)[:, None])
    expected = np.count_nonzero(values > 1e-10 * values[0])
    assert values[expected - 1] > 1e-9 > 1e-13 > values[expected]
    found = independent_rows(matrix)
    assert found.rank == expected
    assert found.certain
