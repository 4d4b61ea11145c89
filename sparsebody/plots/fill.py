"""What factors and their computation cost in each elimination order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from sparsebody.plots.style import BLUE, ORANGE, styled

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
        least = min(values.values())
        ratio = np.array([values[name] / least for name in names])
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
