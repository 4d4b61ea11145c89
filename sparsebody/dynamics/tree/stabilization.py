"""Baumgarte's terms of tree joints, for states whose bodies have drifted apart. (8.22)."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.tree.joint_frames import vector_to_world
from sparsebody.dynamics.tree.links import DIRECTION, Links
from sparsebody.dynamics.tree.motion import TreeMotion, successor_frame
from sparsebody.dynamics.tree.registers import add3
from sparsebody.dynamics.tree.small_solve import cholesky_solve, factor_gram
from sparsebody.dynamics.tree.spanning_tree import SpanningTree


def add_tree_shift(
    tree: SpanningTree, motion: TreeMotion, subspace: FloatArray, shift: FloatArray
) -> None:
    """Add to the drift of the links what makes T' (a_s - a_p) of tree joints larger by `shift`.

    Of all such accelerations the least in S coordinates that leaves prescribed coordinates alone;
    `subspace` (n_rows, 6) and `shift` (n_rows,) are those of the system's rows.
    """
    system = tree.system
    own = shift.copy()
    own[system.coordinates.row[system.coordinates.prescribed]] = 0.0
    _add_tree_shift(tree.links, motion, tree.joint, system.first_row, subspace, own)


@njit(cache=True)
def _add_tree_shift(
    links: Links,
    motion: TreeMotion,
    joint: IntArray,
    first_row: IntArray,
    subspace: FloatArray,
    shift: FloatArray,
) -> None:
    c, L = np.empty(6), np.empty((6, 6))
    for i in range(joint.size):
        j = joint[i]
        if j < 0 or first_row[j] == first_row[j + 1]:
            continue
        rows = subspace[first_row[j] : first_row[j + 1]]
        weight = shift[first_row[j] : first_row[j + 1]].copy()
        factor_gram(rows, L)
        cholesky_solve(L, weight.size, weight)
        c[:] = 0.0
        for k in range(weight.size):
            c += rows[k] * weight[k]
        to_world, way = successor_frame(links, motion.place, i)
        sign = float(links.integers[i, DIRECTION])
        c_w, c_u = vector_to_world(c, sign, to_world, way)
        add3(motion.drift, i, 0, c_w)
        add3(motion.drift, i, 3, c_u)
