"""Colors and settings of figures, and their files."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from sparsebody.errors import UnknownNameError
from sparsebody.writing import replaced

P = ParamSpec("P")

INK = "#1f2933"  # text and axes
FAINT = "#d5dbe1"  # grids, ground
BLUE, ORANGE, GREEN, RED = "#1b5e9b", "#e07b23", "#3b8f5a", "#c0392b"
CYCLE = (BLUE, ORANGE, GREEN, RED, "#7b5aa6", "#8c6d46", "#4aa3b5", "#b5527d")
TIME_COLORS = LinearSegmentedColormap.from_list("time", ("#c3d7e8", "#5b93c4", BLUE, "#0d2c4d"))

_SETTINGS: Any = {
    "figure.dpi": 110,
    "savefig.dpi": 220,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.07,
    "figure.constrained_layout.w_pad": 0.07,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=CYCLE),
    "axes.grid": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def styled(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw a figure with the settings above, and leave the user's own as they were."""

    @wraps(plot)
    def with_settings(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context(_SETTINGS):
            return plot(*args, **kwargs)

    return with_settings


def shades(n: int) -> list[tuple[float, float, float, float]]:
    """Return n colors from light (early) to dark (late)."""
    return [TIME_COLORS(x) for x in np.linspace(0.0, 1.0, n)] if n > 1 else [TIME_COLORS(0.8)]


FORMATS = ("png", "svg", "pdf")


def check_format(path: Path) -> None:
    """Raise UnknownNameError unless the suffix is that of a format."""
    if path.suffix[1:].lower() not in FORMATS:
        known = ", ".join("." + name for name in FORMATS)
        raise UnknownNameError(f"{path}: no picture format {path.suffix!r}; give one of {known}")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write the figure, whole or not at all, without the date, so that equal figures are equal.

    Raises
    ------
    UnknownNameError
        If the suffix is not that of a format.
    OutputError
        If the file cannot be written.
    """
    check_format(path)
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    kind = path.suffix[1:].lower()
    with replaced(path) as draft:
        figure.savefig(draft, format=kind, metadata=metadata.get(kind))
    return path
