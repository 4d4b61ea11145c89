"""Counting: loops, constraint rows, rank, mobility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.system import System


@dataclass(frozen=True)
class Mobility:
    """Counts of a mechanism at one pose. Featherstone (2008), sec. 8.10."""

    bodies: int
    joints: int
    loops: int  # independent cycles of the body-joint graph, the world being one node
    constraint_rows: int  # those of prescribed coordinates included
    redundant_rows: int
    mobility: int  # freedoms of the bodies less the rank of the constraints


def count_mobility(system: System, dynamics: ForwardDynamics) -> Mobility:
    """Return the counts with the rank decision of `dynamics`; prescribed rows count as rows."""
    return Mobility(
        bodies=system.n_bodies,
        joints=system.n_joints,
        loops=count_loops(system),
        constraint_rows=system.n_rows,
        redundant_rows=len(dynamics.redundant_rows),
        mobility=int(system.freedoms.sum()) - dynamics.rank,
    )


def count_loops(system: System) -> int:
    """Return edges - nodes + components of the body-joint graph, joints without a row aside."""
    edges = np.flatnonzero(np.diff(system.first_row) > 0)
    first, second = system.predecessor[edges], system.successor[edges]
    n = system.n_bodies + 1  # the world is the last node, which -1 means
    graph = coo_array((np.ones(len(edges)), (first % n, second % n)), shape=(n, n))
    components, _ = connected_components(graph, directed=False)
    return int(len(edges) - n + components)
