"""An elimination order drawn on the mechanism's graph: early blocks light, late ones dark."""

from __future__ import annotations

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import KKTStructure
from sparsebody.model.system import State
from sparsebody.plots.outline import joint_points
from sparsebody.plots.style import FAINT, TIME_COLORS, styled
from sparsebody.sparse.pattern import BlockPattern, positions

_MOST_NUMBERS = 80  # blocks up to which their places in the order are written beside them


@styled
def plot_elimination(
    pattern: BlockPattern, order: IntArray, place: FloatArray, title: str = ""
) -> Figure:
    """Return the graph with bodies (circles) and joints (squares) coloured by when they go.

    Parameters
    ----------
    pattern : BlockPattern
        Bodies and joints.
    order : (n_blocks,) int array
        Elimination order.
    place : (n_blocks, 2 or 3) array
        Where the blocks are; see `graph_places`.
    title : str
        Above the picture.
    """
    flat = _flattened(place)
    when = positions(order)
    figure = Figure(figsize=_size(flat))
    axes = figure.add_subplot()
    joint, side = np.nonzero(pattern.ends >= 0)
    ends = np.stack([pattern.n_primal + joint, pattern.ends[joint, side]], axis=1)
    axes.add_collection(LineCollection(list(flat[ends]), colors=[FAINT], linewidths=1.2, zorder=1))
    n = pattern.n_blocks
    size = float(np.clip(6000.0 / max(n, 1), 8.0, 160.0))
    shades = Normalize(0, max(n - 1, 1))
    for blocks, marker, share in (
        (np.arange(pattern.n_primal), "o", 1.0),
        (np.arange(pattern.n_primal, n), "s", 0.6),
    ):
        axes.scatter(
            flat[blocks, 0],
            flat[blocks, 1],
            s=share * size,
            c=when[blocks],
            cmap=TIME_COLORS,
            norm=shades,
            marker=marker,
            zorder=2,
        )
    if n <= _MOST_NUMBERS:
        for block in range(n):
            ink = "white" if when[block] > 0.45 * n else "black"
            axes.annotate(
                str(when[block] + 1), flat[block], ha="center", va="center", fontsize=5, color=ink
            )
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)
    mappable = ScalarMappable(shades, TIME_COLORS)
    figure.colorbar(mappable, ax=axes, label="eliminated, first to last", shrink=0.8)
    return figure


def graph_places(structure: KKTStructure, state: State) -> FloatArray:
    """Return where blocks are drawn (n_blocks, 3): bodies at their centers of mass.

    A joint is drawn half way from where it is to the middle of its bodies: some lie upon a center.
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
    centred = place - place.mean(axis=0)
    extent = np.ptp(centred, axis=0)
    first, second = sorted(np.argsort(extent)[-2:])
    flat = centred[:, [first, second]]
    thin = extent.min() > 0.2 * extent.max()
    if thin:  # a solid: seen from aside
        rest = ({0, 1, 2} - {int(first), int(second)}).pop()
        flat = flat + centred[:, [rest]] * np.array([0.45, 0.3])
    return np.asarray(flat)


def _size(flat: FloatArray) -> tuple[float, float]:
    width, height = np.maximum(np.ptp(flat, axis=0), 1e-9)
    ratio = float(np.clip(height / width, 0.2, 1.4))
    return 6.6, 1.2 + 5.0 * ratio
