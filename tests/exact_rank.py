"""The rank of integer rows, exact but for the chance of one in 2^31."""

import numpy as np
from numba import njit
from scipy.sparse import csr_array

PRIME = 2**31 - 1


def rank_modulo_prime(matrix: csr_array) -> int:
    """Return the rank modulo a large prime, by elimination along the band of the columns."""
    rows = csr_array(matrix)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    first = np.minimum.reduceat(rows.indices, rows.indptr[:-1]).astype(np.intp)
    width = int((np.maximum.reduceat(rows.indices, rows.indptr[:-1]) - first).max()) + 1
    place = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    band = np.zeros((rows.shape[0], width), dtype=np.int64)
    band[place, rows.indices - first[place]] = np.round(rows.data).astype(np.int64) % PRIME
    return int(_rank(first, band, np.zeros((rows.shape[1], width), dtype=np.int64)))


@njit(cache=True)
def _rank(first, rows, pivot_rows):
    """Row k starts at column first[k]; a pivot row has 1 at its own column, and comes there."""
    rank = 0
    for k in range(len(first)):
        row, column = rows[k], first[k]
        while True:
            shift = 0
            while shift < len(row) and row[shift] == 0:
                shift += 1
            if shift == len(row):
                break
            column += shift
            for a in range(len(row)):
                row[a] = row[a + shift] if a + shift < len(row) else 0
            pivot_row = pivot_rows[column]
            if pivot_row[0] == 0:
                scale = _inverse(row[0])
                for a in range(len(row)):
                    pivot_row[a] = row[a] * scale % PRIME
                rank += 1
                break
            factor = row[0]
            for a in range(len(row)):
                row[a] = (row[a] - factor * pivot_row[a]) % PRIME
    return rank


@njit(cache=True)
def _inverse(value):
    """Fermat: value^(p - 2)."""
    power, exponent = 1, PRIME - 2
    while exponent:
        if exponent % 2:
            power = power * value % PRIME
        value = value * value % PRIME
        exponent //= 2
    return power
