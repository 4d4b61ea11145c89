"""The hypothesis profile and the markers of optional packages, which all tests share."""

import gc
import importlib
import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# Tests run beside others on slow machines: neither deadlines nor "too slow" mean anything.
settings.register_profile(
    "sparsebody", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("sparsebody")


def can_import(*modules):
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError:  # not installed, or a library that it needs is gone
        return False
    return True


OPTIONAL = {  # marker: whether it is there, the package, the extra
    "cholmod": (can_import("sksparse.cholmod"), "scikit-sparse", "CHOLMOD"),
    "mpi": (can_import("mumps", "mpi4py"), "pymumps or mpi4py", "MPI"),
}


def pytest_configure(config):
    for is_there, package, name in OPTIONAL.values():
        if os.environ.get(f"SPARSEBODY_REQUIRE_{name}") == "1" and not is_there:
            raise pytest.UsageError(
                f"SPARSEBODY_REQUIRE_{name}=1, but {package} cannot be imported; run 'make setup'"
            )


def pytest_collection_finish():
    """Keep the garbage collector from walking through all that collection made, again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()  # so that what is bound natively is destroyed in order


def pytest_runtest_setup(item):
    for marker, (is_there, package, _) in OPTIONAL.items():
        if item.get_closest_marker(marker) and not is_there:
            pytest.skip(f"needs {package}: pip install 'sparsebody[{marker}]'")
