"""Ranks of integer matrices modulo 2^31 - 1, and of sets of cycles over GF(2).

The former are never above the exact rank r, and below it only if the prime divides all minors of
order r.
"""

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
    position = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    band = np.zeros((rows.shape[0], width), dtype=np.int64)
    band[position, rows.indices - first[position]] = np.round(rows.data).astype(np.int64) % PRIME
    return int(_rank(first, band, np.zeros((rows.shape[1], width), dtype=np.int64)))


def _rank(first, rows, pivot_rows):
    """Return the rank of rows (n, width); row k starts at column first[k].

    A pivot row is scaled to lead with 1 and stored, from that entry on, in pivot_rows[its leading
    column].
    """
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


def rank_over_gf2(cycles):
    """Return the rank of cycles as 0/1 vectors of edges, by an XOR basis sorted by leading bit."""
    basis = []
    for c in range(len(cycles)):
        bits = sum(1 << e for e in cycles[c].tolist())
        for other in basis:
            bits = min(bits, bits ^ other)
        basis = sorted(filter(None, [*basis, bits]), reverse=True)
    return len(basis)
