"""Elimination orders on the graph, their trees and costs; patterns of matrices, blocks of loops."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsebody._core import graph as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import KKTStructure
from sparsebody.model.system import State
from sparsebody.plots.outline import joint_points
from sparsebody.plots.style import BLUE, FAINT, INK, ORANGE, TIME_COLORS, styled
from sparsebody.sparse import elimination_tree
from sparsebody.sparse.pattern import BlockPattern, positions
from sparsebody.tree.loops_projection import ExplicitBlocks

_MOST_NUMBERS = 80  # blocks up to which their positions in the order are written beside them


@styled
def plot_elimination(
    pattern: BlockPattern, order: IntArray, points: FloatArray, title: str = ""
) -> Figure:
    """Return the graph: bodies (circles) and joints (squares), colored by position in the order.

    `order` (n_blocks,): elimination order. `points` (n_blocks, 2 or 3): of the blocks, see
    `block_points`.
    """
    flat = _flattened(points)
    position = positions(order)  # in the order
    width, height = np.maximum(np.ptp(flat, axis=0), 1e-9)
    figure = Figure(figsize=(6.6, 1.2 + 5.0 * float(np.clip(height / width, 0.2, 1.4))))
    axes = figure.add_subplot()
    joint, side = np.nonzero(pattern.ends >= 0)
    ends = np.stack([pattern.n_primal + joint, pattern.ends[joint, side]], axis=1)
    axes.add_collection(LineCollection(list(flat[ends]), colors=[FAINT], linewidths=1.2, zorder=1))
    n = pattern.n_blocks
    size = float(np.clip(6000.0 / max(n, 1), 8.0, 160.0))
    shades = Normalize(0, max(n - 1, 1))
    bodies, joints = np.split(np.arange(n), [pattern.n_primal])
    for blocks, marker, relative_size in ((bodies, "o", 1.0), (joints, "s", 0.6)):
        colors: dict[str, Any] = {"c": position[blocks], "cmap": TIME_COLORS, "norm": shades}
        x, y = flat[blocks].T
        axes.scatter(x, y, s=relative_size * size, marker=marker, zorder=2, **colors)
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 5}
    for block in range(n if n <= _MOST_NUMBERS else 0):
        style["color"] = "white" if position[block] > 0.45 * n else "black"
        axes.annotate(str(position[block] + 1), flat[block], **style)
    axes.set(aspect="equal", title=title)
    axes.set_axis_off()
    mappable = ScalarMappable(shades, TIME_COLORS)
    figure.colorbar(mappable, ax=axes, label="eliminated, first to last", shrink=0.8)
    return figure


def block_points(structure: KKTStructure, state: State) -> FloatArray:
    """Return where blocks are drawn (n_blocks, 3): bodies at their centers of mass.

    A joint is drawn half way between its own point, which may be a center of mass, and the middle
    of its bodies.
    """
    system, joints = structure.system, structure.joints
    joint = joint_points(system).at(state)[joints]
    ends = structure.pattern.ends
    middle = state.position[np.where(ends >= 0, ends, ends[:, ::-1])].mean(axis=1)
    is_between = np.all(ends >= 0, axis=1)[:, None]
    return np.concatenate([state.position, np.where(is_between, (middle + joint) / 2, joint)])


def _flattened(points: FloatArray) -> FloatArray:
    """Return the two directions in which the points extend most, the longer one across."""
    if points.shape[1] == 2:
        return points
    centered = points - points.mean(axis=0)
    extent = np.ptp(centered, axis=0)
    least, *most = np.argsort(extent)
    flat = centered[:, sorted(most)]
    if extent[least] > 0.2 * extent.max():  # extended in space: an oblique view
        flat = flat + centered[:, [least]] * np.array([0.45, 0.3])
    return np.asarray(flat)


def tree_layout(parent: IntArray) -> tuple[FloatArray, IntArray]:
    """Return across (n,) and depth (n,) of the nodes: leaves side by side, roots at depth 0."""
    n = len(parent)
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    leaves = 0
    for node in kernels.postorder(parent):
        if low[node] > high[node]:
            low[node] = high[node] = leaves
            leaves += 1
        if parent[node] >= 0:
            low[parent[node]] = min(low[parent[node]], low[node])
            high[parent[node]] = max(high[parent[node]], high[node])
    return (low + high) / 2, kernels.depths(parent)


@styled
def plot_elimination_tree(pattern: BlockPattern, order: IntArray, title: str = "") -> Figure:
    """Return the tree with its last block on top; its height bounds what can run in parallel.

    `order` (n_blocks,): elimination order.
    """
    parent = elimination_tree.elimination(pattern, order).parent
    across, depth = tree_layout(parent)
    figure = Figure(figsize=(5.6, 4.0))
    axes = figure.add_subplot()
    child = np.flatnonzero(parent >= 0)
    ends = np.stack([child, parent[child]], axis=1)
    lines = np.stack([across[ends], -depth[ends].astype(float)], axis=2)
    axes.add_collection(LineCollection(list(lines), colors=[INK], linewidths=0.5))
    size = float(np.clip(4000.0 / max(len(parent), 1), 2.0, 24.0))
    is_body = order < pattern.n_primal
    for which, color, label in ((is_body, BLUE, "bodies"), (~is_body, ORANGE, "joints")):
        axes.scatter(across[which], -depth[which], s=size, c=color, label=label, zorder=2)
    axes.set(xlabel="leaves, side by side", ylabel="blocks below the root", xticks=[])
    axes.grid(True, axis="y", color=FAINT)
    height = int(depth.max(initial=-1)) + 1
    axes.set_title(f"{title}\nheight {height} of {len(parent)} blocks".strip(), fontsize=9)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


_WIDE = 12.0  # ratios beyond which the axis is logarithmic


@styled
def plot_fill(nnz_l: Mapping[str, float], flops: Mapping[str, float], title: str = "") -> Figure:
    """Return bars of entries of L and of operations as ratios to the least, by ordering."""
    names = sorted(nnz_l, key=lambda name: nnz_l[name])
    figure = Figure(figsize=(6.6, 1.1 + 0.24 * len(names)))
    left, right = figure.subplots(1, 2, sharey=True)
    y = np.arange(len(names))
    for axes, values, label, color in (
        (left, nnz_l, "entries of L", BLUE),
        (right, flops, "operations", ORANGE),
    ):
        ratio = np.array([values[name] for name in names]) / (least := min(values.values()))
        axes.barh(y, ratio, color=color, height=0.65)
        if ratio.max() > _WIDE:
            axes.set_xscale("log")
        axes.set_xlabel(f"{label} / {least:.3g}")
        axes.grid(True, axis="x")
        axes.set_axisbelow(True)
    left.set_yticks(y, names)
    left.invert_yaxis()
    figure.suptitle(title)
    return figure


# ---- patterns of matrices ---------------------------------------------------------------------


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
    _ONE: "identity: joints in no loop",
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
    orders = {"as numbered": np.arange(pattern.n_blocks, dtype=np.intp), name: order}
    costs = "nnz(L) = {0.nnz_l:,}, bandwidth {0.scalar_bandwidth:,}"
    spots = _draw_orders(figure, pattern, orders, costs, title)
    if n_panels == 3:  # a window in the middle of the order, where it is typical
        first = (n - _CLOSE_UP) // 2
        _draw_window(panels[2], spots[-1], first, first + _CLOSE_UP)
        panels[2].set_title(f"close-up: rows {first:,} to {first + _CLOSE_UP:,}\n", fontsize=8)
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
    _draw_orders(figure, pattern, orders, "{.flops:,.3g} flops", title)
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
    figure: Figure, pattern: BlockPattern, orders: Mapping[str, IntArray], costs: str, title: str
) -> list[Spots]:
    """Draw the matrix in each order, with `costs`, a format of its metrics, below its name."""
    drawn = []
    for axes, (name, order) in zip(figure.axes, orders.items(), strict=False):
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
