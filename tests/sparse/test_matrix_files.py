"""Matrix Market files, patterns and orders: what is written is read, what is broken is told."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from patterns import patterns
from scipy.io import mmread
from scipy.sparse import csr_array, random_array

import sparsebody as sb
from sparsebody.corpus.corpus_files import write_metis
from sparsebody.errors import FileFormatError, OutputError
from sparsebody.sparse.matrix_files import read_array, read_symmetric, write_array, write_matrix

HEADER = "%%MatrixMarket matrix"


def written(tmp_path, text, name="broken.mtx"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
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
    result = read_array(path)
    assert result.dtype.kind == array.dtype.kind
    np.testing.assert_array_equal(result, array)


def test_both_triangles_and_patterns_are_read_as_one_triangle(tmp_path):
    text = f"{HEADER} coordinate pattern general\n3 3 5\n1 1\n2 1\n1 2\n3 2\n2 3\n"
    result = read_symmetric(written(tmp_path, text))
    assert sorted(np.transpose(result.coords).tolist()) == [[0, 0], [1, 0], [2, 1]]


@pytest.fixture
def path(tmp_path):
    """A path of four vertices, as a matrix."""
    file = tmp_path / "path.mtx"
    graph = nx.to_scipy_sparse_array(nx.path_graph(4), dtype=float)
    write_matrix(graph + csr_array(np.diag([1.0, 1.0, 0.0, 1.0])), file, symmetric=True)
    return file


def test_single_rows_are_blocks_unless_others_are_given(path, tmp_path):
    result = sb.read_pattern(path)
    assert result.block_sizes.tolist() == [1, 1, 1, 1]
    assert result.adjacency[1].tolist() == [1, 0, 2, 1, 3, 2]
    assert result.has_pivot.tolist() == [True, True, False, True]
    for name, write in (
        ("sizes.txt", lambda file: file.write_text("1 2\n1\n")),
        ("sizes.mtx", lambda file: write_array(np.array([1, 2, 1]), file)),
        ("sizes.json", lambda file: file.write_text('{"sizes": [1, 2, 1]}')),
    ):
        write(tmp_path / name)
        result = sb.read_pattern(path, tmp_path / name)
        assert (result.n_blocks, result.n_rows) == (3, 4)
        assert result.adjacency[1].tolist() == [1, 0, 2, 1]
        assert result.has_pivot.tolist() == [True, True, True]


@settings(max_examples=15)
@given(pattern=patterns())
def test_metis_graphs_of_ours_are_read_back(pattern, tmp_path_factory):
    assume(pattern.n_blocks)
    file = tmp_path_factory.getbasetemp() / "quotient.graph"
    write_metis(pattern, file)
    result = sb.read_pattern(file)
    np.testing.assert_array_equal(result.block_sizes, pattern.block_sizes)
    for ours, theirs in zip(result.adjacency, pattern.adjacency, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("% triangle and a lone vertex\n4 3\n2 3\n1 3\n1 2\n\n", [1, 1, 1, 1]),
        ("4 3 1\n2 9 3 9\n1 9 3 9\n1 9 2 9\n\n", [1, 1, 1, 1]),
        ("4 3 111 2\n7 5 1 2 9 3 9\n7 4 1 1 9 3 9\n7 3 1 1 9 2 9\n7 2 1\n", [5, 4, 3, 2]),
    ],
)
def test_metis_graphs_with_weights_are_understood(text, sizes, tmp_path):
    result = sb.read_pattern(written(tmp_path, text, "a.graph"))
    assert result.block_sizes.tolist() == sizes
    assert result.adjacency[1].tolist() == [1, 2, 0, 2, 0, 1]


ORDER = np.array([2, 0, 3, 1])


@pytest.mark.parametrize(
    ("name", "base", "content"),
    [("a.txt", 0, "order"), ("a.mtx", 1, "order"), ("a.iperm", 0, "positions")],
)
def test_what_is_written_is_read_back(name, base, content, tmp_path):
    sb.write_order(ORDER, tmp_path / name)
    result = sb.read_order(tmp_path / name)
    np.testing.assert_array_equal(result.order, ORDER)
    assert (result.base, result.content) == (base, content)


@pytest.mark.parametrize(
    ("text", "content", "description"),
    [
        ("3 1 4 2\n", "order", "4 entries, counted from 1, the order"),
        ("% mine\n2 # first\n0\n3\n1\n", "auto", "4 entries, counted from 0, the order"),
        ("1\n3\n0\n2\n", "positions", "4 entries, counted from 0, positions, the inverse"),
        ("2\n4\n1\n3\n", "positions", "4 entries, counted from 1, positions, the inverse"),
    ],
)
def test_other_peoples_files_are_understood(text, content, description, tmp_path):
    result = sb.read_order(written(tmp_path, text, "a.perm"), content)
    np.testing.assert_array_equal(result.order, ORDER)
    assert description in str(result)


def blocks_of(document):
    return lambda file: sb.read_pattern(file, written(file.parent, document, "blocks.json"))


SYMMETRIC, GENERAL = (f"{HEADER} coordinate real {kind}\n" for kind in ("symmetric", "general"))
PATH = f"{HEADER} coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n4 3\n"
VECTOR = f"{HEADER} array real general\n"
WHOLE_SIZES = "block sizes must be whole numbers from 1 on"
BROKEN = {
    (read_symmetric, "a.mtx"): [
        ("", "not a complete Matrix Market file"),
        ("hello\n", "not a complete Matrix Market file"),
        (f"{SYMMETRIC}3 3 3\n1 1 1.0\n", "not a complete Matrix Market file"),
        (f"{SYMMETRIC}2 2 1\n3 1 1.0\n", "not a complete Matrix Market file"),
        (f"{SYMMETRIC}2 2 1\n1 1 nan\n", "entry 1 is nan; give finite"),
        (f"{GENERAL}2 3 1\n1 1 1.0\n", "2 x 3; give a square"),
        (
            f"{GENERAL}2 2 2\n1 1 1.0\n2 1 1.0\n",
            r"1 entries, such as \(2, 1\), have no entry across the diagonal; give A \+ A'",
        ),
        (f"{SYMMETRIC}2 2 2\n2 1 1.0\n2 1 2.0\n", r"the entry \(.*\) is given twice"),
        (f"{HEADER} coordinate complex symmetric\n1 1 1\n1 1 1 0\n", "complex numbers"),
        (f"{VECTOR}1 1\n1.0\n", "a dense matrix; give a sparse one"),
    ],
    (read_array, "a.mtx"): [(f"{GENERAL}1 1 1\n1 1 1.0\n", "give a dense one")],
    (sb.read_pattern, "a.rb"): [("", r"unknown suffix; give one of \.mtx")],
    (blocks_of('{"sizes": [1, 2]}'), "path.mtx"): [
        (PATH, "2 blocks of 3 rows in all, but .*path.mtx has 4")
    ],
    (blocks_of('{"sizes": [1, 0, 3]}'), "a.mtx"): [(PATH, WHOLE_SIZES)],
    (blocks_of('{"sizes": [1, 1.5, 1.5]}'), "a.mtx"): [(PATH, WHOLE_SIZES)],
    (blocks_of('{"sizes": ["4"]}'), "a.mtx"): [(PATH, WHOLE_SIZES)],
    (blocks_of('{"sizes": [[1], [2, 1]]}'), "a.mtx"): [(PATH, WHOLE_SIZES)],
    (blocks_of('{"sizes": [Infinity]}'), "a.mtx"): [(PATH, WHOLE_SIZES)],
    (blocks_of('{"sizes": [1e300]}'), "a.mtx"): [(PATH, WHOLE_SIZES)],
    (blocks_of(f'{{"sizes": {2**10 * [2**54 - 1]}}}'), "a.mtx"): [(PATH, WHOLE_SIZES)],
    (blocks_of(f'{{"sizes": {2**11 * [2**53 - 1] + [2**11 + 4]}}}'), "a.mtx"): [  # 4 + 2^64
        (PATH, "2049 blocks of 1.8.*e.19 rows in all")
    ],
    (blocks_of('{"sizes": 4}'), "a.mtx"): [(PATH, "no list 'sizes'")],
    (blocks_of('{"sizes": [2, 2], "kinds": ["body"]}'), "a.mtx"): [
        (PATH, "'kinds' must list 2 words")
    ],
    (blocks_of("[4]"), "a.mtx"): [(PATH, "give an object with 'sizes'")],
    (blocks_of("{"), "a.mtx"): [(PATH, "not JSON")],
    (lambda file: sb.read_pattern(file, file), "a.graph"): [
        ("", "its vertices are the blocks, give none beside")
    ],
    (sb.read_pattern, "a.graph"): [
        ("", "line 1 must be"),
        ("0 0\n", "a matrix without rows"),
        ("3 1\n2\n1\n", "2 lines of neighbours for 3 vertices; the file is cut off"),
        ("2 1\n2\n\n", "edges that only one of their vertices lists, such as 1 -> 2"),
        ("2 2\n2\n1\n", "2 edges in its first line, but 1 in the others"),
        ("2 1\n2 2\n1 1\n", "vertex 1 lists its neighbour 2 twice"),
        ("2 1\n3\n1\n", "line 2: vertex 1 cannot have the neighbour 3; give others of 1 .. 2"),
        ("2 1\n1\n2\n", "line 2: vertex 1 cannot have the neighbour 1"),
        ("2 1\nb\n1\n", "line 2: 'b' is not a whole number"),
        ("2 1 10\n0 2\n1 1\n", "line 2: a vertex must weigh 1 or more"),
        ("2 1 10\n1 2\n\n", "line 3: a vertex must weigh 1 or more"),
        ("2 1 1\n2 5\n1\n", "line 3: give every edge its weight"),
        (f"2 1 10\n{2**61} 2\n{2**61} 1\n", "sizes that add up to less than"),
        *((f"{line}\n2\n1\n", "line 1 must be") for line in ("-1 0", "2 1 7", "2 1 10 0", "2")),
    ],
    (sb.read_order, "a.txt"): [
        ("", "no entries"),
        ("0 1 1\n", "1 is given twice, as entries 2 and 3, and 2 is missing"),
        ("1 2 4\n", "entry 3 is 4, but 3 entries counted from 1 end at 3"),
        ("2 3 4\n", "the least entry is 2"),
        ("-1 0 1\n", "the least entry is -1"),
        ("0 1 x\n", "line 1: 'x' is not a whole number"),
        ("0\n1.5\n", "line 2: '1.5' is not a whole number"),
        ("nan", "'nan' is not a whole number"),
        (f"0 {10**30}", "is no index"),
        (b"\xff\xfe", "not a text file"),
    ],
    (sb.read_order, "a.mtx"): [
        (f"{VECTOR}2 1\n1.5\n2\n", "not whole"),
        (f"{VECTOR}2 2\n1\n2\n3\n4\n", "give a vector"),
        (f"{VECTOR}2 1\n1\nnan\n", "finite"),
    ],
    (lambda file: sb.read_order(file, "backwards"), "a.txt"): [
        ("0", "content is 'backwards'; give one of auto")
    ],
}


@pytest.mark.parametrize(
    ("read", "name", "text", "message"),
    [(*how, *case) for how, cases in BROKEN.items() for case in cases],
)
def test_broken_files_are_told_from_whole_ones(read, name, text, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        read(written(tmp_path, text, name))


@pytest.mark.parametrize("read", [sb.read_order, sb.read_pattern, read_array])
def test_files_that_are_not_there_are_told(read, tmp_path):
    with pytest.raises(FileFormatError, match="cannot be read"):
        read(tmp_path / "none.mtx")
    with pytest.raises(FileFormatError, match="cannot be read"):
        sb.read_pattern(tmp_path / "none.graph")
    with pytest.raises(OutputError, match="cannot write"):
        write_array(np.ones(2), tmp_path / "none" / "b.mtx")
