"""Explicit steps all of whose stages are closed, as near singular poses."""

from dataclasses import replace

from sparsebody.simulation import INTEGRATORS
from sparsebody.simulation.integrators import RK4, Integrator


def close_stages(monkeypatch):
    """Have the steps of "rk4" close all their stages."""
    closed = replace(RK4, open_stages=None)
    monkeypatch.setitem(INTEGRATORS, "rk4", Integrator(closed.step, order=4, scheme=closed))
