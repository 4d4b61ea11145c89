"""Products with G where its rows are ones, or stretches of numbers. Featherstone, sec. 8.9."""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.tree.branch_sparsity import BranchPattern


class GBlocks(NamedTuple):
    """The rows of G; that of a dependent coordinate holds a stretch of numbers, others a one."""

    values: FloatArray  # as K is packed: in K[:r, :r] of a block L and U, in K[:r, r:] entries of G
    entry: IntArray  # (n,) where the stretch of a dependent row begins, -1 for independent ones
    first: IntArray  # (n,) where the stretch begins in y, or what number of y it is
    size: IntArray  # (n,) how long it is
    g: FloatArray  # (n,)


@njit(cache=True)
def unpack_g(G: GBlocks, dense: FloatArray) -> None:
    """Fill G (n, n - r), which starts at zero."""
    for k in range(G.entry.size):
        if G.entry[k] < 0:
            dense[k, G.first[k]] = 1.0
        else:
            for e in range(G.size[k]):
                dense[k, G.first[k] + e] = G.values[G.entry[k] + e]


@njit(cache=True)
def expand(G: GBlocks, y: FloatArray, x: FloatArray) -> None:
    """Fill x = G y + g."""
    for k in range(G.entry.size):
        if G.entry[k] < 0:
            x[k] = y[G.first[k]] + G.g[k]
        else:
            total = G.g[k]
            for e in range(G.size[k]):
                total += G.values[G.entry[k] + e] * y[G.first[k] + e]
            x[k] = total


@njit(cache=True)
def project(G: GBlocks, force: FloatArray, u: FloatArray) -> None:
    """Add G' force (n - r,) to u."""
    for k in range(G.entry.size):
        if G.entry[k] < 0:
            u[G.first[k]] += force[k]
        else:
            for e in range(G.size[k]):
                u[G.first[k] + e] += G.values[G.entry[k] + e] * force[k]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _add_row(G: GBlocks, k: int, factor: float, target: FloatArray) -> None:
    """Add factor times row k of G to `target` (n - r,)."""
    first = G.first[k]
    if G.entry[k] < 0:
        target[first] += factor
    else:
        part, row = target[first : first + G.size[k]], G.values[G.entry[k] :]
        for e in range(part.size):
            part[e] += factor * row[e]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def times_inertia(pattern: BranchPattern, H: FloatArray, G: GBlocks, HG: FloatArray) -> None:
    """Add H G (n, n - r), which starts at zero, from the entries that H has."""
    for k in range(pattern.parent.size):
        first, j = pattern.start[k], pattern.parent[k]
        _add_row(G, k, H[first + pattern.depth[k]], HG[k])
        while j >= 0:
            value = H[first + pattern.depth[j]]
            _add_row(G, j, value, HG[k])
            _add_row(G, k, value, HG[j])
            j = pattern.parent[j]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def project_rows(G: GBlocks, HG: FloatArray, product: FloatArray) -> None:
    """Add the upper triangle of G' (H G), which starts at zero."""
    for k in range(G.entry.size):
        for e in range(G.size[k]):
            i = G.first[k] + e
            factor = 1.0 if G.entry[k] < 0 else G.values[G.entry[k] + e]
            target, source = product[i, i:], HG[k, i:]
            for j in range(source.size):
                target[j] += factor * source[j]
