"""What a mechanism holds: columns in the order of declaration, and objects made of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.bodies import BodyColumns, RigidBody
from sparsebody.model.checks import repeated
from sparsebody.model.connections import Joint, JointColumns
from sparsebody.model.names import Names

MOST_PARTS = 64  # that are not joined

Item = TypeVar("Item", RigidBody, Joint)
Columns = TypeVar("Columns", BodyColumns, JointColumns)


class Table(Generic[Item, Columns]):
    """Named bodies or joints, stored as columns.

    What is added comes behind as a part of its own. Where there are many, the short ones at the
    end are joined, so that things added one by one are copied log n times each.

    Parameters
    ----------
    nothing : BodyColumns or JointColumns
        Of length zero.
    make : callable
        Makes an object of columns, its index there, and its name; each is made once.
    """

    def __init__(self, nothing: Columns, make: Callable[[Columns, int, str], Item]) -> None:
        self.names = Names()
        self._nothing: Columns = nothing
        self._make: Callable[[Columns, int, str], Item] = make
        self._parts: list[Columns] = []
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

    def items(self) -> dict[str, Item]:
        """Return everything by name, in the order of declaration."""
        return {name: self[i] for i, name in enumerate(self.names)}

    def extend(self, names: Sequence[str], columns: Columns, item: Item | None = None) -> None:
        """Add things under names that are free; one alone may come with its object."""
        if item is not None:
            self._made[len(self.names)] = item
        self._starts.append(len(self.names))
        self._parts.append(columns)
        self.names.extend(names)
        if len(self._parts) > MOST_PARTS:
            first = len(self._parts) - 1
            while first and len(self) - self._starts[first] >= len(self._parts[first - 1]):
                first -= 1
            self._join(first)

    def columns(self) -> Columns:
        """Return everything as columns."""
        self._join(0)
        return self._parts[0] if self._parts else self._nothing

    def rows(self, field: str, index: IntArray) -> FloatArray:
        """Return rows of a field, stored once where the field is."""
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
            self._parts[first:] = [type(self._nothing).joined(self._parts[first:])]
            del self._starts[first + 1 :]
