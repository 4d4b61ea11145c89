"""The gradient of a whole simulation: its time in simulations, and its error.

`python -m benchmarks.gradient [--pairs N] [--steps N]` lifts a scissor lift with a spring at its
base, and takes the gradient of its height at the end by its adjoint. The error is that of
directional derivatives by central differences of fourth order, of whole simulations. Ends with
status 1 unless the promises hold: 1e-7, at most five simulations.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
import numpy as np

import sparsebody as sb
from benchmarks.cases import SPIN, scissor_motion
from sparsebody.arrays import FloatArray

STEP, ANGLE = 1e-3, 0.4  # [s], [rad]
LARGEST_ERROR, MOST_SIMULATIONS, REPEATS = 1e-7, 5.0, 3
STENCIL = ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0))  # over 12 h


def lift(pairs: int, angle: float = ANGLE) -> tuple[sb.System, sb.State]:
    """Return a lift that a spring at its base pushes up, at rest."""
    mechanism = sb.build("scissor", pairs=pairs, angle=angle)
    weight = 2 * pairs * 9.81 * pairs * np.cos(ANGLE)  # energy per angle, of bars of 1 m and 1 kg
    spring = {"stiffness": weight, "rest": ANGLE + 1.05, "damping": 0.01 * weight}
    mechanism.add_joint_force("spring", "base", **spring)
    system = mechanism.compile()
    return system, sb.consistent_state(system)


def difference(function: Callable[[float], Any], h: float) -> Any:
    """Return the derivative at zero, of fourth order in h."""
    return sum(weight * function(k * h) for k, weight in STENCIL) / (12.0 * h)


def errors(pairs: int, n_steps: int, gradient: dict[str, FloatArray]) -> dict[str, float]:
    """Return the relative errors of directional derivatives."""
    system, state = lift(pairs)
    rate = SPIN / np.sqrt(system.n_bodies)  # of the angle, in the motion of `scissor_motion`
    motion = scissor_motion(system, 0).velocity / rate
    rng, spring = np.random.default_rng(0), system.joint_forces
    mass = rng.uniform(-1.0, 1.0, system.n_bodies)

    def height(system: sb.System, state: sb.State) -> float:
        run = sb.simulate(system, state, duration=n_steps * STEP, step=STEP, method="rk4")
        return float(run.position[-1, -1, 2])

    def stiffer(h: float) -> sb.System:
        changed = replace(spring, stiffness=(1.0 + h) * spring.stiffness)
        return replace(system, joint_forces=changed)

    cases: dict[str, tuple[Callable[[float], float], FloatArray]] = {
        "position": (lambda h: height(system, lift(pairs, ANGLE + h)[1]), motion),
        "velocity": (lambda h: height(system, state.with_(velocity=h * motion)), motion),
        "mass": (lambda h: height(replace(system, mass=system.mass + h * mass), state), mass),
        "gravity": (
            lambda h: height(replace(system, gravity=(1.0 + h) * system.gravity), state),
            system.gravity,
        ),
        "stiffness": (lambda h: height(stiffer(h), state), spring.stiffness),
    }
    out = {}
    for name, (function, along) in cases.items():
        expected = difference(function, 1e-3)
        out[name] = abs(float(np.sum(gradient[name] * along)) / expected - 1.0)
    return out


@click.command()
@click.option("--pairs", default=200, show_default=True, help="Of bars, two bodies each.")
@click.option("--steps", "n_steps", default=500, show_default=True, help="Of 1 ms.")
def main(pairs: int, n_steps: int) -> None:
    """Print the time of a gradient in simulations, and its errors."""
    (system, state), spent = lift(pairs), {"simulation": np.inf, "gradient": np.inf}
    weight, times = np.zeros((system.n_bodies, 3)), {"duration": n_steps * STEP, "step": STEP}
    weight[-1, 2] = 1.0
    for _ in range(REPEATS):
        begin = time.perf_counter()
        sb.simulate(system, state, method="rk4", **times)
        middle = time.perf_counter()
        gradient = sb.simulate_with_pullback(system, state, **times)(position=weight)
        end = time.perf_counter()
        spent["simulation"] = min(spent["simulation"], middle - begin)
        spent["gradient"] = min(spent["gradient"], end - middle)
    ratio = spent["gradient"] / spent["simulation"]
    print(f"{system.n_bodies} bodies, {n_steps} steps: simulation {spent['simulation']:.2f} s,")
    print(f"with its gradient {spent['gradient']:.2f} s, {ratio:.2f} simulations")
    relative = errors(pairs, n_steps, gradient)
    for name, error in relative.items():
        print(f"  by {name:9}: relative error {error:.1e}")
    sys.exit(ratio > MOST_SIMULATIONS or max(relative.values()) > LARGEST_ERROR)


if __name__ == "__main__":
    main()
