"""The classical algorithms on one arm
===================================

One arm from its Denavit-Hartenberg table, and the classical algorithms on it.

All give the same forces; they differ in what that costs. Multiplications and additions are counted
by running each algorithm on numbers that count, with and without those by constants 0 and 1.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.classical import ALGORITHMS, Arm, count
from sparsebody.plots import save_figure

PI = np.pi


def main() -> float:
    """Return the largest difference between two algorithms, relative."""
    table = [  # theta, d, a, alpha of an arm with a spherical wrist and a slide
        [0, 0.4, 0.0, -PI / 2],
        [0, 0.2, 0.0, PI / 2],
        [0, 0.3, 0.0, 0.0],
        [0, 0.0, 0.0, -PI / 2],
        [0, 0.0, 0.0, PI / 2],
        [0, 0.1, 0.0, 0.0],
    ]
    arm = Arm.from_dh(
        table,
        mass=[9.3, 5.0, 4.2, 1.1, 0.6, 0.5],
        com=[[0, 0.05, -0.1], [0, -0.1, 0], [0, 0, -0.6], [0, 0, 0], [0, -0.1, 0], [0, 0, 0.1]],
        inertia=[[0.3, 0.3, 0.1]] * 6,
        joints="RRPRRR",
    )
    q, qd, qdd = np.sin(np.arange(1.0, 19.0)).reshape(3, 6)
    expected = ALGORITHMS["luh-walker-paul"](arm, q, qd, qdd)
    print(f"tau {expected.round(3)}")
    print(f"{'algorithm':<24} {'mul':>6} {'add':>6} {'mul':>6} {'add':>6}   (right: without 0, 1)")
    differences, operations = [], {}
    for name, algorithm in ALGORITHMS.items():
        third, exact = (expected, qdd) if algorithm.is_forward else (qdd, expected)
        result = algorithm(arm, q, qd, third)
        differences.append(np.abs(result - exact).max() / np.abs(exact).max())
        tally = count(algorithm, arm)
        every = np.array(tally.values[:2]) + tally.values[2:]
        numbers = " ".join(f"{x:>6}" for x in (*every, *tally.values[:2]))
        print(f"{name:<24} {numbers}")
        operations[name] = sum(tally.values[:2])
    print(f"largest difference {max(differences):.1e}")
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    names = sorted(operations, key=lambda name: -operations[name])
    axes.barh(names, [operations[name] for name in names])
    axes.set(xscale="log", xlabel="multiplications and additions, without 0 and 1")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "operations.png"))
    motion = sb.simulate(arm.mechanism().compile(), duration=0.5, step=0.005)
    motion.show(output=folder / "arm.html")
    return float(max(differences))


if __name__ == "__main__":
    main()
