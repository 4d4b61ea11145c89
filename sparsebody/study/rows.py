"""Rows of a study: their columns, the journal that they are written to, and result files."""

import csv
import fcntl
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sparsebody.errors import StudyError, required_package
from sparsebody.study import machine
from sparsebody.study.plan import Case, Series, Study
from sparsebody.writing import replaced, write_errors

Row = dict[str, Any]

COLUMNS = (
    "family",
    "size",  # bodies asked for
    "n_bodies",
    "n_joints",
    "method",
    "ordering",
    "factorization",
    "peer",
    "seed",
    "status",  # ok, skipped, unsupported, unavailable, timeout, out-of-memory, failed, crashed
    "message",
    "seconds_min",  # CPU time of one evaluation, the least of the repeats
    "seconds_median",
    "auto_ratio",  # its time over that of the automatic choice; see typical_ratio
    "repeats",
    "calls",  # of one repeat, of which the mean is taken
    "kinematics_seconds",  # of one evaluation, with assembly; with `details`
    "factorize_seconds",
    "solve_seconds",  # with refinement
    "forces_seconds",  # of one evaluation with joint wrenches and residuals
    "build_seconds",  # the Mechanism
    "compile_seconds",  # from the Mechanism to its System
    "analyze_seconds",  # all that is prepared once after that
    "case_seconds",  # all of it, on the clock
    "system_mb",  # resident memory of the Mechanism and its System
    "memory_mb",  # peak above that, preparation and evaluation
    "held_mb",  # of it after preparation
    "chosen_ordering",
    "chosen_factorization",
    "nnz_l",
    "flops",
    "largest_front",
    "redundant_rows",
    "mobility",
    "violation",  # of all joints by the accelerations, by the study's function
    "error",  # relative, of the accelerations
    "reference_error",
    "kappa",
    "detail",
    "machine",
)
_COUNTS = ("n_bodies", "n_joints", "repeats", "calls", "redundant_rows", "mobility")
_INTEGERS = ("size", "seed", "nnz_l", "largest_front", *_COUNTS)
_FLOATS = ("seconds_min", "seconds_median", "auto_ratio", "flops", "violation", "kappa")
NUMBERS = tuple(n for n in COLUMNS if n in _FLOATS or n.endswith(("seconds", "_mb", "error")))
_SPENT = tuple(name for name in NUMBERS if "seconds" in name or "_mb" in name)
MEASURED = ("message", "repeats", "calls", "machine", "auto_ratio", *_SPENT)  # not reproducible
_REQUIRED = ("family", "size", "n_bodies", "method", "seed", "status", "seconds_min")


def blank_row(case: Case, **values: Any) -> Row:
    """Return a row without measurements, such as a failure's."""
    known = {**case.columns, "status": "ok", "machine": machine.machine(), **values}
    return {name: known.get(name, "") for name in COLUMNS}


def case_of_row(row: Mapping[str, Any]) -> Case:
    """Return the case that a row is of."""
    names = ("family", "method", "ordering", "factorization", "peer")
    text = {name: str(row[name]) for name in names}
    return Case(int(row["size"]), Series(**text, seed=int(row["seed"])))


# ---- the journal: one JSON line a row, on the disk before it counts ---------------------------

FILE = "rows.jsonl"
_NO_PART_OF_ROWS = ("runs", "largest", "title", "paths", "promises", "time_limit", "memory_limit")


def fingerprint(study: Study) -> str:
    """Return a digest of all that a row depends on besides its case."""
    entries = {key: one for key, one in study.document.items() if key not in _NO_PART_OF_ROWS}
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()[:16]


class Journal:
    """The rows of a study in a folder, locked while it is open.

    The first line names the study by its fingerprint. A last line without an end was cut off when
    the study was killed: it is dropped, and its case runs again. Raises StudyError if another
    process has locked it, or the rows are those of another study; OutputError where they cannot be
    written.
    """

    def __init__(self, folder: Path, study: Study) -> None:
        self.path = folder / FILE
        self.rows: dict[Case, Row] = {}
        with write_errors(self.path):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read(fingerprint(study))
        except BlockingIOError as error:
            os.close(self._file)
            raise StudyError(
                f"{self.path}: another process runs this study; wait for it, or give another folder"
            ) from error
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._file)

    def add(self, case: Case, row: Row) -> None:
        """Write the row of a case."""
        self._append(row)
        self.rows[case] = row

    def _read(self, study: str) -> None:
        text = self.path.read_bytes()
        complete = text[: text.rfind(b"\n") + 1]
        if len(complete) < len(text):
            os.ftruncate(self._file, len(complete))
        lines = complete.splitlines()
        if not lines:
            self._append({"study": study})
            return
        if self._parsed(lines[0], 1).get("study") != study:
            raise StudyError(
                f"{self.path}: these rows were measured with other families, peers or settings; "
                "give another --output, or remove the folder"
            )
        for number, line in enumerate(lines[1:], start=2):
            row = self._parsed(line, number)
            try:
                self.rows[case_of_row(row)] = row
            except KeyError as error:
                raise StudyError(f"{self.path}: line {number} lacks the column {error}") from error

    def _parsed(self, line: bytes, number: int) -> Row:
        try:
            row = json.loads(line)
        except ValueError as error:
            raise StudyError(
                f"{self.path}: line {number} is not JSON: {error}; remove the line, and its case "
                "runs again"
            ) from error
        return row if isinstance(row, dict) else {}

    def _append(self, document: Mapping[str, Any]) -> None:
        """Write one line at once, and wait until it is on the disk."""
        line = json.dumps(document).encode() + b"\n"
        with write_errors(self.path):
            if os.write(self._file, line) < len(line):
                raise OSError(None, "the disk is full")
            os.fsync(self._file)


# ---- result files -----------------------------------------------------------------------------

FORMATS = ("csv", "parquet")


def write_results(rows: Sequence[Row], path: Path) -> Path:
    """Write rows to a file, completely or not at all; its suffix says the format."""
    with replaced(path) as draft:
        if path.suffix == ".parquet":
            table, parquet = _arrow()
            columns = {name: [_typed(name, row.get(name, "")) for row in rows] for name in COLUMNS}
            parquet.write_table(table.table(columns), draft)
        else:
            with draft.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows({n: _text(row.get(n, "")) for n in COLUMNS} for row in rows)
    return path


def _text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.6g}" if math.isfinite(value) else ""


def check_format(file_format: str) -> None:
    """Raise MissingDependencyError if a format needs what is not installed."""
    if file_format == "parquet":
        _arrow()


def _arrow() -> list[Any]:
    packages = ("pyarrow", "pyarrow.parquet")
    return [required_package(name, "Parquet needs PyArrow", "study") for name in packages]


def read_results(path: Path) -> list[Row]:
    """Return the rows of a result file, numbers as numbers; what was not measured is NaN.

    Raises StudyError if it is no result file.
    """
    if path.is_dir():
        files = [path / f"results.{name}" for name in FORMATS]
        path = next(filter(Path.exists, files), files[0])
    try:
        if path.suffix == ".parquet":
            rows = list(_arrow()[1].read_table(path).to_pylist())
        else:
            with path.open(newline="") as file:
                rows = list(csv.DictReader(file))
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror}") from error
    remedy = "give the results of `sparsebody study`"
    for name in _REQUIRED:
        if rows and name not in rows[0]:
            raise StudyError(f"{path}: no column {name!r}; {remedy}")
    if not rows:
        raise StudyError(f"{path}: no rows; run the study first")
    try:
        return [{name: _typed(name, row.get(name, "")) for name in COLUMNS} for row in rows]
    except ValueError as error:
        raise StudyError(f"{path}: {error}; {remedy}") from error


def _typed(name: str, value: Any) -> Any:
    is_missing = value in ("", None)
    if name in NUMBERS:
        return math.nan if is_missing else float(value)
    if name in _INTEGERS:
        return None if is_missing else int(value)
    return value
