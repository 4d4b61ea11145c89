"""Names of many bodies or joints: formed when they are asked for, found again by parsing."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, count, repeat
from typing import Any, overload

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.errors import ModelError

FIELD = "{}"
FEW = 256  # so many names are kept as words


class Numbered(Sequence[str]):
    """Names made of templates and whole numbers, such as "bar-0", "bar-1", ...

    Name i is `templates[which[i]]` with its fields {} filled by the first of `numbers[i]`.

    Parameters
    ----------
    templates : sequence of str
        Each with at least one field; digits and other fields must not touch a field.
    which : (n,) int array
        The template of each name.
    numbers : (n, n_fields) int array
        Not negative.
    """

    def __init__(self, templates: Sequence[str], which: IntArray, numbers: IntArray) -> None:
        self.templates = tuple(_checked(template) for template in templates)
        self.which: IntArray = np.asarray(which, dtype=np.intp)
        self.numbers: IntArray = np.asarray(numbers, dtype=np.intp, order="F")
        if self.numbers.size and self.numbers.min() < 0:
            raise ModelError(f"names {templates[0]!r}: a number is negative; count from 0")

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Numbered: ...
    def __getitem__(self, index: int | slice) -> str | Numbered:
        if isinstance(index, slice):
            return Numbered(self.templates, self.which[index], self.numbers[index])
        return self.templates[self.which[index]].format(*self.numbers[index].tolist())

    def __iter__(self) -> Iterator[str]:
        formats = [template.format for template in self.templates]
        for which, numbers in zip(self.which.tolist(), self.numbers.tolist(), strict=True):
            yield formats[which](*numbers)

    def __repr__(self) -> str:
        return f"Numbered({', '.join(map(repr, self.templates))}: {len(self)} names)"

    def find(self, name: str) -> int:
        """Return the place of a name, -1 if it is not there."""
        return max((series.find(name) for series in self.series), default=-1)

    def repeated(self) -> int:
        """Return the place of a name that was there before, -1 if every name is new."""
        return max((series.repeated for series in self.series), default=-1)

    @cached_property
    def series(self) -> tuple[_Series, ...]:
        """The names of each template."""
        if len(self.templates) == 1:
            return (_Series(self.templates[0], None, self.numbers),)
        places = [np.flatnonzero(self.which == t) for t in range(len(self.templates))]
        return tuple(
            _Series(template, place, self.numbers[place])
            for template, place in zip(self.templates, places, strict=True)
        )


class _Series:
    """The names of one template, sorted by their numbers."""

    def __init__(self, template: str, place: IntArray | None, numbers: IntArray) -> None:
        self.template = template
        self.skeleton = re.sub(r"\d+", "#", template.replace(FIELD, "#"))
        numbers = numbers[:, : template.count(FIELD)]
        if not _is_increasing(numbers):
            order = np.lexsort(numbers.T[::-1])
            numbers, place = numbers[order], order if place is None else place[order]
        self.numbers, self.place = numbers, place
        parts = [re.escape(part) for part in template.split(FIELD)]
        self._pattern = re.compile("(0|[1-9][0-9]{0,17})".join(parts))

    def find(self, name: str) -> int:
        found = self._pattern.fullmatch(name)
        if found is None:
            return -1
        low, high = 0, len(self.numbers)
        for column, word in zip(self.numbers.T, found.groups(), strict=True):
            number = int(word)
            low, high = (
                bisect_left(column, number, low, high),
                bisect_left(column, number + 1, low, high),
            )
        return self._at(low) if low < high else -1

    @cached_property
    def repeated(self) -> int:
        same = np.all(self.numbers[1:] == self.numbers[:-1], axis=1)
        return self._at(1 + int(np.argmax(same))) if same.any() else -1

    def shares(self, other: _Series) -> str | None:
        """Return a name that both have."""
        if self.skeleton != other.skeleton or not (len(self.numbers) and len(other.numbers)):
            return None
        if self.template != other.template:
            return next((name for name in other.names() if self.find(name) >= 0), None)
        if self.numbers[-1, 0] < other.numbers[0, 0] or other.numbers[-1, 0] < self.numbers[0, 0]:
            return None
        both = _Series(self.template, None, np.concatenate([self.numbers, other.numbers]))
        if both.repeated < 0:
            return None
        same = np.all(both.numbers[1:] == both.numbers[:-1], axis=1)
        return self.template.format(*both.numbers[int(np.argmax(same))].tolist())

    def names(self) -> Iterator[str]:
        return (self.template.format(*row) for row in self.numbers.tolist())

    def _at(self, row: int) -> int:
        return row if self.place is None else int(self.place[row])


def numbered(template: str, *numbers: Any) -> Numbered:
    """Return names made of a template and whole numbers, formed when they are asked for.

    Parameters
    ----------
    template : str
        With a field {} for each of the numbers.
    *numbers : (n,) int arrays
        What stands in the fields; not negative; a single number holds for all names.

    Examples
    --------
    >>> list(numbered("bar-{}-{}", [0, 0, 1], 7))
    ['bar-0-7', 'bar-0-7', 'bar-1-7']
    """
    columns = np.stack(np.broadcast_arrays(*map(np.atleast_1d, numbers)), axis=1)
    if columns.dtype.kind not in "iu" or columns.ndim != 2:
        raise ModelError(f"names {template!r}: give whole numbers, one array for each field {{}}")
    if columns.shape[1] != template.count(FIELD):
        raise ModelError(
            f"names {template!r}: give one array of numbers for each of the "
            f"{template.count(FIELD)} fields {{}}, not {columns.shape[1]}"
        )
    return Numbered([template], np.zeros(len(columns), dtype=np.intp), columns)


def woven(*names: Numbered) -> Numbered:
    """Return the first name of each in turn, then the second of each, and so on.

    Examples
    --------
    >>> list(woven(numbered("left-{}", [0, 1]), numbered("right-{}", [0, 1])))
    ['left-0', 'right-0', 'left-1', 'right-1']
    """
    templates = tuple(dict.fromkeys(chain.from_iterable(part.templates for part in names)))
    width = max(part.numbers.shape[1] for part in names)
    numbers = [np.pad(part.numbers, ((0, 0), (0, width - part.numbers.shape[1]))) for part in names]
    which = [np.array([templates.index(t) for t in part.templates])[part.which] for part in names]
    return Numbered(templates, np.stack(which, 1).ravel(), np.stack(numbers, 1).reshape(-1, width))


def _is_increasing(numbers: IntArray) -> bool:
    """Whether each row comes after the one before, in the order of words in a dictionary."""
    before = np.zeros(max(len(numbers) - 1, 0), dtype=bool)
    same = ~before
    for column in numbers.T:
        before |= same & (column[:-1] < column[1:])
        same &= column[:-1] == column[1:]
    return bool(before.all())


def _checked(template: str) -> str:
    plain = "{" not in template.replace(FIELD, "") and "}" not in template.replace(FIELD, "")
    touched = re.search(r"\d\{\}|\{\}\d|\{\}\{\}", template)
    if FIELD not in template or not plain or touched:
        raise ModelError(
            f"names {template!r}: give a template with fields {{}} for numbers, something other "
            "than a digit between them, such as 'bar-{}'"
        )
    return template


class Names(Sequence[str]):
    """Names in the order of declaration, each of them once; equal to a tuple of the same words."""

    def __init__(self) -> None:
        self._blocks: list[list[str] | Numbered] = []
        self._starts: list[int] = []
        self._length = 0
        self._known: dict[str, int] = {}  # the words, also those that came after a snapshot

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._length)))
        if not -self._length <= index < self._length:
            raise IndexError(f"there are {self._length} names, and none has number {index}")
        index = int(index) % self._length
        block = bisect_left(self._starts, index + 1) - 1
        return self._blocks[block][index - self._starts[block]]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._blocks)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names | tuple):
            return NotImplemented
        return len(self) == len(other) and all(
            one == two for one, two in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def find(self, name: object) -> int:
        """Return the place of a name, -1 if there is none."""
        if not isinstance(name, str):
            return -1
        place = self._known.get(name, self._length)
        if place < self._length:
            return place
        for start, block in self._numbered():
            place = block.find(name)
            if place >= 0:
                return start + place
        return -1

    def find_all(self, names: Iterable[str]) -> IntArray:
        """Return the places of names, -1 where there is none."""
        names = list(names)
        if len(names) > FEW and any(self._numbered()):
            places = dict(zip(self, range(self._length), strict=True))
            return np.fromiter((places.get(name, -1) for name in names), np.intp, len(names))
        if any(self._numbered()):
            return np.fromiter(map(self.find, names), np.intp, len(names))
        found = np.fromiter(map(self._known.get, names, repeat(-1)), np.intp, len(names))
        found[found >= self._length] = -1
        return found

    def snapshot(self) -> Names:
        """Return the names as they are now; names that are added later do not change it."""
        copy = Names()
        copy._blocks = [list(b) if isinstance(b, list) else b for b in self._blocks]
        copy._starts = list(self._starts)
        copy._length = self._length
        copy._known = self._known
        return copy

    def append(self, name: str) -> None:
        """Add a name that is not there yet."""
        if not (self._blocks and isinstance(self._blocks[-1], list)):
            self._blocks.append([])
            self._starts.append(self._length)
        self._known[name] = self._length
        self._blocks[-1].append(name)  # type: ignore[union-attr]
        self._length += 1

    def extend(self, names: Sequence[str]) -> None:
        """Add many names that `clash` has nothing against."""
        if len(names) == 0:
            return
        block = names if isinstance(names, Numbered) and len(names) > FEW else list(names)
        if isinstance(block, list):
            self._known.update(zip(block, count(self._length), strict=False))
        self._blocks.append(block)
        self._starts.append(self._length)
        self._length += len(names)

    def clash(self, names: Sequence[str]) -> str | None:
        """Return one of `names` that stands there twice, or that is here already."""
        if isinstance(names, Numbered) and len(names) > FEW:
            return self._numbered_clash(names)
        if len(set(names)) < len(names):
            seen: set[str] = set()
            return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        here = any(True for _ in self._numbered())
        known = self.find if here else lambda name: self._known.get(name, -1)
        return next((name for name in names if known(name) >= 0), None)

    def _numbered_clash(self, names: Numbered) -> str | None:
        if names.repeated() >= 0:
            return names[names.repeated()]
        for number, series in enumerate(names.series):
            others = chain(*(block.series for _, block in self._numbered()), names.series[:number])
            for other in others:
                shared = series.shares(other)
                if shared is not None:
                    return shared
        return next((name for name in self._known if names.find(name) >= 0), None)

    def _numbered(self) -> Iterator[tuple[int, Numbered]]:
        return (
            (start, block)
            for start, block in zip(self._starts, self._blocks, strict=True)
            if isinstance(block, Numbered)
        )
