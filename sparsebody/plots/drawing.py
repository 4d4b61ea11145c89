"""Mechanisms drawn at a state, or at some instants of a motion: lines, rings, supports.

They are drawn in their plane of motion, or in three dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import BoundaryNorm, ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from scipy.spatial import ConvexHull

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.plots.outline import Outline
from sparsebody.plots.style import BLUE, INK, ORANGE, shades, styled

_NAMES = ("x", "y", "z")
_PLANES = {0: (1, 2), 1: (0, 2), 2: (0, 1)}  # normal axis: horizontal and vertical axis
_FLAT = 1e-6  # out-of-plane extent or motion over the size that still counts as planar


@dataclass(frozen=True, eq=False)
class View:
    """The axes (2 or 3, 3) that a picture shows, and their labels."""

    axes: FloatArray
    labels: tuple[str, ...]

    @property
    def is_planar(self) -> bool:
        """Whether the picture is two-dimensional."""
        return len(self.axes) == 2

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return the picture coordinates (..., 2 or 3) of points (..., 3)."""
        return np.asarray(points @ self.axes.T)


SPACE = View(np.eye(3), ("x [m]", "y [m]", "z [m]"))


def choose_view(snapshots: Sequence[FloatArray], gravity: FloatArray) -> View:
    """Return the view of points (n, 3) seen at one or more instants.

    Planar where all points lie in one plane, or all move parallel to one; a coordinate plane that
    holds gravity comes first.
    """
    points = np.concatenate(snapshots)
    moves = np.concatenate([later - snapshots[0] for later in snapshots[1:]] or [points[:0]])
    size = np.ptp(points, axis=0).max() if len(points) else 0.0
    if size > 0.0:
        does_move = np.abs(moves).max(initial=0.0) > _FLAT * size
        for cloud in (points - points.mean(axis=0), *([moves] if does_move else [])):
            if (view := _plane_of(cloud, size, gravity)) is not None:
                return view
    return SPACE


def _plane_of(cloud: FloatArray, size: float, gravity: FloatArray) -> View | None:
    """Return the plane of vectors that all lie in one, None if they do not."""
    for normal in sorted((1, 2, 0), key=lambda axis: abs(gravity[axis]) > 0.0):
        if np.abs(cloud[:, normal]).max() < _FLAT * size:
            across, up = _PLANES[normal]
            labels = (f"{_NAMES[across]} [m]", f"{_NAMES[up]} [m]")
            return View(np.eye(3)[[across, up]], labels)
    _, values, axes = np.linalg.svd(cloud.T @ cloud)
    if np.sqrt(values[2] / len(cloud)) > _FLAT * size:
        return None
    normal_axis = axes[2]
    up_axis = -gravity if np.any(gravity) else np.array([0.0, 0.0, 1.0])
    up_axis = up_axis - normal_axis * (normal_axis @ up_axis)
    if np.linalg.norm(up_axis) < 1e-9:
        up_axis = axes[1]
    up_axis = up_axis / np.linalg.norm(up_axis)
    labels = ("across, in the plane [m]", "up, in the plane [m]")
    return View(np.stack([np.cross(up_axis, normal_axis), up_axis]), labels)


# Least side over the largest, of planar and other pictures
_LEAST_SIDE_RATIO = {True: 0.18, False: 0.35}


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
    beams: Any = view(outline.beam_curves(state))
    style: dict[str, Any] = {"colors": [pen.color], "linewidths": pen.width, "capstyle": "round"}
    style["zorder"] = pen.order
    thin = style | {"linewidths": 0.6 * pen.width, "linestyles": "--"}
    collection: Any = LineCollection if view.is_planar else Line3DCollection
    if view.is_planar:
        lines = lines[~outline.is_edge]
        solids = [view(corners.at(state)) for corners in outline.solids]
        sizes = [np.ptp(points, axis=0) for points in solids]
        hulls = [  # of a flat solid, its points
            points if size.min() <= 1e-9 * size.max() else points[ConvexHull(points).vertices]
            for points, size in zip(solids, sizes, strict=True)
        ]
        face, edge = [(*to_rgb(pen.color), 0.25)], min(1.0, pen.width)
        fill: Any = {"facecolors": face, "edgecolors": [pen.color], "linewidths": edge}
        axes.add_collection(PolyCollection(hulls, zorder=pen.order - 0.5, **fill))
    for segments, look in ((lines, style), (links, thin), (beams, style)):
        axes.add_collection(collection(segments, **look))
    if pen.joints:  # a ring at every joint, a square where it is fixed to the world
        points = view(outline.joints.at(state))
        size = float(np.clip(4.0 * pen.width, 2.0, 18.0))
        ring = {"marker": "o", "c": "white", "edgecolors": [pen.color], "linewidths": 0.7}
        square = {"marker": "s", "c": INK, "linewidths": 0.0}
        axes.scatter(*points[~outline.grounded].T, s=size, zorder=pen.order + 0.2, **ring)
        axes.scatter(*points[outline.grounded].T, s=1.8 * size, zorder=pen.order + 0.3, **square)


def picture_points(outline: Outline, state: State) -> FloatArray:
    """Return all points that the picture must hold, in the world (n, 3)."""
    parts = [outline.lines, outline.joints, outline.links, outline.centers, *outline.solids]
    beams = outline.beam_curves(state).reshape(-1, 3)
    return np.concatenate([*(part.at(state) for part in parts), beams])


def frame_axes(axes: Any, view: View, points: FloatArray, margin: float = 0.05) -> None:
    """Set limits with a margin, equal scales and labels."""
    low, high = view(points).min(axis=0), view(points).max(axis=0)
    size = (high - low).max() or 1.0
    pad = np.maximum(margin * size, 0.5 * (_LEAST_SIDE_RATIO[view.is_planar] * size - (high - low)))
    low, high = low - pad, high + pad
    for name, label, *limits in zip("xyz", view.labels, low, high, strict=False):
        axes.set(**{f"{name}label": label, f"{name}lim": limits})
    if view.is_planar:
        axes.set_aspect("equal")
        return
    is_flat, sides = high[2] - low[2] < 0.6 * size, high - low
    axes.set_box_aspect(sides, zoom=1.05 if is_flat else 0.9)
    axes.view_init(elev=22, azim=-58)  # with white panes, and few ticks on short axes
    for axis, part in zip((axes.xaxis, axes.yaxis, axes.zaxis), sides / sides.max(), strict=True):
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
    return _overlaid(outline, [state], [BLUE], view, points, None, title)


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

    `states`: the instants, in the order of time. `gravity` (3,): tells up from down where no plane
    of motion does [m/s^2]. `path` (n, 3): a line that some point has followed [m].
    """
    snapshots = [picture_points(outline, state) for state in states]
    view = choose_view(snapshots, gravity)
    everything = np.concatenate(snapshots)
    length = np.sort(np.ptp(view(everything), axis=0))[::-1]
    if view.is_planar and length[0] > _SLENDER * length[1] > 0.0:
        return _side_by_side(outline, states, view, snapshots, title)
    return _overlaid(outline, states, shades(len(states)), view, everything, path, title)


def _overlaid(
    outline: Outline,
    states: Sequence[State],
    colors: Sequence[Any],
    view: View,
    points: FloatArray,
    path: FloatArray | None,
    title: str,
) -> Figure:
    """Draw all instants in one picture, named by their colors where there are several."""
    n, n_bodies = len(states), len(outline.centers.body)
    width, height = figure_size(view, points)
    figure = Figure(figsize=(width + 0.7 * (n > 1), height))
    axes: Any = figure.add_subplot(projection=None if view.is_planar else "3d")
    for order, (state, color) in enumerate(zip(states, colors, strict=True)):
        has_joints = order == n - 1 and len(outline.grounded) <= 400
        pen = Pen(color, pen_width(n_bodies), has_joints, 2.0 + order)
        draw_outline(axes, outline, view, state, pen)
    if path is not None:
        axes.plot(*view(path).T, color=ORANGE, linewidth=0.9, zorder=1.5)
        points = np.concatenate([points, path])
    frame_axes(axes, view, points)
    axes.set_title(title)
    if n > 1:
        scale = ScalarMappable(BoundaryNorm(np.arange(n + 1) - 0.5, n), ListedColormap(colors))
        pad = 0.04 if view.is_planar else 0.13  # the layout does not know of z labels
        bar = figure.colorbar(scale, ax=axes, ticks=range(n), shrink=0.6, aspect=18, pad=pad)
        bar.ax.set_yticklabels([f"{state.time:.3g}" for state in states])
        bar.ax.tick_params(length=0)
        bar.ax.minorticks_off()
        bar.outline.set_visible(False)
        bar.set_label("time [s]")
    return figure


def _side_by_side(
    outline: Outline, states: Sequence[State], view: View, snapshots: list[FloatArray], title: str
) -> Figure:
    """Draw a long mechanism lying, instant over instant, and below a close-up of its start."""
    across, up = np.ptp(view(snapshots[0]), axis=0)
    is_upright = bool(up > across)
    lying = View(view.axes[::-1], view.labels[::-1]) if is_upright else view
    flat = lying(np.concatenate(snapshots))
    low, high = flat.min(axis=0), flat.max(axis=0)
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
        limits = list(zip(*window, strict=True))  # of the lying mechanism
        detail.set(xlim=limits[is_upright], ylim=limits[not is_upright], aspect="equal")
        detail.set_title(f"t = {state.time:.3g} s", fontsize=8)
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
    """Set the limits of one strip: a line of text, a drawing, an axis in the lowest one only."""
    length, middle = high[0] - low[0], 0.5 * (low[1] + high[1])
    half = max(0.55 * (high[1] - low[1]), 0.014 * length)
    axes.set(xlim=(low[0] - 0.01 * length, high[0] + 0.01 * length), aspect="equal")
    axes.set(ylim=(middle - half, middle + half), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(is_last)
    axes.tick_params(bottom=is_last, labelbottom=is_last)
    axes.text(
        -0.01, 0.5, f"{time:.3g} s", transform=axes.transAxes, ha="right", va="center", fontsize=8
    )
