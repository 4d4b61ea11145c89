"""The mechanism at one state."""

from __future__ import annotations

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
from sparsebody.plots.style import BLUE, styled
from sparsebody.plots.view import choose_view


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
