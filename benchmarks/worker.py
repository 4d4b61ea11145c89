"""One case in a process of its own: `python -m benchmarks.worker TASK TARGET CACHE GIGABYTES`.

TASK is JSON; the row is written to TARGET as JSON, because engines print what they like.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.measure import Row, Task, blank_row, load_reference, measure, store_reference
from benchmarks.peers.tree import UnsupportedError

REFERENCE = "reference"  # the method that only stores the reference solution


def guarded(task: Task, cache: Path) -> Row:
    """Measure; an exception becomes the status of the row."""
    try:
        if task.method != REFERENCE:
            return measure(task, cache)
        if load_reference(task, cache) is None:
            store_reference(task, cache)
        return blank_row(task)
    except MemoryError as error:
        return blank_row(task, status="out-of-memory", message=_line(error))
    except UnsupportedError as error:
        return blank_row(task, status="unsupported", message=_line(error))
    except Exception as error:  # any engine, any exception: a row all the same
        status = "out-of-memory" if "alloc" in str(error) else "failed"
        return blank_row(task, status=status, message=_line(error))


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]


def main() -> None:
    """Read the arguments, limit the memory, measure, write the row."""
    task, target, cache, gigabytes = sys.argv[1:]
    limit = int(float(gigabytes) * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    row = guarded(Task(**json.loads(task)), Path(cache))
    Path(target).write_text(json.dumps(asdict(row)))


if __name__ == "__main__":
    main()
