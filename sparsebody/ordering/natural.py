"""The order of the equation itself, and a random one: references for the others."""

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def natural(pattern: BlockPattern) -> IntArray:
    """Eliminate all bodies, then all joints, as numbered. Featherstone (2008), eq. (8.64).

    Admissible. What remains after the bodies is the joint-space Schur complement T' P' I^-1 P T.
    """
    return np.arange(pattern.n_blocks, dtype=np.intp)


def random_order(pattern: BlockPattern, seed: int = 0) -> IntArray:
    """Eliminate all bodies, then all joints, each shuffled with `seed`.

    Admissible, because every joint comes after all bodies. For research only.
    """
    generator = np.random.default_rng(seed)
    bodies = generator.permutation(pattern.n_primal)
    joints = pattern.n_primal + generator.permutation(pattern.n_dual)
    return np.concatenate([bodies, joints]).astype(np.intp)
