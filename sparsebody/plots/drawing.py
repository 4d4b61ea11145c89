"""Mechanisms drawn at a state: lines, rings, supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from scipy.spatial import ConvexHull

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.plots.outline import Outline
from sparsebody.plots.style import BLUE, INK, styled
from sparsebody.plots.view import View, choose_view

_LEAST = {True: 0.18, False: 0.35}  # least side over the largest, of planar and other pictures


@dataclass(frozen=True)
class Pen:
    """How an outline is drawn."""

    color: Any = BLUE
    width: float = 1.6  # of lines [points]
    joints: bool = True
    order: float = 2.0  # later ones cover earlier ones


def pen_width(n_bodies: int) -> float:
    """Return a line width that keeps many bodies apart from each other."""
    return float(np.clip(5.0 / max(n_bodies, 1) ** 0.35, 0.5, 2.2))


def draw_outline(axes: Any, outline: Outline, view: View, state: State, pen: Pen) -> None:
    """Draw lines, solids, links and joints of a mechanism at a state."""
    lines: Any = view(outline.lines.at(state)).reshape(-1, 2, len(view.axes))
    links: Any = view(outline.links.at(state)).reshape(-1, 2, len(view.axes))
    style: dict[str, Any] = {"colors": [pen.color], "linewidths": pen.width, "capstyle": "round"}
    style["zorder"] = pen.order
    thin = style | {"linewidths": 0.6 * pen.width, "linestyles": "--"}
    if view.is_planar:
        axes.add_collection(_hulls(outline, view, state, pen))
        axes.add_collection(LineCollection(lines[~outline.is_edge], **style))
        axes.add_collection(LineCollection(links, **thin))
    else:
        axes.add_collection(Line3DCollection(lines, **style))
        axes.add_collection(Line3DCollection(links, **thin))
    if pen.joints:
        _draw_joints(axes, outline, view, state, pen)


def _hulls(outline: Outline, view: View, state: State, pen: Pen) -> PolyCollection:
    polygons = [_hull(view(corners.at(state))) for corners in outline.solids]
    return PolyCollection(
        polygons,
        facecolors=[(*to_rgb(pen.color), 0.25)],
        edgecolors=[pen.color],
        linewidths=min(1.0, pen.width),
        zorder=pen.order - 0.5,
    )


def _hull(points: FloatArray) -> FloatArray:
    """Return the convex hull (k, 2) of points in the plane; of a flat solid, the points."""
    size = np.ptp(points, axis=0)
    if size.min() <= 1e-9 * size.max():
        return points
    return np.asarray(points[ConvexHull(points).vertices])


def _draw_joints(axes: Any, outline: Outline, view: View, state: State, pen: Pen) -> None:
    """Draw a ring at every joint, a square where it is fixed to the world."""
    places = view(outline.joints.at(state))
    size = float(np.clip(4.0 * pen.width, 2.0, 18.0))
    free, ground = places[~outline.grounded], places[outline.grounded]
    axes.scatter(
        *free.T, s=size, marker="o", c="white", edgecolors=[pen.color], linewidths=0.7,
        zorder=pen.order + 0.2,
    )  # fmt: skip
    axes.scatter(*ground.T, s=1.8 * size, marker="s", c=INK, linewidths=0.0, zorder=pen.order + 0.3)


def picture_points(outline: Outline, state: State) -> FloatArray:
    """Return all points that the picture must hold, in the world (n, 3)."""
    parts = [outline.lines, outline.joints, outline.links, outline.centers, *outline.solids]
    return np.concatenate([part.at(state) for part in parts])


def frame_axes(axes: Any, view: View, points: FloatArray, margin: float = 0.05) -> None:
    """Set limits with a margin, equal scales and labels."""
    low, high = view(points).min(axis=0), view(points).max(axis=0)
    size = (high - low).max() or 1.0
    pad = np.maximum(margin * size, 0.5 * (_LEAST[view.is_planar] * size - (high - low)))
    low, high = low - pad, high + pad
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_xlabel(view.labels[0])
    axes.set_ylabel(view.labels[1])
    if view.is_planar:
        axes.set_aspect("equal")
        return
    axes.set_zlim(low[2], high[2])
    axes.set_zlabel(view.labels[2])
    is_flat = high[2] - low[2] < 0.6 * size
    axes.set_box_aspect(high - low, zoom=1.05 if is_flat else 0.9)
    _soften(axes, high - low)


def _soften(axes: Any, size: FloatArray) -> None:
    """Make the panes of three-dimensional axes white, with few ticks on short axes."""
    axes.view_init(elev=22, azim=-58)
    for axis, part in zip((axes.xaxis, axes.yaxis, axes.zaxis), size / size.max(), strict=True):
        axis.set_pane_color((1.0, 1.0, 1.0, 1.0))
        axis.set_major_locator(MaxNLocator(max(1, round(5 * part))))
        axis._axinfo["grid"].update(color="#e6eaee", linewidth=0.5)


def figure_size(view: View, points: FloatArray) -> tuple[float, float]:
    """Return width and height [inches] that suit the picture."""
    size = np.maximum(np.ptp(view(points), axis=0), 1e-12)
    if not view.is_planar:
        return 6.2, 3.1 + 2.0 * float(np.clip(size[2] / size[:2].max(), 0.0, 1.0))
    width, height = size
    ratio = float(np.clip(height / width, 0.25, 2.5))
    return (6.4, 1.1 + 5.2 * ratio) if ratio < 1.0 else (1.6 + 5.4 / ratio, 6.2)


@styled
def plot_mechanism(outline: Outline, state: State, gravity: FloatArray, title: str = "") -> Figure:
    """Return a drawing of the mechanism at a state: bodies, joints (rings), supports (squares)."""
    points = picture_points(outline, state)
    view = choose_view([points], gravity)
    figure = Figure(figsize=figure_size(view, points))
    axes = figure.add_subplot(projection=None if view.is_planar else "3d")
    pen = Pen(BLUE, pen_width(len(outline.centers.body)), joints=len(outline.grounded) <= 400)
    draw_outline(axes, outline, view, state, pen)
    frame_axes(axes, view, points)
    axes.set_title(title)
    return figure
