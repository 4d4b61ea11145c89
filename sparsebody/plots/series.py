"""What the figures over time share."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator


def time_axes(n_rows: int, height: float = 1.9) -> tuple[Figure, list[Axes]]:
    """Return a figure with rows of axes over the same time."""
    figure = Figure(figsize=(6.4, 0.6 + height * n_rows))
    rows: Any = figure.subplots(n_rows, 1, sharex=True, squeeze=False)[:, 0]
    for axes in rows:
        axes.grid(axis="y")
        axes.margins(x=0.0)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    rows[-1].set_xlabel("time [s]")
    figure.align_ylabels(rows)
    return figure, list(rows)
