"""A knee that locks
=================

Two bars fall, the first on a hinge, the second on a knee that locks when they are in line. The
event ends the motion with the free knee; the nearest consistent velocity of the mechanism with the
locked knee, in the metric of the inertias, is that after a plastic impact: the moment of momentum
about the hinge does not change, and I w = L gives the speed w of the locked leg.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure

LENGTH, MASS = 0.5, 2.0
MOMENT = MASS * LENGTH**2 / 12  # of a bar about its center
BENT = 0.8  # of the thigh and of the shank against the vertical [rad]


def leg(knee: sb.JointType, state: sb.State | None = None) -> sb.Mechanism:
    """Return two bars in the xz plane, bent by twice BENT or where a state has them."""
    mechanism = sb.Mechanism("leg")
    inertia = [MOMENT, MOMENT, 1e-4]  # the bars lie along their z axes
    reach, knee_point = LENGTH / 2, LENGTH * np.array([np.sin(BENT), 0.0, -np.cos(BENT)])
    for k, (name, angle) in enumerate((("thigh", -BENT), ("shank", BENT))):
        turn = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)
        along = np.array([-np.sin(angle), 0.0, -np.cos(angle)])
        pose = {"position": k * knee_point + reach * along, "orientation": turn}
        if state is not None:
            pose = {"position": state.position[k], "orientation": state.orientation[k]}
        mechanism.add_body(name, mass=MASS, inertia=inertia, **pose)
    ends = {"top": sb.Frame([0, 0, reach], ALONG_Y), "end": sb.Frame([0, 0, -reach], ALONG_Y)}
    at_hinge = {"predecessor_frame": sb.Frame([0, 0, 0], ALONG_Y), "successor_frame": ends["top"]}
    at_knee = {"predecessor_frame": ends["end"], "successor_frame": ends["top"]}
    mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "thigh", **at_hinge)
    mechanism.add_joint("knee", knee, "thigh", "shank", **at_knee)
    return mechanism


ALONG_Y = (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0)  # a frame whose z axis is the world's y


def bend(time: float, state: sb.State) -> float:
    """Return the angle of the knee: zero where the bars are in line."""
    (w1, _, y1, _), (w2, _, y2, _) = state.orientation
    return float(2 * (w1 * y2 - w2 * y1))


bend.terminal = True


def moment_of_momentum(state: sb.State) -> float:
    """Return that about the hinge, along y [kg m^2/s]."""
    turn = sb.spatial.rotation_from_quaternion(state.orientation)
    linear = np.einsum("nij,nj->ni", turn, state.velocity[:, 3:])
    orbital = np.cross(state.position, MASS * linear)[:, 1]
    return float(orbital.sum() + MOMENT * state.velocity[:, 1].sum())


def main() -> float:
    """Return the relative error of the speed of the locked leg."""
    free = sb.simulate(leg(sb.Revolute()).compile(), duration=2.0, step=0.002, events=bend)
    before = free.state(-1)
    locked = leg(sb.Fixed(), before).compile()
    after = sb.consistent_state(locked, before)
    inertia = MASS * (2 * LENGTH) ** 2 * 2 / 3  # of the straight leg about its end
    speed = moment_of_momentum(before) / inertia
    error = float(np.abs(after.velocity[:, 1] / speed - 1.0).max())
    print(*free.events, sep="\n")
    print(f"speeds {before.velocity[:, 1]} before, {after.velocity[:, 1]} rad/s after the latch")
    print(f"by the moment of momentum {speed:.9f} rad/s, relative error {error:.1e}")

    swing = sb.simulate(locked, after, duration=1.0, step=0.002)
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    for k, name in enumerate(("thigh", "shank")):
        time = np.concatenate([free.time, free.time[-1] + swing.time - swing.time[0]])
        speed = np.concatenate([free.velocity[:, k, 1], swing.velocity[:, k, 1]])
        axes.plot(time, speed, label=name)
    axes.set(xlabel="time [s]", ylabel="angular velocity [rad/s]")
    axes.legend()
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "knee.png"))
    free.show(output=folder / "knee.html")
    return error


if __name__ == "__main__":
    main()
