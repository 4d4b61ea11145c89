"""Compiled evaluations: from a state to accelerations in one call, with nothing allocated."""

from sparsebody.dynamics.compiled.base import WORST_RESIDUAL, ReductionViolated, is_plain
from sparsebody.dynamics.compiled.core import Core
from sparsebody.dynamics.compiled.krylov_core import KrylovCore
from sparsebody.dynamics.compiled.planar_core import PlanarCore
from sparsebody.dynamics.compiled.reduced_core import ReducedCore

__all__ = [
    "WORST_RESIDUAL",
    "Core",
    "KrylovCore",
    "PlanarCore",
    "ReducedCore",
    "ReductionViolated",
    "is_plain",
]
