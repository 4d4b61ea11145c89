"""Factorizations of saddle-point matrices: one file per backend, and the table of them."""

from functools import cache
from importlib import import_module

from sparsebody.arrays import IntArray
from sparsebody.errors import MissingDependencyError, UnknownNameError
from sparsebody.factorization import (
    block_ldl,
    block_qr,
    cholmod,
    multifrontal,
    pivoted_lu,
)
from sparsebody.factorization.backend import Backend, Numeric, Symbolic
from sparsebody.factorization.refinement import refined_solve
from sparsebody.sparse.pattern import BlockPattern

__all__ = [
    "FACTORIZATIONS",
    "Backend",
    "Numeric",
    "Symbolic",
    "analyze",
    "available_factorizations",
    "refined_solve",
]

FACTORIZATIONS: dict[str, Backend] = {
    "superlu": Backend(pivoted_lu.analyze_superlu, needs=None, summary="LU of the whole matrix"),
    "cholmod": Backend(
        cholmod.analyze, needs="sksparse.cholmod", summary="Cholesky of the Schur complement"
    ),
    "cholmod-ldl": Backend(
        cholmod.analyze_ldl,
        needs="sksparse.cholmod",
        summary="LDL' of the quasi-definite matrix, refined",
    ),
    "block-ldl": Backend(
        block_ldl.analyze, needs=None, summary="LDL' of the whole matrix by small dense blocks"
    ),
    "multifrontal": Backend(
        multifrontal.analyze, needs=None, summary="LDL' of the whole matrix by wide dense fronts"
    ),
    "block-qr": Backend(
        block_qr.analyze, needs=None, summary="QR of the constraint columns by small fronts"
    ),
    "banded": Backend(pivoted_lu.analyze_banded, needs=None, summary="LU of a band by LAPACK"),
    "dense": Backend(
        pivoted_lu.analyze_dense, needs=None, summary="LU of the dense matrix by LAPACK"
    ),
}

INSTALL = {
    "sksparse.cholmod": "apt install libsuitesparse-dev && pip install 'scikit-sparse==0.4.16'",
}


@cache
def _can_import(module: str) -> bool:
    """Try it: a package can be installed while a library that it needs is gone."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def is_available(name: str) -> bool:
    """Tell whether whatever a backend of the table needs is there."""
    needs = FACTORIZATIONS[name].needs
    return needs is None or _can_import(needs)


def available_factorizations() -> list[str]:
    """Return the names of the backends that can be used here."""
    return [name for name in FACTORIZATIONS if is_available(name)]


def analyze(name: str, pattern: BlockPattern, order: IntArray) -> Symbolic:
    """Analyze a pattern with the backend of that name.

    Raises UnknownNameError if there is none, MissingDependencyError if a package is not installed.
    """
    if not isinstance(name, str) or name not in FACTORIZATIONS:
        known = ", ".join(FACTORIZATIONS)
        raise UnknownNameError(f"unknown factorization {name!r}; there are {known}")
    backend = FACTORIZATIONS[name]
    if backend.needs is not None and not is_available(name):
        command = INSTALL[backend.needs]
        raise MissingDependencyError(
            f"{name} needs {backend.needs}, which cannot be imported: {command}"
        )
    return backend.analyze(pattern, order)
