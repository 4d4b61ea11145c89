"""The joint-space inertia H by the composite-rigid-body algorithm. Featherstone (2008), ch. 6."""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.tree.motion import TreeMotion
from sparsebody.tree.spanning_tree import SpanningTree

MOST_ENTRIES = 2**28  # of H: 2 GB
INERTIA_SIZE = 10  # of a composite: triangle of A, first moment h, mass


def joint_space_inertia(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return H, packed by rows as `tree.pattern` tells. Featherstone (2008), table 6.2.

    Raises
    ------
    ModelError
        If it has more than MOST_ENTRIES entries.
    """
    H = empty_inertia(tree)
    native.composite_rigid_body(tree.links, motion, tree.pattern, empty_composite(tree), H)
    return H


def empty_composite(tree: SpanningTree) -> FloatArray:
    """Return work space (n_bodies, INERTIA_SIZE) of composite_rigid_body."""
    return np.empty((tree.n_bodies, INERTIA_SIZE))


def empty_inertia(tree: SpanningTree) -> FloatArray:
    """Return room for H; errors as in joint_space_inertia."""
    n_entries = tree.n_inertia_nonzeros
    if n_entries > MOST_ENTRIES:
        raise ModelError(
            f"the joint-space inertia of {tree.system.name!r} has {n_entries:.2g} entries on a "
            f"{tree.choice} tree of depth {tree.depth.max()}; use method 'sparse'"
        )
    return np.empty(n_entries)
