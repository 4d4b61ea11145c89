"""Elimination orders of a block pattern, and the table of them all.

An ordering sees bodies and joints only as the primal and dual blocks of a BlockPattern.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import OrderingError
from sparsebody.ordering.cholmod_orders import joints_ordered_by, quotient_metis
from sparsebody.ordering.entry import ANY_SIZE, Checked, Ordering, installed_entry, is_installed
from sparsebody.ordering.minimum_degree import bodies_first, leaves_first, minimum_degree
from sparsebody.ordering.minimum_fill import minimum_fill, treewidth_by_degree, treewidth_by_fill
from sparsebody.ordering.nested_dissection import geometric_dissection, nested_dissection
from sparsebody.ordering.reference_orders import (
    LARGEST_ANNEALED,
    LARGEST_EXACT,
    annealed,
    least_bandwidth,
    narrowest_fronts,
    natural,
    random_order,
)
from sparsebody.ordering.sweeps import (
    level_sweep,
    pathwidth_sweep,
    reverse_cuthill_mckee,
    sloan,
    spectral,
)
from sparsebody.sparse.elimination_tree import is_admissible, repair
from sparsebody.sparse.pattern import BlockPattern

__all__ = [
    "ORDERINGS",
    "Ordering",
    "available_orderings",
    "is_admissible",
    "order",
    "register_ordering",
    "repair",
]

# fmt: off
ORDERINGS = {
    "leaves-first": Ordering(leaves_first,
        "tree parts from the leaves inwards, then minimum degree",
        source="Baraff (1996)", complexity="O(n) on trees, else as minimum-degree",
        largest_automatic=ANY_SIZE),
    "minimum-degree": Ordering(minimum_degree,
        "the admissible block that couples to the fewest rows",
        source="Amestoy, Davis and Duff (1996)", complexity="O(n m) at worst, about O(n)",
        largest_automatic=ANY_SIZE),
    "minimum-fill": Ordering(minimum_fill, "the joint that fills in least, with a look ahead",
        source="Tinney and Walker (1967)", complexity="O(n^2 + n w^3) time, n^2 / 8 bytes",
        invariant=True, smallest_automatic=60, largest_automatic=2_500, microseconds=20.0),
    "nested-dissection": Ordering(nested_dissection,
        "cuts by distances in the graph, separators of joints",
        source="George (1973); George and Liu (1978)", complexity="O(n log^2 n)", invariant=True,
        smallest_automatic=60, largest_automatic=200_000, microseconds=10.0),
    "cholmod-amd": Ordering(partial(joints_ordered_by, method="amd"),
        "joints by approximate minimum degree (CHOLMOD)",
        needs="sksparse", source="Amestoy, Davis and Duff (1996)",
        complexity="O(n m) at worst, about O(n)", largest_automatic=50_000, microseconds=5.0),
    "cholmod-metis": Ordering(partial(joints_ordered_by, method="metis"),
        "joints by nested dissection (CHOLMOD, METIS)",
        needs="sksparse", source="Karypis and Kumar (1998)", complexity="O(n log n)",
        largest_automatic=200_000, microseconds=15.0),
    "pathwidth-sweep": Ordering(pathwidth_sweep,
        "a sweep with as few rows in flight as a greedy one finds",
        source="King (1970); Kinnersley (1992)", complexity="O(n w)", invariant=True,
        smallest_automatic=60, largest_automatic=50_000, microseconds=3.0),
    "reverse-cuthill-mckee": Ordering(reverse_cuthill_mckee,
        "small bandwidth, each joint after its bodies",
        source="Cuthill and McKee (1969); George (1971)", complexity="O(n)",
        largest_automatic=ANY_SIZE, microseconds=0.1),
    "natural": Ordering(natural, "all bodies, then all joints, as numbered",
        source="Featherstone (2008), eq. (8.64)", complexity="O(n)", largest_automatic=1_000,
        microseconds=0.01),
    "geometric-dissection": Ordering(geometric_dissection,
        "cuts across x, y or z, separators of joints",
        source="George (1973); Heath and Raghavan (1995)", complexity="O(n log^2 n)",
        invariant=True, takes_positions=True, microseconds=3.0),
    "cholmod-colamd": Ordering(partial(joints_ordered_by, method="colamd"),
        "joints by column minimum degree (CHOLMOD)",
        needs="sksparse", source="Davis, Gilbert, Larimore and Ng (2004)",
        complexity="O(n m) at worst, about O(n)", microseconds=5.0),
    "cholmod-nesdis": Ordering(partial(joints_ordered_by, method="nesdis"),
        "joints by METIS cuts and minimum degree (CHOLMOD)",
        needs="sksparse", source="Chen, Davis, Hager and Rajamanickam (2008)",
        complexity="O(n log n)", microseconds=15.0),
    "metis-quotient": Ordering(quotient_metis, "bodies and joints by METIS, repaired",
        needs="sksparse", source="Karypis and Kumar (1998)", complexity="O(n log n)",
        microseconds=30.0),
    "bodies-first": Ordering(bodies_first, "all bodies, then joints by minimum degree",
        source="Liu (1989)", complexity="O(n m) at worst, about O(n)"),
    "sloan": Ordering(sloan, "a sweep with a small profile, each joint after its bodies",
        source="Sloan (1986)", complexity="O(n w)"),
    "spectral": Ordering(spectral, "bodies along the Fiedler vector, each joint after them",
        source="Barnard, Pothen and Simon (1995)", complexity="that of a sparse factorization",
        invariant=True, microseconds=30.0),
    "treewidth-degree": Ordering(treewidth_by_degree,
        "joints by a tree decomposition of small degree",
        source="Bodlaender and Koster (2010); NetworkX", complexity="O(n^2)", microseconds=100.0),
    "treewidth-fill": Ordering(treewidth_by_fill, "joints by a tree decomposition of small fill",
        source="Bodlaender and Koster (2010); NetworkX", complexity="O(n^2 w^2)",
        microseconds=1000.0),
    "annealing": Ordering(annealed, "moves of joints that lower the predicted flops (slow)",
        source="Kirkpatrick, Gelatt and Vecchi (1983)", complexity="a fixed budget; n^2 words",
        invariant=True, largest=LARGEST_ANNEALED, microseconds=10_000.0),
    "exact-treewidth": Ordering(narrowest_fronts,
        "the narrowest fronts of joints there are (small mechanisms)",
        source="Gogate and Dechter (2004)", complexity="exponential", largest=LARGEST_EXACT,
        microseconds=1e6),
    "exact-bandwidth": Ordering(least_bandwidth,
        "the least bandwidth in blocks there is (small mechanisms)",
        admissible=False, source="Saxe (1980); Del Corso and Manzini (1999)",
        complexity="exponential", largest=LARGEST_EXACT, microseconds=1e6),
    "level-sweep": Ordering(level_sweep,
        "level by level with a narrow band (Featherstone, fig. 8.4)",
        admissible=False, source="Cuthill and McKee (1969)", complexity="O(n)"),
    "random": Ordering(random_order, "all bodies, then all joints, shuffled",
        source="none: to measure the others against", complexity="O(n)"),
}
# fmt: on


def available_orderings(n_blocks: int = 0) -> list[str]:
    """Return the names of the orderings that are installed and take that many blocks."""
    return [
        name
        for name, entry in ORDERINGS.items()
        if is_installed(entry.needs) and n_blocks <= entry.largest
    ]


def order(pattern: BlockPattern, name: str, positions: FloatArray | None = None) -> IntArray:
    """Return the elimination order (n_blocks,) that the ordering `name` gives.

    Parameters
    ----------
    pattern : BlockPattern
        The pattern to be eliminated.
    name : str
        A key of ORDERINGS.
    positions : (n_primal, 3) float array, optional
        Of the bodies [m], for the orderings that take them.

    Raises
    ------
    UnknownNameError
        If there is no ordering of this name.
    MissingDependencyError
        If the ordering needs a package that is not installed.
    OrderingError
        If the pattern is too large for it, or a registered function returns no order.
    """
    entry = installed_entry(ORDERINGS, name)
    if pattern.n_blocks > entry.largest:
        raise OrderingError(
            f"the ordering {name} takes {entry.largest} bodies and joints at most, not "
            f"{pattern.n_blocks}; take minimum-fill or nested-dissection"
        )
    if entry.takes_positions and positions is not None:
        return entry.function(pattern, positions)
    return entry.function(pattern)


def register_ordering(
    name: str,
    function: Callable[..., IntArray],
    *,
    admissible: bool | None = None,
    summary: str = "registered by the user",
    **fields: Any,
) -> None:
    """Put an ordering into the table, by the name that `ForwardDynamics` then takes.

    Parameters
    ----------
    name : str
        A new name.
    function : callable
        Takes a BlockPattern, and positions (n_primal, 3) if `takes_positions`; returns an
        elimination order (n_blocks,), which is checked.
    admissible : bool, optional
        True: every joint comes after both bodies, or after its outer body in a tree part; an order
        that breaks this promise is refused. False: orders are used as they are, with
        factorizations that pivot. None: joints that come too early are moved.
    summary : str
        A few words.
    **fields
        Of Ordering: `source`, `complexity`, `invariant`, `deterministic`, `takes_positions`,
        `needs`, `largest`, `smallest_automatic`, `largest_automatic`, `microseconds`.

    Raises
    ------
    OrderingError
        If the name is taken, or `function` cannot be called.

    Examples
    --------
    >>> from sparsebody.ordering import ORDERINGS, register_ordering
    >>> register_ordering("backwards", lambda pattern: range(pattern.n_blocks)[::-1])
    >>> ORDERINGS.pop("backwards").admissible
    True
    """
    if not isinstance(name, str) or not name or name == "auto" or name in ORDERINGS:
        raise OrderingError(f"an ordering cannot be called {name!r}; take a name not in the table")
    if not callable(function):
        raise OrderingError(f"the ordering {name!r} must be a function of a pattern")
    checked = Checked(name, function, admissible)
    ORDERINGS[name] = Ordering(checked, summary, admissible=admissible is not False, **fields)
