"""The results as a CSV file: one row for each case, a newer row replacing an older one.

Quick and full runs keep rows of their own, so that a quick one leaves a full one as it is.
"""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.measure import COLUMNS, Row

FOLDER = Path(__file__).parent / "results"
FORWARD_DYNAMICS = FOLDER / "forward_dynamics.csv"
KEY = ("scope", "mechanism", "n_bodies", "method", "relabelled", "seed")
Key = tuple[str, ...]


def key_of(row: dict[str, Any]) -> Key:
    """Return what identifies a row."""
    return tuple(str(row[name]) for name in KEY)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file as strings; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def put_row(path: Path, row: Row) -> None:
    """Add a row, or replace the one of the same case; the file is always whole."""
    fresh = {name: text(value) for name, value in asdict(row).items()}
    rows = [old for old in read_rows(path) if key_of(old) != key_of(fresh)]
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    with draft.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*rows, fresh], key=_order))
    draft.replace(path)


def _order(row: dict[str, str]) -> tuple[str, str, str, str, int]:
    names = row["scope"], row["mechanism"], row["method"], row["relabelled"]
    return *names, int(row["n_bodies"])


def text(value: Any) -> str:
    """Return what stands in a cell; nothing for NaN."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.5g}"
    return str(value)
