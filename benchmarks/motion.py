"""Time of a step of `simulate`, from the poses of the gallery.

`python -m benchmarks.motion [CASE ...]` prints milliseconds a step, the least of three runs.
"""

from __future__ import annotations

import argparse

import sparsebody as sb
from sparsebody.model.gallery import build

CASES: dict[str, tuple[str, dict[str, int]]] = {
    "lattice 8x8": ("lattice", {"rows": 8, "columns": 8}),
    "lattice 16x16": ("lattice", {"rows": 16, "columns": 16}),
    "lattice 4x4x4": ("lattice", {"rows": 4, "columns": 4, "layers": 4}),
    "tube": ("tube", {}),
    "four-bar-torus": ("four-bar-torus", {}),
    "ladder 10": ("ladder", {"rungs": 10}),
    "ladder 100": ("ladder", {"rungs": 100}),
    "ring 12": ("ring", {"bodies": 12}),
    "slider-crank": ("slider-crank", {}),
    "governor": ("governor", {}),
}


def main() -> None:
    """Measure the cases that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[*CASES])
    parser.add_argument("--method", default="auto")
    parser.add_argument("--duration", type=float, default=2.0)
    parser.add_argument("--step", type=float, default=2e-3)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    for case in options.cases:
        name, parameters = CASES[case]
        system = build(name, **parameters).compile()
        runs = [
            sb.simulate(system, duration=options.duration, step=options.step, method=options.method)
            for _ in range(options.runs)
        ]
        best = min(run.wall_time / run.steps for run in runs)
        print(f"{case:16} {system.n_bodies:5} bodies {1e3 * best:8.3f} ms a step", end=" ")
        print(f"{len(runs[0].events):3} events, joints open by {runs[0].position_error.max():.1e}")


if __name__ == "__main__":
    main()
