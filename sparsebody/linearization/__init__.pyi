"""Public names of `sparsebody.linearization`, loaded at first use."""

# ruff: noqa: I001

# Derivatives
from .derivatives import Derivatives as Derivatives, Tangent as Tangent, derivatives as derivatives
from .vector_functions import variables as variables

# Gradients of simulations
from .adjoint import (
    ADJOINT_METHODS as ADJOINT_METHODS,
    Pullback as Pullback,
    simulate_with_pullback as simulate_with_pullback,
)

# Accelerations and simulations for optimization in other packages
from .array_functions import (
    jax_accelerations as jax_accelerations,
    jax_simulation as jax_simulation,
    torch_accelerations as torch_accelerations,
    torch_simulation as torch_simulation,
)

# Linearized equations and their minimal form
from .linearize import (
    BodyPoint as BodyPoint,
    JointCoordinate as JointCoordinate,
    Linearization as Linearization,
    linearize as linearize,
)

# Small vibrations and loss of stability
from .vibrations import (
    Buckling as Buckling,
    Modes as Modes,
    buckling_loads as buckling_loads,
    frequency_response as frequency_response,
    modes as modes,
)

# Plane waves in periodic media
from .periodic_media import (
    Dispersion as Dispersion,
    UnitCell as UnitCell,
    dispersion as dispersion,
    wave_path as wave_path,
)
