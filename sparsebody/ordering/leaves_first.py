"""The order of the articulated-body algorithm, as far as the mechanism is a tree."""

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.ordering.minimum_degree import minimum_degree
from sparsebody.sparse.admissibility import tree_parts
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.pattern import BlockPattern


def leaves_first(pattern: BlockPattern) -> IntArray:
    """Strip tree parts from the leaves, each outer body and then its joint; then minimum degree.

    Admissible. On a tree no front is larger than a body with one of its joints, or two bodies:
    eliminating a body and its joint adds an articulated inertia to the body further in.

    References
    ----------
    Baraff (1996); Featherstone (2008), ch. 7 for the articulated-body algorithm.
    """
    outer, stripped = tree_parts(pattern)
    if len(stripped) == 0:
        return minimum_degree(pattern)
    joint_of = np.empty(pattern.n_primal, dtype=np.intp)  # of each stripped body
    joint_of[outer[outer >= 0]] = pattern.n_primal + np.flatnonzero(outer >= 0)
    parts = np.column_stack([stripped, joint_of[stripped]]).ravel()
    kept = np.ones(pattern.n_blocks, dtype=bool)
    kept[parts] = False
    core = np.flatnonzero(kept)
    order = np.concatenate([parts, core[minimum_degree(_restricted(pattern, core))]])
    return postordered(pattern, order)


def _restricted(pattern: BlockPattern, blocks: IntArray) -> BlockPattern:
    """Return the pattern of `blocks`, in increasing order; they hold the ends of their joints."""
    is_dual = blocks >= pattern.n_primal
    new_label = np.full(pattern.n_primal + 1, -1, dtype=np.intp)  # the last one answers for -1
    new_label[blocks[~is_dual]] = np.arange(np.count_nonzero(~is_dual))
    ends = pattern.ends[blocks[is_dual] - pattern.n_primal]
    return BlockPattern(pattern.block_sizes[blocks], new_label[ends])
