"""Other people's patterns: Matrix Market matrices, METIS graphs, and block structures beside them.

A block structure is a JSON object with `sizes` and, if known, `kinds` ("body" or "joint") and
`names`, as in the corpus; or block sizes alone, in a Matrix Market vector or as plain text.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.errors import FileFormatError, ShapeError
from sparsebody.sparse.files.matrix_market import read_array, read_symmetric
from sparsebody.sparse.files.order_files import whole_numbers
from sparsebody.sparse.files.text_files import lines_of, whole
from sparsebody.sparse.symmetric import SymmetricPattern, symmetric_pattern

MATRIX_SUFFIXES = (".mtx", ".mtx.gz")
PATTERN_SUFFIXES = (*MATRIX_SUFFIXES, ".graph")
_JOINT = "joint"


class BlockStructure(NamedTuple):
    """Sizes of consecutive blocks, and what is known of them."""

    sizes: IntArray
    names: tuple[str, ...] = ()
    is_dual: BoolArray | None = None


def read_pattern(
    path: str | os.PathLike[str], blocks: str | os.PathLike[str] | None = None
) -> SymmetricPattern:
    """Return the pattern of a symmetric matrix (.mtx, .mtx.gz) or a METIS graph (.graph).

    Parameters
    ----------
    path : path-like
        The file; the vertices of a graph have as many rows as they weigh, one where they do not.
    blocks : path-like, optional
        Block structure of a matrix; default: blocks of one row.

    Raises
    ------
    FileFormatError
        If a file is broken, or the matrix is not symmetric, or the blocks do not fit it.
    """
    file = Path(path)
    if file.name.lower().endswith(".graph"):
        if blocks is not None:
            raise FileFormatError(f"{file}: a graph; its vertices are the blocks, give none beside")
        return _read_graph(file)
    if not file.name.lower().endswith(MATRIX_SUFFIXES):
        raise FileFormatError(f"{file}: unknown suffix; give one of {', '.join(PATTERN_SUFFIXES)}")
    found = read_symmetric(file)
    n = found.shape[0]
    structure = (
        BlockStructure(np.ones(n, dtype=np.intp)) if blocks is None else _read_blocks(blocks)
    )
    total = int(structure.sizes.sum())
    if total != n:
        raise FileFormatError(
            f"{blocks}: {len(structure.sizes)} blocks of {total} rows in all, but {file} has {n}; "
            "give the block structure of this matrix"
        )
    return _pattern(found.row, found.col, structure, file)


def _pattern(
    row: IntArray, column: IntArray, blocks: BlockStructure, file: Path
) -> SymmetricPattern:
    try:
        return symmetric_pattern(row, column, *blocks)
    except ShapeError as error:
        raise FileFormatError(f"{file}: {error}") from error


# ---- block structures -----------------------------------------------------------------------


def _read_blocks(path: str | os.PathLike[str]) -> BlockStructure:
    file = Path(path)
    if file.suffix.lower() == ".json":
        return _blocks_of(_json_object(file), file)
    sizes = read_array(file) if file.suffix.lower() == ".mtx" else np.array(whole_numbers(file))
    return BlockStructure(_sizes(sizes, file))


def _blocks_of(document: dict[str, Any], file: Path) -> BlockStructure:
    if not isinstance(document.get("sizes"), list):
        raise FileFormatError(f"{file}: no list 'sizes'; give the rows of each block there")
    sizes = _sizes(np.array(document["sizes"]), file)
    columns = {key: document.get(key, []) for key in ("names", "kinds")}
    for key, column in columns.items():
        if not isinstance(column, list) or len(column) not in (0, len(sizes)):
            raise FileFormatError(f"{file}: '{key}' must list {len(sizes)} words, one a block")
    kinds = np.array(columns["kinds"], dtype=object) if columns["kinds"] else None
    is_dual = None if kinds is None else np.asarray(kinds == _JOINT, dtype=np.bool_)
    return BlockStructure(sizes, tuple(map(str, columns["names"])), is_dual)


def _sizes(found: Any, file: Path) -> IntArray:
    whole_ones = found.ndim == 1 and np.issubdtype(found.dtype, np.number)
    if not (whole_ones and np.all(found == np.floor(found)) and np.all(found >= 1)):
        raise FileFormatError(f"{file}: block sizes must be whole numbers from 1 on, in one list")
    return np.asarray(found, dtype=np.intp)


def _json_object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads("\n".join(lines_of(file)))
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{file}: not JSON: {error}; correct it there") from error
    if not isinstance(found, dict):
        raise FileFormatError(f"{file}: a {type(found).__name__}; give an object with 'sizes'")
    return found


# ---- METIS graphs ---------------------------------------------------------------------------


def _read_graph(file: Path) -> SymmetricPattern:
    """Read "n m [fmt [ncon]]", then a line for each vertex: its size, weights, neighbours."""
    lines = [(k, line) for k, line in enumerate(lines_of(file), 1) if not line.startswith("%")]
    header = [whole(word, file, lines[0][0]) for word in lines[0][1].split()] if lines else []
    if not 2 <= len(header) <= 4:
        raise FileFormatError(f"{file}: line 1 must be 'vertices edges [format [weights]]'")
    n, n_edges = header[:2]
    has_size, has_weight, has_edge_weight = (
        digit == "1" for digit in f"{header[2] if len(header) > 2 else 0:03d}"[-3:]
    )
    n_weights = (header[3] if len(header) > 3 else 1) if has_weight else 0
    vertices = lines[1:]
    while len(vertices) > n and not vertices[-1][1].strip():
        vertices.pop()
    if len(vertices) != n:
        raise FileFormatError(
            f"{file}: {len(vertices)} lines of neighbours for {n} vertices; the file is cut off, "
            "or its first line is wrong"
        )
    sizes, row, column = np.ones(n, dtype=np.intp), [], []
    for vertex, (number, line) in enumerate(vertices):
        words = [whole(word, file, number) for word in line.split()][int(has_size) :]
        if has_weight:
            if len(words) < n_weights or words[0] < 1:
                raise FileFormatError(f"{file}: line {number}: a vertex must weigh 1 or more")
            sizes[vertex] = words[0]
        neighbours = words[n_weights :: 2 if has_edge_weight else 1]
        for other in neighbours:
            if not 1 <= other <= n or other == vertex + 1:
                raise FileFormatError(
                    f"{file}: line {number}: vertex {vertex + 1} cannot have the neighbour "
                    f"{other}; give others of 1 .. {n}"
                )
        row += [vertex] * len(neighbours)
        column += [other - 1 for other in neighbours]
    _check_edges(np.array(row, dtype=np.intp), np.array(column, dtype=np.intp), n, n_edges, file)
    start = np.cumsum(sizes) - sizes  # a vertex's first scalar row stands for it
    every = np.concatenate([start[row], start]) if row else start
    other_end = np.concatenate([start[column], start]) if row else start
    return _pattern(every, other_end, BlockStructure(sizes), file)


def _check_edges(row: IntArray, column: IntArray, n: int, n_edges: int, file: Path) -> None:
    """Raise FileFormatError unless every edge stands at both of its vertices, once each."""
    forward, backward = np.sort(row * n + column), np.sort(column * n + row)
    if not np.array_equal(forward, backward):
        alone = np.setdiff1d(forward, backward)
        example = f", such as {alone[0] // n + 1} -> {alone[0] % n + 1}" if len(alone) else ""
        raise FileFormatError(
            f"{file}: edges that stand at one vertex only{example}; list both ways"
        )
    if np.any(np.diff(forward) == 0):
        twice = int(forward[1:][np.diff(forward) == 0][0])
        raise FileFormatError(
            f"{file}: vertex {twice // n + 1} lists its neighbour {twice % n + 1} twice"
        )
    if len(forward) != 2 * n_edges:
        raise FileFormatError(
            f"{file}: {n_edges} edges in its first line, but {len(forward) // 2} in the others"
        )
