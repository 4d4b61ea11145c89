"""Distances of primal blocks from landmarks far apart: coordinates from the graph alone."""

from __future__ import annotations

from sparsebody._core import graph as kernels
from sparsebody.arrays import FloatArray
from sparsebody.sparse.levels import cuthill_mckee, primal_graph
from sparsebody.sparse.pattern import BlockPattern


def landmark_distances(pattern: BlockPattern, n_landmarks: int = 8) -> FloatArray:
    """Return the distances (n_primal, n_landmarks) in joints from the landmarks of each part.

    The first landmark of a connected part lies at its periphery, each next one as far as possible
    from those before. Parts are set apart from each other by an offset.
    """
    return kernels.landmark_distances(primal_graph(pattern), cuthill_mckee(pattern), n_landmarks)
