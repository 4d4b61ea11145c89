"""Tree parts from the leaves inwards, and any order of the core."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.elimination_tree import postordered, tree_parts
from sparsebody.sparse.pattern import BlockPattern, Blocks


def leaves_then(
    pattern: BlockPattern, order_core: Callable[[BlockPattern, IntArray], IntArray]
) -> IntArray:
    """Strip tree parts from the leaves, each outer body and then its joint; then order the core.

    Admissible if the order of the core is: `order_core` takes its pattern, and its blocks in
    `pattern`. Baraff (1996); Featherstone (2008), ch. 7 for the articulated-body algorithm.
    """
    outer, stripped = tree_parts(pattern)
    if len(stripped) == 0:
        return order_core(pattern, np.arange(pattern.n_blocks, dtype=np.intp))
    joint_of = np.empty(pattern.n_primal, dtype=np.intp)  # of each stripped body
    joint_of[outer[outer >= 0]] = pattern.n_primal + np.flatnonzero(outer >= 0)
    parts = np.column_stack([stripped, joint_of[stripped]]).ravel()
    is_core = np.ones(pattern.n_blocks, dtype=bool)
    is_core[parts] = False
    core = np.flatnonzero(is_core)
    order = np.concatenate([parts, core[order_core(restricted(pattern, core), core)]])
    return postordered(pattern, order)


def restricted(pattern: BlockPattern, blocks: IntArray) -> BlockPattern:
    """Return the pattern of `blocks`, in increasing order; they hold the ends of their joints."""
    is_dual = blocks >= pattern.n_primal
    new_label = np.full(pattern.n_primal + 1, -1, dtype=np.intp)  # the last one answers for -1
    new_label[blocks[~is_dual]] = np.arange(np.count_nonzero(~is_dual))
    ends = pattern.ends[blocks[is_dual] - pattern.n_primal]
    return BlockPattern(pattern.block_sizes[blocks], new_label[ends])


def natural(pattern: BlockPattern) -> IntArray:
    """Eliminate all bodies, then all joints, as numbered. Featherstone (2008), eq. (8.64).

    Admissible. What remains after the bodies is the joint-space Schur complement T' P' I^-1 P T.
    """
    return np.arange(pattern.n_blocks, dtype=np.intp)


def minimum_degree(pattern: BlockPattern) -> IntArray:
    """Eliminate next the admissible block that couples to the fewest scalar rows.

    A joint waits for both its bodies or, in a tree part, for its outer body. Admissible. Degrees
    are the upper bounds of the approximate minimum degree method, with its absorption of elements
    and its mass elimination. Amestoy, Davis and Duff (1996); Davis (2006), sec. 7.1.
    """
    return in_phases(pattern, np.zeros(pattern.n_blocks, dtype=np.intp))


def in_phases(pattern: BlockPattern, phase: IntArray) -> IntArray:
    """Return the order by minimum degree in which blocks of a lower `phase` (n_blocks,) come first.

    No joint's phase is lower than those of the bodies that it waits for. Constrained minimum
    degree: Liu (1989), ACM Trans. Math. Softw. 15, 2; Davis (2006), sec. 7.1.
    """
    outer, _ = tree_parts(pattern)
    n_ends = np.diff(pattern.adjacency[0])[pattern.n_primal :]
    return _by_degree(pattern, phase, outer, np.where(outer >= 0, 1, n_ends))


def without_waiting(pattern: BlockPattern, phase: IntArray) -> IntArray:
    """Return the order in which joints wait for lower phases but for no body. Not admissible."""
    none = np.full(pattern.n_dual, -1, dtype=np.intp)
    return _by_degree(pattern, phase, none, np.zeros(pattern.n_dual, dtype=np.intp))


def _by_degree(
    pattern: BlockPattern, phase: IntArray, outer: IntArray, n_awaited: IntArray
) -> IntArray:
    """Return the order with joints that wait for so many bodies, or for the outer one."""
    awaited = np.zeros(pattern.n_blocks, dtype=np.intp)
    awaited[pattern.n_primal :] = n_awaited
    return kernels.minimum_degree(
        pattern.adjacency, pattern.block_sizes, pattern.n_primal, awaited, outer, phase
    )


def unconstrained_minimum_degree(pattern: Blocks) -> IntArray:
    """Eliminate next the block that couples to the fewest scalar rows, of any symmetric pattern.

    No block waits for another. Amestoy, Davis and Duff (1996); Davis (2006), sec. 7.1.
    """
    zeros, none = np.zeros(pattern.n_blocks, dtype=np.intp), np.zeros(0, dtype=np.intp)
    return kernels.minimum_degree(pattern.adjacency, pattern.block_sizes, 0, zeros, none, zeros)


def bodies_first(pattern: BlockPattern) -> IntArray:
    """Eliminate all bodies, then the joints by minimum degree. Admissible.

    What remains after the bodies is Delassus' matrix T' P' I^-1 P T. Liu (1989); Baraff (1996).
    """
    is_joint = np.arange(pattern.n_blocks) >= pattern.n_primal
    return in_phases(pattern, is_joint.astype(np.intp))


def leaves_first(pattern: BlockPattern) -> IntArray:
    """Strip tree parts from the leaves, each outer body and then its joint; then minimum degree.

    Admissible. On a tree no front is larger than a body with one of its joints, or two bodies.
    Baraff (1996); Featherstone (2008), ch. 7 for the articulated-body algorithm.
    """
    return leaves_then(pattern, lambda core, _: minimum_degree(core))
