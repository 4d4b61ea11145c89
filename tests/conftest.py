"""What every test shares: the hypothesis profile, the CHOLMOD marker, compiled kernels."""

import hashlib
import importlib
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# The first call of a kernel compiles it, so neither deadlines nor "too slow" mean anything.
settings.register_profile(
    "sparsebody",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sparsebody")

try:
    importlib.import_module("sksparse.cholmod")
    HAS_CHOLMOD = True
except ImportError:  # not installed, or SuiteSparse is gone
    HAS_CHOLMOD = False
REQUIRES_CHOLMOD = os.environ.get("SPARSEBODY_REQUIRE_CHOLMOD") == "1"


def kernel_digest(package: Path) -> str:
    """Return a digest of all files with kernels: numba looks at a kernel's own file only."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"njit" in source:
            digest.update(str(path).encode() + source)
    return digest.hexdigest()[:16]


def separate_kernel_cache(worker: str) -> None:
    """Give a worker process its own cache: numba's is not safe for two writers at a time."""
    root = Path(__file__).parents[1]
    caches = root / ".pytest_cache" / "numba" / worker
    current = caches / kernel_digest(root / "sparsebody")
    for outdated in set(caches.glob("*")) - {current}:
        shutil.rmtree(outdated, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(current)


if "PYTEST_XDIST_WORKER" in os.environ:  # before anything imports numba
    separate_kernel_cache(os.environ["PYTEST_XDIST_WORKER"])


def pytest_configure(config: pytest.Config) -> None:
    if REQUIRES_CHOLMOD and not HAS_CHOLMOD:
        raise pytest.UsageError(
            "SPARSEBODY_REQUIRE_CHOLMOD=1, but scikit-sparse cannot be imported; run 'make setup'"
        )


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cholmod") and not HAS_CHOLMOD:
        pytest.skip("needs scikit-sparse: pip install 'sparsebody[cholmod]'")
