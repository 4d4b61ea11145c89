"""Curves: energy, errors, positions and joint forces over time, costs, dispersion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.plots.style import BLUE, CYCLE, FAINT, INK, ORANGE, styled


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


@styled
def plot_energy(
    time: FloatArray, kinetic: FloatArray, potential: FloatArray, title: str = ""
) -> Figure:
    """Return kinetic, potential and total energy (n,) [J], and how far the total has moved."""
    total = kinetic + potential
    figure, (energy, change) = time_axes(2)
    energy.plot(time, kinetic, color=ORANGE, label="kinetic")
    energy.plot(time, potential - potential[0], color=BLUE, label="potential, from the start")
    energy.plot(time, total - potential[0], color=INK, linewidth=1.0, linestyle="--", label="total")
    energy.set_ylabel("energy [J]")
    energy.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderaxespad=0.1)
    change.plot(time, total - total[0], color=INK, linewidth=1.0)
    largest = float(np.abs(total - total[0]).max())
    change.set_ylabel("change of the total [J]")
    change.set_title(f"largest change {largest:.2e} J", loc="right", fontsize=8)
    figure.suptitle(title)
    return figure


_FLOOR = 1e-18  # an error of exactly zero has no place on a logarithmic axis


@styled
def plot_drift(
    time: FloatArray, position_error: FloatArray, velocity_error: FloatArray, title: str = ""
) -> Figure:
    """Return the largest position and velocity error (n,) of all constraint rows, over time."""
    figure, (position, velocity) = time_axes(2, 1.6)
    for axes, error, label in (
        (position, position_error, "position error\n[m, rad]"),
        (velocity, velocity_error, "velocity error\n[m/s, rad/s]"),
    ):
        axes.semilogy(time, np.maximum(error, _FLOOR), color=BLUE, linewidth=1.0)
        axes.set_ylabel(label)
        axes.set_title(f"largest {error.max():.1e}", loc="right", fontsize=8)
    position.set_title(title)
    return figure


@styled
def plot_path(time: FloatArray, positions: Mapping[str, FloatArray], title: str = "") -> Figure:
    """Return x, y and z over time, one line for each named body.

    `time` (n,): instants [s]. `positions`: centers of mass in the world [m], by the name of the
    body.
    """
    figure, rows = time_axes(3, 1.5)
    size = max(float(np.ptp(position, axis=0).max()) for position in positions.values())
    for axes, axis, k in zip(rows, "xyz", range(3), strict=True):
        for name, position in positions.items():
            axes.plot(time, position[:, k], label=name)
        axes.set_ylabel(f"{axis} [m]")
        axes.ticklabel_format(axis="y", useOffset=False)
        low, high = axes.get_ylim()
        if high - low < 1e-9 * size:  # the same but for rounding, which is not magnified
            middle = 0.5 * (low + high)
            axes.set_ylim(middle - 0.05 * size, middle + 0.05 * size)
    rows[0].set_title(title)
    figure.legend(*rows[0].get_legend_handles_labels(), loc="outside right upper", title="body")
    return figure


@styled
def plot_joint_forces(
    times: FloatArray,
    forces: FloatArray,
    names: Sequence[str],
    title: str = "",
    label: str = "joint torque [N m]",
) -> Figure:
    """Return a figure of forces (times, joints) over times [s], one line a joint."""
    figure, (axes,) = time_axes(1, height=3.2)
    for name, force in zip(names, forces.T, strict=True):
        axes.plot(times, force, label=name)
    axes.set(ylabel=label, title=title)
    figure.legend(loc="outside right upper")
    return figure


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
        marks: dict[str, Any] = {"color": color, "marker": marker, "markersize": 3.5}
        width = 2.2 if line.is_ours else 1.2
        axes.loglog(line.n, line.y, linewidth=width, zorder=order, label=line.label, **marks)
        if line.is_exact is not None and not line.is_exact.all():
            open_marks = marks | {
                "markerfacecolor": "white",
                "linestyle": "",
                "zorder": order + 0.5,
            }
            axes.loglog(line.n[~line.is_exact], line.y[~line.is_exact], **open_marks)
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


@styled
def plot_dispersion(
    distance: FloatArray,
    frequency: FloatArray,
    gaps: Sequence[tuple[float, float]] = (),
    corners: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """Return frequencies (n, n_branches) [Hz] along a path of wave vectors, gaps shaded.

    `distance` (n,): along the path [rad/m]; `gaps`: lower and upper ends [Hz]; `corners`: where
    named wave vectors are.
    """
    figure = Figure(figsize=(5.0, 3.6))
    axes = figure.add_subplot()
    axes.plot(distance, frequency, color=BLUE, linewidth=1.0)
    for low, high in gaps:
        axes.axhspan(low, high, color=FAINT, linewidth=0.0)
    if corners:
        axes.set_xticks(list(corners.values()), list(corners))
        axes.grid(axis="x")
    axes.set(xlim=(distance[0], distance[-1]), xlabel="wave vector [rad/m]")
    axes.set(ylim=(0.0, None), ylabel="frequency [Hz]", title=title)
    return figure
