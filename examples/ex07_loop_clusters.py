"""Minimal loop clusters
=====================

Minimal loop clusters, and the blocks of K and G that they make: Featherstone (2008), fig. 8.1.

A planar mechanism with joints 1 to 20 in the spanning tree and 21 to 24 closing loops. Loops 21
and 22 share joint 4; the other two share nothing, so that there are three clusters.
"""

import tempfile
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.plots import plot_loop_blocks, save_figure
from sparsebody.tree import LoopsProjection, loop_clusters, spanning_tree

PARENT = (0, 1, 2, 3, 4, 4, 6, 5, 8, 9, 10, 11, 12, 13, 14, 2, 16, 17, 18, 18)  # of joints 1 to 20
TIP = {  # far ends of the bars; each begins where its parent ends, or at a pivot on it
    **{1: (0, 1), 2: (0, 2), 3: (-1, 3), 4: (0, 4), 5: (1, 3), 6: (0.5, 5), 7: (-1.5, 4.5)},
    **{8: (2, 4), 9: (3, 4), 10: (4, 5), 11: (5, 5), 12: (5, 4), 13: (6, 4), 14: (7, 5)},
    **{15: (8, 4), 16: (1, 1), 17: (2, 1), 18: (3, 1), 19: (4, 2), 20: (4, 0)},
}
CLOSED_BY = {21: (5, 2), 22: (7, 3), 23: (12, 9)}  # hinges at the tip of the first, 24 is a rod


def figure_8_1() -> sb.Mechanism:
    """Return the mechanism, with joints named after the numbers of the figure."""
    mechanism = sb.Mechanism("figure 8.1")
    position = {0: np.zeros(3), **{i: np.array([x, 0.0, z]) for i, (x, z) in TIP.items()}}
    for i, parent in enumerate(PARENT, start=1):
        middle = (position[parent] + position[i]) / 2
        mechanism.add_body(f"body {i}", mass=1.0, inertia=0.1 * np.eye(3), position=middle)
    for i, parent in enumerate(PARENT, start=1):
        before = f"body {parent}" if parent else sb.WORLD
        mechanism.add_joint(
            f"joint {i}", sb.Revolute(), before, f"body {i}", point=position[parent], axis=[0, 1, 0]
        )
    for j, (first, second) in CLOSED_BY.items():
        ends = f"body {second}", f"body {first}"
        mechanism.add_joint(
            f"joint {j}", sb.Revolute(), *ends, point=position[first], axis=[0, 1, 0]
        )
    arms = [position[i] - (position[18] + position[i]) / 2 for i in (19, 20)]
    mechanism.add_distance(
        "joint 24", "body 19", "body 20", first_point=arms[0], second_point=arms[1], length=2.0
    )
    return mechanism


def main() -> int:
    """Return the number of clusters."""
    system = figure_8_1().compile()
    tree = spanning_tree(system, "depth-first", joints=[f"joint {i}" for i in range(1, 21)])
    clusters = loop_clusters(tree)
    for c in range(clusters.n_clusters):
        loops = ", ".join(system.joint_names[j] for j in tree.loop_joint[clusters.loops(c)])
        joints = ", ".join(system.joint_names[j] for j in tree.joint[clusters.joints(c)])
        print(f"{loops} close loops of {joints}")
    dynamics = LoopsProjection(system, tree)
    explicit = dynamics.explicit_at(sb.consistent_state(system))
    n, m, r = tree.n_velocities, clusters.n_rows, int(explicit.rank.sum())
    print(f"K is {m} x {n} of rank {r}, so that the mobility is {n - r}")
    folder = Path(tempfile.gettempdir())
    figure = plot_loop_blocks(explicit, "Featherstone's fig. 8.1")
    print(f"the pattern of K and G is in {save_figure(figure, folder / 'loop-clusters.png')}")
    sb.simulate(system, duration=2.0, step=0.005).show(output=folder / "loop-clusters.html")
    return clusters.n_clusters


if __name__ == "__main__":
    main()
