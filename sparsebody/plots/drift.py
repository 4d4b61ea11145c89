"""Constraint errors over time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsebody.arrays import FloatArray
from sparsebody.plots.series import time_axes
from sparsebody.plots.style import BLUE, styled

_FLOOR = 1e-18  # an error of exactly zero has no place on a logarithmic axis


@styled
def plot_drift(
    time: FloatArray, position_error: FloatArray, velocity_error: FloatArray, title: str = ""
) -> Figure:
    """Return the largest position and velocity error (n,) of all constraint rows, over time."""
    figure, (position, velocity) = time_axes(2, 1.6)
    _draw_error(position, time, position_error, "position error\n[m, rad]")
    _draw_error(velocity, time, velocity_error, "velocity error\n[m/s, rad/s]")
    position.set_title(title)
    return figure


def _draw_error(axes: Axes, time: FloatArray, error: FloatArray, label: str) -> None:
    axes.semilogy(time, np.maximum(error, _FLOOR), color=BLUE, linewidth=1.0)
    axes.set_ylabel(label)
    axes.set_title(f"largest {error.max():.1e}", loc="right", fontsize=8)
