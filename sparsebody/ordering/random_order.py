"""A random order, a reference for the others."""

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def random_order(pattern: BlockPattern, seed: int = 0) -> IntArray:
    """Eliminate all bodies, then all joints, each shuffled with `seed`.

    Admissible, because every joint comes after all bodies. For research only.
    """
    generator = np.random.default_rng(seed)
    bodies = generator.permutation(pattern.n_primal)
    joints = pattern.n_primal + generator.permutation(pattern.n_dual)
    return np.concatenate([bodies, joints]).astype(np.intp)
