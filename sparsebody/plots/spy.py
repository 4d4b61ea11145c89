"""Patterns of matrices: before and after elimination, order by order; blocks of loops."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.plots.style import BLUE, INK, ORANGE, styled
from sparsebody.sparse import elimination_tree
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.tree.loops_projection import ExplicitBlocks

_MOST_CELLS = 480  # per side of a picture: a cell stays larger than a pixel of print
_MOST_FILL = 20_000_000  # entries of L up to which fill-in is drawn
_MOST_COLUMNS = 5  # of pictures in a line
_CLOSE_UP = 78  # scalar rows of the close-up
_FILL, _CONSTRAINT, _INERTIA = 1, 2, 3
_COLORS = ("white", "#cfd8e0", BLUE, ORANGE)
_LABELS = {_INERTIA: "bodies: inertia", _CONSTRAINT: "joints: T'P'", _FILL: "fill-in of L"}
_BLOCK, _ONE, _ENTRY = 1, 2, 3  # of K and G
_CLUSTER_COLORS = ("white", "#cfd8e0", ORANGE, BLUE)
_CLUSTER_LABELS = {
    _ENTRY: "entries",
    _BLOCK: "zeros in the block of a cluster",
    _ONE: "ones of no loop",
}


class Spots(NamedTuple):
    """Dense blocks of an ordered matrix: first and last scalar row and column, and their kind."""

    row: IntArray  # (n, 2)
    column: IntArray  # (n, 2)
    kind: IntArray  # (n,)


@styled
def plot_spy(pattern: BlockPattern, order: IntArray, name: str, title: str = "") -> Figure:
    """Return spy plots of the matrix in natural order, in `order`, and a close-up of the latter.

    `order` (n_blocks,): elimination order, called `name`; ShapeError unless it lists every block.
    """
    n, n_panels = pattern.n_rows, 3 if pattern.n_rows > 2 * _CLOSE_UP else 2
    figure = Figure(figsize=(2.6 * n_panels + 0.2, 3.55))
    panels = figure.subplots(1, n_panels)
    orders = [("as numbered", np.arange(pattern.n_blocks, dtype=np.intp)), (name, order)]
    costs = "nnz(L) = {0.nnz_l:,}, bandwidth {0.scalar_bandwidth:,}"
    spots = _draw_orders(figure, panels, pattern, orders, costs, title)
    if n_panels == 3:  # a window in the middle of the order, where it is typical
        first = (n - _CLOSE_UP) // 2
        _draw_window(panels[2], spots[-1], first, first + _CLOSE_UP)
        panels[2].set_title(f"the same: rows {first:,} to {first + _CLOSE_UP:,}\n", fontsize=8)
    return figure


@styled
def plot_orders(pattern: BlockPattern, orders: Mapping[str, IntArray], title: str = "") -> Figure:
    """Return spy plots of one matrix in several orders (n_blocks,) by name, side by side.

    Raises ShapeError if an order does not list every block once.
    """
    n_columns = min(max(len(orders), 1), _MOST_COLUMNS)
    n_lines = -(-len(orders) // n_columns)
    figure = Figure(figsize=(2.1 * n_columns + 0.2, 2.55 * n_lines + 0.7))
    panels = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    _draw_orders(figure, panels, pattern, orders.items(), "{.flops:,.3g} flops", title)
    for axes in panels[len(orders) :]:
        axes.set_visible(False)
    return figure


@styled
def plot_loop_blocks(explicit: ExplicitBlocks, title: str = "") -> Figure:
    """Return spy plots of K and G of a mechanism at a state, the joints of each cluster together.

    `explicit`: what `LoopsProjection.explicit_at` returns.
    """
    clusters = explicit.clusters
    order = clusters.velocity_order
    cluster = clusters.layout.column_cluster[order]
    K, G = clusters.dense(explicit.matrix)[:, order], explicit.G[order]
    of_y = clusters.layout.column_cluster[explicit.independent]
    figure = Figure(figsize=(6.4, 3.6))
    panels = figure.subplots(1, 2, width_ratios=(max(K.shape[1], 1), max(G.shape[1], 1)))
    for axes, name, matrix, of_row, of_column, label in (
        (panels[0], "K", K, clusters.layout.row_cluster, cluster, "velocity coordinates"),
        (panels[1], "G", G, cluster, of_y, "independent ones"),
    ):
        _draw_cells(axes, _cluster_cells(matrix, of_row, of_column), _CLUSTER_COLORS, 5)
        axes.set(title=f"{name}, {matrix.shape[0]} x {matrix.shape[1]}", xlabel=label)
    _finish(figure, title, _CLUSTER_COLORS, _CLUSTER_LABELS)
    return figure


def _draw_orders(
    figure: Figure,
    panels: Iterable[Axes],
    pattern: BlockPattern,
    orders: Iterable[tuple[str, IntArray]],
    costs: str,
    title: str,
) -> list[Spots]:
    """Draw the matrix in each order, with `costs`, a format of its metrics, below its name."""
    drawn = []
    for axes, (name, order) in zip(panels, orders, strict=False):
        metrics = elimination_tree.ordering_metrics(pattern, order)
        drawn.append(_spots(pattern, order, metrics))
        _draw_window(axes, drawn[-1], 0, pattern.n_rows)
        axes.set_title(f"{name}\n{costs.format(metrics)}", fontsize=8)
    kinds = {kind for spots in drawn for kind in spots.kind.tolist()}
    labels = {kind: text for kind, text in _LABELS.items() if kind != _FILL or kind in kinds}
    _finish(figure, f"{title}  ({pattern.n_rows:,} rows)".strip(), _COLORS, labels)
    return drawn


def _finish(figure: Figure, title: str, colors: Sequence[str], labels: Mapping[int, str]) -> None:
    """Add title and legend."""
    handles = [Patch(facecolor=colors[kind], label=label) for kind, label in labels.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle(title)


def _draw_cells(
    axes: Axes, cells: FloatArray | IntArray, colors: Sequence[str], n_ticks: int, **options: Any
) -> None:
    """Draw kinds of cells in their colors, in a frame."""
    options |= {"cmap": ListedColormap(colors), "vmin": 0, "vmax": 3}
    axes.imshow(cells, interpolation="nearest", **options)
    axes.spines[:].set(visible=True, color=INK)
    axes.locator_params(nbins=n_ticks, integer=True)


def _draw_window(axes: Axes, spots: Spots, first: int, last: int) -> None:
    """Draw rows and columns first .. last - 1."""
    extent = (first - 0.5, last - 0.5, last - 0.5, first - 0.5)
    _draw_cells(axes, _cells(spots, first, last), _COLORS, 4, extent=extent)
    axes.tick_params(length=2.5)


def _spots(
    pattern: BlockPattern, order: IntArray, metrics: elimination_tree.OrderingMetrics
) -> Spots:
    """Return the blocks of the matrix and, where it is not too large, those of L."""
    stop = np.cumsum(pattern.block_sizes[order])
    span = np.stack([stop - pattern.block_sizes[order], stop - 1], axis=1)
    indptr, indices = elimination_tree.ordered_adjacency(pattern, order)
    row = np.repeat(np.arange(len(order)), np.diff(indptr))
    bodies = np.flatnonzero(order < pattern.n_primal)
    blocks = [(bodies, bodies, _INERTIA), (row, indices, _CONSTRAINT)]
    if metrics.nnz_l <= _MOST_FILL:
        first, below = elimination_tree.column_structures(pattern, order)
        column = np.repeat(np.arange(len(order)), np.diff(first))
        pivots = np.arange(len(order))
        blocks.insert(0, (np.append(below, pivots), np.append(column, pivots), _FILL))
    return Spots(
        row=span[np.concatenate([rows for rows, _, _ in blocks])],
        column=span[np.concatenate([columns for _, columns, _ in blocks])],
        kind=np.concatenate([np.full(len(rows), kind) for rows, _, kind in blocks]),
    )


def _cells(spots: Spots, first: int, last: int) -> FloatArray:
    """Return the kinds (cells, cells) in rows and columns first .. last - 1; later kinds win."""
    n = min(last - first, _MOST_CELLS)
    cells = np.zeros((n, n))
    spans = np.stack([spots.row, spots.column])  # (2, n, 2)
    inside = np.all((spans[..., 1] >= first) & (spans[..., 0] < last), axis=0)
    row, column = np.clip((spans[:, inside] - first) * n // (last - first), 0, n - 1)
    height, width = np.diff(row, axis=1).ravel(), np.diff(column, axis=1).ravel()
    steps = (range(int(size.max(initial=-1)) + 1) for size in (height, width))
    for kind, down, right in product((_FILL, _CONSTRAINT, _INERTIA), *steps):
        reaches = (spots.kind[inside] == kind) & (height >= down) & (width >= right)
        cells[row[reaches, 0] + down, column[reaches, 0] + right] = kind
    return cells


def _cluster_cells(matrix: FloatArray, row_cluster: IntArray, column_cluster: IntArray) -> IntArray:
    """Return the kind of every entry."""
    cells = np.zeros(matrix.shape, dtype=np.intp)
    cells[(row_cluster[:, None] == column_cluster) & (row_cluster[:, None] >= 0)] = _BLOCK
    size = np.abs(matrix).max(initial=0.0)
    cells[np.abs(matrix) > 1e-12 * size] = _ENTRY
    cells[(cells == _ENTRY) & (row_cluster[:, None] < 0)] = _ONE
    return cells
