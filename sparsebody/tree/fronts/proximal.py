"""Proximal iterations: accelerations and multipliers to rounding from regularized factors.

Each solves [H K'; K -mu] for the residuals of the equations of motion and of the loops, formed
anew from the accelerations of all links, so that neither mu nor the rounding of the factors stays.
Carpentier, Budhiraja and Mansard (2021), sec. III; Rockafellar (1976).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.tree.fronts.front_tables import FrontPlan, Fronts, empty_fronts

STIFFER = 1e3  # how many times the proximal term grows where iterations do not converge
LEVELS = 3


class ProximalWork(NamedTuple):
    """Work space of the iterations."""

    fronts: Fronts
    force: FloatArray  # (n, 6) on the links, with those of the loops
    acceleration: FloatArray  # (n, 6) of the links
    transmitted: FloatArray  # (n, 6)
    tau: FloatArray  # (n_velocities,) residuals of the equations of motion
    b: FloatArray  # (m,) residuals of the loop rows
    qdd_step: FloatArray
    multiplier_step: FloatArray


def empty_proximal(plan: FrontPlan, n_links: int, n_velocities: int, n_rows: int) -> ProximalWork:
    """Return arrays of the right sizes."""
    return ProximalWork(
        empty_fronts(plan),
        np.zeros((n_links, 6)),
        np.zeros((n_links, 6)),
        np.zeros((n_links, 6)),
        np.zeros(n_velocities),
        np.zeros(n_rows),
        np.zeros(n_velocities),
        np.zeros(n_rows),
    )
