"""What a time depends on besides the program: processor, BLAS, Python; and memory in use."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

MAPS, CPU = Path("/proc/self/maps"), Path("/proc/cpuinfo")
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
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
    if CPU.exists():
        match = re.search(r"model name\s*:\s*(.+)", CPU.read_text())
        if match:
            return match[1].strip()
    return platform.processor() or platform.machine()


def load() -> str:
    """Return the mean number of processes at work in the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""


def loaded_blas() -> str:
    """Return the BLAS libraries of this process; NumPy's, SciPy's and CHOLMOD's may differ."""
    if not MAPS.exists():
        return "unknown"
    return " ".join(sorted(set(BLAS.findall(MAPS.read_text())))) or "none"


def package_versions(*names: str) -> str:
    """Return "name version" of those that are installed."""
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(versions)


def memory() -> float:
    """Return the memory of this machine [GB]."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def memory_in_use() -> float:
    """Return the resident memory of this process [MB]."""
    return _status("VmRSS")


def peak_memory() -> float:
    """Return the largest resident memory since the last reset [MB]."""
    return _status("VmHWM")


def reset_peak_memory() -> None:
    """Let the peak start again from what is in use; does nothing where Linux does not allow it."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return


def address_space() -> float:
    """Return the virtual memory of this process [MB]."""
    size = _status("VmSize")
    return size if size == size else 0.0


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process and of its children that ended [s]; NaN if unknown."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return float("nan")
    ticks = text.rpartition(")")[2].split()[11:15]  # utime, stime, cutime, cstime
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _status(field: str) -> float:
    if not STATUS.exists():
        return float("nan")
    match = re.search(rf"{field}:\s*(\d+) kB", STATUS.read_text())
    return int(match[1]) * 1024 / 1e6 if match else float("nan")
