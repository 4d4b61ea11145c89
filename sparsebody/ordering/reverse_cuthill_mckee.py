"""Reverse Cuthill-McKee: small bandwidth."""

from sparsebody.arrays import IntArray
from sparsebody.ordering.sweeps import with_joints
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import cuthill_mckee


def reverse_cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Reverse the breadth-first order of the bodies, then put each joint after its bodies.

    Admissible. The search starts at the periphery, wherever the numbering does.

    References
    ----------
    Cuthill and McKee (1969); George (1971).
    """
    return with_joints(pattern, cuthill_mckee(pattern)[::-1])
