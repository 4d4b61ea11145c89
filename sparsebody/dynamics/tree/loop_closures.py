"""The rows of passive loop joints on their links in one compiled pass.

What loop_constraints finds with drives and stabilization, by way of all joints of the system.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.compiled.varying import VaryingRows, fill_varying_rows, varying_arrays
from sparsebody.dynamics.tree.front_order import constrained_loops
from sparsebody.dynamics.tree.links import BODY, FRAME, FRAME_POINT, Links
from sparsebody.dynamics.tree.loop_constraints import rows_to_links
from sparsebody.dynamics.tree.motion import CENTER, ROTATION, TreeMotion
from sparsebody.dynamics.tree.registers import dot6, load3, load_matrix, moved, negative, store3
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.model.selection import with_joints
from sparsebody.model.system import State
from sparsebody.spatial.tuples import add, cross, difference, turned


class LoopTable(NamedTuple):
    """Constants of the loop joints that have rows, for compiled code."""

    ends: IntArray  # (n, 2) links of predecessor and successor, -1 for the world
    first_row: IntArray  # (n + 1,) among loop rows
    row: FloatArray  # (m, 6) T' in the axes of the successor's link about its origin
    anchor: FloatArray  # (n, 3) origin of S in the world, where the successor is the world


def loop_table(tree: SpanningTree) -> LoopTable:
    """Return the constants of the loop joints of a tree."""
    system, loops = tree.system, constrained_loops(tree)
    first = system.first_row
    joint = tree.loop_joint[first[tree.loop_joint + 1] > first[tree.loop_joint]]
    own = np.repeat(np.arange(len(joint)), np.diff(loops.first_row))
    rows = np.flatnonzero(tree.tree_index[system.row_joint] < 0)
    link = loops.ends[:, 1]
    is_link = (link >= 0)[:, None]
    to_body = tree.links.constants[link, FRAME:FRAME_POINT].reshape(-1, 3, 3)
    origin = tree.links.constants[link, FRAME_POINT : FRAME_POINT + 3]
    to_body = np.where(is_link[:, :, None], to_body, np.eye(3))
    point, rotation = system.successor_point[joint], system.successor_rotation[joint]
    to_link = np.einsum("nba,nbc->nac", to_body, rotation)
    arm = np.einsum("nba,nb->na", to_body, np.where(is_link, point - origin, 0.0))
    moment, force = (
        np.einsum("mab,mb->ma", to_link[own], part)
        for part in (system.subspace[rows, :3], system.subspace[rows, 3:])
    )
    row = np.concatenate([moment + np.cross(arm[own], force), force], axis=1)
    return LoopTable(loops.ends, loops.first_row, row, np.where(is_link, 0.0, point))


class VaryingLoops:
    """The rows of those loop joints whose T varies on both bodies.

    Parameters
    ----------
    tree : SpanningTree
        A tree of a system without springs or drives on joints.
    """

    def __init__(self, tree: SpanningTree) -> None:
        system = tree.system
        groups = [group.joints for group in system.groups if group.kernels.subspace is not None]
        varying = np.concatenate([*groups, np.zeros(0, dtype=np.intp)])
        joint = tree.loop_joint[np.isin(tree.loop_joint, varying)]
        of_loops = system.row_joint[tree.tree_index[system.row_joint] < 0]
        self.row = np.flatnonzero(np.isin(of_loops, joint))  # (k,) among loop rows
        arrays = varying_arrays(with_joints(system, joint))
        self._rows, self._asked = arrays["rows"], arrays["asked"]
        self._all = VaryingRows(**arrays)

    def at(self, state: State) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return which rows vary, the rows (k, 2, 6) on the bodies, and what they ask for."""
        if len(self.row):
            bodies = state.position, state.orientation, state.velocity
            fill_varying_rows(self._all, *bodies)
        return self.row, self._rows, self._asked


@njit(cache=True, error_model="numpy")
def take_rows(
    links: Links,
    motion: TreeMotion,
    row_links: IntArray,
    place: IntArray,
    given: FloatArray,
    given_asked: FloatArray,
    wrench: FloatArray,
    asked: FloatArray,
) -> None:
    """Fill some rows with given ones (k, 2, 6) in body coordinates."""
    for k in range(place.size):
        row = place[k]
        wrench[row] = given[k]
        asked[row] = given_asked[k]
        rows_to_links(links, motion, row_links[row : row + 1], wrench[row : row + 1])


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_loop_rows(
    links: Links,
    table: LoopTable,
    position: FloatArray,
    motion: TreeMotion,
    wrench: FloatArray,
    asked: FloatArray,
) -> None:
    """Fill the rows of A on both links, and T'(a_s - a_p) = -T'(v_s x v_p) that they ask for.

    `position` (n_bodies, 3) are the centers of mass, in the system's order.
    """
    for loop in range(table.ends.shape[0]):
        p, s = table.ends[loop, 0], table.ends[loop, 1]
        d = load3(table.anchor, loop, 0)  # from the predecessor's origin to the successor's
        w_s = u_s = w_p = u_p = (0.0, 0.0, 0.0)
        R = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
        if s >= 0:
            R = load_matrix(motion.place, s, ROTATION)
            d = difference(
                load3(position, links.integers[s, BODY], 0), load3(motion.inertia, s, CENTER)
            )
            w_s, u_s = load3(motion.velocity, s, 0), load3(motion.velocity, s, 3)
        if p >= 0:
            d = difference(d, load3(position, links.integers[p, BODY], 0))
            d = add(d, load3(motion.inertia, p, CENTER))
            w_p = load3(motion.velocity, p, 0)
            u_p = moved(w_p, load3(motion.velocity, p, 3), d)
        c_w, c_u = cross(w_p, w_s), add(cross(w_p, u_s), cross(u_p, w_s))
        for row in range(table.first_row[loop], table.first_row[loop + 1]):
            n, f = turned(R, load3(table.row, row, 0)), turned(R, load3(table.row, row, 3))
            asked[row] = dot6(n, f, c_w, c_u)
            store3(wrench[row], 1, 0, n)
            store3(wrench[row], 1, 3, f)
            store3(wrench[row], 0, 0, negative(add(n, cross(d, f))))
            store3(wrench[row], 0, 3, negative(f))
