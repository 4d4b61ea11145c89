"""An entry of the table of orderings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import MissingDependencyError, OrderingError, UnknownNameError
from sparsebody.sparse.elimination_tree import early_joints, repair
from sparsebody.sparse.pattern import BlockPattern, check_order

ANY_SIZE = 2**62


@dataclass(frozen=True)
class Ordering:
    """One line of the table. In `complexity` n are blocks, w rows of a front, m links."""

    function: Callable[..., IntArray]  # of a BlockPattern, and of positions if it takes them
    summary: str
    source: str = ""
    complexity: str = ""
    admissible: bool = True  # every joint after both bodies, or its outer body in a tree part
    needs: str | None = None  # the package without which it does not run
    invariant: bool = False  # numbering changes the predicted flops by less than 1.2 times
    deterministic: bool = True  # the same pattern gives the same order
    takes_positions: bool = False  # it is called with the positions of the bodies, if known
    largest: int = ANY_SIZE  # the most blocks that it takes
    smallest_automatic: int = 0  # the fewest joints in loops for which it is worth its time
    largest_automatic: int = 0  # the most blocks for which the automatic choice tries it
    microseconds: float = 1.0  # it takes a block, roughly


@dataclass(frozen=True)
class Checked:
    """A user's ordering: its orders are checked, and repaired unless that was excluded."""

    name: str
    function: Callable[..., IntArray]
    admissible: bool | None  # promised; None: repaired where it is not

    def __call__(self, pattern: BlockPattern, *positions: FloatArray) -> IntArray:
        """Return the order.

        Raises OrderingError if it does not list every block once, or is not admissible though that
        is promised.
        """
        blocks = np.asarray(self.function(pattern, *positions))
        try:
            check_order(pattern, blocks)
        except ValueError as error:
            raise OrderingError(f"the ordering {self.name!r} returned no order: {error}") from error
        blocks = np.ascontiguousarray(blocks, dtype=np.intp)
        if self.admissible is False:
            return blocks
        early = early_joints(pattern, blocks)
        if len(early) == 0:
            return blocks
        if self.admissible is None:
            return repair(pattern, blocks)
        bodies = [int(body) for body in pattern.ends[early[0]] if body >= 0]
        raise OrderingError(
            f"the ordering {self.name!r} promises to be admissible, but joint {early[0]} (block "
            f"{pattern.n_primal + early[0]}) comes before one of its bodies {bodies}; register it "
            "without admissible=True, and joints are moved"
        )


def is_installed(package: str | None) -> bool:
    """Return whether `package` can be imported; None is always there."""
    return package is None or find_spec(package) is not None


def installed_entry(table: Mapping[str, Ordering], name: str) -> Ordering:
    """Return the line of a name; an error tells which there are, or which package it needs."""
    if not isinstance(name, str) or name not in table:
        raise UnknownNameError(f"no ordering {name!r}; there are {', '.join(table)}")
    needs = table[name].needs
    if not is_installed(needs):
        raise MissingDependencyError(
            f"the ordering {name} needs {needs}: pip install 'sparsebody[cholmod]'"
        )
    return table[name]
