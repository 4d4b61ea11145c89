"""Inverse dynamics by the sparse body-level system. Featherstone (2008), sec. 8.12."""

from sparsebody.dynamics.inverse.driven import driven_accelerations
from sparsebody.dynamics.inverse.sparse import InverseDynamics

__all__ = ["InverseDynamics", "driven_accelerations"]
