"""Sensitivities of a deploying mast
=================================

Which numbers of a deploying mast matter most: for its acceleration, and for its foundation.

A spring at the base of a scissor mast raises it against its weight and a damper. One product with
the transposed derivative gives the sensitivities of a quantity to all masses, moments of inertia,
and numbers of the spring. If all of these grow by one factor but for the rest angle, no
acceleration changes, and reactions grow by this factor: by Euler's theorem, sum p da/dp = 0 and
sum p dF/dp = F.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.linearization import variables
from sparsebody.plots import save_figure

PAIRS, STIFFNESS, REST, DAMPING, TIME = 20, 3e3, 2.5, 100.0, 0.2  # N m/rad, rad, N m s/rad, s
PROPORTIONAL = "mass", "inertia", "effort", "stiffness", "damping"


def mast() -> sb.System:
    """Return the mast, nearly folded."""
    mechanism = sb.build("scissor", pairs=PAIRS, angle=0.2)
    spring = {"stiffness": STIFFNESS, "rest": REST, "damping": DAMPING}
    mechanism.add_joint_force("deployment spring", "base", **spring)
    return mechanism.compile()


def main() -> float:
    """Return the larger error of Euler's theorem, relative to the quantity."""
    system = mast()
    state = sb.simulate(system, duration=TIME, step=0.01).state(-1)
    of = sb.derivatives(system, state)
    top, rotation = 2 * PAIRS - 1, sb.spatial.rotation_from_quaternion(state.orientation)
    upwards = np.zeros((system.n_bodies, 6))
    upwards[top, 3:] = rotation[top, 2]  # the world's z in body axes
    support = np.zeros(system.n_rows)
    support[system.rows(system.joint("support"))] = 1.0

    values, error = variables(system, state), 0.0
    figure = Figure(figsize=(9, 3), layout="constrained")
    panels = iter(figure.subplots(1, 2))
    for name, quantity, gradients, degree in (
        ("acceleration of the top [m/s^2]", np.sum(upwards * of.acceleration), of.vjp(upwards), 0),
        ("force on the support [N]", support @ of.multiplier, of.vjp(None, support), 1),
    ):
        parts = {key: values[key] * gradients[key] for key in (*PROPORTIONAL, "rest", "gravity")}
        euler = sum(part.sum() for key, part in parts.items() if key in PROPORTIONAL)
        error = max(error, float(abs(euler / quantity - degree)))
        print(f"{name}: {quantity:.3f}; changes in % by 1 % more")
        lowest, highest = parts["mass"][:2].sum(), parts["mass"][-2:].sum()
        totals = {key: part.sum() for key, part in parts.items()}
        totals |= {"mass of the lowest pair": lowest, "mass of the highest pair": highest}
        ranked = sorted(totals.items(), key=lambda item: -abs(item[1]))
        for key, total in ranked:
            print(f"  {total / quantity:9.4f}  {key}")
        panel = next(panels)
        panel.barh([key for key, _ in ranked][::-1], [x / quantity for _, x in ranked][::-1])
        panel.set_title(name)
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "sensitivities.png"))
    sb.simulate(system, duration=0.5, step=0.01).show(output=folder / "mast.html")
    return error


if __name__ == "__main__":
    main()
