"""Period of a pendulum
====================

The period of a pendulum that starts level, against the closed form.

A bar of length 1 m hangs on a hinge and is let go horizontally. Its period is
4 sqrt(J / (m g l/2)) K(sin^2 45 deg), K the complete elliptic integral of the first kind.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ellipk

import sparsebody as sb
from sparsebody.plots import save_figure


def pendulum() -> sb.Mechanism:
    """Return a slender bar on a hinge at the origin, lying along x."""
    mechanism = sb.Mechanism("pendulum")
    mechanism.add_body("bar", mass=1.0, inertia=[1e-4, 1 / 12, 1 / 12], position=[0.5, 0, 0])
    mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "bar", point=[0, 0, 0], axis=[0, 1, 0])
    return mechanism


def main() -> float:
    """Return the relative error of the simulated period."""
    trajectory = sb.simulate(pendulum().compile(), duration=2.0, step=0.005)
    across = trajectory.position[:, 0, 0]  # x of the center, zero after a quarter of the period
    after = int(np.argmax(across < 0.0))
    before = after - 1
    share = across[before] / (across[before] - across[after])
    quarter = trajectory.time[before] + share * (trajectory.time[after] - trajectory.time[before])
    exact = np.sqrt((1 / 3) / (9.81 * 0.5)) * ellipk(0.5)
    error = abs(quarter / exact - 1.0)
    print(f"period {4 * quarter:.6f} s, closed form {4 * exact:.6f} s, relative error {error:.1e}")
    print(f"energy kept to {trajectory.energy_error:.1e}")
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(trajectory.time, across, label="x of the center [m]")
    axes.plot(trajectory.time, trajectory.position[:, 0, 2], label="z of the center [m]")
    axes.axvline(exact, color="0.6", linestyle=":", label="a quarter of the period")
    axes.set_xlabel("time [s]")
    axes.legend()
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "pendulum.png"))
    trajectory.show(output=folder / "pendulum.html")
    return float(error)


if __name__ == "__main__":
    main()
