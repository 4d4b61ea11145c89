"""The hypothesis profile and the markers of optional packages, which all tests share."""

import gc
import importlib
import importlib.util
import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

from sparsebody.errors import MissingDependencyError
from sparsebody.factorization import FACTORIZATIONS
from sparsebody.model.gallery import GALLERY
from sparsebody.ordering import ORDERINGS
from sparsebody.simulation.integrators import INTEGRATORS
from sparsebody.viewer.browser import find_browser

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


def has_browser():
    try:
        path = find_browser()
    except MissingDependencyError:
        return False
    return can_import("selenium") and path is not None and shutil.which("chromedriver") is not None


OPTIONAL = {  # marker: whether it is there, what it needs, how to get it
    "cholmod": (
        can_import("sksparse.cholmod"),
        "scikit-sparse",
        "pip install 'sparsebody[cholmod]'",
    ),
    "mpi": (
        None not in map(importlib.util.find_spec, ("mumps", "mpi4py")),
        "pymumps and mpi4py",
        "pip install 'sparsebody[mpi]'",
    ),
    "browser": (has_browser(), "chromium, chromedriver and selenium", "make setup"),
    "vtk": (
        importlib.util.find_spec("vtkmodules") is not None,
        "vtk",
        "pip install 'sparsebody[vtk]'",
    ),
}


def pytest_configure(config):
    for marker, (is_there, needed, remedy) in OPTIONAL.items():
        variable = f"SPARSEBODY_REQUIRE_{marker.upper()}"
        if os.environ.get(variable) == "1" and not is_there:
            raise pytest.UsageError(f"{variable}=1, but there is no {needed}: {remedy}")


def pytest_collection_finish():
    """Keep the garbage collector from walking through all that collection made, again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()  # so that what is bound natively is destroyed in order


def pytest_runtest_setup(item):
    for marker, (is_there, needed, remedy) in OPTIONAL.items():
        if item.get_closest_marker(marker) and not is_there:
            pytest.skip(f"needs {needed}: {remedy}")


@pytest.fixture
def restored_tables():
    """What a test puts into a table ends with it."""
    tables = FACTORIZATIONS, GALLERY, INTEGRATORS, ORDERINGS
    before = [dict(table) for table in tables]
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)
