"""A ladder of many bodies, from arrays
====================================

Bodies and joints come from arrays, and work and memory grow with their number: N = 20,000 takes a
second or two here, a million half a minute. The forces on the world check the whole solution:
together they are sum m (a - g), whatever happens between the bodies.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure

SIZES = (200, 2_000, 20_000)
GRAVITY = np.array([3.0, -4.0, -8.0])  # loads every joint


def chain_of_rungs(n: int) -> sb.Mechanism:
    """Return n / 2 rungs between two rails of n / 2 bars, with balls at their ends."""
    mechanism = sb.Mechanism("ladder", gravity=GRAVITY)
    rung = np.arange(n // 2)
    for side in (0, 1):
        position = np.stack([rung + 0.5, 0.0 * rung + side, 0.0 * rung], axis=1)
        bar = mechanism.add_bodies(
            f"rail-{side}-{{}}", mass=1.0, inertia=[0.01, 0.1, 0.1], position=position
        )
        ends = position - [0.5, 0.0, 0.0]
        before = np.where(rung > 0, bar - 1, -1)  # -1 is the world
        mechanism.add_joints(f"ball-{side}-{{}}", sb.Spherical(), before, bar, point=ends)
    first, second = np.arange(n // 2), np.arange(n // 2) + n // 2
    middle = np.stack([rung + 0.5, 0.0 * rung + 0.5, 0.0 * rung], axis=1)
    mechanism.add_joints("rung-{}", sb.Spherical(), first, second, point=middle)
    return mechanism


def main() -> float:
    """Return the relative error of the balance of forces on the largest ladder."""
    seconds = []
    for n in SIZES:
        system = chain_of_rungs(n).compile()
        dynamics = sb.ForwardDynamics(system)
        state = system.initial_state
        dynamics(state)
        start = time.perf_counter()
        result = dynamics(state)
        seconds.append(time.perf_counter() - start)
        print(f"{n} bodies: {1e6 * seconds[-1] / n:.2f} us a body")

    turn = sb.spatial.rotation_from_quaternion(state.orientation)
    linear = np.einsum("nij,nj->ni", turn, result.acceleration[:, 3:])  # at rest: no v x w
    needed = (system.mass[:, None] * (linear - GRAVITY)).sum(axis=0)
    grounded = np.flatnonzero(system.predecessor == -1)
    reaction = result.joint_wrench[grounded, 3:].sum(axis=0)  # joint axes are the world's
    error = float(np.abs(reaction - needed).max() / np.abs(needed).max())
    print(f"forces on the world {reaction}, by the bodies {needed}: relative error {error:.1e}")
    figure = Figure(figsize=(4.5, 3), layout="constrained")
    axes = figure.subplots()
    axes.loglog(SIZES, seconds, "o-")
    axes.set(xlabel="bodies", ylabel="seconds an evaluation")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "large-ladder.png"))
    sb.show(chain_of_rungs(SIZES[0]), output=folder / "large-ladder.html")
    return error


if __name__ == "__main__":
    main()
