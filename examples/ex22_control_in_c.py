"""A control in C
==============

A function of C brakes a wheel by a moment proportional to its speed. It is called without Python,
once a stage of every step; w = w0 exp(-c t / I) is the closed form. Where there is no compiler, a
function of ctypes stands in for it.
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure
from sparsebody.simulation import CONTROL_FUNCTION

INERTIA, DAMPING, SPEED = 0.4, 0.6, 30.0  # kg m^2, N m s, rad/s
SOURCE = """
#include <stddef.h>
int brake(double time, ptrdiff_t n_bodies, const double *position, const double *orientation,
          const double *velocity, const double *coordinate, double *wrench, void *data) {
  wrench[2] = -0.6 * velocity[2];  /* about the wheel's axis */
  return 0;                        /* anything else ends the motion */
}
"""


def compiled_brake(folder: Path) -> object:
    """Return the function of C, or one of Python in its place."""
    compiler = shutil.which("cc")
    if compiler is None:
        return CONTROL_FUNCTION(stand_in)
    (folder / "brake.c").write_text(SOURCE)
    library = folder / "brake.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", library, folder / "brake.c"], check=True
    )
    return CONTROL_FUNCTION(("brake", ctypes.CDLL(str(library))))


def stand_in(time, n_bodies, position, orientation, velocity, coordinate, wrench, data):
    """Do what the function of C does."""
    speed = ctypes.c_double.from_address(velocity + 16)
    ctypes.c_double.from_address(wrench + 16).value = -DAMPING * speed.value
    return 0


def main() -> float:
    """Return the relative error of the speed at the end."""
    mechanism = sb.Mechanism("wheel")
    inertia = [0.2, 0.2, INERTIA]
    rim = sb.Cylinder(radius=0.4, length=0.05)
    spoke = sb.Box((0.7, 0.05, 0.07))
    wheel = {"mass": 5.0, "inertia": inertia, "shape": sb.CompoundShape([rim, spoke])}
    mechanism.add_body("wheel", angular_velocity=[0, 0, SPEED], **wheel)
    mechanism.add_joint("axle", sb.Revolute(), sb.WORLD, "wheel", point=[0, 0, 0], axis=[0, 0, 1])
    brake = compiled_brake(Path(tempfile.mkdtemp()))
    run = sb.simulate(mechanism.compile(), duration=2.0, step=0.005, method="rk4", control=brake)
    exact = SPEED * np.exp(-DAMPING / INERTIA * run.time)
    speed = run.velocity[:, 0, 2]
    error = float(np.abs(speed / exact - 1.0).max())
    print(f"after {run.time[-1]:.0f} s {speed[-1]:.9f} rad/s, relative error {error:.1e}")
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(run.time, speed)
    axes.set(xlabel="time [s]", ylabel="speed of the wheel [rad/s]")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "wheel.png"))
    run.show(output=folder / "wheel.html")
    return error


if __name__ == "__main__":
    main()
