"""Rates of the joints' positions and their velocities: dq/dt = Q(q) qd, and back.

Balls and free joints have quaternions as positions and angular velocities as velocities, so that qd
is not dq/dt. Featherstone (2008), eqs. (3.6) and (3.7), sec. 4.6.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.tree.coordinates import checked_coordinates
from sparsebody.tree.spanning_tree import SpanningTree


def position_rates(tree: SpanningTree, q: FloatArray, qd: FloatArray) -> FloatArray:
    """Return dq/dt (n_positions,) = Q(q) qd; quaternions keep their length."""
    q = checked_coordinates(tree, q, "q", tree.n_positions)
    qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
    rate = np.empty(tree.n_positions)
    native.position_rates(tree.links, q, qd, rate)
    return rate


def velocities_of_rates(
    tree: SpanningTree, q: FloatArray, rate: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return qd and qdd (n_velocities,) of joint positions with given time derivatives.

    Parameters
    ----------
    tree : SpanningTree
        The spanning tree.
    q, rate, second : (n_positions,) float arrays
        Positions, dq/dt and d^2 q/dt^2; quaternions may have any length, and change it.
    """
    qd, qdd = np.empty(tree.n_velocities), np.empty(tree.n_velocities)
    native.velocities_of_rates(tree.links, q, rate, second, qd, qdd)
    return qd, qdd
