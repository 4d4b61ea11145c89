"""K qdd = k: what loop joints ask of the accelerations of the tree. Featherstone (2008), sec. 8.2.

Rows of the loop joints on their two bodies are wrenches there; walking towards the world from both
ends until the ways meet makes rows of K of them, as in table 8.4, about each link's own origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.tree.frames import body_rotation
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, PARENT, Links
from sparsebody.dynamics.tree.motion import CENTER, OFFSET, TreeMotion
from sparsebody.dynamics.tree.problem import TreeProblem
from sparsebody.dynamics.tree.recursive_newton_euler import accelerations
from sparsebody.dynamics.tree.registers import dot6, load3, store3
from sparsebody.spatial.tuples import add, cross, turned


@dataclass(frozen=True, eq=False)
class LoopRows:
    """The rows of the loop joints, drives among them, on the links at their ends."""

    row: IntArray  # (m,) numbers in the system
    link: IntArray  # (m, 2) the tree's numbers of predecessor and successor, -1 for the world
    wrench: FloatArray  # (m, 2, 6) A on either link, in world axes about its origin
    asked: FloatArray  # (m,) right-hand sides of A a, with Baumgarte's terms

    @property
    def n_rows(self) -> int:
        """Number of rows, dependent ones included."""
        return len(self.row)


def loop_rows(problem: TreeProblem, row: IntArray | None = None) -> LoopRows:
    """Return the rows of the loop joints at a state, in the order of `row` if it is given."""
    tree, row = problem.tree, problem.loop_rows if row is None else row
    loop = np.searchsorted(tree.loop_joint, problem.system.row_joint[row])
    link = np.stack([tree.loop_predecessor[loop], tree.loop_successor[loop]], axis=1)
    wrench = problem.constraint.rows[row]
    rows_to_links(tree.links, problem.motion, link, wrench)
    return LoopRows(row, link, wrench, problem.asked[row])


def loop_matrix(problem: TreeProblem, rows: LoopRows) -> FloatArray:
    """Return K (m, n_velocities); columns of driven coordinates are zero."""
    K = np.zeros((rows.n_rows, problem.tree.n_velocities))
    fill_loop_matrix(problem.links, problem.motion, rows.link, rows.wrench, K)
    if len(problem.is_driven):
        K[:, problem.is_driven] = 0.0
    return K


def loop_right_hand_side(problem: TreeProblem, rows: LoopRows) -> FloatArray:
    """Return k + k_stab (m,), with qdd measured from problem.driven_qdd. (8.15), (8.22)."""
    velocity_product = np.empty((problem.tree.n_bodies, 6))
    accelerations(problem.links, problem.motion, problem.driven_qdd, velocity_product)
    padded = np.concatenate([velocity_product, np.zeros((1, 6))])  # the world is the last
    return np.asarray(rows.asked - np.einsum("mea,mea->m", rows.wrench, padded[rows.link]))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def rows_to_links(links: Links, motion: TreeMotion, link: IntArray, wrench: FloatArray) -> None:
    """Turn rows in body coordinates about centers of mass into those about links' origins."""
    for row in range(link.shape[0]):
        for end in range(2):
            i = link[row, end]
            if i < 0:
                continue
            R, f = body_rotation(links, motion, i), wrench[row]
            push = turned(R, load3(f, end, 3))
            moment = turned(R, load3(f, end, 0))
            store3(f, end, 0, add(moment, cross(load3(motion.inertia, i, CENTER), push)))
            store3(f, end, 3, push)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_loop_matrix(
    links: Links, motion: TreeMotion, link: IntArray, wrench: FloatArray, K: FloatArray
) -> None:
    """Add the rows of K (m, n_velocities), which starts at zero. Featherstone (2008), table 8.4."""
    m, n = K.shape
    fill_loop_blocks(links, motion, link, wrench, n * np.arange(m), np.arange(n), K.reshape(m * n))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_loop_blocks(
    links: Links,
    motion: TreeMotion,
    link: IntArray,
    wrench: FloatArray,
    row_start: IntArray,
    local: IntArray,
    values: FloatArray,
) -> None:
    """Add the rows of K, whose entry of row r and coordinate k is values[row_start[r] + local[k]].

    The values start at zero. Featherstone (2008), table 8.4.
    """
    table, S = links.integers, motion.subspace
    for row in range(link.shape[0]):
        i, j, f = link[row, 0], link[row, 1], wrench[row]
        n_i, f_i = load3(f, 0, 0), load3(f, 0, 3)
        n_j, f_j = load3(f, 1, 0), load3(f, 1, 3)
        start = row_start[row]
        while i != j:
            if i > j:
                for k in range(table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]):
                    values[start + local[k]] = dot6(load3(S, k, 0), load3(S, k, 3), n_i, f_i)
                n_i = add(n_i, cross(load3(motion.place, i, OFFSET), f_i))
                i = table[i, PARENT]
            else:
                for k in range(table[j, FIRST_VELOCITY], table[j + 1, FIRST_VELOCITY]):
                    values[start + local[k]] = dot6(load3(S, k, 0), load3(S, k, 3), n_j, f_j)
                n_j = add(n_j, cross(load3(motion.place, j, OFFSET), f_j))
                j = table[j, PARENT]
