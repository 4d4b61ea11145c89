"""Inverse dynamics by the recursive Newton-Euler algorithm. Featherstone (2008), table 5.1.

v_i = v_parent + S qd                   a_i = a_parent + S qdd + (dS/dt) qd + v_i x S qd
f_i = I a_i + v_i x* I v_i - f_x        tau_i = S' f_i,  f_parent += f_i,  leaves to root
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_motion import TreeMotion

NO_FORCE = np.zeros((0, 6))


def recursion(
    tree: SpanningTree, motion: TreeMotion, qdd: FloatArray, force: FloatArray = NO_FORCE
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return tau, and of every link the acceleration and the wrench through its tree joint.

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
    tau : (n_velocities,) float array
        H qdd + C, what the tree joints must exert [N m, N]; loop joints exert nothing.
    acceleration, transmitted : (n_bodies, 6) float arrays
        In world axes about the link's origin; accelerations are true ones, without the fictitious
        one of gravity.
    """
    tau = np.empty(tree.n_velocities)
    acceleration, transmitted = np.empty((tree.n_bodies, 6)), np.empty((tree.n_bodies, 6))
    native.recursive_newton_euler(tree.links, motion, qdd, force, acceleration, transmitted, tau)
    return tau, acceleration, transmitted


def inverse_dynamics(
    tree: SpanningTree, motion: TreeMotion, qdd: FloatArray, force: FloatArray = NO_FORCE
) -> FloatArray:
    """Return tau (n_velocities,) that the tree joints must exert; arguments of `recursion`."""
    return recursion(tree, motion, qdd, force)[0]


def joint_space_bias_force(
    tree: SpanningTree, motion: TreeMotion, force: FloatArray = NO_FORCE
) -> FloatArray:
    """Return C (n_velocities,) of H qdd + C = tau; gravity and other forces are part of it."""
    return inverse_dynamics(tree, motion, np.zeros(tree.n_velocities), force)
