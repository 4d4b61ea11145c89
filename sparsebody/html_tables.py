"""HTML tables and curves of results in notebooks.

They use the colors of the page, so that they are legible in light and in dark themes.
"""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle, islice
from typing import Any

import numpy as np

from sparsebody.arrays import FEW, FloatArray

_CELL = 'style="text-align: left; vertical-align: top"'
_WIDTH, _HEIGHT, _MARGIN = 320, 72, 3  # of curves [px]
_MOST_POINTS = 400  # of a curve
_DASHES = ("", "5 3", "1 3")  # of curves, for colors are those of the page


class Markup(str):
    """A text that is HTML already, and is put into tables as it is."""

    __slots__ = ()


def html_facts(title: str, facts: Mapping[str, object]) -> str:
    """Return a table of names and values under a title; the names may be those of fields."""
    named = {name.replace("_", " "): value for name, value in facts.items()}
    rows = "".join(
        f"<tr><th {_CELL}>{_escaped(name)}</th><td {_CELL}>{_escaped(value)}</td></tr>"
        for name, value in named.items()
    )
    return f"<div><strong>{_escaped(title)}</strong><table>{rows}</table></div>"


def html_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    """Return a table of rows under a header."""

    def line(cells: Sequence[object], tag: str) -> str:
        return "".join(f"<{tag} {_CELL}>{_escaped(cell)}</{tag}>" for cell in cells)

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return Markup(f"<table><thead><tr>{line(header, 'th')}</tr></thead>{body}</table>")


def html_lines(lines: Sequence[str]) -> Markup:
    """Return lines below each other."""
    return Markup("<br/>".join(map(escape, lines)))


def html_curves(x: FloatArray, curves: Mapping[str, FloatArray]) -> Markup:
    """Return an SVG of curves (n,) over rising x (n,), on one scale, thinned to 400 points.

    Empty where nothing is finite, or x does not rise.
    """
    step = max(1, -(-len(x) // _MOST_POINTS))
    x = x[::step]
    thinned = {name: y[::step] for name, y in curves.items()}
    values = np.concatenate([y[np.isfinite(y)] for y in thinned.values()] or [x[:0]])
    if not len(values) or not x[-1] > x[0]:
        return Markup("")
    low, high = float(values.min()), float(values.max())
    height = (high - low) or 1.0
    pixel_x = _MARGIN + (_WIDTH - 2 * _MARGIN) * (x - x[0]) / (x[-1] - x[0])
    lines = []
    for (name, y), dashes in zip(thinned.items(), cycle(_DASHES), strict=False):
        pixel_y = _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (y - low) / height
        is_finite = np.isfinite(pixel_y)
        pixels = zip(pixel_x[is_finite], pixel_y[is_finite], strict=True)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in pixels)
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.2" '
            f'stroke-dasharray="{dashes}"><title>{_escaped(name)}</title></polyline>'
        )
    return Markup(
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img">{"".join(lines)}</svg>'
    )


def first_names(names: Sequence[str] | Mapping[str, Any]) -> str:
    """Return the first names, and how many there are besides."""
    shown = ", ".join(islice(names, FEW))
    return shown if len(names) <= FEW else f"{shown} and {len(names) - FEW} more"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return the counts by name that are not zero, such as "4 revolute, 1 fixed"."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def largest_norm(vectors: FloatArray) -> float:
    """Return the largest length of vectors (n, 3), 0 of none."""
    return float(np.sqrt(np.einsum("na,na->n", vectors, vectors).max(initial=0.0)))


def lengths(extent: FloatArray) -> str:
    """Return the sides (3,) of a box [m]."""
    return " x ".join(f"{side:.3g}" for side in extent) + " m"


def _escaped(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))
