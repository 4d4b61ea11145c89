"""The orderings of CHOLMOD, and orderings of any symmetric pattern.

No block has to wait for another, so the factorization must pivot unless the matrix is positive or
quasi-definite.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from scipy.sparse import coo_array, csc_array, csc_matrix, identity

from sparsebody.arrays import IntArray
from sparsebody.errors import MissingDependencyError
from sparsebody.ordering.minimum_degree import leaves_then
from sparsebody.sparse.elimination_tree import ordering_metrics, repair
from sparsebody.sparse.pattern import BlockPattern, with_primal_blocks


def joints_ordered_by(pattern: BlockPattern, method: str) -> IntArray:
    """Order the joints as CHOLMOD would eliminate them, each body right before its first joint.

    Admissible; tree parts come leaves first. Two joints couple when they share a body: the pattern
    of T' P' I^-1 P T, which "amd" (approximate minimum degree), "metis" (nested dissection, best
    where the mechanism is a large lattice) and "nesdis" (METIS cuts, constrained minimum degree
    orders) look at; "colamd" takes T' P' itself. Chen, Davis, Hager and Rajamanickam (2008).
    """
    _cholmod(method)

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        if core.n_dual == 0:
            return np.arange(core.n_primal, dtype=np.intp)
        sizes = core.block_sizes[core.n_primal :]
        joint_of_row = np.repeat(np.arange(core.n_dual), sizes // np.gcd.reduce(sizes))
        ends = core.ends[joint_of_row]
        row, side = np.nonzero(ends >= 0)
        touches = np.ones(len(row)), (row, ends[row, side])
        matrix = csc_matrix(csc_array(touches, shape=(len(ends), max(core.n_primal, 1))))
        if method != "colamd":
            matrix = csc_matrix(matrix @ matrix.T + identity(len(joint_of_row), format="csc"))
        return with_primal_blocks(core, blocks_ordered(matrix, joint_of_row, method))

    return leaves_then(pattern, order_core)


def quotient_metis(pattern: BlockPattern) -> IntArray:
    """Dissect the graph of bodies and joints by METIS, then see that bodies precede their joints.

    Admissible. Joints move back to the later of their bodies, or bodies forward to their first
    joint, whichever predicts less work. Karypis and Kumar (1998).
    """

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        sizes = core.block_sizes
        if core.n_dual == 0:
            return np.arange(core.n_blocks, dtype=np.intp)
        block = np.repeat(np.arange(core.n_blocks), sizes // np.gcd.reduce(sizes))
        joint, side = np.nonzero(core.ends >= 0)
        at = core.n_primal + joint, core.ends[joint, side]
        pairs = coo_array((np.ones(len(joint)), at), shape=(core.n_blocks, core.n_blocks)).tocsc()
        whole = (pairs + pairs.T + identity(core.n_blocks, format="csc")).tocsc()
        blocks = blocks_ordered(csc_matrix(whole[block][:, block]), block, "metis")
        bodies_forward = with_primal_blocks(core, blocks[blocks >= core.n_primal] - core.n_primal)
        repaired = [repair(core, blocks), bodies_forward]
        return min(repaired, key=lambda order: ordering_metrics(core, order).flops)

    return leaves_then(pattern, order_core)


def blocks_ordered(matrix: csc_matrix, block: IntArray, method: str) -> IntArray:
    """Return the blocks by the first of their rows, as `method` eliminates those of `matrix`.

    COLAMD takes a factor of the matrix, the others take the matrix itself.
    """
    cholmod = _cholmod(method)
    analyze = cholmod.analyze_AAt if method == "colamd" else cholmod.analyze
    row_order = analyze(matrix, mode="supernodal", ordering_method=method).P()
    blocks, first_row = np.unique(block[row_order], return_index=True)
    return blocks[np.argsort(first_row)].astype(np.intp)


def _cholmod(method: str) -> ModuleType:
    """Return the module of CHOLMOD."""
    try:
        from sksparse import cholmod
    except ImportError as error:
        raise MissingDependencyError(
            f"the ordering cholmod-{method} needs scikit-sparse: pip install 'sparsebody[cholmod]'"
        ) from error
    module: ModuleType = cholmod
    return module
