"""Coordinates of the centers of mass over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsebody.arrays import FloatArray
from sparsebody.plots.series import time_axes
from sparsebody.plots.style import styled


@styled
def plot_path(time: FloatArray, positions: Mapping[str, FloatArray], title: str = "") -> Figure:
    """Return x, y and z over time, one line for each named body.

    Parameters
    ----------
    time : (n,) float array
        Instants [s].
    positions : mapping of str to (n, 3) float array
        Centers of mass in the world [m], by the name of the body.
    title : str
        Above the picture.
    """
    figure, rows = time_axes(3, 1.5)
    size = max(float(np.ptp(position, axis=0).max()) for position in positions.values())
    for axes, axis, k in zip(rows, "xyz", range(3), strict=True):
        for name, position in positions.items():
            axes.plot(time, position[:, k], label=name)
        axes.set_ylabel(f"{axis} [m]")
        axes.ticklabel_format(axis="y", useOffset=False)
        _keep_from_magnifying(axes, size)
    rows[0].set_title(title)
    figure.legend(*rows[0].get_legend_handles_labels(), loc="outside right upper", title="body")
    return figure


def _keep_from_magnifying(axes: Axes, size: float) -> None:
    """Let a coordinate that stays the same but for rounding look so."""
    low, high = axes.get_ylim()
    if high - low < 1e-9 * size:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.05 * size, middle + 0.05 * size)
