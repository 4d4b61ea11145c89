"""Time, memory or operations over size, one line for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.plots.style import CYCLE, styled

_MARKERS = "osD^vP*X"


@dataclass(frozen=True, eq=False)
class Line:
    """The measurements of one method, and the power of n that was fitted to them."""

    label: str
    n: FloatArray  # (k,) sizes
    y: FloatArray  # (k,)
    fit_n: FloatArray  # (2,) ends of the fitted line; (0,) for none
    fit_y: FloatArray
    is_ours: bool = False  # drawn bold, over the others
    is_exact: BoolArray | None = None  # (k,) of marks that are filled; default: all


@styled
def plot_growth(lines: Sequence[Line], ylabel: str, title: str = "") -> Figure:
    """Return a log-log plot with the fitted powers as thin lines."""
    figure = Figure(figsize=(6.6, 4.4))
    axes = figure.add_subplot()
    draw_growth(axes, lines)
    axes.set(xlabel="bodies", ylabel=ylabel, title=title)
    figure.legend(loc="outside right upper", fontsize=7)
    return figure


def draw_growth(axes: Axes, lines: Sequence[Line]) -> None:
    """Draw lines with their fits on logarithmic axes."""
    for number, line in enumerate(lines):
        color = CYCLE[number % len(CYCLE)]
        marker = _MARKERS[number // len(CYCLE) % len(_MARKERS)]
        order = 3.0 if line.is_ours else 2.0
        axes.loglog(
            line.n,
            line.y,
            color=color,
            marker=marker,
            markersize=3.5,
            linewidth=2.2 if line.is_ours else 1.2,
            zorder=order,
            label=line.label,
        )
        if line.is_exact is not None and not line.is_exact.all():
            rough = ~line.is_exact
            axes.loglog(
                line.n[rough],
                line.y[rough],
                color=color,
                marker=marker,
                markersize=3.5,
                markerfacecolor="white",
                linestyle="",
                zorder=order + 0.5,
            )
        if len(line.fit_n):
            axes.loglog(line.fit_n, line.fit_y, color=color, linewidth=0.7, linestyle=":")
    axes.grid(True, which="major")


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
