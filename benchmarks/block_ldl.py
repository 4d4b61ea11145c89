"""Time of block-ldl on gallery mechanisms, in microseconds per body, beside cholmod.

Run as ``python -m benchmarks.block_ldl``; times are CPU times of one core, the least of several.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from sparsebody.errors import SparsebodyError
from sparsebody.factorization import analyze, available_factorizations, refined_solve
from sparsebody.factorization.block_ldl import BlockLDLSymbolic
from sparsebody.ordering import order
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix, saddle_product

SIZES = (8, 128, 2048, 32_768, 100_000, 1_000_000)


def ladder_ends(n: int) -> np.ndarray:
    """Two rails of bodies 2 k and 2 k + 1, fixed to the world, with a joint at every rung."""
    first = 2 * np.arange(n // 2)
    rails = np.concatenate(
        [np.column_stack([first - 2, first]), np.column_stack([first - 1, first + 1])]
    )
    return np.concatenate([np.maximum(rails, -1), np.column_stack([first, first + 1])])


def hinge_rows(arm: tuple[float, float], rows: int) -> np.ndarray:
    """Rows (rows, 6) of a hinge along y, seen from the center of mass; the last two in plane."""
    place = np.array([arm[0], 0.0, arm[1]])
    moves = np.hstack([np.cross(place, np.eye(3)[[1, 0, 2]]), np.eye(3)[[1, 0, 2]]])
    return np.vstack([np.eye(6)[[0, 2]], moves])[5 - rows :]


def scissor(n: int) -> SaddleMatrix:
    """Pairs of crossed bars; of the two hinges between pairs one keeps 5 rows and one 2."""
    x, z = 0.5, 0.2  # half of a bar
    ends, rows = [(-1, 0)], [(None, hinge_rows((-x, -z), 5))]
    for k in range(0, n, 2):
        ends.append((k, k + 1))
        rows.append((hinge_rows((0, 0), 5), hinge_rows((0, 0), 5)))
    for k in range(0, n - 2, 2):
        ends += [(k, k + 3), (k + 1, k + 2)]
        rows.append((hinge_rows((x, z), 5), hinge_rows((x, -z), 5)))
        rows.append((hinge_rows((-x, z), 2), hinge_rows((-x, -z), 2)))
    values = np.zeros((sum(len(second) for _, second in rows), 2, 6))
    start = 0
    for first, second in rows:
        part = values[start : start + len(second)]
        if first is not None:
            part[:, 0] = -first
        part[:, 1] = second
        start += len(second)
    sizes = np.array([6] * n + [len(second) for _, second in rows], dtype=np.intp)
    pattern = BlockPattern(sizes, np.array(ends, dtype=np.intp))
    diagonal = np.tile(np.diag([0.02, 0.1, 0.08, 1.0, 1.0, 1.0]), (n, 1, 1))
    return SaddleMatrix(pattern, diagonal, np.linalg.inv(diagonal), values)


def chain_ends(n: int) -> np.ndarray:
    """Bodies in a row, the first one joined to the world."""
    return np.column_stack([np.arange(-1, n - 1), np.arange(n)])


def random_saddle(ends: np.ndarray, rows: int) -> SaddleMatrix:
    """Bodies of 6 freedoms, random inertias and random constraint rows."""
    rng = np.random.default_rng(0)
    n = int(ends.max()) + 1
    sizes = np.concatenate([np.full(n, 6), np.full(len(ends), rows)]).astype(np.intp)
    pattern = BlockPattern(sizes, ends.astype(np.intp))
    half = rng.normal(size=(n, 6, 6))
    diagonal = half @ half.transpose(0, 2, 1) / 6 + np.eye(6)
    values = rng.normal(size=(pattern.n_rows - pattern.n_primal_rows, 2, 6))
    touched = pattern.ends[np.repeat(np.arange(pattern.n_dual), sizes[n:])] >= 0
    return SaddleMatrix(pattern, diagonal, np.linalg.inv(diagonal), values * touched[:, :, None])


def lattice_ends(n: int) -> np.ndarray:
    """A square of bodies, joined to their neighbours and at one corner to the world."""
    k = round(n**0.5)
    body = np.arange(k * k).reshape(k, k)
    right = np.column_stack([body[:, :-1].ravel(), body[:, 1:].ravel()])
    up = np.column_stack([body[:-1].ravel(), body[1:].ravel()])
    return np.concatenate([[[-1, 0]], right, up])


def cases(n: int) -> Iterator[tuple[str, SaddleMatrix, str]]:
    """Yield name, matrix and ordering."""
    yield "ladder", random_saddle(ladder_ends(n), 3), "minimum-degree"
    yield "scissor", scissor(n), "minimum-degree"
    yield "chain", random_saddle(chain_ends(n), 5), "leaves-first"
    if 128 <= n <= 8192:
        yield "lattice", random_saddle(lattice_ends(n), 2), "minimum-degree"


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
    print(
        f"{'case':8}{'bodies':>8} {'backend':10}"
        f"{'analyze':>9}{'factor':>9}{'solve':>9}{'both':>9}  residual"
    )
    for n in SIZES:
        for name, matrix, ordering in cases(n):
            for backend in _backends(n):
                report(name, n, matrix, ordering, backend)


def _backends(n: int) -> list[str]:
    """Return those to compare; cholmod takes too much memory beyond 100,000 bodies."""
    return ["block-ldl"] + ["cholmod"] * (n <= 100_000 and "cholmod" in available_factorizations())


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
    both = factor + solution
    if isinstance(symbolic, BlockLDLSymbolic):
        both = 1e6 / n * least_seconds(lambda: symbolic.factorize_and_solve(matrix, rhs))
    print(
        f"{name:8}{n:8} {backend:10}{1e6 / n * analysis:9.2f}{factor:9.3f}{solution:9.3f}"
        f"{both:9.3f}  {residual:.0e}",
        flush=True,
    )


if __name__ == "__main__":
    main()
