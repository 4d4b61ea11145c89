"""Elimination orders in files: plain text, Matrix Market vectors, METIS's .iperm and .perm.

An order lists what is eliminated first, second, ...; a list of positions says of each block when
it is eliminated, as the .iperm files of METIS's ndmetis do.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.errors import FileFormatError
from sparsebody.sparse.etree import positions
from sparsebody.sparse.files.matrix_market import read_array, write_array
from sparsebody.sparse.files.text_files import lines_of, whole
from sparsebody.writing import replaced

LISTED = ("auto", "order", "positions")
_POSITIONS = ".iperm"


@dataclass(frozen=True, eq=False)
class FoundOrder:
    """An order from a file, and how the file was understood."""

    order: IntArray  # (n,) counted from 0
    base: int  # what the file counts from
    listed: str  # "order" or "positions"

    def __str__(self) -> str:
        """Return that in words."""
        what = "the order" if self.listed == "order" else "positions, the inverse of the order"
        return f"{len(self.order)} entries, counted from {self.base}, {what}"


def read_order(path: str | os.PathLike[str], listed: str = "auto") -> FoundOrder:
    """Return the order in a file; it may count from 0 or from 1.

    Parameters
    ----------
    path : path-like
        A Matrix Market vector (.mtx), or whole numbers in plain text, where % and # begin comments.
    listed : {"auto", "order", "positions"}
        What the file lists; "auto": positions in .iperm files, else the order.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or is not a permutation; the message says what is missing.
    """
    if listed not in LISTED:
        raise FileFormatError(f"listed is {listed!r}; give one of {', '.join(LISTED)}")
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
    if listed == "auto":
        listed = "positions" if file.suffix.lower() == _POSITIONS else "order"
    return FoundOrder(positions(order) if listed == "positions" else order, base, listed)


def write_order(order: IntArray, path: str | os.PathLike[str]) -> None:
    """Save an order: a Matrix Market vector (.mtx, from 1), positions (.iperm) or text (from 0).

    The file is replaced as a whole, or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    file, blocks = Path(path), np.asarray(order, dtype=np.int64)
    if file.suffix.lower() == ".mtx":
        write_array(blocks + 1, file, ["elimination order, counted from 1"])
        return
    numbers = positions(blocks) if file.suffix.lower() == _POSITIONS else blocks
    with replaced(file) as draft:
        draft.write_text("".join(f"{number}\n" for number in numbers.tolist()), newline="\n")


def whole_numbers(file: Path) -> list[int]:
    """Return the whole numbers of a text file, in any number of lines."""
    return [
        whole(word, file, number)
        for number, line in enumerate(lines_of(file), 1)
        for word in re.split("[%#]", line, maxsplit=1)[0].split()
    ]


def _indices(file: Path) -> IntArray:
    if file.suffix.lower() != ".mtx":
        indices = np.array(whole_numbers(file), dtype=np.int64)
    else:
        numbers = read_array(file)
        if numbers.ndim != 1:
            raise FileFormatError(f"{file}: an array {numbers.shape}; give a vector")
        if np.any(numbers != np.floor(numbers)) or np.any(np.abs(numbers) >= 2**53):
            raise FileFormatError(f"{file}: numbers that are not whole; give indices")
        indices = numbers.astype(np.int64)
    if len(indices) == 0:
        raise FileFormatError(f"{file}: no entries; give one for each block or row")
    return indices.astype(np.intp)


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
        twice = int(np.argmax(count > 1))
        entries = np.flatnonzero(order == twice)[:2] + 1
        raise FileFormatError(
            f"{file}: {twice + base} stands twice, as entries {entries[0]} and {entries[1]}, and "
            f"{int(np.argmin(count)) + base} is missing; give each once"
        )
