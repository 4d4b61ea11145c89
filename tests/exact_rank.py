"""Exact ranks: of integer rows, but for the chance of one in 2^31, and of cycles."""

import numpy as np
from scipy.sparse import csr_array

PRIME = 2**31 - 1


def rank_modulo_prime(matrix):
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


def _rank(first, rows, pivot_rows):
    """Row k starts at column first[k]; a pivot row has 1 at its own column, and comes there."""
    rank = 0
    for column, row in zip(first.tolist(), rows, strict=True):
        while (nonzero := np.flatnonzero(row)).size:
            shift = int(nonzero[0])
            column += shift
            row = np.append(row[shift:], np.zeros(shift, dtype=np.int64))
            pivot_row = pivot_rows[column]
            if pivot_row[0] == 0:
                pivot_row[:] = row * pow(int(row[0]), -1, PRIME) % PRIME
                rank += 1
                break
            row = (row - row[0] * pivot_row) % PRIME
    return rank


def cycle_rank(cycles):
    """Return how many cycles are independent: as bits, reduced by the highest of those before."""
    basis = []
    for c in range(len(cycles)):
        bits = sum(1 << e for e in cycles[c].tolist())
        for other in basis:
            bits = min(bits, bits ^ other)
        basis = sorted(filter(None, [*basis, bits]), reverse=True)
    return len(basis)
