"""The order of the articulated-body algorithm, as far as the mechanism is a tree."""

from sparsebody.arrays import IntArray
from sparsebody.ordering.minimum_degree import minimum_degree
from sparsebody.ordering.tree_parts import leaves_then
from sparsebody.sparse.pattern import BlockPattern


def leaves_first(pattern: BlockPattern) -> IntArray:
    """Strip tree parts from the leaves, each outer body and then its joint; then minimum degree.

    Admissible. On a tree no front is larger than a body with one of its joints, or two bodies:
    eliminating a body and its joint adds an articulated inertia to the body further in.

    References
    ----------
    Baraff (1996); Featherstone (2008), ch. 7 for the articulated-body algorithm.
    """
    return leaves_then(pattern, lambda core, _: minimum_degree(core))
