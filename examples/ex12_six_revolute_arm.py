"""Spatial operators on an arm of six hinges
=========================================

The spatial operator algebra on the arm of six hinges of Liu (2011), who prints M(2) and phi(2).

Every joint turns by q = sin t. All algorithms of inverse dynamics give the same torques; the paper
counts 800 multiplications and 596 additions for its own.
"""

import tempfile
from pathlib import Path

import numpy as np

from sparsebody.classical import (
    ALGORITHMS,
    BODIES,
    GEOMETRIES,
    count,
    sine_torques,
    six_revolute_arm,
    six_revolute_symbols,
)
from sparsebody.plots import plot_joint_forces, save_figure


def main() -> float:
    """Return how far the algorithms differ, relative to the largest torque."""
    straight = six_revolute_symbols(straight=True)
    _print("M(2)", straight.masses[1])
    _print("phi(2)", straight.eps[6:12, :6])
    operators = ALGORITHMS["spatial-operators"]
    inverse = [one for one in ALGORITHMS.values() if not one.is_forward]
    times = np.linspace(0.0, 10.0, 51)
    difference = 0.0
    for bodies in BODIES:
        arm = six_revolute_arm(bodies)
        torques = sine_torques(arm, times, operators)
        for other in inverse:
            gap = np.abs(sine_torques(arm, times, other) - torques).max()
            difference = max(difference, float(gap / np.abs(torques).max()))
        at_one = sine_torques(arm, [1.0], operators)[0, 0]
        print(f"{bodies}: torque at the base {at_one:.12f} N m at t = 1 s")
        names = [f"joint {k}" for k in range(1, arm.n + 1)]
        figure = plot_joint_forces(times, torques, names, f"q = sin t in six hinges, {bodies}")
        print(
            f"  {save_figure(figure, Path(tempfile.gettempdir()) / f'six-revolute-{bodies}.png')}"
        )
    print(f"{len(inverse)} algorithms, at most {difference:.1e} apart")
    print("multiplications and additions: printed 800 and 596")
    for name in ("general", "planar"):
        tally = count(operators, GEOMETRIES[name](arm.n))
        print(f"  counted on a {name} arm {tally.multiplications} and {tally.additions}")
    return difference


def _print(name: str, matrix: np.ndarray) -> None:
    cells = [[str(x) for x in row] for row in matrix.tolist()]
    width = max(len(cell) for row in cells for cell in row)
    print(f"{name} =")
    for row in cells:
        print("  " + " ".join(cell.rjust(width) for cell in row))


if __name__ == "__main__":
    main()
