"""Asking for memory before it is needed.

Processors do that themselves, but for few arrays at a time, and they begin anew at every page of
4 kB. An evaluation walks through two dozen arrays at once; where they do not fit into the caches,
it would spend a third of its time waiting.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from typing import Any

from sparsebody.factorization.straight import straight_line

LARGE = 2**14  # bodies or pivots from which on that is worth its instructions


def prefetch(distance: int) -> Any:
    """Make the step that asks for what lies so many entries after a place, or before it.

    There need not be anything.
    """

    @straight_line()
    def step(memory, place):
        memory.prefetch(place, distance)

    return step


here = prefetch(0)
