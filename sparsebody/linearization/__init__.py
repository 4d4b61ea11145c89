"""Motions near a motion: derivatives, linearized equations, modes.

Derivatives
    derivatives, Derivatives, Tangent
"""

from sparsebody.linearization.derivatives import Derivatives, Tangent, derivatives

__all__ = ["Derivatives", "Tangent", "derivatives"]
