"""K and k about one origin for all loops, as in table 8.4. Featherstone (2008), sec. 8.7.

In base coordinates all vectors are about the world's origin, in floating-base coordinates about
the origin of the body that the tree of the loop begins with. Far from its origin such a vector
loses digits: moments there are differences of large numbers. The rows about the links' own origins
of loop_constraints.py lose none; these are the book's algorithm, and show what it costs.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.tree.problem import TreeProblem


def fill_about_one_origin(
    problem: TreeProblem,
    row: IntArray,
    link: IntArray,
    is_floating: bool,
    row_start: IntArray,
    local: IntArray,
    values: FloatArray,
    k: FloatArray,
) -> None:
    """Fill values of K, packed as fill_loop_blocks does, and k (m,) with Baumgarte's terms.

    Parameters
    ----------
    problem : TreeProblem
        A mechanism at a state.
    row : (m,) int array
        Rows of the system.
    link : (m, 2) int array
        The tree's numbers of predecessor and successor, -1 for the world.
    is_floating : bool
        Whether the origin is that of the floating base, or the world's.
    """
    tree, system = problem.tree, problem.system
    velocity_product = np.empty((tree.n_bodies, 6))
    native.link_accelerations(problem.links, problem.motion, problem.driven_qdd, velocity_product)
    joint = system.row_joint[row]
    native.loop_rows_about_one_origin(
        problem.links,
        problem.motion,
        velocity_product,
        is_floating,
        link,
        system.successor_rotation[joint],
        system.successor_point[joint],
        problem.subspace[row],
        problem.shift[row] - problem.constraint.drift[row],
        row_start,
        local,
        values,
        k,
    )
