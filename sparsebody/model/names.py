"""Names of bodies or joints: words in the order of declaration, with a lookup made when needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, overload

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.errors import ModelError

FIELD = "{}"


def numbered(template: str, *numbers: Any) -> list[str]:
    """Return names made of a template and whole numbers.

    Parameters
    ----------
    template : str
        With a field {} for each of the numbers.
    *numbers : (n,) int arrays
        What stands in the fields; a single number holds for all names.

    Examples
    --------
    >>> numbered("bar-{}-{}", [0, 0, 1], 7)
    ['bar-0-7', 'bar-0-7', 'bar-1-7']
    """
    rest = template.replace(FIELD, "")
    if FIELD not in template or "{" in rest or "}" in rest:
        raise ModelError(
            f"names {template!r}: give a template with fields {{}} for numbers, such as 'bar-{{}}'"
        )
    columns = np.broadcast_arrays(*map(np.atleast_1d, numbers))
    if any(column.dtype.kind not in "iu" or column.ndim != 1 for column in columns):
        raise ModelError(f"names {template!r}: give whole numbers, one array for each field {{}}")
    if len(columns) != template.count(FIELD):
        raise ModelError(
            f"names {template!r}: give one array of numbers for each of the "
            f"{template.count(FIELD)} fields {{}}, not {len(columns)}"
        )
    pattern = template.replace("%", "%%").replace(FIELD, "%d")  # faster than `format`
    return [pattern % row for row in zip(*(column.tolist() for column in columns), strict=True)]


def interleaved(*names: Sequence[str]) -> list[str]:
    """Return the first name of each in turn, then the second of each, and so on.

    Examples
    --------
    >>> interleaved(numbered("left-{}", [0, 1]), numbered("right-{}", [0, 1]))
    ['left-0', 'right-0', 'left-1', 'right-1']
    """
    return list(chain.from_iterable(zip(*names, strict=True)))


class Names(Sequence[str]):
    """Names in the order of declaration, each of them once; equal to a tuple of the same words."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words = list(words)
        self._index: dict[str, int] | None = None  # made at the first question

    def __len__(self) -> int:
        return len(self._words)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self._words[index])
        try:
            return self._words[index]
        except IndexError:
            message = f"there are {len(self)} names, and none has number {index}"
            raise IndexError(message) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __contains__(self, name: object) -> bool:
        return self.find(name) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names | tuple):
            return NotImplemented
        return self._words == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def find(self, name: object) -> int:
        """Return the index of a name, -1 if there is none."""
        return self._lookup().get(name, -1) if isinstance(name, str) else -1

    def find_all(self, names: Iterable[str]) -> IntArray:
        """Return the indices of names, -1 where there is none."""
        return np.fromiter(map(self._lookup().get, names, repeat(-1)), np.intp)

    def snapshot(self) -> Names:
        """Return the names as they are now; names that are added later do not change it."""
        return Names(self._words)

    def extend(self, names: Sequence[str]) -> None:
        """Add names that `clash` has nothing against."""
        if self._index is not None:
            self._index.update(zip(names, range(len(self), len(self) + len(names)), strict=True))
        self._words.extend(names)

    def clash(self, names: Sequence[str]) -> str | None:
        """Return one of `names` that stands there twice, or that is here already."""
        if len(set(names)) < len(names):
            seen: set[str] = set()
            return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        known = self._lookup() if self._words else {}
        return next((name for name in names if name in known), None)

    def _lookup(self) -> dict[str, int]:
        if self._index is None:
            self._index = dict(zip(self._words, range(len(self)), strict=True))
        return self._index
