"""Motions near a motion: derivatives, linearized equations, modes, responses, buckling.

All of it is more right-hand sides for factors of the matrix of (8.64), or of it with stiffness.

Derivatives
    derivatives, Derivatives, Tangent
Linearized equations and their minimal form
    linearize, Linearization; JointCoordinate, BodyPoint: inputs and outputs
Small vibrations and loss of stability
    modes, Modes, frequency_response; buckling_loads, Buckling
Plane waves in periodic media
    dispersion, Dispersion, UnitCell, wave_path
"""

from sparsebody.linearization.derivatives import Derivatives, Tangent, derivatives
from sparsebody.linearization.linearize import (
    BodyPoint,
    JointCoordinate,
    Linearization,
    linearize,
)
from sparsebody.linearization.periodic_media import (
    Dispersion,
    UnitCell,
    dispersion,
    wave_path,
)
from sparsebody.linearization.vibrations import (
    Buckling,
    Modes,
    buckling_loads,
    frequency_response,
    modes,
)

__all__ = [
    "BodyPoint",
    "Buckling",
    "Derivatives",
    "Dispersion",
    "JointCoordinate",
    "Linearization",
    "Modes",
    "Tangent",
    "UnitCell",
    "buckling_loads",
    "derivatives",
    "dispersion",
    "frequency_response",
    "linearize",
    "modes",
    "wave_path",
]
