"""The motion: the mechanism at a few instants in one picture, or side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.plots.drawing import (
    Pen,
    draw_outline,
    figure_size,
    frame_axes,
    pen_width,
    picture_points,
)
from sparsebody.plots.outline import Outline
from sparsebody.plots.style import ORANGE, shades, styled
from sparsebody.plots.view import View, choose_view

_SLENDER = 6.0  # length over width from which the instants are drawn side by side
_DETAIL = 4.0  # length of the close-up over the width


@styled
def plot_motion(
    outline: Outline,
    states: Sequence[State],
    gravity: FloatArray,
    path: FloatArray | None = None,
    title: str = "",
) -> Figure:
    """Return a stroboscopic drawing: light is early, dark is late.

    Parameters
    ----------
    outline : Outline
        What is drawn.
    states : sequence of State
        The instants, in the order of time.
    gravity : (3,) float array
        Tells up from down where no plane of motion does [m/s^2].
    path : (n, 3) float array, optional
        A line that some point has followed [m].
    title : str
        Above the picture.
    """
    snapshots = [picture_points(outline, state) for state in states]
    view = choose_view(snapshots, gravity)
    everything = np.concatenate(snapshots)
    if view.is_planar and _is_slender(view(everything)):
        return _side_by_side(outline, states, view, snapshots, title)
    return _overlaid(outline, states, view, everything, path, title)


def _is_slender(points: FloatArray) -> bool:
    size = np.sort(np.ptp(points, axis=0))
    return bool(size[1] > _SLENDER * size[0] > 0.0)


def _overlaid(
    outline: Outline,
    states: Sequence[State],
    view: View,
    points: FloatArray,
    path: FloatArray | None,
    title: str,
) -> Figure:
    width, height = figure_size(view, points)
    figure = Figure(figsize=(width + 0.7, height))
    axes = figure.add_subplot(projection=None if view.is_planar else "3d")
    n_bodies = len(outline.centers.body)
    for order, (state, color) in enumerate(zip(states, shades(len(states)), strict=True)):
        is_last = order == len(states) - 1
        pen = Pen(color, pen_width(n_bodies), is_last and len(outline.grounded) <= 400, 2.0 + order)
        draw_outline(axes, outline, view, state, pen)
    if path is not None:
        axes.plot(*view(path).T, color=ORANGE, linewidth=0.9, zorder=1.5)
        points = np.concatenate([points, path])
    frame_axes(axes, view, points)
    axes.set_title(title)
    _time_bar(figure, axes, states)
    return figure


def _time_bar(figure: Figure, axes: Any, states: Sequence[State]) -> None:
    """Name the instants by their colors."""
    n = len(states)
    if n < 2:
        return
    scale = ScalarMappable(BoundaryNorm(np.arange(n + 1) - 0.5, n), ListedColormap(shades(n)))
    pad = 0.13 if hasattr(axes, "zaxis") else 0.04  # the layout does not know of z labels
    bar = figure.colorbar(scale, ax=axes, ticks=range(n), shrink=0.6, aspect=18, pad=pad)
    bar.ax.set_yticklabels([f"{state.time:.3g}" for state in states])
    bar.ax.tick_params(length=0)
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("time [s]")


def _side_by_side(
    outline: Outline,
    states: Sequence[State],
    view: View,
    snapshots: Sequence[FloatArray],
    title: str,
) -> Figure:
    """Draw a long mechanism lying, instant over instant, and below a close-up of its start."""
    across, up = np.ptp(view(snapshots[0]), axis=0)
    is_upright = bool(up > across)
    lying = view.flipped() if is_upright else view
    flat = [lying(points) for points in snapshots]
    low = np.min([points.min(axis=0) for points in flat], axis=0)
    high = np.max([points.max(axis=0) for points in flat], axis=0)
    window = low - 0.15 * (high[1] - low[1]), high + 0.15 * (high[1] - low[1])
    window[1][0] = min(window[1][0], low[0] + _DETAIL * (high[1] - low[1]))
    n, n_columns = len(states), len(states) if is_upright else 3
    n_rows = -(-n // n_columns)
    heights = [0.8 + n * max(0.24, 6.0 * (high[1] - low[1]) / (high[0] - low[0]))]
    heights.append(2.7 if is_upright else 0.4 + 1.05 * n_rows)  # inches
    figure = Figure(figsize=(7.2, sum(heights)))
    parts: Any = figure.subfigures(2, 1, height_ratios=heights)
    whole, close = parts
    strips = whole.subplots(n, 1, sharex=True, sharey=True, squeeze=False).ravel()
    details = close.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    width = pen_width(len(outline.centers.body))
    for state, color, strip, detail in zip(
        states, shades(n), strips, details.ravel(), strict=False
    ):
        draw_outline(strip, outline, lying, state, Pen(color, width, joints=False))
        _frame_strip(strip, low, high, state.time, strip is strips[-1])
        draw_outline(detail, outline, view, state, Pen(color, 1.3))
        _frame_detail(detail, window, is_upright, state.time)
    strips[-1].set_xlabel(lying.labels[0])
    for detail in details[-1]:
        detail.set_xlabel(view.labels[0])
    for detail in details[:, 0]:
        detail.set_ylabel(view.labels[1])
    for unused in details.ravel()[n:]:
        unused.set_axis_off()
    figure.suptitle(title)
    return figure


def _frame_strip(axes: Any, low: FloatArray, high: FloatArray, time: float, is_last: bool) -> None:
    """Set the limits of one strip: a line of text, a drawing, and no axis but the lowest one's."""
    length, middle = high[0] - low[0], 0.5 * (low[1] + high[1])
    half = max(0.55 * (high[1] - low[1]), 0.014 * length)
    axes.set_xlim(low[0] - 0.01 * length, high[0] + 0.01 * length)
    axes.set_ylim(middle - half, middle + half)
    axes.set_aspect("equal")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(is_last)
    axes.tick_params(bottom=is_last, labelbottom=is_last)
    axes.text(
        -0.01, 0.5, f"{time:.3g} s", transform=axes.transAxes, ha="right", va="center", fontsize=8
    )


def _frame_detail(
    axes: Any, window: tuple[FloatArray, FloatArray], is_upright: bool, time: float
) -> None:
    """Set the limits of a close-up; the window is that of the lying mechanism."""
    (along, across), (along_end, across_end) = window
    limits = [(along, along_end), (across, across_end)]
    axes.set_xlim(*limits[is_upright])
    axes.set_ylim(*limits[not is_upright])
    axes.set_aspect("equal")
    axes.set_title(f"t = {time:.3g} s", fontsize=8)
