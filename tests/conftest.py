"""The hypothesis profile and the CHOLMOD marker, which all tests share."""

import gc
import importlib
import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# Tests run beside others on slow machines: neither deadlines nor "too slow" mean anything.
settings.register_profile(
    "sparsebody", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("sparsebody")

try:
    importlib.import_module("sksparse.cholmod")
    HAS_CHOLMOD = True
except ImportError:  # not installed, or SuiteSparse is gone
    HAS_CHOLMOD = False
REQUIRES_CHOLMOD = os.environ.get("SPARSEBODY_REQUIRE_CHOLMOD") == "1"
HAS_VTK = importlib.util.find_spec("vtkmodules") is not None
REQUIRES_VTK = os.environ.get("SPARSEBODY_REQUIRE_VTK") == "1"


def pytest_configure(config):
    if REQUIRES_CHOLMOD and not HAS_CHOLMOD:
        raise pytest.UsageError(
            "SPARSEBODY_REQUIRE_CHOLMOD=1, but scikit-sparse cannot be imported; run 'make setup'"
        )
    if REQUIRES_VTK and not HAS_VTK:
        raise pytest.UsageError(
            "SPARSEBODY_REQUIRE_VTK=1, but vtk is not installed: pip install 'sparsebody[vtk]'"
        )


def pytest_collection_finish():
    """Keep the garbage collector from walking through all that collection made, again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()  # so that what is bound natively is destroyed in order


def pytest_runtest_setup(item):
    if item.get_closest_marker("cholmod") and not HAS_CHOLMOD:
        pytest.skip("needs scikit-sparse: pip install 'sparsebody[cholmod]'")
    if item.get_closest_marker("vtk") and not HAS_VTK:
        pytest.skip("needs vtk: pip install 'sparsebody[vtk]'")
