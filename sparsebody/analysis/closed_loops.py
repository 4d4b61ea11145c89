"""What closed loops do to a mechanism: redundancy, variable mobility, ambiguity."""

from __future__ import annotations

from dataclasses import dataclass

from sparsebody.errors import ModelError
from sparsebody.model.system import State, System
from sparsebody.tree.choice import spanning_tree
from sparsebody.tree.loops.assemblies import assemblies
from sparsebody.tree.loops.loop_clusters import LoopClusters, loop_clusters
from sparsebody.tree.loops.loop_properties import (
    loop_properties,
    nearby_mobilities,
    rank_of_loops,
)
from sparsebody.tree.loops.loops_projection import LoopsProjection

TREE = "breadth-first"  # takes linear time
MOST_BODIES = 60  # for which neighbouring and other configurations are looked for


@dataclass(frozen=True)
class ClosedLoops:
    """Properties of Featherstone (2008), sec. 8.10; None for what was not looked for."""

    tree: str  # how the spanning tree was chosen
    freedoms: int  # n, of the tree, without what drives prescribe
    loops: int  # loop joints with constraints
    clusters: int  # minimal clusters of loops that share joints
    constraints: int  # n^c, of the loop joints
    rank: int  # r of these constraints
    overconstraint: int  # n^c - r
    is_properly_constrained: bool
    nearby_mobilities: tuple[int, ...] | None
    is_singular: bool | None  # mobility is another nearby
    configurations: int | None  # found with the same independent coordinates
    held: tuple[str, ...]  # the joints of these


def closed_loops(system: System, state: State, rank: int) -> ClosedLoops | None:
    """Return the properties of the loops at a consistent state, None for trees.

    Parameters
    ----------
    system : System
        The mechanism.
    state : State
        A consistent state.
    rank : int
        Of all its constraint rows.
    """
    clusters = loop_clusters(spanning_tree(system, TREE))
    if len(clusters.loop) == 0:
        return None
    properties = loop_properties(clusters, rank_of_loops(clusters.tree, rank))
    is_small = system.n_bodies <= MOST_BODIES
    nearby = nearby_mobilities(clusters.tree, state) if is_small and properties.mobility else None
    configurations, held = _configurations(clusters, state) if is_small else (None, ())
    return ClosedLoops(
        tree=TREE,
        freedoms=properties.freedoms,
        loops=properties.loops,
        clusters=clusters.n_clusters,
        constraints=properties.constraints,
        rank=properties.rank,
        overconstraint=properties.overconstraint,
        is_properly_constrained=properties.is_properly_constrained,
        nearby_mobilities=nearby,
        is_singular=None if nearby is None else any(n != properties.mobility for n in nearby),
        configurations=configurations,
        held=held,
    )


def _configurations(clusters: LoopClusters, state: State) -> tuple[int | None, tuple[str, ...]]:
    """Return how many there are, and which joints of loops are held; None for those of balls."""
    tree = clusters.tree
    explicit = LoopsProjection(tree.system, tree).explicit_at(state)
    in_loop = [int(k) for k in explicit.independent if clusters.layout.local[k] >= 0]
    try:
        return len(assemblies(tree, state)), tuple(tree.velocity_name(k) for k in in_loop)
    except ModelError:
        return None, ()
