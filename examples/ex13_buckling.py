"""Buckling of a column
====================

A column between a clamp and a load: straight, at Euler's load, and bent beyond it.

P_cr = pi^2 E I / (4 l^2). The path of equilibria tells where the straight column becomes unstable,
and the branch that leaves there is the elastica.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure

E, WIDTH, HEIGHT, ELEMENTS = 2.1e11, 0.02, 0.01, 40  # steel; of a length of 1 m


def main() -> float:
    """Return the relative error of the buckling load."""
    column = sb.build("beam", elements=ELEMENTS, width=WIDTH, height=HEIGHT, gravity=(0, 0, 0))
    column.add_external_force("load", f"node-{ELEMENTS}", force=(-1.0, 0.0, 0.0))
    system = column.compile()
    euler = np.pi**2 * E * WIDTH * HEIGHT**3 / 12 / 4

    straight = sb.follow(system, "load", stop=1.3 * euler, step=euler / 5)
    (buckling,) = straight.bifurcations
    print(f"Euler's load {euler:.2f} N, found {buckling.parameter:.2f} N")

    bent = sb.follow(system, "load", stop=1.3 * euler, step=1.0, branch=buckling)
    for load, state in zip(bent.parameter[::6], bent.states[::6], strict=True):
        x, _, z = state.position[-1]
        print(f"  {load / euler:6.3f} of it: tip at x = {x:.3f} m, z = {z:+.3f} m")
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    for path, label in ((straight, "straight"), (bent, "elastica")):
        height = [state.position[-1, 2] for state in path.states]
        axes.plot(np.array(path.parameter) / euler, height, ".-", label=label)
    axes.set(xlabel="load over Euler's", ylabel="height of the tip [m]")
    axes.legend()
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "buckling.png"))
    sb.show(bent, output=folder / "buckling.html")
    return abs(float(buckling.parameter) / euler - 1.0)


if __name__ == "__main__":
    main()
