"""What forward dynamics returns, whatever the method."""

from __future__ import annotations

from dataclasses import dataclass

from sparsebody.arrays import FloatArray

WORST_RESIDUAL = 1e-6  # relative, of a solution or of rows that were left out, before it is told


@dataclass(frozen=True)
class SolveReport:
    """How an iterative solve ended."""

    method: str
    iterations: int
    residual: float  # relative, of the rows, or of their least-squares equations
    converged: bool


@dataclass(frozen=True, eq=False)
class Accelerations:
    """The solution of (8.64)."""

    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates, angular first
    multiplier: FloatArray  # (n_rows,) lambda of every constraint row [N m, N]
    joint_wrench: FloatArray  # (n_joints, 6) T lambda, on the successor, in S coordinates
    residual: float  # relative residual of the kept rows and the bodies' equations
    dropped_residual: float  # the left-out rows' largest violation, relative to free motion
    solver: SolveReport | None = None  # of an iterative solve
