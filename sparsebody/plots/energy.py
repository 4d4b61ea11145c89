"""Energy over time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sparsebody.arrays import FloatArray
from sparsebody.plots.series import time_axes
from sparsebody.plots.style import BLUE, INK, ORANGE, styled


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
