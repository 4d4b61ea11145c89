"""Patterns of matrices: before and after elimination, order by order; blocks of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.plots.style import BLUE, INK, ORANGE, styled
from sparsebody.sparse.elimination_tree import (
    OrderingMetrics,
    column_structures,
    ordered_adjacency,
    ordering_metrics,
)
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

    Parameters
    ----------
    pattern : BlockPattern
        Bodies and joints.
    order : (n_blocks,) int array
        Elimination order.
    name : str
        What the ordering is called.
    title : str
        Above the picture.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    n, n_panels = pattern.n_rows, 3 if pattern.n_rows > 2 * _CLOSE_UP else 2
    figure = Figure(figsize=(2.6 * n_panels + 0.2, 3.55))
    panels = figure.subplots(1, n_panels)
    natural = np.arange(pattern.n_blocks, dtype=np.intp)
    kinds: set[int] = set()
    for axes, label, sequence in zip(panels, ("as numbered", name), (natural, order), strict=False):
        metrics = ordering_metrics(pattern, sequence)
        spots = _spots(pattern, sequence, metrics)
        kinds.update(spots.kind.tolist())
        _draw_window(axes, spots, 0, n)
        costs = f"nnz(L) = {metrics.nnz_l:,}, bandwidth {metrics.scalar_bandwidth:,}"
        axes.set_title(f"{label}\n{costs}", fontsize=8)
    if n_panels == 3:  # a window in the middle of the order, where it is typical
        first = (n - _CLOSE_UP) // 2
        _draw_window(panels[2], spots, first, first + _CLOSE_UP)
        panels[2].set_title(f"the same: rows {first:,} to {first + _CLOSE_UP:,}\n", fontsize=8)
    _finish(figure, f"{title}  ({n:,} rows)".strip(), _COLORS, _LABELS, kinds)
    return figure


@styled
def plot_orders(pattern: BlockPattern, orders: Mapping[str, IntArray], title: str = "") -> Figure:
    """Return spy plots of one matrix in several orders, side by side.

    Parameters
    ----------
    pattern : BlockPattern
        Bodies and joints.
    orders : dict of str to (n_blocks,) int array
        Elimination orders by name.
    title : str
        Above the picture.

    Raises
    ------
    ShapeError
        If an order does not list every block once.
    """
    n_columns = min(max(len(orders), 1), _MOST_COLUMNS)
    n_lines = -(-len(orders) // n_columns)
    figure = Figure(figsize=(2.1 * n_columns + 0.2, 2.55 * n_lines + 0.7))
    panels = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    kinds: set[int] = set()
    for axes, (name, order) in zip(panels, orders.items(), strict=False):
        metrics = ordering_metrics(pattern, order)
        spots = _spots(pattern, order, metrics)
        kinds.update(spots.kind.tolist())
        _draw_window(axes, spots, 0, pattern.n_rows)
        axes.set_title(f"{name}\n{metrics.flops:,.3g} flops", fontsize=8)
    for axes in panels[len(orders) :]:
        axes.set_visible(False)
    _finish(figure, f"{title}  ({pattern.n_rows:,} rows)".strip(), _COLORS, _LABELS, kinds)
    return figure


@styled
def plot_loop_blocks(explicit: ExplicitBlocks, title: str = "") -> Figure:
    """Return spy plots of K and G, with the joints of each cluster side by side.

    Parameters
    ----------
    explicit : ExplicitBlocks
        G of a mechanism at a state.
    title : str
        Above the picture.
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
    _finish(figure, title, _CLUSTER_COLORS, _CLUSTER_LABELS, set(_CLUSTER_LABELS))
    return figure


def _finish(
    figure: Figure, title: str, colors: Sequence[str], labels: Mapping[int, str], kinds: set[int]
) -> None:
    """Add title and legend, with fill-in where there is any."""
    shown = [kind for kind in labels if kind != _FILL or kind in kinds]
    handles = [Patch(facecolor=colors[kind], label=labels[kind]) for kind in shown]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle(title)


def _draw_cells(
    axes: Axes, cells: FloatArray | IntArray, colors: Sequence[str], n_ticks: int, **options: Any
) -> None:
    """Draw kinds of cells in their colors, in a frame."""
    axes.imshow(
        cells, cmap=ListedColormap(colors), vmin=0, vmax=3, interpolation="nearest", **options
    )
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(INK)
    axes.locator_params(nbins=n_ticks, integer=True)


def _draw_window(axes: Axes, spots: Spots, first: int, last: int) -> None:
    """Draw rows and columns first .. last - 1."""
    extent = (first - 0.5, last - 0.5, last - 0.5, first - 0.5)
    _draw_cells(axes, _cells(spots, first, last), _COLORS, 4, extent=extent)
    axes.tick_params(length=2.5)


def _spots(pattern: BlockPattern, order: IntArray, metrics: OrderingMetrics) -> Spots:
    """Return the blocks of the matrix and, where it is not too large, those of L."""
    stop = np.cumsum(pattern.block_sizes[order])
    span = np.stack([stop - pattern.block_sizes[order], stop - 1], axis=1)
    indptr, indices = ordered_adjacency(pattern, order)
    row = np.repeat(np.arange(len(order)), np.diff(indptr))
    bodies = np.flatnonzero(order < pattern.n_primal)
    blocks = [(bodies, bodies, _INERTIA), (row, indices, _CONSTRAINT)]
    if metrics.nnz_l <= _MOST_FILL:
        first, below = column_structures(pattern, order)
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
    for kind in (_FILL, _CONSTRAINT, _INERTIA):
        for down in range(int(height.max(initial=-1)) + 1):
            for right in range(int(width.max(initial=-1)) + 1):
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
