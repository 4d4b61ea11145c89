import numpy as np
import pytest

from sparsebody.assembly.constraint import kkt_structure
from sparsebody.errors import ShapeError
from sparsebody.model.gallery import build
from sparsebody.ordering import order
from sparsebody.plots.spy import _cells, _spots, plot_orders, plot_spy
from sparsebody.sparse.elimination_tree import ordering_metrics


def pattern_of(name, **parameters):
    return kkt_structure(build(name, **parameters).compile()).pattern


def cells_of(pattern, sequence):
    spots = _spots(pattern, sequence, ordering_metrics(pattern, sequence))
    return _cells(spots, 0, pattern.n_rows)


def dense_pattern(pattern, sequence):
    rows = pattern.scalar_order(sequence)
    block = np.repeat(np.arange(pattern.n_blocks), pattern.block_sizes)[rows]
    indptr, indices = pattern.adjacency
    couples = np.zeros((pattern.n_blocks, pattern.n_blocks), dtype=bool)
    couples[np.repeat(np.arange(pattern.n_blocks), np.diff(indptr)), indices] = True
    return couples[np.ix_(block, block)], block


@pytest.mark.parametrize("name", ["natural", "minimum-degree", "level-sweep"])
def test_a_spy_plot_shows_the_entries_of_the_ordered_matrix(name):
    pattern = pattern_of("ladder", rungs=3)
    sequence = order(pattern, name)
    cells = cells_of(pattern, sequence)
    couples, block = dense_pattern(pattern, sequence)
    assert np.array_equal(cells == 2, couples)
    same_body = (block[:, None] == block) & (block < pattern.n_primal)
    assert np.array_equal(cells == 3, same_body)


@pytest.mark.parametrize("name", ["natural", "minimum-degree"])
def test_a_spy_plot_shows_the_fill_in_of_the_factor(name):
    pattern = pattern_of("ring", bodies=6)
    sequence = order(pattern, name)
    lower = np.tril(cells_of(pattern, sequence) > 0)
    assert np.count_nonzero(lower) == ordering_metrics(pattern, sequence).nnz_l


def test_titles_tell_entries_of_the_factor_and_bandwidth():
    pattern = pattern_of("ladder", rungs=10)
    sequence = order(pattern, "minimum-degree")
    figure = plot_spy(pattern, sequence, "minimum-degree")
    before, after, _ = [axes.get_title() for axes in figure.axes]
    found = ordering_metrics(pattern, sequence)
    assert before.startswith("as numbered\n")
    assert after.startswith("minimum-degree\n")
    assert f"{found.nnz_l:,}" in after
    assert f"{found.scalar_bandwidth:,}" in after


def test_a_matrix_larger_than_the_picture_is_drawn_in_cells():
    pattern = pattern_of("chain", bodies=300)
    cells = cells_of(pattern, np.arange(pattern.n_blocks))
    assert cells.shape == (480, 480)
    assert np.all(np.diag(cells) > 0)


def test_an_order_that_misses_a_block_is_refused():
    pattern = pattern_of("pendulum")
    with pytest.raises(ShapeError, match="list each of 2 blocks once"):
        plot_spy(pattern, np.array([0, 0]), "wrong")


@pytest.mark.parametrize("n_orders", [1, 4, 7])
def test_orders_stand_side_by_side_and_empty_places_show_nothing(n_orders):
    pattern = pattern_of("ladder", rungs=3)
    orders = {f"order {k}": np.arange(pattern.n_blocks) for k in range(n_orders)}
    figure = plot_orders(pattern, orders, "ladder")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title().split("\n")[0] for axes in shown] == list(orders)
    assert all(len(axes.images) == 1 for axes in shown)
