"""Matrix Market files: written the same way every time, read with the errors that users need.

References
----------
Boisvert, Pozo and Remington (1996), The Matrix Market Exchange Formats, NISTIR 5935.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mminfo, mmread
from scipy.sparse import coo_array, csc_array, tril

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import FileFormatError
from sparsebody.writing import replaced

RULE = "%" + 79 * "-"


def write_matrix(
    matrix: Any, path: Path, comment: Sequence[str] = (), symmetric: bool = False
) -> None:
    """Write a sparse matrix by columns, of a symmetric one the lower triangle, without zeros.

    Numbers are written with the fewest digits that determine them.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    entries = csc_array(tril(matrix, format="csc") if symmetric else matrix)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    entries.sort_indices()
    coordinates = entries.tocoo()
    kind = "symmetric" if symmetric else "general"
    lines = [f"%%MatrixMarket matrix coordinate real {kind}", *_comments(comment)]
    lines.append(f"{matrix.shape[0]} {matrix.shape[1]} {coordinates.nnz}")
    triples = zip(
        coordinates.row.tolist(), coordinates.col.tolist(), coordinates.data.tolist(), strict=True
    )
    lines += [f"{row + 1} {column + 1} {value!r}" for row, column, value in triples]
    _write(lines, path)


def write_array(array: FloatArray | IntArray, path: Path, comment: Sequence[str] = ()) -> None:
    """Write a dense vector (n,) or matrix (n, k), by columns.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    columns = array.reshape(len(array), -1)
    field = "integer" if np.issubdtype(array.dtype, np.integer) else "real"
    lines = [f"%%MatrixMarket matrix array {field} general", *_comments(comment)]
    lines.append(f"{columns.shape[0]} {columns.shape[1]}")
    lines += [repr(value) for value in columns.T.ravel().tolist()]
    _write(lines, path)


def _comments(lines: Sequence[str]) -> list[str]:
    return [RULE, *(f"% {line}".rstrip() for line in lines), RULE] if lines else []


def _write(lines: list[str], path: Path) -> None:
    with replaced(path) as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def read_array(path: Path) -> FloatArray | IntArray:
    """Return the dense vector or matrix of a file.

    Raises
    ------
    FileFormatError
        If the file is broken or holds a sparse matrix, or a number that is not finite.
    """
    matrix = _read(path)
    if not isinstance(matrix, np.ndarray):
        raise FileFormatError(f"{path}: a sparse matrix; give a dense one ('array' in its header)")
    return np.ravel(matrix) if matrix.ndim == 2 and matrix.shape[1] == 1 else matrix


def read_symmetric(path: Path) -> coo_array:
    """Return the lower triangle of a sparse symmetric matrix; explicit zeros count as entries.

    Raises
    ------
    FileFormatError
        If the file is broken, or the matrix is not square, not symmetric in its pattern, holds an
        entry twice or a number that is not finite.
    """
    matrix = _read(path)
    if isinstance(matrix, np.ndarray):
        raise FileFormatError(f"{path}: a dense matrix; give a sparse one ('coordinate')")
    n_rows, n_columns = matrix.shape
    if n_rows != n_columns:
        raise FileFormatError(f"{path}: {n_rows} x {n_columns}; give a square, symmetric matrix")
    index = matrix.row.astype(np.int64) * n_columns + matrix.col
    _refuse_twice(path, np.sort(index), n_columns)
    mirrored = matrix.col.astype(np.int64) * n_columns + matrix.row
    alone = np.flatnonzero(~np.isin(index, mirrored))
    if len(alone):
        row, column = matrix.row[alone[0]] + 1, matrix.col[alone[0]] + 1
        raise FileFormatError(
            f"{path}: not symmetric: there is an entry at ({row}, {column}) and none at "
            f"({column}, {row}), and so for {len(alone)} entries; give A + A', or 'symmetric' in "
            "its header with one triangle"
        )
    lower = matrix.row >= matrix.col
    entries = matrix.row[lower], matrix.col[lower]
    return coo_array((matrix.data[lower], entries), shape=matrix.shape)


def _refuse_twice(path: Path, index: IntArray, n_columns: int) -> None:
    twice = index[1:][np.diff(index) == 0]
    if len(twice):
        row, column = divmod(int(twice[0]), n_columns)
        raise FileFormatError(
            f"{path}: the entry ({row + 1}, {column + 1}) stands twice; give each once, of a "
            "symmetric matrix one triangle"
        )


def _read(path: Path) -> Any:
    """Return what a file holds, dense or as coordinates."""
    try:
        field = mminfo(path)[4]
        if field == "complex":
            raise FileFormatError(f"{path}: complex numbers; give a real or pattern matrix")
        matrix = mmread(path, spmatrix=False)
    except FileFormatError:
        raise
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, OverflowError, EOFError, MemoryError) as error:
        raise FileFormatError(
            f"{path}: not a whole Matrix Market file: {error}; correct it there or save it again"
        ) from error
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values.ravel()))[0]
        raise FileFormatError(
            f"{path}: entry {bad + 1} is {values.ravel()[bad]}; give finite numbers"
        )
    return matrix
