"""A whole evaluation in one compiled call."""

from sparsebody.dynamics.compiled.core import WORST_RESIDUAL, Core, is_plain

__all__ = ["WORST_RESIDUAL", "Core", "is_plain"]
