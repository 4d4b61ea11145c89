"""Small bandwidth, by SciPy."""

import numpy as np
from scipy.sparse import csgraph, csr_array

from sparsebody.arrays import IntArray
from sparsebody.sparse.admissibility import repair
from sparsebody.sparse.pattern import BlockPattern


def reverse_cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Reverse the breadth-first order of the quotient graph, then put each joint after its bodies.

    Admissible. The last step widens the band a little.

    References
    ----------
    Cuthill and McKee (1969); George (1971).
    """
    if pattern.n_blocks == 0:
        return np.empty(0, dtype=np.intp)
    indptr, indices = pattern.adjacency
    ones = np.ones(len(indices), dtype=np.int8)
    compressed = (ones, indices.astype(np.int32), indptr.astype(np.int32))
    graph = csr_array(compressed, shape=(pattern.n_blocks, pattern.n_blocks))
    order = csgraph.reverse_cuthill_mckee(graph, symmetric_mode=True)
    return repair(pattern, order.astype(np.intp))
