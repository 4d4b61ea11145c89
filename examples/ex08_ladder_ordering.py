"""The ladder of Featherstone's figure 8.4
=======================================

Featherstone's ladder (2008, fig. 8.4): in the right order its matrix has a band of 3 blocks.

The order goes along the ladder, from rung to rung. The band is as wide on ten times the ladder, and
however bodies and joints are numbered.
"""

import tempfile
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.assembly import KKTStructure
from sparsebody.ordering import order
from sparsebody.plots import block_points, plot_elimination, plot_spy, save_figure
from sparsebody.sparse import BlockPattern, ordering_metrics
from sparsebody.viewer import order_page


def main() -> int:
    """Return the bandwidth in blocks."""
    bandwidth = set()
    for rungs in (6, 60):
        system = sb.build("ladder", rungs=rungs).compile()
        structure = sb.ForwardDynamics(system).structure
        pattern = structure.pattern
        print(f"{rungs} rungs, {pattern.n_blocks} blocks")
        for name in ("natural", "level-sweep"):
            metrics = ordering_metrics(pattern, order(pattern, name))
            print(
                f"  {name:<12} band {metrics.block_bandwidth:>3} blocks, "
                f"{metrics.scalar_bandwidth:>5} rows; {metrics.nnz_l} entries of L"
            )
        bandwidth.add(metrics.block_bandwidth)
        if rungs == 6:
            _draw(structure, order(pattern, "level-sweep"), system.initial_state)
            order_page(system, "level-sweep").save(Path(tempfile.gettempdir()) / "ladder.html")
    assert len(bandwidth) == 1
    return bandwidth.pop()


def _draw(structure: KKTStructure, sweep: np.ndarray, state: sb.State) -> None:
    """Print the order, and draw the matrix and the order on the graph."""
    pattern, folder = structure.pattern, Path(tempfile.gettempdir())
    print(f"  {', '.join(_names(pattern, sweep))}")
    title = "ladder of Featherstone's fig. 8.4"
    spy = plot_spy(pattern, sweep, "level-sweep", title)
    graph = plot_elimination(pattern, sweep, block_points(structure, state), title)
    for figure, name in ((spy, "ladder-spy.png"), (graph, "ladder-order.png")):
        print(f"  {save_figure(figure, folder / name)}")


def _names(pattern: BlockPattern, sequence: np.ndarray) -> list[str]:
    """Name blocks as the figure does: bodies 1, 2, ... in the order, joints by their bodies."""
    number = {-1: 0}  # the world
    for block in sequence[sequence < pattern.n_primal].tolist():
        number[block] = len(number)
    ends = [sorted(number[body] for body in pair) for pair in pattern.ends.tolist()]
    joints = {pattern.n_primal + j: "-".join(map(str, pair)) for j, pair in enumerate(ends)}
    return [joints.get(block) or str(number[block]) for block in sequence.tolist()]


if __name__ == "__main__":
    main()
