"""Operations and times of algorithms over the number of joints, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from sparsebody.plots.growth import Line, draw_growth
from sparsebody.plots.style import styled


@styled
def plot_costs(panels: Mapping[str, Sequence[Line]]) -> Figure:
    """Return one log-log plot for each quantity; all have the same lines, which the last names."""
    figure = Figure(figsize=(3.6 * len(panels) + 1.8, 3.8))
    for axes, (quantity, lines) in zip(
        figure.subplots(1, len(panels)), panels.items(), strict=True
    ):
        draw_growth(axes, lines)
        axes.set(xlabel="joints", title=quantity)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=7)
    return figure
