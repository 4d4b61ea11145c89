"""Orderings of any symmetric pattern, for matrices that are not those of a mechanism.

No block has to wait for another, so the factorization must pivot unless the matrix is positive or
quasi-definite.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix, csr_array, identity
from scipy.sparse.csgraph import reverse_cuthill_mckee as scalar_cuthill_mckee

from sparsebody.arrays import IntArray
from sparsebody.ordering.cholmod import blocks_ordered
from sparsebody.ordering.entry import Ordering, installed_entry, is_installed
from sparsebody.ordering.minimum_degree import unconstrained_minimum_degree
from sparsebody.sparse.pattern import Blocks


def _natural(pattern: Blocks) -> IntArray:
    return np.arange(pattern.n_blocks, dtype=np.intp)


def _random(pattern: Blocks) -> IntArray:
    return np.random.default_rng(0).permutation(pattern.n_blocks).astype(np.intp)


def _reverse_cuthill_mckee(pattern: Blocks) -> IntArray:
    return scalar_cuthill_mckee(_graph(pattern), symmetric_mode=True).astype(np.intp)


def _graph(pattern: Blocks) -> csr_array:
    """Return the adjacency of the blocks."""
    indptr, indices = pattern.adjacency
    at = indices.astype(np.int32), indptr.astype(np.int32)
    return csr_array((np.ones(len(indices)), *at), shape=(pattern.n_blocks,) * 2)


def _by_cholmod(method: str) -> Ordering:
    """Return the line of an ordering that comes with CHOLMOD, on blocks as heavy as their rows."""

    def ordered(pattern: Blocks) -> IntArray:
        sizes = pattern.block_sizes
        block = np.repeat(np.arange(pattern.n_blocks), sizes // np.gcd.reduce(sizes))
        whole = csc_matrix(_graph(pattern) + identity(pattern.n_blocks, format="csr"))
        return blocks_ordered(csc_matrix(whole[block][:, block]), block, method)

    return Ordering(ordered, f"{method.upper()}, by CHOLMOD", admissible=False, needs="sksparse")


GENERAL_ORDERINGS = {
    "minimum-degree": Ordering(
        unconstrained_minimum_degree, "the block that couples to the fewest rows", admissible=False
    ),
    "cholmod-amd": _by_cholmod("amd"),
    "cholmod-metis": _by_cholmod("metis"),
    "cholmod-nesdis": _by_cholmod("nesdis"),
    "reverse-cuthill-mckee": Ordering(_reverse_cuthill_mckee, "small bandwidth", admissible=False),
    "natural": Ordering(_natural, "as numbered", admissible=False),
    "random": Ordering(_random, "shuffled", admissible=False),
}


def available_general_orderings() -> list[str]:
    """Return the names of those that are installed."""
    return [name for name, entry in GENERAL_ORDERINGS.items() if is_installed(entry.needs)]


def general_order(pattern: Blocks, name: str) -> IntArray:
    """Return the elimination order (n_blocks,) that the ordering `name` gives.

    Raises
    ------
    UnknownNameError
        If there is no ordering of this name for patterns that are not a mechanism's.
    MissingDependencyError
        If the ordering needs a package that is not installed.
    """
    return installed_entry(GENERAL_ORDERINGS, name).function(pattern)
