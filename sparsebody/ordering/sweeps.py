"""Sweeps through the bodies: small bandwidth, small profile, few rows in flight."""

from __future__ import annotations

import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.admissibility import repair
from sparsebody.sparse.etree import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import cuthill_mckee, primal_graph


def with_joints(pattern: BlockPattern, bodies: IntArray) -> IntArray:
    """Return the order with every joint right after the later of its bodies. Admissible."""
    joints = np.arange(pattern.n_primal, pattern.n_blocks, dtype=np.intp)
    return repair(pattern, np.concatenate([bodies, joints]))


def better_way(pattern: BlockPattern, bodies: IntArray) -> IntArray:
    """Return the order along `bodies` or along their reverse, whichever predicts less work."""
    ways = [with_joints(pattern, way) for way in (bodies, bodies[::-1])]
    return min(ways, key=lambda order: ordering_metrics(pattern, order).flops)


def reverse_cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Reverse the breadth-first order of the bodies, then put each joint after its bodies.

    Admissible. The search starts at the periphery, wherever the numbering does.

    References
    ----------
    Cuthill and McKee (1969); George (1971).
    """
    return with_joints(pattern, cuthill_mckee(pattern)[::-1])


def sloan(pattern: BlockPattern) -> IntArray:
    """Take next, of the bodies near those taken, one that is far from the end and adds little.

    Each joint follows its bodies: admissible. Of both directions the one that predicts less work.

    References
    ----------
    Sloan (1986), Int. J. Numer. Methods Eng. 23, 2.
    """
    sequence = kernels.sloan(primal_graph(pattern), cuthill_mckee(pattern))
    return better_way(pattern, sequence)


_STARTS = 4  # bodies to start from in each connected part


def pathwidth_sweep(pattern: BlockPattern) -> IntArray:
    """Take next the body, of those next to the ones taken, after which the fewest rows are cut.

    A front holds the joints between bodies taken and bodies not yet taken: the greatest number of
    their rows, over the sweep, is the weighted cut width, and bounds the vertex separation of
    the graph of joints (its pathwidth). Bodies that were reached first come first among equal ones.
    Several starts are tried. Each joint follows its bodies: admissible.

    References
    ----------
    Kinnersley (1992) for pathwidth as vertex separation; Diaz, Petit and Serna (2002) for surveys
    of layouts; the greedy rule is King's (1970), for rows instead of nodes.
    """
    joint_sizes, sequence = pattern.block_sizes[pattern.n_primal :], cuthill_mckee(pattern)
    orders = [
        better_way(
            pattern,
            kernels.pathwidth_sweep(pattern.ends, joint_sizes, sequence, start, _STARTS),
        )
        for start in range(_STARTS)
    ]
    return min(orders, key=lambda order: ordering_metrics(pattern, order).flops)


def level_sweep(pattern: BlockPattern) -> IntArray:
    """Eliminate level by level: its bodies, the joints inside it, the joints to the next level.

    Levels are those of a breadth-first search from one body at the periphery, or from it and one of
    its neighbours; bodies in a level follow Cuthill and McKee. A joint to the world follows its
    body. The narrowest band wins, then the smallest profile, both in blocks, then the larger start.
    In large mechanisms only some neighbours are tried.

    Not admissible: a joint comes before its body in the next level, and has a regular pivot only if
    the bodies up to its level, with all others fixed, have independent constraints.

    On a ladder this is Featherstone (2008), fig. 8.4: half-bandwidth 3, 5 n - 2 blocks for n rungs.

    References
    ----------
    Cuthill and McKee (1969); George and Liu (1979) for the search for a body at the periphery.
    """
    return kernels.level_sweep(pattern.n_primal, pattern.ends)
