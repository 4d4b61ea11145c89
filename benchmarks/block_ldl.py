"""Time of block-ldl on gallery mechanisms, in microseconds per body, beside cholmod.

Run as ``python -m benchmarks.block_ldl``; times are CPU times of one core, the least of several.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from sparsebody.errors import SparsebodyError
from sparsebody.factorization import analyze, available_factorizations, refined_solve
from sparsebody.ordering import order
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix, saddle_product

SIZES = (8, 128, 2048, 32_768)


def ladder_ends(n: int) -> np.ndarray:
    """Two rails of bodies 2 k and 2 k + 1, fixed to the world, with a joint at every rung."""
    first = 2 * np.arange(n // 2)
    rails = np.concatenate([np.column_stack([first - 2, first]), np.column_stack([first - 1, first + 1])])
    return np.concatenate([np.maximum(rails, -1), np.column_stack([first, first + 1])])


def scissor(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of crossed bars; of the two hinges between pairs one keeps 5 rows and one 2."""
    first = 2 * np.arange(n // 2)
    crossings = np.column_stack([first, first + 1])
    up = np.column_stack([first[:-1], first[1:] + 1])
    across = np.column_stack([first[:-1] + 1, first[1:]])
    ends = np.concatenate([[[-1, 0]], crossings, up, across])
    return ends, np.repeat([5, 5, 5, 2], [1, len(crossings), len(up), len(across)])


def chain_ends(n: int) -> np.ndarray:
    """Bodies in a row, the first one joined to the world."""
    return np.column_stack([np.arange(-1, n - 1), np.arange(n)])


def random_saddle(ends: np.ndarray, rows: np.ndarray | int) -> SaddleMatrix:
    """Bodies of 6 freedoms, random inertias and random constraint rows."""
    rng = np.random.default_rng(0)
    n = int(ends.max()) + 1
    sizes = np.concatenate([np.full(n, 6), np.broadcast_to(rows, len(ends))]).astype(np.intp)
    pattern = BlockPattern(sizes, ends.astype(np.intp))
    half = rng.normal(size=(n, 6, 6))
    diagonal = half @ half.transpose(0, 2, 1) / 6 + np.eye(6)
    values = rng.normal(size=(pattern.n_rows - pattern.n_primal_rows, 2, 6))
    touched = pattern.ends[np.repeat(np.arange(pattern.n_dual), sizes[n:])] >= 0
    return SaddleMatrix(pattern, diagonal, np.linalg.inv(diagonal), values * touched[:, :, None])


def cases(n: int) -> Iterator[tuple[str, SaddleMatrix, str]]:
    """Yield name, matrix and ordering."""
    yield "ladder", random_saddle(ladder_ends(n), 3), "minimum-degree"
    yield "scissor", random_saddle(*scissor(n)), "minimum-degree"
    yield "chain", random_saddle(chain_ends(n), 5), "leaves-first"


def least_seconds(call: Callable[[], object], budget: float = 0.3) -> float:
    """Return the least CPU time of one call."""
    call()
    times, repeat = [], 1
    while sum(times) < budget or len(times) < 3:
        start = time.process_time()
        for _ in range(repeat):
            call()
        times.append(time.process_time() - start)
        if times[-1] < 0.005:
            repeat, times = 4 * repeat, []
    return min(times) / repeat


def main() -> None:
    """Print the table."""
    print(f"{'case':8}{'bodies':>8} {'backend':10}{'analyze':>9}{'factor':>9}{'solve':>9}  residual")
    for n in SIZES:
        for name, matrix, ordering in cases(n):
            for backend in {"block-ldl", "cholmod"} & set(available_factorizations()):
                report(name, n, matrix, ordering, backend)


def report(name: str, n: int, matrix: SaddleMatrix, ordering: str, backend: str) -> None:
    """Print one line."""
    sequence = order(matrix.pattern, ordering)
    rhs = saddle_product(matrix, np.random.default_rng(1).normal(size=matrix.pattern.n_rows))
    start = time.process_time()
    symbolic = analyze(backend, matrix.pattern, sequence)
    analysis = time.process_time() - start
    try:
        numeric = symbolic.factorize(matrix)
    except SparsebodyError as error:
        print(f"{name:8}{n:8} {backend:10} {error}")
        return
    residual = refined_solve(numeric, matrix, rhs)[1]
    factor = 1e6 / n * least_seconds(lambda: symbolic.factorize(matrix))
    numeric = symbolic.factorize(matrix)
    solution = 1e6 / n * least_seconds(lambda: numeric.solve(rhs))
    print(
        f"{name:8}{n:8} {backend:10}{1e6 / n * analysis:9.2f}{factor:9.3f}{solution:9.3f}"
        f"  {residual:.0e}",
        flush=True,
    )


if __name__ == "__main__":
    main()
