"""Natural frequencies
===================

Natural frequencies: coupled pendulums, a free beam of a thousand elements, a compliant mast.

Pendulums side by side with springs between neighbors swing at omega^2 = g / l + 4 k / m sin^2(i pi
/ 2 (n + 1)); a free beam bends at omega = beta^2 sqrt(E I / rho A) / l^2, after six rigid-body
motions of frequency zero.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure

N, LENGTH, MASS, SPRING, GRAVITY = 12, 0.7, 1.3, 5.0, 9.81
E, DENSITY, HEIGHT, FREE_FREE = 2.1e11, 7800.0, 0.01, 4.73004074


def pendulums() -> sb.System:
    """Return point masses, nearly, on strings side by side, held to walls at both ends."""
    mechanism = sb.Mechanism("pendulums", gravity=(0, 0, -GRAVITY))
    names = [f"bob-{k}" for k in range(N)]
    for k, name in enumerate(names):
        mechanism.add_body(name, mass=MASS, inertia=[1e-12] * 3, position=(k, 0, -LENGTH))
        at = {"point": (k, 0, 0), "axis": (0, 1, 0)}
        mechanism.add_joint(f"string-{k}", sb.Revolute(), "world", name, **at)
    spring = {"stiffness": SPRING, "rest_length": 1.0}
    ends = ["world", *names, "world"]
    for k in range(N + 1):
        first = (0, 0, 0) if k > 0 else (-1, 0, -LENGTH)
        second = (0, 0, 0) if k < N else (N, 0, -LENGTH)
        at = {"first_point": first, "second_point": second}
        mechanism.add_point_force(f"spring-{k}", *ends[k : k + 2], **at, **spring)
    return mechanism.compile()


def main() -> float:
    """Return the largest relative error of the pendulums' frequencies."""
    coupled = sb.modes(pendulums(), n=N)
    bend = np.sin(np.arange(1, N + 1) * np.pi / (2 * (N + 1))) ** 2
    expected = np.sqrt(GRAVITY / LENGTH + 4 * SPRING / MASS * bend) / (2 * np.pi)
    error = float(np.abs(coupled.frequency / expected - 1.0).max())
    least, largest = coupled.frequency[[0, -1]]
    print(f"pendulums: {least:.4f} to {largest:.4f} Hz, error {error:.0e}")

    beam = sb.build("beam", elements=1000, support="free", gravity=(0, 0, 0)).compile()
    bent = sb.modes(beam, n=7)
    euler = FREE_FREE**2 * np.sqrt(E * HEIGHT**2 / 12 / DENSITY) / (2 * np.pi)
    print(f"beam: {bent.n_mechanisms} free motions, {bent.frequency[6]:.3f} Hz; thin: {euler:.3f}")

    mast = sb.build("scissor", pairs=20, compliance=1e-6, gravity=(0, 0, 0)).compile()
    swings = sb.modes(mast, n=5)
    print(f"mast of 20 pairs: {swings.n_mechanisms} mechanism, its lift; then")
    for k in range(swings.n_mechanisms, 5):
        print(f"  {swings.frequency[k]:.4f} Hz")
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(np.arange(1, N + 1), expected, "-", color="0.7", label="closed form")
    axes.plot(np.arange(1, N + 1), coupled.frequency, "o", label="computed")
    axes.set(xlabel="mode", ylabel="frequency of the pendulums [Hz]")
    axes.legend()
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "pendulums.png"))
    sb.show(swings, mode=swings.n_mechanisms, output=folder / "mast.html")
    return error


if __name__ == "__main__":
    main()
