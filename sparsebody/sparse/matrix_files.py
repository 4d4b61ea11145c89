"""Matrices, block structures and elimination orders in files.

Equal matrices make equal Matrix Market files; errors in a file name it, the entry and the remedy.

Boisvert, Pozo and Remington (1996), The Matrix Market Exchange Formats, NISTIR 5935; Karypis
(2013), METIS manual 5.1.0, sec. 4.1, on graphs.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.io import mminfo, mmread
from scipy.sparse import coo_array, csc_array, tril

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.errors import FileFormatError, ShapeError
from sparsebody.sparse.pattern import SymmetricPattern, positions, symmetric_pattern
from sparsebody.writing import StrPath, replaced

CONTENTS = ("auto", "order", "positions")  # of order files
MATRIX_SUFFIXES = (".mtx", ".mtx.gz")
PATTERN_SUFFIXES = (*MATRIX_SUFFIXES, ".graph")
_POSITIONS = ".iperm"
_COMMENT_BORDER = "%" + 79 * "-"
_LARGEST_INDEX = 2**62  # sums of two fit into 64 bits
_LARGEST_EXACT = 2**53  # floats hold all whole numbers below


# ---- Matrix Market ---------------------------------------------------------------------------


def write_matrix(
    matrix: Any, path: Path, comment: Sequence[str] = (), symmetric: bool = False
) -> None:
    """Write a sparse matrix by columns, of a symmetric one the lower triangle, without zeros.

    Numbers have the fewest digits that determine them. OutputError if the file cannot be written.
    """
    entries = csc_array(tril(matrix, format="csc") if symmetric else matrix)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    entries.sort_indices()
    coo = entries.tocoo()
    triples = zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), strict=True)
    size = f"{matrix.shape[0]} {matrix.shape[1]} {coo.nnz}"
    lines = [f"{row + 1} {column + 1} {value!r}" for row, column, value in triples]
    kind = "symmetric" if symmetric else "general"
    _write(f"coordinate real {kind}", comment, [size, *lines], path)


def write_array(array: FloatArray | IntArray, path: Path, comment: Sequence[str] = ()) -> None:
    """Write a dense vector (n,) or matrix (n, k) by columns; OutputError if that is impossible."""
    columns = array.reshape(len(array), -1)
    field = "integer" if np.issubdtype(array.dtype, np.integer) else "real"
    size = f"{columns.shape[0]} {columns.shape[1]}"
    _write(f"array {field} general", comment, [size, *map(repr, columns.T.ravel().tolist())], path)


def _write(kind: str, comment: Sequence[str], lines: list[str], path: Path) -> None:
    border = [_COMMENT_BORDER] if comment else []
    comments = [*border, *(f"% {line}".rstrip() for line in comment), *border]
    text = "\n".join([f"%%MatrixMarket matrix {kind}", *comments, *lines])
    with replaced(path) as draft:
        draft.write_text(text + "\n", encoding="utf-8", newline="\n")


def read_array(path: Path) -> FloatArray | IntArray:
    """Return the dense vector or matrix of a file.

    FileFormatError if it is broken, sparse, or has a number that is not finite.
    """
    matrix = _read(path)
    if not isinstance(matrix, np.ndarray):
        raise FileFormatError(f"{path}: a sparse matrix; give a dense one ('array' in its header)")
    return np.ravel(matrix) if matrix.ndim == 2 and matrix.shape[1] == 1 else matrix


def read_symmetric(path: Path) -> coo_array:
    """Return the lower triangle of a sparse symmetric matrix; explicit zeros count as entries.

    FileFormatError if the file is broken, or the matrix is not square, not symmetric in its
    pattern, holds an entry twice or a number that is not finite.
    """
    matrix = _read(path)
    if isinstance(matrix, np.ndarray):
        raise FileFormatError(f"{path}: a dense matrix; give a sparse one ('coordinate')")
    n_rows, n = matrix.shape
    if n_rows != n:
        raise FileFormatError(f"{path}: {n_rows} x {n}; give a square, symmetric matrix")
    index, mirrored = (i.astype(np.int64) * n + j for i, j in (matrix.coords, matrix.coords[::-1]))
    ordered = np.sort(index)
    repeated = ordered[1:][np.diff(ordered) == 0]
    if len(repeated):
        row, column = divmod(int(repeated[0]), n)
        raise FileFormatError(
            f"{path}: the entry ({row + 1}, {column + 1}) is given twice; give each once, of a "
            "symmetric matrix one triangle"
        )
    unmatched = np.setdiff1d(index, mirrored)
    if len(unmatched):
        row, column = divmod(int(unmatched[0]), n)
        raise FileFormatError(
            f"{path}: not symmetric: {len(unmatched)} entries, such as ({row + 1}, {column + 1}), "
            "have no entry across the diagonal; give A + A', or 'symmetric' in its header with one "
            "triangle"
        )
    return tril(matrix, format="coo")


def _read(path: Path) -> Any:
    """Return what a file holds, dense or as coordinates."""
    try:
        is_complex = mminfo(path)[4] == "complex"
        matrix = None if is_complex else mmread(path, spmatrix=False)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, OverflowError, EOFError, MemoryError) as error:
        raise FileFormatError(
            f"{path}: not a complete Matrix Market file: {error}; correct it there or save it again"
        ) from error
    if matrix is None:
        raise FileFormatError(f"{path}: complex numbers; give a real or pattern matrix")
    values = np.ravel(matrix if isinstance(matrix, np.ndarray) else matrix.data)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise FileFormatError(
            f"{path}: entry {bad[0] + 1} is {values[bad[0]]}; give finite numbers"
        )
    return matrix


# ---- plain text ------------------------------------------------------------------------------


def lines_of(file: Path) -> list[str]:
    """Return the lines of a text file; FileFormatError if it cannot be read, or is no text."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FileFormatError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{file}: not a text file") from error


def read_json(file: Path, remedy: str) -> Any:
    """Return the document in a file; FileFormatError as of `lines_of`, or if it is no JSON."""
    try:
        return json.loads("\n".join(lines_of(file)))
    except ValueError as error:
        raise FileFormatError(f"{file}: not JSON: {error}; {remedy}") from error


def _integer(word: str, file: Path, line: int) -> int:
    """Return an integer; FileFormatError if it is none, or too large for an index."""
    try:
        number = int(word)
    except ValueError as error:
        raise FileFormatError(
            f"{file}: line {line}: {word[:40]!r} is not a whole number; give indices"
        ) from error
    if abs(number) >= _LARGEST_INDEX:
        raise FileFormatError(f"{file}: line {line}: {word[:40]} is no index; give smaller ones")
    return number


def _integers(file: Path) -> list[int]:
    """Return the integers of a text file, in any number of lines."""
    return [
        _integer(word, file, number)
        for number, line in enumerate(lines_of(file), 1)
        for word in re.split("[%#]", line, maxsplit=1)[0].split()
    ]


# ---- orders ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StoredOrder:
    """An order from a file, and how the file was understood."""

    order: IntArray  # (n,) counted from 0
    base: int  # 0 or 1, from which the file counts
    content: str  # "order" or "positions"

    def __str__(self) -> str:
        what = "the order" if self.content == "order" else "positions, the inverse of the order"
        return f"{len(self.order)} entries, counted from {self.base}, {what}"


def read_order(path: StrPath, content: str = "auto") -> StoredOrder:
    """Return the order in a file; it may count from 0 or from 1.

    A Matrix Market vector (.mtx), or whole numbers in plain text, where % and # begin comments. Its
    content is the "order" or its inverse, "positions"; "auto": positions in .iperm files, else the
    order. Raises FileFormatError if the file cannot be read, or is not a permutation, saying what
    is missing.
    """
    if content not in CONTENTS:
        raise FileFormatError(f"content is {content!r}; give one of {', '.join(CONTENTS)}")
    file = Path(path)
    numbers = _indices(file)
    base = int(numbers.min())
    if base not in (0, 1):
        raise FileFormatError(
            f"{file}: the least entry is {base}; orders count from 0 or from 1, so that entry is "
            "wrong, or one is missing"
        )
    order = numbers - base
    _check_permutation(order, base, file)
    if content == "auto":
        content = "positions" if file.suffix.lower() == _POSITIONS else "order"
    return StoredOrder(positions(order) if content == "positions" else order, base, content)


def write_order(order: IntArray, path: StrPath) -> None:
    """Save an order: a Matrix Market vector (.mtx, from 1), positions (.iperm) or text (from 0).

    The file is replaced as a whole, or not at all; OutputError if it cannot be written.
    """
    file, blocks = Path(path), np.asarray(order, dtype=np.int64)
    if file.suffix.lower() == ".mtx":
        write_array(blocks + 1, file, ["elimination order, counted from 1"])
        return
    numbers = positions(blocks) if file.suffix.lower() == _POSITIONS else blocks
    with replaced(file) as draft:
        draft.write_text("".join(f"{number}\n" for number in numbers.tolist()), newline="\n")


def _indices(file: Path) -> IntArray:
    if file.suffix.lower() != ".mtx":
        numbers: Any = np.array(_integers(file), dtype=np.int64)
    else:
        numbers = read_array(file)
        if numbers.ndim != 1:
            raise FileFormatError(f"{file}: an array {numbers.shape}; give a vector")
        if np.any(numbers != np.floor(numbers)) or np.any(np.abs(numbers) >= _LARGEST_EXACT):
            raise FileFormatError(f"{file}: numbers that are not whole; give indices")
    if len(numbers) == 0:
        raise FileFormatError(f"{file}: no entries; give one for each block or row")
    return np.asarray(numbers, dtype=np.intp)


def _check_permutation(order: IntArray, base: int, file: Path) -> None:
    n = len(order)
    outside = np.flatnonzero(order >= n)
    if len(outside):
        raise FileFormatError(
            f"{file}: entry {outside[0] + 1} is {order[outside[0]] + base}, but {n} entries "
            f"counted from {base} end at {n - 1 + base}; give each once"
        )
    count = np.bincount(order, minlength=n)
    if np.any(count != 1):
        repeated = int(np.argmax(count > 1))
        entries = np.flatnonzero(order == repeated)[:2] + 1
        raise FileFormatError(
            f"{file}: {repeated + base} is given twice, as entries {entries[0]} and {entries[1]}, "
            f"and {int(np.argmin(count)) + base} is missing; give each once"
        )


# ---- patterns --------------------------------------------------------------------------------


class _BlockStructure(NamedTuple):
    """Sizes of consecutive blocks, and what is known of them."""

    sizes: IntArray
    names: tuple[str, ...] = ()
    is_dual: BoolArray | None = None


def read_pattern(path: StrPath, blocks: StrPath | None = None) -> SymmetricPattern:
    """Return the pattern of a symmetric matrix (.mtx, .mtx.gz) or a METIS graph (.graph).

    The vertices of a graph have as many rows as they weigh, one where they do not; those of a
    matrix are the `blocks` of a file, by default of one row. Raises FileFormatError if a file is
    broken, or the matrix is not symmetric, or the blocks do not fit it.
    """
    file = Path(path)
    if file.name.lower().endswith(".graph"):
        if blocks is not None:
            raise FileFormatError(f"{file}: a graph; its vertices are the blocks, give none beside")
        entries = _read_graph(file)
    elif file.name.lower().endswith(MATRIX_SUFFIXES):
        matrix = read_symmetric(file)
        n = matrix.shape[0]
        ones = np.ones(n, dtype=np.intp)
        structure = _BlockStructure(ones) if blocks is None else _read_blocks(Path(blocks))
        total = structure.sizes.sum(dtype=float)  # whole numbers of 64 bits would overflow
        if total != n:
            raise FileFormatError(
                f"{blocks}: {len(structure.sizes)} blocks of {total:.15g} rows in all, but {file} "
                f"has {n}; give the block structure of this matrix"
            )
        entries = matrix.row, matrix.col, structure
    else:
        raise FileFormatError(f"{file}: unknown suffix; give one of {', '.join(PATTERN_SUFFIXES)}")
    row, column, structure = entries
    try:
        return symmetric_pattern(row, column, *structure)
    except ShapeError as error:
        raise FileFormatError(f"{file}: {error}") from error


def _read_blocks(file: Path) -> _BlockStructure:
    """Read a JSON object, or sizes in a Matrix Market vector or plain text."""
    if file.suffix.lower() != ".json":
        sizes = read_array(file) if file.suffix.lower() == ".mtx" else np.array(_integers(file))
        return _BlockStructure(_sizes(sizes, file))
    document = read_json(file, "correct it there")
    if not isinstance(document, dict):
        raise FileFormatError(f"{file}: a {type(document).__name__}; give an object with 'sizes'")
    if not isinstance(document.get("sizes"), list):
        raise FileFormatError(f"{file}: no list 'sizes'; give the rows of each block there")
    sizes = _sizes(np.array(document["sizes"], dtype=object), file)
    names, kinds = (document.get(key, []) for key in ("names", "kinds"))
    for key, column in (("names", names), ("kinds", kinds)):
        if not isinstance(column, list) or len(column) not in (0, len(sizes)):
            raise FileFormatError(f"{file}: '{key}' must list {len(sizes)} words, one a block")
    is_dual = np.array([kind == "joint" for kind in kinds], dtype=np.bool_) if kinds else None
    return _BlockStructure(sizes, tuple(map(str, names)), is_dual)


def _sizes(sizes: Any, file: Path) -> IntArray:
    """Return (n,) sizes of blocks; FileFormatError for others than whole numbers from 1 on."""
    numbers: list[Any] = sizes.tolist() if sizes.ndim == 1 else [None]
    if not all(type(k) in (int, float) and 1 <= k < _LARGEST_EXACT and k % 1 == 0 for k in numbers):
        raise FileFormatError(f"{file}: block sizes must be whole numbers from 1 on, in one list")
    return np.array(numbers, dtype=np.intp)


class _GraphFormat(NamedTuple):
    """What the lines of a METIS graph hold, a line for each vertex."""

    n_vertices: int
    n_edges: int
    has_size: bool  # a first number of a line, which is ignored
    n_weights: int  # the next ones; the first of them is the vertex's number of rows
    numbers_of_edge: int  # 2 if the weight of an edge follows its neighbour


def _graph_format(words: list[int], file: Path) -> _GraphFormat:
    """Read "n m [fmt [ncon]]"; fmt has three digits: sizes, vertex weights, edge weights."""
    n, n_edges, form, n_weights = (
        [*words, *(0, 1)[len(words) - 2 :]] if 2 <= len(words) <= 4 else 4 * [-1]
    )
    if (
        min(n, n_edges, form) < 0
        or n_weights < 1
        or not set(f"{form:03d}") <= {"0", "1"}
        or form > 111
    ):
        raise FileFormatError(
            f"{file}: line 1 must be 'vertices edges [format [weights]]', the format three digits "
            "0 or 1, for sizes and weights of vertices and weights of edges"
        )
    has_size, has_weight, has_edge_weight = (digit == "1" for digit in f"{form:03d}")
    return _GraphFormat(n, n_edges, has_size, n_weights * has_weight, 1 + has_edge_weight)


def _read_graph(file: Path) -> tuple[IntArray, IntArray, _BlockStructure]:
    """Read the format, then a line for each vertex: its size, weights, neighbours."""
    lines = [(k, line) for k, line in enumerate(lines_of(file), 1) if not line.startswith("%")]
    form = _graph_format(
        [_integer(word, file, k) for k, line in lines[:1] for word in line.split()], file
    )
    n, vertices = form.n_vertices, lines[1:]
    while len(vertices) > n and not vertices[-1][1].strip():
        vertices.pop()
    if len(vertices) != n:
        raise FileFormatError(
            f"{file}: {len(vertices)} lines of neighbours for {n} vertices; the file is cut off, "
            "or its first line is wrong"
        )
    sizes, rows, columns = np.ones(n, dtype=np.intp), list[int](), list[int]()
    for vertex, (number, line) in enumerate(vertices):
        words = [_integer(word, file, number) for word in line.split()][int(form.has_size) :]
        weights, edges = words[: form.n_weights], words[form.n_weights :]
        if len(weights) < form.n_weights or (weights and weights[0] < 1):
            raise FileFormatError(f"{file}: line {number}: a vertex must weigh 1 or more")
        if len(edges) % form.numbers_of_edge:
            raise FileFormatError(f"{file}: line {number}: give every edge its weight")
        sizes[vertex] = weights[0] if weights else 1
        neighbours = edges[:: form.numbers_of_edge]
        for other in neighbours:
            if not 1 <= other <= n or other == vertex + 1:
                raise FileFormatError(
                    f"{file}: line {number}: vertex {vertex + 1} cannot have the neighbour "
                    f"{other}; give others of 1 .. {n}"
                )
        rows += [vertex] * len(neighbours)
        columns += [other - 1 for other in neighbours]
    row, column = np.array([rows, columns], dtype=np.intp)
    _check_edges(row, column, form, file)
    start = np.cumsum(sizes) - sizes  # a vertex's first scalar row stands for it
    row, column = (np.concatenate([start[ends], start]) for ends in (row, column))
    return row, column, _BlockStructure(sizes)


def _check_edges(row: IntArray, column: IntArray, form: _GraphFormat, file: Path) -> None:
    """Raise FileFormatError unless both vertices of every edge list each other, once."""
    n, n_edges = form.n_vertices, form.n_edges
    forward, backward = np.sort(row * n + column), np.sort(column * n + row)
    if not np.array_equal(forward, backward):
        unmatched = np.setdiff1d(forward, backward)
        example = ""
        if len(unmatched):
            example = f", such as {unmatched[0] // n + 1} -> {unmatched[0] % n + 1}"
        raise FileFormatError(
            f"{file}: edges that only one of their vertices lists{example}; list both ways"
        )
    if np.any(np.diff(forward) == 0):
        repeated = int(forward[1:][np.diff(forward) == 0][0])
        raise FileFormatError(
            f"{file}: vertex {repeated // n + 1} lists its neighbour {repeated % n + 1} twice"
        )
    if len(forward) != 2 * n_edges:
        raise FileFormatError(
            f"{file}: {n_edges} edges in its first line, but {len(forward) // 2} in the others"
        )
