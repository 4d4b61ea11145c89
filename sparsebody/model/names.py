"""Names of bodies or joints in the order of declaration; numbered ones are made on demand."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, starmap
from typing import Any

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.errors import ModelError

WORLD = "world"
FIELD = "{}"
MANY = 512  # numbered names, from which on they are not stored


class NumberedNames(Sequence[str]):
    """`size` names of templates in turn, such as left-0, right-0, left-1, made when needed.

    A template has one field {}, and the number that stands there first.
    """

    def __init__(self, templates: Sequence[tuple[str, int]], size: int) -> None:
        self.templates, self._size = tuple(templates), size
        self._ends = [(*template.partition(FIELD)[::2], first) for template, first in templates]

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._size))]
        turn, kind = divmod(range(self._size)[index], len(self._ends))
        before, after, first = self._ends[kind]
        return f"{before}{first + turn}{after}"

    def __iter__(self) -> Iterator[str]:
        for turn in range(self._size // len(self._ends)):
            for before, after, first in self._ends:
                yield f"{before}{first + turn}{after}"

    def find(self, name: str) -> int:
        """Return the index of a name, -1 if there is none."""
        for kind, (before, after, first) in enumerate(self._ends):
            digits = name[len(before) : len(name) - len(after)]
            if digits.isdecimal() and f"{before}{int(digits[:20])}{after}" == name:
                index = (int(digits) - first) * len(self._ends) + kind
                return index if kind <= index < self._size else -1
        return -1


def _alike(one: str, other: str) -> bool:
    """Whether templates may have a name in common: words are equal, and numbers may be."""
    parts = [re.split(r"((?:\{\}|[0-9])+)", template) for template in (one, other)]
    return len(parts[0]) == len(parts[1]) and all(
        a == b or FIELD in a or FIELD in b for a, b in zip(*parts, strict=True)
    )


def numbered(template: str, *numbers: Any) -> Sequence[str]:
    """Return names made of a template with a field {} for each of `numbers`.

    These are (n,) int arrays; a single number holds for all names.

    Examples
    --------
    >>> numbered("bar-{}-{}", [0, 0, 1], 7)
    ['bar-0-7', 'bar-0-7', 'bar-1-7']
    """
    remainder = template.replace(FIELD, "")
    if FIELD not in template or "{" in remainder or "}" in remainder:
        raise ModelError(
            f"names {template!r}: give a template with fields {{}} for numbers, such as 'bar-{{}}'"
        )
    columns = np.broadcast_arrays(*map(np.atleast_1d, numbers))
    n_fields = template.count(FIELD)
    kinds = [f"{column.ndim}-D {column.dtype}" for column in columns]
    is_whole = all(column.dtype.kind in "iu" and column.ndim == 1 for column in columns)
    if len(columns) != n_fields or not is_whole:
        remedy = f"give 1-D arrays of whole numbers, one for each of the {n_fields} fields {{}}"
        raise ModelError(f"names {template!r}: {remedy}, not {', '.join(kinds) or 'none'}")
    first, n = columns[0][:1], len(columns[0])
    if len(columns) == 1 and n >= MANY and first >= 0 and (np.diff(columns[0]) == 1).all():
        return NumberedNames([(template, int(first[0]))], n)
    pattern = template.replace("%", "%%").replace(FIELD, "%d")  # faster than `format`
    return [pattern % row for row in zip(*(column.tolist() for column in columns), strict=True)]


def interleaved(*names: Sequence[str]) -> Sequence[str]:
    """Return the first name of each in turn, then the second of each, and so on.

    Examples
    --------
    >>> interleaved(numbered("left-{}", [0, 1]), numbered("right-{}", [0, 1]))
    ['left-0', 'right-0', 'left-1', 'right-1']
    """
    sizes = set(map(len, names))
    if len(sizes) == 1 and all(isinstance(part, NumberedNames) for part in names):
        templates = [template for part in names for template in part.templates]  # type: ignore[attr-defined]
        pairs = combinations([template for template, _ in templates], 2)
        if len(templates) == len(names) and not any(starmap(_alike, pairs)):
            return NumberedNames(templates, sum(map(len, names)))
    return list(chain.from_iterable(zip(*names, strict=True)))


def chained(*names: Sequence[str]) -> "Names":
    """Return the names of each part in turn, which need not be distinct yet."""
    joined = Names()
    for part in names:
        joined.extend(part)
    return joined


class Names(Sequence[str]):
    """Names in the order of declaration, each of them once; equal to a tuple of the same words."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._parts: list[list[str] | NumberedNames] = [list(words)]
        self._starts = [0]
        self._index: dict[str, int] | None = None  # of the words, made when first needed

    def __len__(self) -> int:
        return self._starts[-1] + len(self._parts[-1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} names, and none has number {index}")
        index = int(index) % len(self)
        part = bisect_right(self._starts, index) - 1
        return self._parts[part][index - self._starts[part]]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._parts)

    def __contains__(self, name: object) -> bool:
        return self.find(name) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names | tuple):
            return NotImplemented
        return list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    @property
    def words(self) -> list[str]:
        """The names that are stored, without numbered ones."""
        return [word for part in self._parts if isinstance(part, list) for word in part]

    def find(self, name: object) -> int:
        """Return the index of a name, -1 if there is none."""
        if not isinstance(name, str):
            return -1
        index = self._lookup().get(name, -1)
        if index < 0:
            for start, part in self._numbered():
                if (offset := part.find(name)) >= 0:
                    return start + offset
        return index

    def find_all(self, names: Iterable[str]) -> IntArray:
        """Return the indices of names, -1 where there is none."""
        return np.fromiter(map(self.find, names), np.intp)

    def snapshot(self) -> "Names":
        """Return the names as they are now; names that are added later do not change it."""
        names = Names()
        names._parts = [
            part if isinstance(part, NumberedNames) else part.copy() for part in self._parts
        ]
        names._starts = self._starts.copy()
        return names

    def extend(self, names: Sequence[str]) -> None:
        """Add names that do not clash."""
        start = len(self)
        if isinstance(names, Names):
            for part in names._parts:
                self.extend(part)
            return
        if isinstance(names, NumberedNames):
            self._parts += [names, []]
            self._starts += [start, start + len(names)]
            return
        if self._index is not None:
            self._index.update(zip(names, range(start, start + len(names)), strict=True))
        self._parts[-1].extend(names)  # type: ignore[union-attr]

    def clash(self, names: Sequence[str]) -> str | None:
        """Return a name that `names` has twice, or that is here already."""
        if isinstance(names, Names):
            known = self.snapshot()
            for part in names._parts:
                twice = known.clash(part)
                if twice is not None:
                    return twice
                known.extend(part)
            return None
        if isinstance(names, NumberedNames):
            mine = [template for _, part in self._numbered() for template, _ in part.templates]
            if not any(_alike(a, b) for a in mine for b, _ in names.templates):
                return next((word for word in self._lookup() if names.find(word) >= 0), None)
        elif len(set(names)) < len(names):
            seen: set[str] = set()
            return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        return next((name for name in names if name in self), None) if len(self) else None

    def _numbered(self) -> Iterator[tuple[int, NumberedNames]]:
        """Yield the names that are not stored, and where they start."""
        for start, part in zip(self._starts, self._parts, strict=True):
            if isinstance(part, NumberedNames):
                yield start, part

    def _lookup(self) -> dict[str, int]:
        if self._index is None:
            self._index = {
                word: start + i
                for start, part in zip(self._starts, self._parts, strict=True)
                if isinstance(part, list)
                for i, word in enumerate(part)
            }
        return self._index


def named(names: Sequence[str] | str, what: str, **arguments: Any) -> Sequence[str]:
    """Return the names; a template is numbered from 0 as far as the arrays `arguments` go.

    `arguments` holds each argument and how many axes one body or joint has of it.
    """
    if not isinstance(names, str):
        return names if isinstance(names, NumberedNames | Names) else list(names)
    for value, n_axes in arguments.values():
        if value is not None and np.ndim(value) == n_axes + 1:
            return numbered(names, np.arange(len(value)))
    raise ModelError(
        f"{what} {names!r}: how many? No argument has one entry for each; give the names as "
        f"numbered({names!r}, range(n))"
    )


def check_name(name: object, what: str) -> None:
    """Raise ModelError unless it is a word."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"the name of a {what} is {name!r}; give a non-empty string")


def check_names(names: Sequence[str], taken: Names, what: str, reserved: str = "") -> None:
    """Raise ModelError unless every name is a string that no other has."""
    words = names.words if isinstance(names, Names) else names
    if not isinstance(words, NumberedNames) and (not set(map(type, words)) <= {str} or "" in words):
        for name in words:
            check_name(name, what)
    if not isinstance(words, NumberedNames) and reserved in words:
        raise ModelError(
            f"{what} {reserved!r}: this name is the name of the fixed node; choose another"
        )
    twice = taken.clash(names)
    if twice is not None:
        raise ModelError(f"{what} {twice!r}: this name is taken by another {what}; choose another")
