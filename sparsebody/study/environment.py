"""Where and with what a study was measured."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sparsebody
from sparsebody.study import machine
from sparsebody.writing import replaced

FILE = "environment.json"
PACKAGES = ("numpy", "scipy", "networkx", "scikit-sparse", "pin", "mujoco", "distributed")


def environment() -> dict[str, Any]:
    """Return processor, memory, system, versions, commit and date."""
    import scipy.linalg  # noqa: F401 (its BLAS is loaded with it)

    return {
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "processor": machine.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(machine.memory(), 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": machine.package_versions(*PACKAGES),
        "blas": machine.loaded_blas(),
        "threads": 1,  # of each case
        "sparsebody": sparsebody.__version__,
        "commit": machine.commit(),
        "load": machine.load(),
    }


def record_environment(folder: Path) -> None:
    """Add that of this process to the list in the folder: one for each time the study was run."""
    with replaced(folder / FILE) as draft:
        draft.write_text(json.dumps([*environments(folder), environment()], indent=1) + "\n")


def environments(folder: Path) -> list[dict[str, Any]]:
    """Return what was recorded; none where nothing was."""
    target = folder / FILE
    return list(json.loads(target.read_text())) if target.exists() else []
