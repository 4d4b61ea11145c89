"""Decisions on small patterns, made once: gradients and sweeps ask for the same many times."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

import numpy as np

from sparsebody import ranks
from sparsebody.factorization import FACTORIZATIONS, Backend
from sparsebody.ordering import ORDERINGS, Ordering
from sparsebody.sparse.pattern import BlockPattern

# Of a pattern that is remembered; decisions on larger ones depend on the free memory of the time
MOST_ROWS = 5000
MOST_ANSWERS = 256  # of each function

Answer = TypeVar("Answer")


class _Question(NamedTuple):
    """What an answer depends on: the pattern, the tables of methods, and whether ranks share work.

    It compares by value, and holds no pattern, whose arrays would stay in memory.
    """

    block_sizes: bytes
    ends: bytes
    orderings: tuple[Ordering, ...]
    backends: tuple[Backend, ...]
    shares_work: bool

    @classmethod
    def of(cls, pattern: BlockPattern) -> "_Question":
        sizes, ends = (x.astype(np.intp).tobytes() for x in (pattern.block_sizes, pattern.ends))
        tables = tuple(ORDERINGS.values()), tuple(FACTORIZATIONS.values())
        return cls(sizes, ends, *tables, ranks.share_work())

    @property
    def pattern(self) -> BlockPattern:
        sizes, ends = (np.frombuffer(data, np.intp) for data in (self.block_sizes, self.ends))
        return BlockPattern(sizes, ends.reshape(-1, 2))


def remembered(decide: Callable[..., Answer]) -> Callable[..., Answer]:
    """Return a function that remembers its answers for small patterns, and hashable options.

    An answer is shared by all who ask, and must not be changed.
    """

    @lru_cache(maxsize=MOST_ANSWERS)
    def answer(question: _Question, options: tuple[Hashable, ...]) -> Answer:
        return decide(question.pattern, *options)

    @wraps(decide)
    def decided(pattern: BlockPattern, *options: Hashable) -> Answer:
        if pattern.n_rows > MOST_ROWS:
            return decide(pattern, *options)
        return answer(_Question.of(pattern), options)

    return decided
