"""Memoized decisions on small patterns, which gradients and sweeps of parameters need again."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

import numpy as np

from sparsebody import ranks
from sparsebody.factorization import FACTORIZATIONS, Backend
from sparsebody.ordering import ORDERINGS, Ordering
from sparsebody.sparse.pattern import BlockPattern

# Of a memoized pattern; decisions on larger ones depend on the memory that is free at the time
MOST_ROWS = 5000
MOST_RESULTS = 256  # of each function

Result = TypeVar("Result")


class _Key(NamedTuple):
    """What a decision depends on: the pattern, the tables of methods, and whether ranks share work.

    It compares by value, and holds no pattern, whose arrays would stay in memory.
    """

    block_sizes: bytes
    ends: bytes
    orderings: tuple[Ordering, ...]
    backends: tuple[Backend, ...]
    shares_work: bool

    @classmethod
    def of(cls, pattern: BlockPattern) -> "_Key":
        sizes, ends = (x.astype(np.intp).tobytes() for x in (pattern.block_sizes, pattern.ends))
        tables = tuple(ORDERINGS.values()), tuple(FACTORIZATIONS.values())
        return cls(sizes, ends, *tables, ranks.share_work())

    @property
    def pattern(self) -> BlockPattern:
        sizes, ends = (np.frombuffer(data, np.intp) for data in (self.block_sizes, self.ends))
        return BlockPattern(sizes, ends.reshape(-1, 2))


def memoized(decide: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function memoized for small patterns, and hashable options.

    A result is shared by all callers, and must not be changed.
    """

    @lru_cache(maxsize=MOST_RESULTS)
    def cached(key: _Key, options: tuple[Hashable, ...]) -> Result:
        return decide(key.pattern, *options)

    @wraps(decide)
    def decided(pattern: BlockPattern, *options: Hashable) -> Result:
        if pattern.n_rows > MOST_ROWS:
            return decide(pattern, *options)
        return cached(_Key.of(pattern), options)

    return decided
