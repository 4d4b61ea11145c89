"""Forces of joints over time."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from sparsebody.arrays import FloatArray
from sparsebody.plots.series import time_axes
from sparsebody.plots.style import styled


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
