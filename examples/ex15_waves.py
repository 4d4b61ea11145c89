"""Waves in a sheet of rotating squares
====================================

Waves in a sheet of rotating squares: its dispersion, band gaps, and the speed of sound.

Squares of side a, turned by +angle and -angle in turn, are hinged at their corners; hinges give by
1 / STIFFNESS and resist turning by TORSION. The cell has four squares, two of them HEAVY times as
heavy, which opens gaps: no wave in the plane has these frequencies. Long waves travel at the speed
that follows from the stiffness of the cell under uniform strain.
"""

import tempfile
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.linearization import UnitCell, dispersion, wave_path
from sparsebody.plots import plot_dispersion, save_figure

SIDE, ANGLE, MASS, STIFFNESS, TORSION = 0.05, 0.4, 0.02, 2e4, 0.5  # [m, rad, kg, N/m, N m/rad]
HEAVY = 6.0
PITCH = SIDE * (np.cos(ANGLE) + np.sin(ANGLE))  # of the squares; the cell has two each way
ZONE = np.pi / (2 * PITCH)
CORNERS = (0, 0, 0), (ZONE, 0, 0), (ZONE, ZONE, 0), (0, 0, 0)  # G, X, M, G


def sheet() -> tuple[sb.System, dict[str, tuple[str, tuple[float, float, float]]]]:
    """Return a cell with the squares that it leads to, and which those are images of."""
    mechanism = sb.Mechanism("rotating squares", gravity=(0, 0, 0))
    images = {}
    for i, j in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1), (0, 2), (1, 2)]:
        angle, name = ANGLE * (-1) ** (i + j), f"{i},{j}"
        turn = (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
        position = (PITCH * i, PITCH * j, 0)
        mass = MASS * HEAVY ** ((i + j) % 2)
        inertia = mass * SIDE**2 / 12 * np.array([1, 1, 2])
        mechanism.add_body(name, mass=mass, inertia=inertia, position=position, orientation=turn)
        mechanism.add_joint(f"plane {name}", sb.Planar(), "world", name, point=position)
        if i == 2 or j == 2:
            original = f"{i % 2},{j % 2}"
            images[name] = original, (2 * PITCH * (i == 2), 2 * PITCH * (j == 2), 0)
    stiff = np.diag([0, 0, TORSION, STIFFNESS, STIFFNESS, 0])
    for i, j in np.ndindex(2, 2):
        sign = (-1) ** (i + j)
        c, s = np.cos(sign * ANGLE) * SIDE / 2, np.sin(sign * ANGLE) * SIDE / 2
        for k, corner in (((i + 1, j), (1, -sign)), ((i, j + 1), (sign, 1))):
            x, y = c * corner[0] - s * corner[1], s * corner[0] + c * corner[1]
            point = (PITCH * i + x, PITCH * j + y, 0)
            ends = f"{i},{j}", f"{k[0]},{k[1]}"
            mechanism.add_bushing(f"{ends[0]} to {ends[1]}", *ends, point=point, stiffness=stiff)
    return mechanism.compile(), images


def main() -> float:
    """Return the relative difference of the speeds of sound: of long waves, and by stiffness."""
    system, images = sheet()
    waves = dispersion(system, images, wave_path(CORNERS, 30))
    gaps = waves.gaps()
    print("gaps:", ", ".join(f"{low:.1f} to {high:.1f} Hz" for low, high in gaps) or "none")
    names = dict(zip(("G", "X", "M", "G'"), waves.distance[::30], strict=True))
    figure = plot_dispersion(waves.distance, waves.frequency, gaps, names, "rotating squares")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "rotating-squares.png"))
    sb.show(system, output=folder / "rotating-squares.html")

    long_wave = 1e-3 * ZONE
    slope = 2 * np.pi * dispersion(system, images, [(long_wave, 0, 0)]).frequency[0, :2] / long_wave
    speed = UnitCell(system, images).sound_speeds((1, 0, 0), [(1, 0, 0), (0, 1, 0)])
    print(f"speeds of sound: {slope} m/s of long waves, {speed} m/s by the stiffness")
    return float(np.abs(slope / speed - 1.0).max())


if __name__ == "__main__":
    main()
