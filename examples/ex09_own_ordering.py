"""An elimination order of one's own
=================================

An elimination order of one's own beside those of the package: outermost bodies first.

Bodies go by their distance from the world in the body-joint graph, the farthest first. A joint
follows its outer body where it is a bridge of the graph, and both of its bodies otherwise. On trees
that is the articulated-body algorithm, and no order is better; on a lattice it sweeps from rim to
rim, which nested dissection and minimum degree beat.
"""

import tempfile
from pathlib import Path

import networkx as nx
import numpy as np

import sparsebody as sb
from sparsebody.analysis import compare_orderings
from sparsebody.plots import block_points, plot_elimination, save_figure
from sparsebody.viewer import order_page

NAME = "outermost-first"
RIVALS = ("leaves-first", "minimum-degree", "reverse-cuthill-mckee", NAME)


def outermost_first(pattern: sb.BlockPattern) -> np.ndarray:
    """Return the order (n_blocks,); bodies that nothing joins to the world come last."""
    graph = nx.Graph(pattern.ends.tolist())
    distance = nx.single_source_shortest_path_length(graph, -1)
    far = np.array([distance.get(body, 0) for body in range(pattern.n_primal)])
    position = np.empty(pattern.n_primal + 1)
    position[np.argsort(-far, kind="stable")] = np.arange(pattern.n_primal)
    position[-1] = np.inf  # the world is never eliminated
    ends = np.sort(position[pattern.ends], axis=1)
    bridges = {frozenset(edge) for edge in nx.bridges(graph)}
    follows_one = [frozenset(pair) in bridges for pair in pattern.ends.tolist()]
    of_joint = np.where(follows_one | np.isinf(ends[:, 1]), ends[:, 0], ends[:, 1]) + 0.5
    return np.argsort(np.concatenate([position[:-1], of_joint]), kind="stable")


sb.register_ordering(NAME, outermost_first, admissible=True, summary="bodies by distance")


def main() -> float:
    """Return the work of the own ordering over the least of all, on a tree."""
    share = {}
    for family, size in (("tree", {"bodies": 200}), ("lattice", {"rows": 15, "columns": 15})):
        comparison = compare_orderings(sb.build(family, **size), RIVALS)
        print(family)
        least = comparison.lines[0].metrics.flops
        for line in comparison.lines:
            metrics = line.metrics
            share[family, line.name] = metrics.flops / least
            print(
                f"  {line.name:<24}{metrics.flops:>10.3g} flops {metrics.nnz_l:>8} entries of L, "
                f"{share[family, line.name]:.2f} times the least"
            )
    system = sb.build("lattice", rows=6, columns=6).compile()
    structure, state = sb.ForwardDynamics(system).structure, system.initial_state
    order = outermost_first(structure.pattern)
    points = block_points(structure, state)
    figure = plot_elimination(structure.pattern, order, points, "lattice, outermost bodies first")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "outermost-first.png"))
    order_page(system, NAME).save(folder / "outermost-first.html")
    return share["tree", NAME]


if __name__ == "__main__":
    main()
