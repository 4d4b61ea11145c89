"""Time integrators, one file each; the table INTEGRATORS."""

from sparsebody.simulation.integrators.base import (
    Collocation,
    Composition,
    ImplicitIntegrator,
    Integrator,
    Stage,
)
from sparsebody.simulation.integrators.radau_iia import RADAU_IIA
from sparsebody.simulation.integrators.rk4 import RK4
from sparsebody.simulation.integrators.semi_implicit_euler import semi_implicit_euler_step
from sparsebody.simulation.integrators.variational import RATTLE, SUZUKI

INTEGRATORS: dict[str, Integrator | ImplicitIntegrator] = {
    "semi-implicit-euler": Integrator(semi_implicit_euler_step, order=1),
    "rk4": Integrator(RK4.step, order=4, scheme=RK4),
    "variational": Integrator(RK4.step, order=2, scheme=RATTLE),
    "variational-4": Integrator(RK4.step, order=4, scheme=SUZUKI),
    "generalized-alpha": ImplicitIntegrator(order=2),
    "generalized-alpha-2": ImplicitIntegrator(order=2, closes_velocities=True),
    "radau-iia": ImplicitIntegrator(order=5, scheme=RADAU_IIA),
}

__all__ = ["INTEGRATORS", "Collocation", "Composition", "ImplicitIntegrator", "Integrator", "Stage"]
