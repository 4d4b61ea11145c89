"""Torque that holds a scissor lift
================================

The torque that holds a scissor lift, against the principle of virtual work.

The bars of n pairs, each of length l and mass m, have the potential energy m g l n^2 sin(angle),
so the drive at the base must give its derivative, m g l n^2 cos(angle).
"""

import tempfile
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.plots import MechanismPictures, Options, save_figure

PAIRS, ANGLE = 50, 0.4


def main() -> float:
    """Return the relative error of the torque at rest."""
    lift = sb.build("scissor", pairs=PAIRS, angle=ANGLE, drive=True)
    system = lift.compile()
    dynamics = sb.ForwardDynamics(system)
    counts = sb.count_mobility(system, dynamics)
    print(
        f"{counts.bodies} bodies, {counts.loops} loops, mobility {counts.mobility}, "
        f"{counts.redundant_rows} redundant rows"
    )
    solution = dynamics(sb.consistent_state(system))
    torque = solution.joint_wrench[system.joint("base"), 2]  # moment about the hinge
    exact = 9.81 * PAIRS**2 * np.cos(ANGLE)
    error = float(abs(torque / exact - 1.0))
    print(f"torque {torque:.6f} N m, virtual work {exact:.6f} N m, relative error {error:.1e}")
    folder = Path(tempfile.gettempdir())
    short = sb.build("scissor", pairs=8, angle=ANGLE, drive=True)
    picture = MechanismPictures(short, Options()).figure("mechanism")
    print(save_figure(picture, folder / "scissor.png"))
    motion = sb.simulate(short.compile(), duration=2.0, step=0.01)
    motion.show(output=folder / "scissor.html")  # a page that plays the motion
    return error


if __name__ == "__main__":
    main()
