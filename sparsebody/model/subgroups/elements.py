"""Which directions, lines and points on a body are the same, but for rounding."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray, IntArray

SAME = 1e-12  # relative distance of elements that are taken for one
_ASIDE = np.array([0.7548776662466927, 0.5698402909980532, 0.3247179572447460])  # a side to face


def same_elements(group: IntArray, numbers: FloatArray) -> IntArray:
    """Number elements (m,) so that only those of one group with equal numbers (m, k) share one."""
    label = np.unique(group, return_inverse=True)[1].astype(np.intp).reshape(len(group))
    for column in numbers.T:
        order = np.lexsort((column, label))
        is_new = np.diff(label[order]) != 0
        is_new |= np.diff(column[order]) > SAME
        label[order] = np.cumsum(np.concatenate([[0], is_new])) if len(order) else 0
    return label


def signs(directions: FloatArray) -> FloatArray:
    """Return (..., 1) the signs that turn directions and their opposites the same way."""
    return np.where(directions @ _ASIDE < 0.0, -1.0, 1.0)[..., None]


def sizes(group: IntArray, points: FloatArray, n: int) -> FloatArray:
    """Return (n,) the distance of the farthest point of each group; 1 where there is none."""
    size = np.zeros(n)
    np.maximum.at(size, group, np.linalg.norm(points, axis=-1))
    return np.where(size > 0.0, size, 1.0)


def paired(first: IntArray, second: IntArray, n: int) -> IntArray:
    """Return one number for each pair of numbers, the second ones below n."""
    return first.astype(np.int64) * n + second


def find(keys: IntArray, numbers: IntArray) -> IntArray:
    """Return the places of numbers in sorted keys, -1 where there is none."""
    if len(keys) == 0:
        return np.full(numbers.shape, -1, dtype=np.intp)
    index = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
    return np.where(keys[index] == numbers, index, -1).astype(np.intp)
