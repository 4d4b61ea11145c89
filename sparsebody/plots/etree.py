"""The elimination tree of a pattern in one order."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.plots.style import BLUE, FAINT, INK, ORANGE, styled
from sparsebody.sparse.elimination_tree import elimination_tree, postorder
from sparsebody.sparse.pattern import BlockPattern


def tree_layout(parent: IntArray) -> tuple[FloatArray, IntArray]:
    """Return across (n,) and depth (n,) of the nodes: leaves side by side, roots at depth 0."""
    n = len(parent)
    depth = np.zeros(n, dtype=np.intp)
    for node in range(n - 1, -1, -1):  # a parent is eliminated later
        if parent[node] >= 0:
            depth[node] = depth[parent[node]] + 1
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    leaves = 0
    for node in postorder(parent):
        if low[node] > high[node]:
            low[node] = high[node] = leaves
            leaves += 1
        if parent[node] >= 0:
            low[parent[node]] = min(low[parent[node]], low[node])
            high[parent[node]] = max(high[parent[node]], high[node])
    return (low + high) / 2, depth


@styled
def plot_elimination_tree(pattern: BlockPattern, order: IntArray, title: str = "") -> Figure:
    """Return the tree with its last block on top; its height bounds what can run in parallel.

    Parameters
    ----------
    pattern : BlockPattern
        Bodies (blue) and joints (orange).
    order : (n_blocks,) int array
        Elimination order.
    title : str
        Above the picture.
    """
    parent = elimination_tree(pattern, order)
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
    axes.set_xlabel("leaves, side by side")
    axes.set_ylabel("blocks below the root")
    axes.set_xticks([])
    axes.grid(True, axis="y", color=FAINT)
    height = int(depth.max(initial=-1)) + 1
    axes.set_title(f"{title}\nheight {height} of {len(parent)} blocks".strip(), fontsize=9)
    figure.legend(loc="outside lower center", ncols=2)
    return figure
