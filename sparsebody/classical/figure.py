"""Costs as lines of a figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsebody.classical.costs import Cost, fitted
from sparsebody.plots.growth import Line


def cost_panels(costs: Sequence[Cost]) -> dict[str, list[Line]]:
    """Return the lines of operations and of both times, with the fitted powers."""
    panels = {
        "operations": [_line(cost, cost.counted) for cost in costs],
        "compiled: CPU time [s]": [_line(cost, cost.compiled) for cost in costs if cost.compiled],
        "Python: CPU time [s]": [_line(cost, cost.python) for cost in costs],
    }
    return {title: lines for title, lines in panels.items() if lines}


def _line(cost: Cost, values: dict[int, float]) -> Line:
    n = np.array(sorted(values), dtype=float)
    y = np.array([values[int(size)] for size in n])
    fit = fitted(values)
    ends = np.empty(0) if fit is None else np.array([fit.smallest, fit.largest])
    at_ends = ends if fit is None else fit(ends)
    powers = ", ".join(f"{p:.1f}" for p in cost.exponents.values() if not np.isnan(p))
    return Line(f"{cost.algorithm} (n^{powers})", n, y, ends, at_ends)
