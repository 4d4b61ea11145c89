"""Inverse dynamics by the recursive Newton-Euler algorithm. Featherstone (2008), sec. 5.3."""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.tree.motion import TreeMotion
from sparsebody.tree.spanning_tree import SpanningTree

NO_FORCE = np.zeros((0, 6))


def inverse_dynamics(
    tree: SpanningTree,
    motion: TreeMotion,
    qdd: FloatArray,
    force: FloatArray | None = None,
) -> FloatArray:
    """Return tau (n_velocities,) that the tree joints must exert for accelerations qdd.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    motion : TreeMotion
        Of its links.
    qdd : (n_velocities,) float array
        Rates of qd [rad/s^2, m/s^2].
    force : (n_bodies, 6) float array, optional
        Other forces on the links besides gravity, as from `link_forces`.

    Returns
    -------
    (n_velocities,) float array
        tau = H qdd + C [N m, N]; loop joints exert nothing.

    References
    ----------
    Featherstone (2008), table 5.1.
    """
    return recursion(tree, motion, qdd, force)[0]


def joint_space_bias_force(
    tree: SpanningTree, motion: TreeMotion, force: FloatArray | None = None
) -> FloatArray:
    """Return C (n_velocities,) of H qdd + C = tau; gravity and other forces are part of it."""
    return inverse_dynamics(tree, motion, np.zeros(tree.n_velocities), force)


def recursion(
    tree: SpanningTree,
    motion: TreeMotion,
    qdd: FloatArray,
    force: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return tau, and of every link the acceleration and the wrench through its tree joint.

    Both (n_bodies, 6) in world axes about the link's origin; accelerations are true ones, without
    the fictitious one of gravity.
    """
    tau = np.empty(tree.n_velocities)
    acceleration, transmitted = np.empty((tree.n_bodies, 6)), np.empty((tree.n_bodies, 6))
    external = NO_FORCE if force is None else force
    native.recursive_newton_euler(tree.links, motion, qdd, external, acceleration, transmitted, tau)
    return tau, acceleration, transmitted
