"""Forward dynamics of trees by the articulated-body algorithm. Featherstone (2008), ch. 7."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.tree.motion import TreeMotion
from sparsebody.tree.recursive_newton_euler import NO_FORCE
from sparsebody.tree.spanning_tree import SpanningTree


class Articulated(NamedTuple):
    """Articulated inertias and bias forces, and what the elimination of each coordinate leaves."""

    link: FloatArray  # (n, 27) I^A = [A B; B' D], triangles of A and D, and p^A; world axes
    coordinate: FloatArray  # (n_velocities, 8) U = I^A S, 1 / (S' U), u = tau - S' p^A
    acceleration: FloatArray  # (n, 6) true ones, in world axes about the links' origins


def empty_articulated(tree: SpanningTree) -> Articulated:
    """Return arrays of the right shapes."""
    n, n_v = tree.n_bodies, tree.n_velocities
    return Articulated(np.zeros((n, 27)), np.zeros((n_v, 8)), np.zeros((n, 6)))


NONE_PRESCRIBED = np.zeros(0, dtype=np.bool_)


def forward_dynamics_tree(
    tree: SpanningTree, motion: TreeMotion, tau: FloatArray, force: FloatArray | None = None
) -> FloatArray:
    """Return qdd (n_velocities,) of the tree, its loop joints exerting nothing.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    motion : TreeMotion
        Of its links.
    tau : (n_velocities,) float array
        Forces of the tree joints [N m, N].
    force : (n_bodies, 6) float array, optional
        Other forces on the links besides gravity, as from `link_forces`.

    References
    ----------
    Featherstone (2008), table 7.1.
    """
    qdd = np.empty(tree.n_velocities)
    external = NO_FORCE if force is None else force
    native.articulated_body(
        tree.links, motion, tau, external, NONE_PRESCRIBED, empty_articulated(tree), qdd
    )
    return qdd
