"""A door on two hinges
====================

Five of the ten constraint rows of two aligned hinges are redundant: rigid-body mechanics does not
say how they share the weight. The report tells which reactions are determined; stiffnesses of the
hinges decide the others, here three to one. The advice names the joints whose removal makes all
reactions determined.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure

LEAF = sb.Box((0.8, 0.04, 2.0))  # [m]
MASS, STIFF, SOFT = 20.0, 1e-6, 3e-6  # kg, and compliances along the door's axis [m/N]


def main() -> float:
    """Return the relative error of the shares of the weight."""
    house = sb.Mechanism("house")
    house.add_body("door", mass=MASS, inertia=[8, 7, 1], position=[0.4, 0, 0], shape=LEAF)
    for name, height in (("low", -0.9), ("high", 0.9)):
        house.add_joint(name, sb.Revolute(), sb.WORLD, "door", point=[0, 0, height])
    door = house.compile()
    print(*sb.determined_reactions(door).lines(), sep="\n")

    low, high = [1e-4] * 3 + [1e-6, 1e-6, STIFF], [1e-4] * 3 + [1e-6, 1e-6, SOFT]
    elastic = sb.LeastEnergy({"low": low, "high": high})
    force = sb.forward_dynamics(door, reactions=elastic).joint_wrench[:, 5]
    exact = 9.81 * MASS * np.array([SOFT, STIFF]) / (STIFF + SOFT)
    print(f"the hinges carry {force} N")
    print(*sb.advise(house).lines(), sep="\n")

    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    least = sb.forward_dynamics(door).joint_wrench[:, 5]
    position = np.arange(2)
    axes.bar(position - 0.2, least, 0.4, label="least multipliers")
    axes.bar(position + 0.2, force, 0.4, label="least energy, stiffness 3 : 1")
    axes.set_xticks(position, ["low hinge", "high hinge"])
    axes.set_ylabel("vertical force [N]")
    axes.legend()
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "door.png"))
    sb.show(house, output=folder / "door.html")  # red rings: redundant rows
    return float(np.abs(force / exact - 1.0).max())


if __name__ == "__main__":
    main()
