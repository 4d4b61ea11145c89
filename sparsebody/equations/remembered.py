"""Decisions on small patterns, made once: gradients and sweeps ask for the same many times."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

import numpy as np

from sparsebody import ranks
from sparsebody.factorization import FACTORIZATIONS, Backend
from sparsebody.ordering import ORDERINGS, Ordering
from sparsebody.sparse.pattern import BlockPattern

MOST_ROWS = 5000  # of a pattern that is remembered: free memory does not matter to its factors
MOST_ANSWERS = 256

Answer = TypeVar("Answer")


class _Question(NamedTuple):
    """What an answer depends on: the pattern, and the tables of orderings and factorizations."""

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
    """Remember what a function of a pattern, and of hashable options, returned for small ones."""

    @lru_cache(maxsize=MOST_ANSWERS)
    def answer(question: _Question, options: tuple[Hashable, ...]) -> Answer:
        return decide(question.pattern, *options)

    @wraps(decide)
    def decided(pattern: BlockPattern, *options: Hashable) -> Answer:
        if pattern.n_rows > MOST_ROWS:
            return decide(pattern, *options)
        return answer(_Question.of(pattern), options)

    return decided
