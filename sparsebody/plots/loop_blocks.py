"""The blocks of K and G that loop clusters make: Featherstone (2008), fig. 8.1."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.plots.style import BLUE, INK, ORANGE, styled
from sparsebody.tree.loops.loops_projection import ExplicitBlocks

_BLOCK, _ONE, _ENTRY = 1, 2, 3
_COLORS = ("white", "#cfd8e0", ORANGE, BLUE)
_LABELS = {_ENTRY: "entries", _BLOCK: "zeros in the block of a cluster", _ONE: "ones of no loop"}


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
    K = clusters.dense(explicit.matrix)[:, order]
    figure = Figure(figsize=(6.4, 3.6))
    left, right = figure.subplots(1, 2, width_ratios=(max(K.shape[1], 1), max(_free(explicit), 1)))
    _draw(left, _cells(K, clusters.layout.row_cluster, cluster))
    left.set(title=f"K, {K.shape[0]} x {K.shape[1]}", xlabel="velocity coordinates")
    G = explicit.G[order]
    of_y = clusters.layout.column_cluster[explicit.independent]
    _draw(right, _cells(G, cluster, of_y))
    right.set(title=f"G, {G.shape[0]} x {G.shape[1]}", xlabel="independent ones")
    handles = [Patch(facecolor=_COLORS[kind], label=label) for kind, label in _LABELS.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle(title)
    return figure


def _free(explicit: ExplicitBlocks) -> int:
    return len(explicit.independent)


def _cells(matrix: FloatArray, row_cluster: IntArray, column_cluster: IntArray) -> IntArray:
    """Return the kind of every entry."""
    cells = np.zeros(matrix.shape, dtype=np.intp)
    cells[(row_cluster[:, None] == column_cluster) & (row_cluster[:, None] >= 0)] = _BLOCK
    size = np.abs(matrix).max(initial=0.0)
    cells[np.abs(matrix) > 1e-12 * size] = _ENTRY
    cells[(cells == _ENTRY) & (row_cluster[:, None] < 0)] = _ONE
    return cells


def _draw(axes: Axes, cells: IntArray) -> None:
    axes.imshow(cells, cmap=ListedColormap(_COLORS), vmin=0, vmax=3, interpolation="nearest")
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(INK)
    axes.locator_params(nbins=5, integer=True)
