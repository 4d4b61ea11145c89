"""What the methods for closed loops have in common."""

from __future__ import annotations

from typing import Any

from sparsebody.model.system import System
from sparsebody.tree.loops.loop_clusters import loop_clusters
from sparsebody.tree.loops.loop_equations import (
    LoopEquations,
    check_coordinates,
    loop_equations,
)
from sparsebody.tree.method import TreeDynamics
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.spanning_tree import SpanningTree

RANK_TOLERANCE = 1e-8  # of LoopEquations.size, below which a row depends on the others


class LoopDynamics(TreeDynamics):
    """Forward dynamics by a spanning tree and the equations K qdd = k of its loop joints.

    Parameters
    ----------
    system, tree, reactions, baumgarte
        As in TreeDynamics.
    coordinates : {"link", "base", "floating-base"}
        Those in which K and k are computed; see loop_equations.

    Raises
    ------
    UnknownNameError
        If there are no such coordinates.
    """

    takes_loops = True

    def __init__(
        self,
        system: System,
        tree: SpanningTree | str = "auto",
        *,
        coordinates: str = "link",
        **options: Any,
    ) -> None:
        check_coordinates(coordinates)
        self.coordinates = coordinates
        super().__init__(system, tree, **options)

    def prepare(self) -> None:
        """Find the loop clusters."""
        self.clusters = loop_clusters(self.tree)

    def equations(self, problem: TreeProblem) -> LoopEquations:
        """Return K and k at a state."""
        return loop_equations(problem, self.clusters, self.coordinates)

    def explain(self) -> dict[str, object]:
        """Say which tree is used, and how large what it leads to is."""
        clusters = self.clusters
        return {
            **super().explain(),
            "loop_rows": clusters.n_rows,
            "loop_clusters": clusters.n_clusters,
            "loop_matrix_entries": int(clusters.start[-1]),
        }
