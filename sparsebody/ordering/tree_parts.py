"""Tree parts from the leaves inwards, and any order of the core."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.sparse.elimination_tree import postordered, tree_parts
from sparsebody.sparse.pattern import BlockPattern


def leaves_then(
    pattern: BlockPattern, order_core: Callable[[BlockPattern, IntArray], IntArray]
) -> IntArray:
    """Strip tree parts from the leaves, each outer body and then its joint; then order the core.

    Admissible if the order of the core is. The articulated-body algorithm on the tree parts: each
    body and its joint add an articulated inertia to the body further in.

    Parameters
    ----------
    pattern : BlockPattern
        The pattern to be eliminated.
    order_core : callable
        Takes the pattern of the core and the blocks of `pattern` that it is made of; returns an
        elimination order of the core.

    References
    ----------
    Baraff (1996); Featherstone (2008), ch. 7 for the articulated-body algorithm.
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
