"""Arm with a linear actuator
==========================

An arm with a linear actuator: a loop closed by a function, and the forces that move it.

Featherstone (2008), fig. 8.3 and example 8.2. The boom turns by y[0] about O; the cylinder hinges
on the ground at P, l1 from O, and its piston on the boom at A, l2 from O; the forearm turns by
y[1] about the tip of the boom. The triangle O P A gives the other joint positions.
"""

import tempfile
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.plots import MechanismPictures, Options, save_figure
from sparsebody.tree import ExplicitDynamics, LoopClosure, spanning_tree

L1, L2, LENGTH = 1.0, 0.6, 1.5  # O to P, O to A, O to the tip of the boom [m]
JOINTS = ("shoulder", "pivot", "ram", "elbow")  # of the spanning tree; the loop joint is "pin"
ALONG_X = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # a frame whose z axis is the slide


def positions(y):
    """Return gamma(y): the joint positions of the tree, the loop closed."""
    x_A, y_A = L2 * np.cos(y[0]), L2 * np.sin(y[0])
    return {
        "shoulder": y[0],
        "pivot": np.arctan2(y_A, x_A - L1),
        "ram": np.sqrt(L1**2 + L2**2 - 2.0 * L1 * L2 * np.cos(y[0])),
        "elbow": y[1],
    }


def slopes(y):
    """Return G, worked out by hand: u1 and u2 are the slopes of pivot and ram."""
    d = positions(y)["ram"]
    u1 = L2 * (L2 - L1 * np.cos(y[0])) / d**2
    u2 = L1 * L2 * np.sin(y[0]) / d
    return {"shoulder": [1.0, 0.0], "pivot": [u1, 0.0], "ram": [u2, 0.0], "elbow": [0.0, 1.0]}


def velocity_products(y, v):
    """Return g = (dG/dt) v, worked out by hand."""
    d, s, c = positions(y)["ram"], L1 * L2 * np.sin(y[0]), L1 * L2 * np.cos(y[0])
    g2 = s * (L1**2 - L2**2) / d**4 * v[0] ** 2
    g3 = (c / d - s**2 / d**3) * v[0] ** 2
    return {"shoulder": 0.0, "pivot": g2, "ram": g3, "elbow": 0.0}


def arm(y) -> sb.Mechanism:
    """Return the arm in a pose."""
    q = positions(y)
    tip = LENGTH * np.array([np.cos(y[0]), np.sin(y[0]), 0.0])
    joint_A = L2 / LENGTH * tip
    mechanism = sb.Mechanism("arm", gravity=[0, -9.81, 0])
    for name, mass, center, position, angle in (
        ("boom", 8.0, 0.7, np.zeros(3), y[0]),
        ("cylinder", 2.0, 0.2, [L1, 0, 0], q["pivot"]),
        ("piston", 1.0, -0.2, joint_A, q["pivot"]),
        ("forearm", 4.0, 0.5, tip, y[0] + y[1]),
    ):
        mechanism.add_body(
            name,
            mass=mass,
            inertia=mass * np.array([0.01, 0.05, 0.06]),
            center_of_mass=[center, 0, 0],
            position=position,
            orientation=[np.cos(angle / 2), 0, 0, np.sin(angle / 2)],
        )
    slide = sb.Frame([0, 0, 0], ALONG_X)
    for name, joint, first, second, on_first, on_second in (
        ("shoulder", sb.Revolute(), sb.WORLD, "boom", sb.Frame(), sb.Frame()),
        ("pivot", sb.Revolute(), sb.WORLD, "cylinder", sb.Frame([L1, 0, 0]), sb.Frame()),
        ("ram", sb.Prismatic(), "cylinder", "piston", slide, slide),
        ("elbow", sb.Revolute(), "boom", "forearm", sb.Frame([LENGTH, 0, 0]), sb.Frame()),
        ("pin", sb.Revolute(), "piston", "boom", sb.Frame(), sb.Frame([L2, 0, 0])),
    ):
        mechanism.add_joint(
            name, joint, first, second, predecessor_frame=on_first, successor_frame=on_second
        )
    return mechanism


def main() -> float:
    """Return the largest relative difference of accelerations and forces from the sparse system."""
    y, v = np.array([1.1, -0.7]), np.array([0.8, -1.3])
    system = arm(y).compile()
    dynamics = ExplicitDynamics(LoopClosure(spanning_tree(system, joints=JOINTS), positions))

    free = dynamics.equations(y, v)  # G and g by differentiation of `positions`
    state = dynamics.closure.closed_state(free.motion)
    fall = dynamics.body_accelerations(free, free.acceleration())
    expected = sb.forward_dynamics(system, state).acceleration
    error = np.abs(fall - expected).max() / np.abs(expected).max()
    print(f"falling: d2y/dt2 = {free.acceleration()} rad/s^2, relative error {error:.1e}")

    ydd = np.array([0.5, -0.4])  # wanted
    lift = dynamics.body_accelerations(free, ydd)
    u = sb.inverse_dynamics(system, state, lift, actuated=["ram", "elbow"])
    print(u.actuation)
    tau = free.inertia @ ydd + free.bias_force  # G' tau_ID
    by_hand = np.array([tau[0] / slopes(y)["ram"][0], tau[1]])  # example 8.2
    error = max(error, np.abs(u.force - by_hand).max() / np.abs(by_hand).max())
    print(f"ram {u.force[0]:.6f} N, elbow {u.force[1]:.6f} N m, relative error {error:.1e}")
    picture = MechanismPictures(arm(y), Options()).figure("mechanism")
    folder = Path(tempfile.gettempdir())
    print(save_figure(picture, folder / "ram.png"))
    motion = sb.simulate(system, state, duration=2.0, step=0.01)
    motion.show(output=folder / "ram.html")
    return float(error)


if __name__ == "__main__":
    main()
