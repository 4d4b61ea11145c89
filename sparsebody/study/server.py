"""A process that runs the cases of a study, each in a fork of its own.

`python -m sparsebody.study.server` reads one JSON request a line: first {"study": document,
"folder": path}, then {"job": name, "case": columns}; it answers each of the latter with a row.
It ends, and what it runs with it, as soon as nobody writes to it any more.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sparsebody.study.isolation import AbandonedError, Failure, isolated, preload
from sparsebody.study.measure import Row, blank_row, measure, solve_reference
from sparsebody.study.plan import Case, Series, Study
from sparsebody.study.study_files import study_of

JOBS: dict[str, Callable[[Study, Case, Path], Row]] = {
    "measure": measure,
    "reference": solve_reference,
}


def answer(study: Study, folder: Path, job: str, case: Case, cancel: int | None = None) -> Row:
    """Run a job on a case in a fork; whatever happens to it, return a row.

    Raises
    ------
    AbandonedError
        If something can be read from the file descriptor `cancel` while the case runs.
    """
    start = time.perf_counter()
    row = isolated(
        lambda: JOBS[job](study, case, folder),
        study.time_limit(case),
        study.settings.memory_limit,
        cancel,
    )
    if isinstance(row, Failure):
        return blank_row(case, status=row.status, message=row.message)
    return dict(row) | {"case_seconds": time.perf_counter() - start}


def case_of(columns: dict[str, Any]) -> Case:
    """Return the case that its columns identify."""
    named = dict(columns)
    return Case(named.pop("size"), Series(**named))


def _lines(requests: int) -> Iterator[bytes]:
    """Yield requests as they come, never reading beyond the end of one."""
    remainder = b""
    while part := os.read(requests, 1 << 16):
        *lines, remainder = (remainder + part).split(b"\n")
        yield from lines


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.dup(1)  # engines print on the standard output
    os.dup2(2, 1)
    lines = _lines(0)
    first = json.loads(next(lines))
    study, folder = study_of(first["study"]), Path(first["folder"])
    preload()
    for line in lines:
        request = json.loads(line)
        try:
            row = answer(study, folder, request["job"], case_of(request["case"]), cancel=0)
            os.write(answers, json.dumps(row).encode() + b"\n")
        except (AbandonedError, BrokenPipeError):
            return


if __name__ == "__main__":
    main()
