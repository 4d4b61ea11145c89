"""Pictures of a family's matrix, elimination tree and order, at a size that can be read."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from sparsebody.analysis.order_comparison import compared
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.plots.elimination import graph_places, plot_elimination
from sparsebody.plots.etree import plot_elimination_tree
from sparsebody.plots.spy import plot_spy
from sparsebody.study.families import Family

BODIES = 48


def pattern_figures(family: Family, n_bodies: int = BODIES) -> Iterator[tuple[str, Figure]]:
    """Yield kinds and figures: spy, elimination tree, order on the graph."""
    system = family.build(n_bodies).compile()
    state = system.initial_state
    structure = ForwardDynamics(system, state, reactions="basic").structure
    pattern = structure.pattern
    comparison = compared(pattern)
    best = comparison.lines[0].name
    order = comparison.orders[best]
    title = f"{family.name}, {system.n_bodies} bodies: {best}"
    yield "spy", plot_spy(pattern, order, best, family.name)
    yield "tree", plot_elimination_tree(pattern, order, title)
    place = graph_places(structure, state)
    yield "order", plot_elimination(pattern, order, place, title)
