"""What a mechanism holds, in the order of declaration: single things, and columns of many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from typing import Generic, TypeVar

from sparsebody.model.bodies import RigidBody
from sparsebody.model.columns import BodyColumns, JointColumns
from sparsebody.model.connections import Joint
from sparsebody.model.names import Names

WORLD = "world"

Item = TypeVar("Item", RigidBody, Joint)
Columns = TypeVar("Columns", BodyColumns, JointColumns)


class Table(ABC, Generic[Item, Columns]):
    """Named things, some given one by one and some as columns; made into objects when asked for."""

    def __init__(self) -> None:
        self.names = Names()
        self._parts: list[list[Item] | Columns] = []
        self._starts: list[int] = []
        self._made: dict[int, Item] = {}  # objects made of columns

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> Item:
        part = bisect_right(self._starts, index) - 1
        offset, columns = index - self._starts[part], self._parts[part]
        if isinstance(columns, list):
            return columns[offset]
        if index not in self._made:
            self._made[index] = self._item(columns, offset, self.names[index])
        return self._made[index]

    def items(self) -> dict[str, Item]:
        """Return everything by name, in the order of declaration."""
        return {name: self[i] for i, name in enumerate(self.names)}

    def append(self, name: str, item: Item) -> None:
        """Add one thing under a name that is free."""
        if not (self._parts and isinstance(self._parts[-1], list)):
            self._open([])
        self._parts[-1].append(item)  # type: ignore[union-attr]
        self.names.extend([name])

    def extend(self, names: Sequence[str], columns: Columns) -> None:
        """Add many things under names that are free."""
        if len(names):
            self._open(columns)
            self.names.extend(names)

    def columns(self) -> Columns:
        """Return everything as columns, which are kept; single things stay the same objects."""
        if len(self._parts) != 1 or isinstance(self._parts[0], list):
            parts: list[Columns] = []
            for start, part in zip(self._starts, self._parts, strict=True):
                if isinstance(part, list):
                    self._made.update(enumerate(part, start))
                    part = self._columns(part)
                parts.append(part)
            self._parts = [self._joined(parts or [self._columns([])])]
            self._starts = [0]
        return self._parts[0]  # type: ignore[return-value]

    def _open(self, part: list[Item] | Columns) -> None:
        self._parts.append(part)
        self._starts.append(len(self.names))

    @abstractmethod
    def _item(self, columns: Columns, place: int, name: str) -> Item: ...

    @abstractmethod
    def _columns(self, items: list[Item]) -> Columns: ...

    @abstractmethod
    def _joined(self, parts: list[Columns]) -> Columns: ...


class BodyTable(Table[RigidBody, BodyColumns]):
    """The moving bodies."""

    def _item(self, columns: BodyColumns, place: int, name: str) -> RigidBody:
        return columns.item(place, name)

    def _columns(self, items: list[RigidBody]) -> BodyColumns:
        return BodyColumns.of(items)

    def _joined(self, parts: list[BodyColumns]) -> BodyColumns:
        return BodyColumns.joined(parts)


class JointTable(Table[Joint, JointColumns]):
    """The joints between the bodies of another table."""

    def __init__(self, bodies: BodyTable) -> None:
        super().__init__()
        self._bodies = bodies.names

    def _item(self, columns: JointColumns, place: int, name: str) -> Joint:
        ends = int(columns.predecessor[place]), int(columns.successor[place])
        predecessor, successor = (WORLD if i < 0 else self._bodies[i] for i in ends)
        return columns.item(place, name, (predecessor, successor))

    def _columns(self, items: list[Joint]) -> JointColumns:
        return JointColumns.of(items, self._bodies)

    def _joined(self, parts: list[JointColumns]) -> JointColumns:
        return JointColumns.joined(parts)
