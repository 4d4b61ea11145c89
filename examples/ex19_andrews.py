"""Andrews' squeezer
=================

Seven bodies in three loops, driven by a torque: a problem of the Test Set for IVP Solvers (Mazzia
and Magherini, 2008), which prints the crank's angle after 0.03 s to many digits.
"""

import tempfile
from pathlib import Path

from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import MechanismPictures, Options, save_figure

BETA = 15.81077119629904  # rad, of the crank at the end


def main() -> float:
    """Return the error of the crank's angle [rad]."""
    squeezer = sb.build("andrews")
    run = sb.simulate(
        squeezer.compile(),
        duration=0.03,
        step="auto",
        method="radau-iia",
        rtol=1e-9,
        atol=1e-9,
        record=sb.Recording(step=2e-4),
    )
    beta = run.coordinate[:, 0]
    error = abs(float(beta[-1]) - BETA)
    print(f"beta {beta[-1]:.9f}, printed {BETA:.9f}")
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(1e3 * run.time, beta)
    axes.set(xlabel="time [ms]", ylabel="angle of the crank [rad]")
    folder = Path(tempfile.gettempdir())
    picture = MechanismPictures(squeezer, Options()).figure("mechanism")
    print(save_figure(picture, folder / "squeezer.png"))
    print(save_figure(figure, folder / "crank.png"))
    run.show(output=folder / "squeezer.html")
    return error


if __name__ == "__main__":
    main()
