"""Frames that some joints hand on from body to body, and the order in which they reach these."""

from __future__ import annotations

from dataclasses import dataclass

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Placement:
    """Nodes of a graph in the frame of the first node of their component."""

    label: IntArray  # (n,) component, numbered from 0
    place: IntArray  # (n,) when each node was reached
    rotation: FloatArray  # (n, 3, 3) from the axes of a node to those of its component
    offset: FloatArray  # (n, 3) of the origin of a node

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.label.max(initial=-1)) + 1


def placement(
    n: int, ends: IntArray, rotation: FloatArray, point: FloatArray, first: int = 0
) -> Placement:
    """Return the components of a graph whose edges are joints that do not move.

    Parameters
    ----------
    n : int
        Number of nodes.
    ends : (2, m) int array
        Nodes of the edges, predecessors first.
    rotation, point : (2, m, 3, 3) and (2, m, 3) float arrays
        The joint frames at both ends, in the frames of the nodes.
    first : int
        Where to begin, breadth first.
    """
    return Placement(*model.placement(n, ends, rotation, point, first))
