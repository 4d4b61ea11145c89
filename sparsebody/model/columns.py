"""Checks of the numbers, vectors and columns that users give, and tables of named columns."""

from bisect import bisect_right
from collections.abc import Callable, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray, NDArray, model_array, numbers
from sparsebody.errors import ModelError
from sparsebody.model.names import Names

ObjectArray = NDArray[np.object_]
MOST_PARTS = 64  # of a table: few enough to be searched and concatenated at once


def vector(value: ArrayLike, who: str, what: str, size: int = 3) -> FloatArray:
    """Return `value` as a finite (size,) array; `who` and `what` name it in the error."""
    return model_array(value, (size,), f"{who}: {what}")


def scalar(value: object, who: str, what: str) -> float:
    """Return `value` as a finite float."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelError(f"{who}: {what} is {value!r}; give a number") from error
    if not np.isfinite(number):
        raise ModelError(f"{who}: {what} is {number}; it must be finite")
    return number


def put_checked(thing: object, who: str, **checks: Callable[[Any, str, str], Any]) -> None:
    """Replace attributes of a frozen dataclass by the values that their checks return."""
    for name, check in checks.items():
        checked = check(getattr(thing, name), who, name.replace("_", " "))
        object.__setattr__(thing, name, checked)


def positive(value: object, who: str, what: str) -> float:
    """Return `value` as a finite float above zero."""
    number = scalar(value, who, what)
    if not number > 0.0:
        raise ModelError(f"{who}: {what} is {number}; it must be positive")
    return number


def direction(value: ArrayLike, who: str, what: str) -> FloatArray:
    """Return `value` as a unit 3-vector; its length may be anything above zero."""
    array = vector(value, who, what)
    if not array.any():
        raise ModelError(f"{who}: {what} is the zero vector; give a direction")
    return unit_rows(array[None])[0]


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Return vectors (n, k) over their lengths, whose squares may overflow or vanish."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    is_extreme = (largest < 1e-150) | (largest > 1e150)
    scaled = vectors / np.where(is_extreme, largest, 1.0)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def column(value: ArrayLike, shape: tuple[int, ...], n: int, who: str, what: str) -> FloatArray:
    """Return a read-only (n, *shape) array of `value`, which may be one of `shape` for all n."""
    one = f"{shape[0]} numbers" if shape else "a number"
    array = numbers(value, f"{who}: {what}", one if n == 1 else "numbers")
    if array.shape not in (shape, (n, *shape)):
        every = f"one array of shape {shape}" if shape else "a number"
        remedy = one if n == 1 else f"{every} for all or {(n, *shape)}, one each"
        raise ModelError(f"{who}: {what} has shape {array.shape}; give {remedy}")
    array.flags.writeable = False
    return repeated(array, n) if array.shape == shape else array


def repeated(row: NDArray[Any], n: int) -> NDArray[Any]:
    """Return (n, ...) the same row n times, stored once."""
    return row[None] if n == 1 else np.broadcast_to(row, (n, *row.shape))  # ten times as fast


def distinct(array: NDArray[Any]) -> NDArray[Any]:
    """Return the first row alone where an array repeats it without storing it again."""
    return array[:1] if array.strides[0] == 0 else array


def first_wrong(n: int, are_right: Callable[[slice], bool]) -> int:
    """Return the first wrong one of n rows, by bisection; one of them is wrong."""
    first, last = 0, n
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if are_right(slice(first, middle)) else (first, middle)
    return first


def objects(value: Any, n: int, who: str, what: str) -> ObjectArray:
    """(n,) objects from one for all or one for each."""
    if isinstance(value, list | tuple | np.ndarray):
        if len(value) != n:
            raise ModelError(f"{who}: {what} has {len(value)} entries; give one for all, or {n}")
        array = np.empty(n, dtype=object)
        array[:] = value
        return array
    one = np.empty((), dtype=object)
    one[()] = value
    return repeated(one, n)


def shown(what: str, names: Sequence[str]) -> str:
    """Return the subject of a message: `joint 'a'`, or `joints 'a', ...` for several."""
    if len(names) == 1:
        return f"{'body' if what == 'bodies' else what.removesuffix('s')} {names[0]!r}"
    return f"{what} {names[0]!r}, ..." if len(names) else f"{what} (none)"


def joined(parts: Sequence[Any]) -> Any:
    """Return the concatenation of arrays or of columns; a row that all repeat is stored once."""
    first = parts[0]
    if not isinstance(first, np.ndarray):
        return type(first).joined(parts)
    parts = [part for part in parts if len(part)] or [first]
    first = parts[0]
    is_repeated = len(first) > 0 and all(part.strides[0] == 0 for part in parts)
    if is_repeated and (np.array([part[0] for part in parts], first.dtype) == first[0]).all():
        return np.broadcast_to(first[:1], (sum(map(len, parts)), *first.shape[1:]))
    array = np.concatenate(parts)
    array.flags.writeable = False
    return array


# ---- tables ---------------------------------------------------------------------------------


Item = TypeVar("Item")
C = TypeVar("C", bound=Sized)  # fields of n bodies or joints, arrays or frames with a leading axis


class Table(Generic[Item, C]):
    """Named bodies or joints, stored as columns.

    Each addition is a part. Beyond MOST_PARTS the last part is joined with the one before, and the
    result with the one before that, as long as it is not the shorter one, so that n bodies added
    one by one are copied O(log n) times each. `nothing` are columns of length zero; `make` returns
    the object of columns, an index and a name, and is called once for each.
    """

    def __init__(self, nothing: C, make: Callable[[C, int, str], Item]) -> None:
        self.names = Names()
        self._nothing, self._make = nothing, make
        self._parts: list[C] = []
        self._starts: list[int] = []
        self._made: dict[int, Item] = {}

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> Item:
        if index not in self._made:
            part = bisect_right(self._starts, index) - 1
            offset = index - self._starts[part]
            self._made[index] = self._make(self._parts[part], offset, self.names[index])
        return self._made[index]

    def find(self, name: str, what: str) -> Item:
        """Return the body or joint called `name`; ModelError if there is none."""
        index = self.names.find(name)
        if index < 0:
            dots = ", ..." if len(self) > 5 else ""
            known = f"there are {', '.join(self.names[:5])}{dots}" if len(self) else "there is none"
            raise ModelError(f"there is no {what} {name!r}; add it with add_{what} ({known})")
        return self[index]

    def items(self) -> dict[str, Item]:
        """Return everything by name, in the order of declaration."""
        return {name: self[i] for i, name in enumerate(self.names)}

    def extend(self, names: Sequence[str], columns: C) -> None:
        """Add bodies or joints under names that are free."""
        self._starts.append(len(self.names))
        self._parts.append(columns)
        self.names.extend(names)
        if len(self._parts) > MOST_PARTS:
            first = len(self._parts) - 1
            while first and len(self) - self._starts[first] >= len(self._parts[first - 1]):
                first -= 1
            self._join(first)

    def columns(self) -> C:
        """Return everything as columns."""
        self._join(0)
        return self._parts[0] if self._parts else self._nothing

    def rows(self, field: str, index: IntArray) -> FloatArray:
        """Return rows of a field; without a copy of each where all bodies have the same row."""
        if len(index) == 1:
            k = bisect_right(self._starts, index[0]) - 1
            row: FloatArray = getattr(self._parts[k], field)[index[0] - self._starts[k]]
            return row[None]
        column: FloatArray = getattr(self._parts[0], field)
        if len(self._parts) == 1:
            is_same = column.strides[0] == 0
            return repeated(column[0], len(index)) if is_same else column[index]
        rows = np.empty((len(index), *column.shape[1:]))
        part = np.searchsorted(self._starts, index, "right") - 1
        for k in set(part.tolist()):
            mine = part == k
            rows[mine] = getattr(self._parts[k], field)[index[mine] - self._starts[k]]
        return rows

    def _join(self, first: int) -> None:
        """Make one part of those from `first` on."""
        if len(self._parts) - first > 1:
            self._parts[first:] = [joined(self._parts[first:])]
            del self._starts[first + 1 :]
