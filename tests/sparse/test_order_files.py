import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsebody.errors import FileFormatError
from sparsebody.sparse.pattern_files import read_order, write_order

ORDER = np.array([2, 0, 3, 1])


@pytest.mark.parametrize(
    ("name", "base", "listed"),
    [("a.txt", 0, "order"), ("a.mtx", 1, "order"), ("a.iperm", 0, "positions")],
)
def test_what_is_written_is_read_back(name, base, listed, tmp_path):
    write_order(ORDER, tmp_path / name)
    found = read_order(tmp_path / name)
    np.testing.assert_array_equal(found.order, ORDER)
    assert (found.base, found.listed) == (base, listed)


@pytest.mark.parametrize(
    ("text", "listed", "said"),
    [
        ("3 1 4 2\n", "order", "4 entries, counted from 1, the order"),
        ("% mine\n2 # first\n0\n3\n1\n", "auto", "4 entries, counted from 0, the order"),
        ("1\n3\n0\n2\n", "positions", "4 entries, counted from 0, positions, the inverse"),
        ("2\n4\n1\n3\n", "positions", "4 entries, counted from 1, positions, the inverse"),
    ],
)
def test_other_peoples_files_are_understood(text, listed, said, tmp_path):
    path = tmp_path / "a.perm"
    path.write_text(text)
    found = read_order(path, listed)
    np.testing.assert_array_equal(found.order, ORDER)
    assert said in str(found)


@settings(max_examples=20)
@given(numbers=st.permutations(range(7)), base=st.integers(0, 1))
def test_any_permutation_is_taken_from_either_base(numbers, base, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "order.txt"
    path.write_text(" ".join(str(number + base) for number in numbers))
    assert read_order(path).order.tolist() == list(numbers)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no entries"),
        ("0 1 1\n", "1 stands twice, as entries 2 and 3, and 2 is missing"),
        ("1 2 4\n", "entry 3 is 4, but 3 entries counted from 1 end at 3"),
        ("2 3 4\n", "the least entry is 2"),
        ("-1 0 1\n", "the least entry is -1"),
        ("0 1 x\n", "line 1: 'x' is not a whole number"),
        ("0\n1.5\n", "line 2: '1.5' is not a whole number"),
        ("nan", "'nan' is not a whole number"),
        (f"0 {10**30}", "is no index"),
    ],
)
def test_what_is_no_permutation_is_told(text, message, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_order(path)


def test_vectors_that_are_no_orders_are_told(tmp_path):
    path = tmp_path / "a.mtx"
    header = "%%MatrixMarket matrix array real general\n"
    for text, message in (
        ("2 1\n1.5\n2\n", "not whole"),
        ("2 2\n1\n2\n3\n4\n", "give a vector"),
        ("2 1\n1\nnan\n", "finite"),
    ):
        path.write_text(header + text)
        with pytest.raises(FileFormatError, match=message):
            read_order(path)
    path = tmp_path / "a.bin"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match="not a text file"):
        read_order(path)
    with pytest.raises(FileFormatError, match="listed is 'backwards'; give one of auto"):
        read_order(path, "backwards")
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_order(tmp_path / "none")
