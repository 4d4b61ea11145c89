"""Elimination orders of a block pattern; one file each, and the table of them all.

An ordering sees bodies and joints only as the primal and dual blocks of a BlockPattern.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from sparsebody.arrays import IntArray
from sparsebody.errors import MissingDependencyError, UnknownNameError
from sparsebody.ordering.cholmod import cholmod_amd, cholmod_metis
from sparsebody.ordering.leaves_first import leaves_first
from sparsebody.ordering.level_sweep import level_sweep
from sparsebody.ordering.minimum_degree import minimum_degree
from sparsebody.ordering.natural import natural
from sparsebody.ordering.random_order import random_order
from sparsebody.ordering.reverse_cuthill_mckee import reverse_cuthill_mckee
from sparsebody.sparse.admissibility import is_admissible, repair
from sparsebody.sparse.pattern import BlockPattern

__all__ = ["ORDERINGS", "Ordering", "available_orderings", "is_admissible", "order", "repair"]


@dataclass(frozen=True)
class Ordering:
    """One line of the table."""

    function: Callable[[BlockPattern], IntArray]
    admissible: bool  # every joint after both bodies, or after its outer body in a tree part
    needs: str | None  # the package without which it does not run
    summary: str
    largest_automatic: int = 0  # the most blocks for which the automatic choice tries it
    microseconds: float = 1.0  # it takes a block, roughly


_ANY_SIZE = 2**62
ORDERINGS = {
    "leaves-first": Ordering(
        leaves_first,
        True,
        None,
        "tree parts from the leaves inwards, then minimum degree",
        largest_automatic=_ANY_SIZE,
    ),
    "minimum-degree": Ordering(
        minimum_degree,
        True,
        None,
        "the admissible block that couples to the fewest rows",
        largest_automatic=_ANY_SIZE,
    ),
    "cholmod-amd": Ordering(
        cholmod_amd,
        True,
        "sksparse",
        "joints by approximate minimum degree (CHOLMOD)",
        largest_automatic=50_000,
        microseconds=5.0,
    ),
    "cholmod-metis": Ordering(
        cholmod_metis,
        True,
        "sksparse",
        "joints by nested dissection (CHOLMOD, METIS)",
        largest_automatic=200_000,
        microseconds=15.0,
    ),
    "reverse-cuthill-mckee": Ordering(
        reverse_cuthill_mckee,
        True,
        None,
        "small bandwidth, each joint after its bodies",
        largest_automatic=_ANY_SIZE,
        microseconds=0.1,
    ),
    "natural": Ordering(
        natural,
        True,
        None,
        "all bodies, then all joints, as numbered",
        largest_automatic=1_000,
        microseconds=0.01,
    ),
    "level-sweep": Ordering(
        level_sweep, False, None, "level by level with a narrow band (Featherstone, fig. 8.4)"
    ),
    "random": Ordering(random_order, True, None, "all bodies, then all joints, shuffled"),
}


def available_orderings() -> list[str]:
    """Return the names of the orderings whose packages are installed."""
    return [name for name, entry in ORDERINGS.items() if _is_installed(entry.needs)]


def order(pattern: BlockPattern, name: str) -> IntArray:
    """Return the elimination order (n_blocks,) that the ordering `name` gives.

    Raises
    ------
    UnknownNameError
        If there is no ordering of this name.
    MissingDependencyError
        If the ordering needs a package that is not installed.
    """
    if not isinstance(name, str) or name not in ORDERINGS:
        raise UnknownNameError(f"no ordering {name!r}; there are {', '.join(ORDERINGS)}")
    needs = ORDERINGS[name].needs
    if not _is_installed(needs):
        raise MissingDependencyError(
            f"the ordering {name} needs {needs}: pip install 'sparsebody[cholmod]'"
        )
    return ORDERINGS[name].function(pattern)


def _is_installed(package: str | None) -> bool:
    """Return whether `package` can be imported; None is always there."""
    return package is None or find_spec(package) is not None
