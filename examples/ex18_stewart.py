"""Forces in the legs of a Stewart platform
=========================================

A platform stands on six legs, each of a universal, a prismatic and a spherical joint. Inverse
dynamics gives the forces of the actuators in the prismatic joints. At rest all six are equal by
symmetry, and the principle of virtual work gives them: 6 f dl/dz = dV/dz, with the length l of a
leg, the height z of the platform and the potential energy V of platform and legs.
"""

import tempfile
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.plots import MechanismPictures, Options, save_figure

SLIDES = [f"slide-{k}" for k in range(6)]


def virtual_work(platform: sb.Mechanism) -> float:
    """Return the force in each leg at rest [N]."""
    foot = platform.joints["universal-0"].predecessor_frame.position
    head = platform.body("platform").position + platform.joints["ball-0"].successor_frame.position
    legs = [(platform.body(f"lower-{k}"), platform.body(f"upper-{k}")) for k in range(6)]
    lower, upper = legs[0]
    reach = np.linalg.norm(lower.position - foot)  # of the lower bar's center from its foot
    setback = np.linalg.norm(head - upper.position)  # of the upper bar's center from its head

    def at(height: float) -> tuple[float, float]:
        span = head - foot + np.array([0.0, 0.0, height])
        length = np.linalg.norm(span)
        rise = lower.mass * reach * span[2] / length
        rise += upper.mass * (height + head[2] - setback * span[2] / length)
        return float(length), float(6 * rise + platform.body("platform").mass * height)

    step = 1e-5
    (l1, v1), (l2, v2) = at(-step), at(step)
    return 9.81 * (v2 - v1) / (l2 - l1) / 6


def main() -> float:
    """Return the largest relative error of the forces at rest."""
    platform = sb.build("stewart", stiffness=0.0, damping=0.0)
    system = platform.compile()
    state = sb.consistent_state(system)
    rest = sb.driven_accelerations(system, state, dict.fromkeys(SLIDES, 0.0))
    forces = sb.inverse_dynamics(system, state, rest, actuated=SLIDES)
    exact = virtual_work(platform)
    error = float(np.abs(forces.force / exact - 1.0).max())
    print(forces.actuation)
    print(f"at rest {forces.force.round(6)} N, virtual work {exact:.6f} N, error {error:.1e}")

    # a platform that starts upwards, with 2 m/s^2 along every leg, needs more
    rising = sb.driven_accelerations(system, state, dict.fromkeys(SLIDES, 2.0))
    print(sb.inverse_dynamics(system, state, rising, actuated=SLIDES).force.round(3), "N")
    picture = MechanismPictures(platform, Options()).figure("mechanism")
    folder = Path(tempfile.gettempdir())
    print(save_figure(picture, folder / "stewart.png"))
    motion = sb.simulate(sb.build("stewart", drive=True).compile(), duration=2.0, step=0.01)
    motion.show(output=folder / "stewart.html")  # a period of prescribed lengths of the legs
    return error


if __name__ == "__main__":
    main()
