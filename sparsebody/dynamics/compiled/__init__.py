"""A whole evaluation in one compiled call."""

from sparsebody.dynamics.compiled.core import WORST_RESIDUAL, Core

__all__ = ["WORST_RESIDUAL", "Core"]
