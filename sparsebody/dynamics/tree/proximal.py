"""Proximal iterations: the exact accelerations and multipliers from regularized factors.

Each solves [H K'; K -mu] for what the equations of motion and the loops still lack, both found
anew from the accelerations of all links, so that neither mu nor the rounding of the factors stays.
Carpentier, Budhiraja and Mansard (2021), sec. III; Rockafellar (1976).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.tree.front_elimination import (
    Fronts,
    empty_fronts,
    factorize_fronts,
)
from sparsebody.dynamics.tree.front_substitution import solve_fronts
from sparsebody.dynamics.tree.front_tables import FrontPlan
from sparsebody.dynamics.tree.links import Links
from sparsebody.dynamics.tree.motion import TreeMotion
from sparsebody.dynamics.tree.recursive_newton_euler import newton_euler

MOST_ITERATIONS = 30
TOLERANCE = 1e-12  # of accelerations, relative to the largest
BEST_RATE = 1e-3  # steps are not relied on to shrink faster: the softest motions show last
ROUNDING = 1e-9  # steps below this that do not shrink are rounding
STIFFER = 1e3  # how many times the proximal term grows where iterations do not converge
LEVELS = 3


class ProximalWork(NamedTuple):
    """Room for the iterations."""

    fronts: Fronts
    force: FloatArray  # (n, 6) on the links, with those of the loops
    acceleration: FloatArray  # (n, 6) of the links
    transmitted: FloatArray  # (n, 6)
    tau: FloatArray  # (n_velocities,) what the equations of motion lack
    gap: FloatArray  # (m,) what the rows lack
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


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def proximal_iterations(
    links: Links,
    plan: FrontPlan,
    motion: TreeMotion,
    force: FloatArray,
    row_links: IntArray,
    first_row: IntArray,
    wrench: FloatArray,
    asked: FloatArray,
    softness: FloatArray,
    is_driven: BoolArray,
    driven_qdd: FloatArray,
    work: ProximalWork,
    qdd: FloatArray,
    multiplier: FloatArray,
) -> tuple[int, int, float]:
    """Fill qdd and multipliers, and the accelerations of the links in `work`.

    Return the number of solutions and of factorizations, and the last step of the accelerations
    relative to the largest of them. `force` is (n, 6) or (0, 6), `row_links` (m, 2), `wrench`
    (m, 2, 6), and `asked` and `softness` are (m,).
    """
    mu, n_solutions, step = softness.copy(), 0, 0.0
    free = np.abs(links.gravity).max()
    for level in range(LEVELS):
        factorize_fronts(links, plan, motion, wrench, mu, first_row, is_driven, work.fronts)
        qdd[:] = driven_qdd
        multiplier[:] = 0.0
        last, stalls = np.inf, 0
        for _ in range(MOST_ITERATIONS):
            _find_lack(links, motion, qdd, force, row_links, wrench, asked, multiplier, work)
            change = solve_fronts(
                links,
                plan,
                motion,
                first_row,
                is_driven,
                work.fronts,
                work.tau,
                work.gap,
                work.qdd_step,
                work.multiplier_step,
            )
            n_solutions += 1
            qdd += work.qdd_step
            multiplier += work.multiplier_step
            size = change if n_solutions == 1 else 0.0
            size = max(size, max(free, np.abs(work.acceleration).max()))
            step = change / size if size > 0.0 else change
            is_last = step * min(1.0, max(BEST_RATE, step / last)) <= TOLERANCE
            if is_last or multiplier.size == 0:
                return n_solutions, level + 1, step
            if not step < 0.5 * last:
                stalls += 1
                if step < ROUNDING:
                    return n_solutions, level + 1, step
                if stalls > 2:
                    break
            last = step
        mu *= STIFFER
    return n_solutions, LEVELS + 1, step


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _find_lack(
    links: Links,
    motion: TreeMotion,
    qdd: FloatArray,
    force: FloatArray,
    row_links: IntArray,
    wrench: FloatArray,
    asked: FloatArray,
    multiplier: FloatArray,
    work: ProximalWork,
) -> None:
    """Fill tau = -(H qdd + C - K' multiplier) and gap = k - K qdd."""
    total, acceleration, tau, gap = work.force, work.acceleration, work.tau, work.gap
    if force.shape[0]:
        total[:] = force
    else:
        total[:] = 0.0
    for r in range(row_links.shape[0]):
        for end in range(2):
            i = row_links[r, end]
            if i >= 0:
                for e in range(6):
                    total[i, e] += multiplier[r] * wrench[r, end, e]
    newton_euler(links, motion, qdd, total, acceleration, work.transmitted, tau)
    for k in range(tau.size):
        tau[k] = -tau[k]
    for r in range(row_links.shape[0]):
        lack = asked[r]
        for end in range(2):
            i = row_links[r, end]
            if i >= 0:
                for e in range(6):
                    lack -= wrench[r, end, e] * acceleration[i, e]
        gap[r] = lack
