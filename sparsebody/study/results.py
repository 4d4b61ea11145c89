"""The result file of a study: one row a case, in CSV or Parquet."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparsebody.errors import MissingDependencyError, StudyError
from sparsebody.study.measure import COLUMNS, NUMBERS, Row
from sparsebody.writing import replaced

FORMATS = ("csv", "parquet")
_WHOLE = (
    "size",
    "n_bodies",
    "n_joints",
    "seed",
    "repeats",
    "calls",
    "nnz_l",
    "largest_front",
    "redundant_rows",
    "mobility",
)
_NEEDED = ("family", "size", "n_bodies", "method", "seed", "status", "seconds_min")


def write_results(rows: Sequence[Row], path: Path) -> Path:
    """Write rows to a file, whole or not at all; its suffix says the format."""
    with replaced(path) as draft:
        _WRITERS[path.suffix[1:]](rows, draft)
    return path


def _write_csv(rows: Sequence[Row], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(row.get(name, "")) for name in COLUMNS} for row in rows)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return str(value)


def _write_parquet(rows: Sequence[Row], path: Path) -> None:
    table, parquet = _arrow()
    columns = {name: [_typed(name, row.get(name, "")) for row in rows] for name in COLUMNS}
    parquet.write_table(table.table(columns), path)


_WRITERS = {"csv": _write_csv, "parquet": _write_parquet}


def check_format(file_format: str) -> None:
    """Raise MissingDependencyError if a format needs what is not installed."""
    if file_format == "parquet":
        _arrow()


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet needs PyArrow: pip install 'sparsebody[study]'"
        ) from error
    return pyarrow, parquet


def read_results(path: Path) -> list[Row]:
    """Return the rows of a result file, numbers as numbers; what was not measured is NaN.

    Raises
    ------
    StudyError
        If it is no result file.
    """
    if path.is_dir():
        files = [path / f"results.{name}" for name in FORMATS]
        path = next((one for one in files if one.exists()), files[0])
    try:
        if path.suffix == ".parquet":
            rows = list(_arrow()[1].read_table(path).to_pylist())
        else:
            with path.open(newline="") as file:
                rows = list(csv.DictReader(file))
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror}") from error
    for name in _NEEDED:
        if rows and name not in rows[0]:
            raise StudyError(f"{path}: no column {name!r}; give the results of `sparsebody study`")
    if not rows:
        raise StudyError(f"{path}: no rows; run the study first")
    try:
        return [{name: _typed(name, row.get(name, "")) for name in COLUMNS} for row in rows]
    except ValueError as error:
        raise StudyError(f"{path}: {error}; give the results of `sparsebody study`") from error


def _typed(name: str, value: Any) -> Any:
    if name in NUMBERS:
        return float("nan") if value in ("", None) else float(value)
    if name in _WHOLE:
        return None if value in ("", None) else int(value)
    return value
