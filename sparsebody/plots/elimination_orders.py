"""Elimination orders on the graph, their elimination trees, and what they cost."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from sparsebody._core import graph as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import KKTStructure
from sparsebody.model.system import State
from sparsebody.plots.outline import joint_points
from sparsebody.plots.style import BLUE, FAINT, INK, ORANGE, TIME_COLORS, styled
from sparsebody.sparse.elimination_tree import elimination
from sparsebody.sparse.pattern import BlockPattern, positions

_MOST_NUMBERS = 80  # blocks up to which their positions in the order are written beside them


@styled
def plot_elimination(
    pattern: BlockPattern, order: IntArray, place: FloatArray, title: str = ""
) -> Figure:
    """Return the graph: bodies (circles) and joints (squares), colored by position in the order.

    `order` (n_blocks,): elimination order. `place` (n_blocks, 2 or 3): where the blocks are, see
    `graph_places`.
    """
    flat = _flattened(place)
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


def graph_places(structure: KKTStructure, state: State) -> FloatArray:
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


def _flattened(place: FloatArray) -> FloatArray:
    """Return the two directions in which the points extend most, the longer one across."""
    if place.shape[1] == 2:
        return place
    centered = place - place.mean(axis=0)
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
    parent = elimination(pattern, order).parent
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
    place = np.arange(len(names))
    for axes, values, label, color in (
        (left, nnz_l, "entries of L", BLUE),
        (right, flops, "operations", ORANGE),
    ):
        ratio = np.array([values[name] for name in names]) / (least := min(values.values()))
        axes.barh(place, ratio, color=color, height=0.65)
        if ratio.max() > _WIDE:
            axes.set_xscale("log")
        axes.set_xlabel(f"{label} / {least:.3g}")
        axes.grid(True, axis="x")
        axes.set_axisbelow(True)
    left.set_yticks(place, names)
    left.invert_yaxis()
    figure.suptitle(title)
    return figure
