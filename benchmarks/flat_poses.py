"""N-four-bars through their flat poses at random steps, beside the motion of one crank.

All four-bars move as one, by an equation of one freedom that passes the flat pose straight on:
sum(m l^2) phi'' = -sum of the moments of gravity. Steps are logarithmically uniform from 8e-4 to
1e-2 s, N from 1 to 40, half of the joints exchanged at random between predecessor and successor.
`python -m benchmarks.flat_poses --runs 1000` ends with the largest error of a position.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp

import sparsebody as sb
from sparsebody.arrays import BoolArray
from sparsebody.model.gallery import build

DURATION = 10.0  # [s]
STEPS, LOOPS = (8e-4, 1e-2), (1, 40)
G = 9.81


def exchanged(system: sb.System, mask: BoolArray) -> sb.System:
    """Return the system with predecessors and successors of some joints exchanged."""
    changed = {}
    for field in ("", "_point", "_rotation"):
        first, second = f"predecessor{field}", f"successor{field}"
        a, b = getattr(system, first), getattr(system, second)
        on = mask.reshape(-1, *[1] * (a.ndim - 1))
        changed[first], changed[second] = np.where(on, b, a), np.where(on, a, b)
    return replace(system, **changed)


def crank_angle(loops: int, time: float) -> float:
    """Return the angle of the cranks at a time, to some 1e-12."""
    factor = G * ((loops + 1) / 2 + loops) / ((loops + 1) / 3 + loops)
    solution = solve_ivp(
        lambda _, y: [y[1], -factor * np.cos(y[0])],
        (0.0, time),
        [np.pi / 2, -1.0],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    )
    return float(solution.y[0, -1])


def error_at_end(loops: int, step: float, rng: np.random.Generator) -> float:
    """Return how far the worst body of a run ends from where it should [m]."""
    system = build("n-four-bar", loops=loops).compile()
    system = exchanged(system, rng.random(system.n_joints) < 0.5)
    records = step * max(1, int(DURATION / step) // 4)
    run = sb.simulate(
        system, duration=DURATION, step=step, method="rk4", record=sb.Recording(step=records)
    )
    if run.interrupted:
        raise KeyboardInterrupt
    phi, error = crank_angle(loops, DURATION), 0.0
    tip = np.array([np.cos(phi), np.sin(phi)])
    for position, name in zip(run.position[-1], run.body_names, strict=True):
        kind, number = name.split("-")
        middle = 0.5 * tip if kind == "vertical" else tip - (0.5, 0.0)
        error = max(error, float(np.abs(position[:2] - middle - (float(number), 0.0)).max()))
    return error


def main() -> None:
    """Run as many as are asked for, telling of those that end far off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, worst = np.random.default_rng(options.seed), 0.0
    for k in range(options.runs):
        loops = int(rng.integers(LOOPS[0], LOOPS[1] + 1))
        step = float(np.exp(rng.uniform(*np.log(STEPS))))
        error = error_at_end(loops, step, rng)
        worst = max(worst, error)
        if error > 1e-5 or (k + 1) % 25 == 0:
            print(f"run {k + 1}: N = {loops}, step {step:.6g} s, error {error:.1e} m, ", end="")
            print(f"largest so far {worst:.1e} m", flush=True)


if __name__ == "__main__":
    main()
