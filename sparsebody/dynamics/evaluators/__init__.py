"""Evaluators: an assembler and a solver, from a state to accelerations with nothing allocated."""

from sparsebody.dynamics.evaluators.assembler import ReductionViolated, is_plain
from sparsebody.dynamics.evaluators.evaluator import Evaluator
from sparsebody.dynamics.evaluators.krylov_solver import KrylovSolver
from sparsebody.dynamics.evaluators.planar_assembler import PlanarAssembler
from sparsebody.dynamics.evaluators.solvers import (
    BlockLDLSolver,
    BlockQRSolver,
    InaccurateFactors,
)
from sparsebody.dynamics.evaluators.spatial_assembler import SpatialAssembler, SubgroupAssembler

__all__ = [
    "BlockLDLSolver",
    "BlockQRSolver",
    "Evaluator",
    "InaccurateFactors",
    "KrylovSolver",
    "PlanarAssembler",
    "ReductionViolated",
    "SpatialAssembler",
    "SubgroupAssembler",
    "is_plain",
]
