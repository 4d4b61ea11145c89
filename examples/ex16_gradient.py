"""Least torque by gradients of simulations
========================================

The least torque that brings a four-bar linkage to a pose, at rest, by gradients of simulations.

The torque on the crank is linear between the ends of steps, one unknown each. Two numbers of the
last state have to vanish; their gradients with respect to the torques take one pullback each.
"""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import sparsebody as sb
from sparsebody.linearization import Pullback
from sparsebody.plots import save_figure

STEP, N_STEPS = 0.02, 40  # [s]
TARGET = 0.2 * np.cos(2.5)  # of the crank's center along x [m], at an angle of 2.5 rad
SYSTEM = sb.build("four-bar").compile()
CRANK = SYSTEM.body("crank")


@cache
def motion(torque: tuple[float, ...]) -> Pullback:
    """Simulate the motion under a torque (N_STEPS + 1,) on the crank [N m]."""
    control = np.zeros((N_STEPS + 1, SYSTEM.n_bodies, 6))
    control[:, CRANK, 2] = torque
    return sb.simulate_with_pullback(SYSTEM, duration=N_STEPS * STEP, step=STEP, control=control)


def error(torque: np.ndarray) -> np.ndarray:
    """Return how far the crank ends from its target [m], and how fast [rad/s]."""
    end = motion(tuple(torque)).trajectory.state(-1)
    return np.array([end.position[CRANK, 0] - TARGET, end.velocity[CRANK, 2]])


def jacobian(torque: np.ndarray) -> np.ndarray:
    """Return the derivatives (2, N_STEPS + 1) of these with respect to the torques."""
    along, turning = np.zeros((SYSTEM.n_bodies, 3)), np.zeros((SYSTEM.n_bodies, 6))
    along[CRANK, 0] = turning[CRANK, 2] = 1.0
    pullback = motion(tuple(torque))
    rows = pullback(position=along), pullback(velocity=turning)
    return np.array([row["control"][:, CRANK, 2] for row in rows])


def main() -> float:
    """Return the largest error of the arrival, in m and rad/s."""
    optimum = minimize(
        lambda torque: (0.5 * torque @ torque, torque),
        np.zeros(N_STEPS + 1),
        jac=True,
        method="SLSQP",
        constraints={"type": "eq", "fun": error, "jac": jacobian},
        options={"ftol": 1e-9},
    )
    arrival = float(np.abs(error(optimum.x)).max())
    n_runs = motion.cache_info().misses
    print(f"{N_STEPS + 1} unknowns, {n_runs} simulations: the crank arrives to {arrival:.1e}")
    print("torque [N m]:", *(f"{value:.2f}" for value in optimum.x[::5]))
    time = STEP * np.arange(N_STEPS + 1)
    figure = Figure(figsize=(6, 3), layout="constrained")
    torque, turning = figure.subplots(1, 2)
    torque.plot(time, optimum.x)
    torque.set(xlabel="time [s]", ylabel="torque [N m]")
    turning.plot(time, motion(tuple(optimum.x)).trajectory.velocity[:, CRANK, 2])
    turning.set(xlabel="time [s]", ylabel="speed of the crank [rad/s]")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "least-torque.png"))
    motion(tuple(optimum.x)).trajectory.show(output=folder / "least-torque.html")
    return arrival


if __name__ == "__main__":
    main()
