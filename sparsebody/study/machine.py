"""Processor, BLAS and Python, on which times depend besides the program; and memory in use."""

import json
import os
import platform
import re
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import sparsebody
from sparsebody.writing import write_text

MAPS, CPU = Path("/proc/self/maps"), Path("/proc/cpuinfo")
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
ENVIRONMENT = "environment.json"
_MATH = ("numpy", "scipy", "networkx", "scikit-sparse")
PACKAGES = (*_MATH, "pin", "mujoco", "drake", "exudyn", "distributed")
BLAS = re.compile(r"lib[a-z_]*(?:openblas|mkl_rt|blis|atlas|cblas|blas)[^/]*\.so[^/\s]*")


def commit() -> str:
    """Return the commit of this program, "+" where it is changed; nothing outside a repository."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent
        )
    except OSError:
        return ""
    return done.stdout.strip()


def machine() -> str:
    """Return the name of the processor."""
    match = re.search(r"model name\s*:\s*(.+)", CPU.read_text() if CPU.exists() else "")
    return match[1].strip() if match else platform.processor() or platform.machine()


def memory_gb() -> dict[str, float | None]:
    """Return the memory of this machine, and what is free of it [GiB]; None if unknown."""
    names = {"total": "SC_PHYS_PAGES", "available": "SC_AVPHYS_PAGES"}

    def size(name: str) -> float | None:
        if name not in os.sysconf_names:  # macOS counts no free pages
            return None
        return round(os.sysconf(name) * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)

    return {key: size(name) for key, name in names.items()}


def usable_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # none on macOS
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def loaded_blas() -> str:
    """Return the BLAS libraries of this process; NumPy's, SciPy's and CHOLMOD's may differ."""
    if not MAPS.exists():
        return "unknown"
    return " ".join(sorted(set(BLAS.findall(MAPS.read_text())))) or "none"


def package_versions(*names: str) -> str:
    """Return "name version" of those that are installed."""
    versions = []
    for name in names:
        with suppress(PackageNotFoundError):
            versions.append(f"{name} {version(name)}")
    return ", ".join(versions)


def memory(field: str = "VmRSS") -> float:
    """Return the memory of this process [MB]: resident, "VmHWM" its peak, "VmSize" all; or NaN."""
    text = STATUS.read_text() if STATUS.exists() else ""
    match = re.search(rf"{field}:\s*(\d+) kB", text)
    return int(match[1]) * 1024 / 1e6 if match else float("nan")


def reset_peak_memory() -> None:
    """Let the peak start again from what is in use; does nothing where Linux does not allow it."""
    with suppress(OSError):
        CLEAR.write_text("5")


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process and of its children that ended [s]; NaN if unknown."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return float("nan")
    ticks = text.rpartition(")")[2].split()[11:15]  # utime, stime, cutime, cstime
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


# ---- kept with the results --------------------------------------------------------------------


def environment() -> dict[str, Any]:
    """Return processor, memory, system, versions, commit and date."""
    import scipy.linalg  # noqa: F401 (its BLAS is loaded with it)

    return {
        "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "processor": machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": package_versions(*PACKAGES),
        "blas": loaded_blas(),
        "threads": 1,  # of each case
        "sparsebody": sparsebody.__version__,
        "commit": commit(),
        "load": f"{os.getloadavg()[0]:.1f}",  # processes at work in the last minute
    }


def record_environment(folder: Path) -> None:
    """Add that of this process to the list in the folder: one for each time the study was run."""
    text = json.dumps([*environments(folder), environment()], indent=1) + "\n"
    write_text(folder / ENVIRONMENT, text)


def environments(folder: Path) -> list[dict[str, Any]]:
    """Return what was recorded; none where nothing was."""
    target = folder / ENVIRONMENT
    return list(json.loads(target.read_text())) if target.exists() else []
