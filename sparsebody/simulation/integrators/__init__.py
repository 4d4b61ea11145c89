"""Time integrators, one file each; the table INTEGRATORS."""

from sparsebody.simulation.integrators.base import ImplicitIntegrator, Integrator, Stage
from sparsebody.simulation.integrators.rk4 import rk4_step
from sparsebody.simulation.integrators.semi_implicit_euler import semi_implicit_euler_step

INTEGRATORS: dict[str, Integrator | ImplicitIntegrator] = {
    "semi-implicit-euler": Integrator(semi_implicit_euler_step, order=1),
    "rk4": Integrator(rk4_step, order=4),
    "generalized-alpha": ImplicitIntegrator(order=2),
}

__all__ = ["INTEGRATORS", "ImplicitIntegrator", "Integrator", "Stage"]
