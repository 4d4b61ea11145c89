"""The rank that a graph of bodies and bars has in general position, by counting alone.

Bars are independent if and only if every set of n bodies holds at most k (n - 1) of them (k = 6 in
space, 3 in a plane): Tay (1984), J. Comb. Theory B 36:95. The pebble game keeps the count: a body
has k pebbles, an accepted bar takes one from an end, and one more is accepted as long as k + 1
pebbles can be brought to its ends. Lee and Streinu (2008), Discrete Math. 308:1425.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import rank as kernels
from sparsebody.arrays import IntArray


def generic_bars(ends: IntArray, bars: IntArray, n_bodies: int, k: int = 6) -> IntArray:
    """Return how many of the bars of each joint are independent in general position.

    Joints are played in turn. Where one is refused, all bodies that its search reached are rigid
    together, and are one body from then on; so ladders take linear time, the worst graphs n^2.

    Parameters
    ----------
    ends : (n_joints, 2) int array
        The two bodies of each joint; -1 is the world.
    bars : (n_joints,) int array
        Rows of each joint.
    n_bodies : int
        The world not counted.
    k : int
        Freedoms of a body.

    Returns
    -------
    (n_joints,) int array
    """
    nodes = np.where(ends < 0, n_bodies, ends).astype(np.intp)
    return kernels.independent_bars(nodes, bars, n_bodies + 1, k)
