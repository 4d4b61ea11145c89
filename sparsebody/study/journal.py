"""Rows as they come: one JSON line each, written once, whole, and on the disk before it counts."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from sparsebody.errors import StudyError
from sparsebody.study.measure import Row
from sparsebody.study.plan import Case, Series, Study
from sparsebody.writing import write_errors

FILE = "rows.jsonl"
_FREE = (
    "runs",
    "largest",
    "title",
    "paths",
    "promises",
    "time_limit",
    "memory_limit",
)  # may change


def fingerprint(study: Study) -> str:
    """Return a digest of all that a row depends on besides its case."""
    kept = {key: value for key, value in study.document.items() if key not in _FREE}
    text = json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Journal:
    """The rows of a study in a folder, which it holds for itself while it is open.

    The first line says whose rows they are. A last line without an end was cut off when the study
    was killed: it is dropped, and its case runs again.

    Raises
    ------
    StudyError
        If another process is at it, or the rows are those of another study.
    OutputError
        If the file cannot be written.
    """

    def __init__(self, folder: Path, study: Study) -> None:
        self.path = folder / FILE
        self.rows: dict[Case, Row] = {}
        with write_errors(self.path):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            self._lock()
            self._read(fingerprint(study))
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

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StudyError(
                f"{self.path}: another process runs this study; wait for it, or give another folder"
            ) from error

    def _read(self, study: str) -> None:
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            os.ftruncate(self._file, len(whole))
        lines = whole.splitlines()
        if not lines:
            self._append({"study": study})
            return
        header = self._parsed(lines[0], 1)
        if header.get("study") != study:
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

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
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


def case_of_row(row: Mapping[str, Any]) -> Case:
    """Return the case that a row is of."""
    names = ("family", "method", "ordering", "factorization", "peer")
    family, method, ordering, factorization, peer = (str(row[name]) for name in names)
    series = Series(family, method, ordering, factorization, peer, int(row["seed"]))
    return Case(int(row["size"]), series)
