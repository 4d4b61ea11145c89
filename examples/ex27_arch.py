"""Snapping of a shallow arch
==========================

A load presses on the top of a two-bar arch, as von Mises considered it. The path of equilibria
rises to a limit load, falls while the arch is flat, and rises again. With springs of stiffness k
and rest length L0 on half the span b, P = 2 k (L0 / L - 1) h at the height h, and the limit is
where L^3 = L0 b^2.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure

STIFFNESS, SPAN, RISE = 1e4, 1.0, 0.3  # N/m, m, m


def arch() -> sb.Mechanism:
    """Return a mass on a vertical slide between two springs, under a load of 1 N."""
    mechanism = sb.Mechanism("arch", gravity=(0, 0, 0))
    mechanism.add_body("top", mass=1.0, inertia=[0.1] * 3, position=(0, 0, RISE))
    mechanism.add_joint(
        "guide", sb.Prismatic(), sb.WORLD, "top", point=(0, 0, RISE), axis=(0, 0, 1)
    )
    length = float(np.hypot(SPAN, RISE))
    for name, side in (("left", -SPAN), ("right", SPAN)):
        at = {"first_point": (side, 0, 0), "stiffness": STIFFNESS, "rest_length": length}
        mechanism.add_point_force(name, sb.WORLD, "top", **at)
    mechanism.add_external_force("load", "top", force=(0.0, 0.0, -1.0))
    return mechanism


def main() -> float:
    """Return the relative error of the limit load."""
    rest = np.hypot(SPAN, RISE)
    length = np.cbrt(rest * SPAN**2)
    limit = 2 * STIFFNESS * (rest / length - 1.0) * np.sqrt(length**2 - SPAN**2)
    path = sb.follow(arch().compile(), "load", stop=1.5 * limit, step=limit / 15)
    folds = [fold.parameter for fold in path.folds]
    error = abs(folds[0] / limit - 1.0)
    print(f"limit load {folds[0]:.6f} N, closed form {limit:.6f} N, relative error {error:.1e}")
    print(f"it snaps back at {folds[1]:.6f} N")
    height = np.array([state.position[0, 2] for state in path.states])
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    unstable = np.array(path.n_unstable) > 0
    axes.plot(RISE - height, path.parameter, color="0.8")
    axes.plot((RISE - height)[~unstable], path.parameter[~unstable], ".", label="stable")
    axes.plot((RISE - height)[unstable], path.parameter[unstable], ".", label="unstable")
    axes.set(xlabel="way of the top [m]", ylabel="load [N]")
    axes.legend()
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "arch.png"))
    sb.show(path, output=folder / "arch.html")
    return float(error)


if __name__ == "__main__":
    main()
