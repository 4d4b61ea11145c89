"""A spinning body that turns over
===============================

A free body that spins about its middle axis of inertia turns over again and again. The reference
is Euler's equations I w' = -w x I w, solved by SciPy's DOP853 with tolerances of 1e-12.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

import sparsebody as sb
from sparsebody.plots import save_figure

INERTIA = np.array([1.0, 2.0, 3.0])
START = np.array([0.01, 4.0, 0.01])  # rad/s


def euler(time: float, w: np.ndarray) -> np.ndarray:
    """Return the rates of the angular velocity in body axes, I w' = -w x I w."""
    return -np.cross(w, INERTIA * w) / INERTIA


def main() -> float:
    """Return the largest error of the angular velocity [rad/s]."""
    mechanism = sb.Mechanism("racket", gravity=(0, 0, 0))
    mechanism.add_body("racket", mass=1.0, inertia=INERTIA, angular_velocity=START)
    run = sb.simulate(mechanism.compile(), duration=12.0, step=0.005, method="rk4")
    speed = run.velocity[:, 0, :3]
    exact = solve_ivp(euler, (0, 12), START, "DOP853", run.time, rtol=1e-12, atol=1e-12).y.T
    error = float(np.abs(speed - exact).max())
    print(f"largest error {error:.1e} rad/s, energy kept to {run.energy_error:.1e}")
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(run.time, speed, label=["least axis", "middle axis", "largest axis"])
    axes.set(xlabel="time [s]", ylabel="angular velocity in body axes [rad/s]")
    axes.legend()
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "racket.png"))
    run.show(output=folder / "racket.html")
    return error


if __name__ == "__main__":
    main()
