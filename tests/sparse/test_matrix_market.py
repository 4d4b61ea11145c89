import numpy as np
import pytest
from scipy.io import mmread
from scipy.sparse import csr_array, random_array

from sparsebody.errors import FileFormatError, OutputError
from sparsebody.sparse.matrix_market import (
    read_array,
    read_symmetric,
    write_array,
    write_matrix,
)

HEADER = "%%MatrixMarket matrix"


def broken(tmp_path, text):
    path = tmp_path / "broken.mtx"
    path.write_text(text)
    return path


def test_what_is_written_is_read_back_exactly(tmp_path):
    matrix = random_array((30, 20), density=0.1, rng=np.random.default_rng(0)).tocsr() / 3
    path = tmp_path / "a.mtx"
    write_matrix(matrix, path, ["name: a", ""])
    assert (mmread(path, spmatrix=False) != matrix.tocoo()).nnz == 0
    assert path.read_text().splitlines()[2:4] == ["% name: a", "%"]
    square = matrix @ matrix.T + csr_array(np.eye(30))
    write_matrix(square, path, symmetric=True)
    np.testing.assert_array_equal(mmread(path, spmatrix=False).toarray(), square.toarray())
    lower = read_symmetric(path).toarray()
    np.testing.assert_array_equal(lower, np.tril(square.toarray()))


@pytest.mark.parametrize("array", [np.arange(5), np.arange(4.0) / 3, np.arange(6.0).reshape(3, 2)])
def test_arrays_are_read_back_exactly(array, tmp_path):
    path = tmp_path / "b.mtx"
    write_array(array, path)
    found = read_array(path)
    assert found.dtype.kind == array.dtype.kind
    np.testing.assert_array_equal(found, array)


def test_both_triangles_and_patterns_are_read_as_one_triangle(tmp_path):
    text = f"{HEADER} coordinate pattern general\n3 3 5\n1 1\n2 1\n1 2\n3 2\n2 3\n"
    found = read_symmetric(broken(tmp_path, text))
    assert sorted(zip(found.row.tolist(), found.col.tolist(), strict=True)) == [
        (0, 0),
        (1, 0),
        (2, 1),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a whole Matrix Market file"),
        ("hello\n", "not a whole Matrix Market file"),
        (f"{HEADER} coordinate real symmetric\n3 3 3\n1 1 1.0\n", "not a whole Matrix Market file"),
        (f"{HEADER} coordinate real symmetric\n2 2 1\n3 1 1.0\n", "not a whole Matrix Market file"),
        (f"{HEADER} coordinate real symmetric\n2 2 1\n1 1 nan\n", "entry 1 is nan; give finite"),
        (f"{HEADER} coordinate real general\n2 3 1\n1 1 1.0\n", "2 x 3; give a square"),
        (
            f"{HEADER} coordinate real general\n2 2 2\n1 1 1.0\n2 1 1.0\n",
            r"an entry at \(2, 1\) and none at \(1, 2\).*give A \+ A'",
        ),
        (
            f"{HEADER} coordinate real symmetric\n2 2 2\n2 1 1.0\n2 1 2.0\n",
            r"the entry \(.*\) stands twice",
        ),
        (f"{HEADER} coordinate complex symmetric\n1 1 1\n1 1 1 0\n", "complex numbers"),
        (f"{HEADER} array real general\n1 1\n1.0\n", "a dense matrix; give a sparse one"),
    ],
)
def test_broken_matrices_are_told_from_whole_ones(text, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        read_symmetric(broken(tmp_path, text))


def test_a_sparse_file_is_no_vector_and_a_missing_one_is_told(tmp_path):
    path = broken(tmp_path, f"{HEADER} coordinate real general\n1 1 1\n1 1 1.0\n")
    with pytest.raises(FileFormatError, match="give a dense one"):
        read_array(path)
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_array(tmp_path / "none.mtx")
    with pytest.raises(OutputError, match="cannot write"):
        write_array(np.ones(2), tmp_path / "none" / "b.mtx")
