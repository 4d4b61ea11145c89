"""Time integrators, one file each; the table INTEGRATORS."""

from sparsebody.simulation.integrators.base import ImplicitIntegrator, Integrator, Stage
from sparsebody.simulation.integrators.rk4 import RK4
from sparsebody.simulation.integrators.semi_implicit_euler import semi_implicit_euler_step

INTEGRATORS: dict[str, Integrator | ImplicitIntegrator] = {
    "semi-implicit-euler": Integrator(semi_implicit_euler_step, order=1),
    "rk4": Integrator(RK4.step, order=4, tableau=RK4),
    "generalized-alpha": ImplicitIntegrator(order=2),
}

__all__ = ["INTEGRATORS", "ImplicitIntegrator", "Integrator", "Stage"]
