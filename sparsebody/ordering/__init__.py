"""Elimination orders of a block pattern, and the tables of them all.

An ordering sees bodies and joints only as the primal and dual blocks of a BlockPattern.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from networkx.algorithms.approximation import treewidth_min_degree, treewidth_min_fill_in
from scipy.sparse import csgraph

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import MissingDependencyError, OrderingError, ShapeError, UnknownNameError
from sparsebody.ordering import heuristics
from sparsebody.ordering import literature_orders as literature
from sparsebody.ordering import reference_orders as reference
from sparsebody.sparse import elimination_tree
from sparsebody.sparse.elimination_tree import is_admissible, ordering_metrics, repair
from sparsebody.sparse.pattern import BlockPattern, Blocks, check_order

__all__ = [
    "ALGORITHMS",
    "ORDERINGS",
    "Ordering",
    "algorithm_order",
    "available_orderings",
    "is_admissible",
    "order",
    "register_ordering",
    "repair",
]

ANY_SIZE = 2**62


@dataclass(frozen=True)
class Ordering:
    """One line of the table; `complexity` is of n blocks, w rows of a front, m couplings."""

    function: Callable[..., IntArray]  # of a BlockPattern, and of positions if it takes them
    summary: str
    source: str = ""
    complexity: str = ""
    admissible: bool = True  # every joint after both bodies, or its outer body in a tree part
    needs: str | None = None  # the package that it imports
    invariant: bool = False  # numbering changes the predicted flops by a factor below 1.2
    deterministic: bool = True  # the same pattern gives the same order
    takes_positions: bool = False  # it is called with the positions of the bodies, if known
    largest: int = ANY_SIZE  # the most blocks that it takes
    smallest_automatic: int = 0  # the fewest joints in loops for which it is worth its time
    largest_automatic: int = 0  # the most blocks for which the automatic choice tries it
    microseconds: float = 1.0  # that it takes for each block, roughly


@dataclass(frozen=True)
class CheckedOrdering:
    """A user's ordering, whose orders are checked and, where `admissible` is None, repaired."""

    name: str
    function: Callable[..., IntArray]
    admissible: bool | None  # promised; None: not promised, and repaired

    def __call__(self, pattern: BlockPattern, *positions: FloatArray) -> IntArray:
        """Return the order; OrderingError for none, or one that is not admissible as promised."""
        result = self.function(pattern, *positions)
        try:
            blocks = np.asarray(result)
            check_order(pattern, blocks)
        except ValueError as error:
            raise OrderingError(f"the ordering {self.name!r} returned no order: {error}") from error
        blocks = np.ascontiguousarray(blocks, dtype=np.intp)
        if self.admissible is False:
            return blocks
        early = elimination_tree.early_joints(pattern, blocks)
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


# fmt: off
ORDERINGS = {
    "leaves-first": Ordering(heuristics.leaves_first,
        "tree parts from the leaves inwards, then minimum degree",
        source="Baraff (1996)", complexity="O(n) on trees, else as minimum-degree",
        largest_automatic=ANY_SIZE),
    "minimum-degree": Ordering(heuristics.minimum_degree,
        "the admissible block that couples to the fewest rows",
        source="Amestoy, Davis and Duff (1996)", complexity="O(n m) at worst, about O(n)",
        largest_automatic=ANY_SIZE),
    "minimum-fill": Ordering(heuristics.minimum_fill,
        "the joint that fills in least, with a look ahead",
        source="Tinney and Walker (1967)", complexity="O(n^2 + n w^3) time, n^2 / 8 bytes",
        invariant=True, smallest_automatic=60, largest_automatic=2_500, microseconds=20.0),
    "nested-dissection": Ordering(heuristics.nested_dissection,
        "cuts by distances in the graph, separators of joints",
        source="George (1973); George and Liu (1978)", complexity="O(n log^2 n)", invariant=True,
        smallest_automatic=60, largest_automatic=ANY_SIZE, microseconds=10.0),
    "cholmod-amd": Ordering(partial(heuristics.joints_ordered_by, method="amd"),
        "joints by approximate minimum degree (CHOLMOD)",
        needs="sksparse", source="Amestoy, Davis and Duff (1996)",
        complexity="O(n m) at worst, about O(n)", largest_automatic=50_000, microseconds=5.0),
    "cholmod-metis": Ordering(partial(heuristics.joints_ordered_by, method="metis"),
        "joints by nested dissection (CHOLMOD, METIS)",
        needs="sksparse", source="Karypis and Kumar (1998)", complexity="O(n log n)",
        largest_automatic=ANY_SIZE, microseconds=10.0),
    "pathwidth-sweep": Ordering(heuristics.pathwidth_sweep,
        "a sweep with small fronts, chosen greedily",
        source="King (1970); Kinnersley (1992)", complexity="O(n w)", invariant=True,
        smallest_automatic=60, largest_automatic=50_000, microseconds=3.0),
    "reverse-cuthill-mckee": Ordering(heuristics.reverse_cuthill_mckee,
        "small bandwidth, each joint after its bodies",
        source="Cuthill and McKee (1969); George (1971)", complexity="O(n)",
        largest_automatic=ANY_SIZE, microseconds=0.1),
    "natural": Ordering(heuristics.natural, "all bodies, then all joints, as numbered",
        source="Featherstone (2008), eq. (8.64)", complexity="O(n)", largest_automatic=1_000,
        microseconds=0.01),
    "geometric-dissection": Ordering(heuristics.geometric_dissection,
        "cuts across x, y or z, separators of joints",
        source="George (1973); Heath and Raghavan (1995)", complexity="O(n log^2 n)",
        invariant=True, takes_positions=True, microseconds=3.0),
    "cholmod-colamd": Ordering(partial(heuristics.joints_ordered_by, method="colamd"),
        "joints by column minimum degree (CHOLMOD)",
        needs="sksparse", source="Davis, Gilbert, Larimore and Ng (2004)",
        complexity="O(n m) at worst, about O(n)", microseconds=5.0),
    "cholmod-nesdis": Ordering(partial(heuristics.joints_ordered_by, method="nesdis"),
        "joints by METIS cuts and minimum degree (CHOLMOD)",
        needs="sksparse", source="Chen, Davis, Hager and Rajamanickam (2008)",
        complexity="O(n log n)", microseconds=15.0),
    "metis-quotient": Ordering(heuristics.quotient_metis, "bodies and joints by METIS, repaired",
        needs="sksparse", source="Karypis and Kumar (1998)", complexity="O(n log n)",
        microseconds=30.0),
    "bodies-first": Ordering(heuristics.bodies_first, "all bodies, then joints by minimum degree",
        source="Liu (1989)", complexity="O(n m) at worst, about O(n)"),
    "sloan": Ordering(heuristics.sloan, "a sweep with a small profile, each joint after its bodies",
        source="Sloan (1986)", complexity="O(n w)"),
    "spectral": Ordering(heuristics.spectral,
        "bodies along the Fiedler vector, each joint after them",
        source="Barnard, Pothen and Simon (1995)", complexity="that of a sparse factorization",
        invariant=True, microseconds=30.0),
    "treewidth-degree": Ordering(
        partial(heuristics.by_tree_decomposition, decompose=treewidth_min_degree),
        "joints by a tree decomposition of small degree",
        source="Bodlaender and Koster (2010); NetworkX", complexity="O(n^2)", microseconds=100.0),
    "treewidth-fill": Ordering(
        partial(heuristics.by_tree_decomposition, decompose=treewidth_min_fill_in),
        "joints by a tree decomposition of small fill",
        source="Bodlaender and Koster (2010); NetworkX", complexity="O(n^2 w^2)",
        microseconds=1000.0),
    "annealing": Ordering(reference.annealed,
        "moves of joints that lower the predicted flops (slow)",
        source="Kirkpatrick, Gelatt and Vecchi (1983)", complexity="a fixed budget; n^2 words",
        invariant=True, largest=reference.LARGEST_ANNEALED, microseconds=10_000.0),
    "exact-treewidth": Ordering(reference.narrowest_fronts,
        "joints with the smallest fronts of all orders (small mechanisms)",
        source="Gogate and Dechter (2004)", complexity="exponential",
        largest=reference.LARGEST_EXACT, microseconds=1e6),
    "exact-bandwidth": Ordering(reference.least_bandwidth,
        "the least bandwidth in blocks of all orders (small mechanisms)",
        admissible=False, source="Saxe (1980); Del Corso and Manzini (1999)",
        complexity="exponential", largest=reference.LARGEST_EXACT, microseconds=1e6),
    "level-sweep": Ordering(heuristics.level_sweep,
        "level by level with a narrow band (Featherstone, fig. 8.4)",
        admissible=False, source="Cuthill and McKee (1969)", complexity="O(n)"),
    "random": Ordering(reference.random_order, "all bodies, then all joints, shuffled",
        source="none: to measure the others against", complexity="O(n)"),
}
# fmt: on


def is_installed(package: str | None) -> bool:
    """Return whether `package` can be imported; True for None."""
    return package is None or find_spec(package) is not None


def installed_entry(table: Mapping[str, Ordering], name: str, what: str = "ordering") -> Ordering:
    """Return the line of a name; errors list the names, or give the package that it needs."""
    if not isinstance(name, str) or name not in table:
        raise UnknownNameError(f"no {what} {name!r}; there are {', '.join(table)}")
    needs = table[name].needs
    if not is_installed(needs):
        raise MissingDependencyError(
            f"the ordering {name} needs {needs}: pip install 'sparsebody[cholmod]'"
        )
    return table[name]


def available_orderings(n_blocks: int = 0) -> list[str]:
    """Return the names of the orderings that are installed and take that many blocks."""
    return [
        name
        for name, entry in ORDERINGS.items()
        if is_installed(entry.needs) and n_blocks <= entry.largest
    ]


def order(pattern: BlockPattern, name: str, positions: FloatArray | None = None) -> IntArray:
    """Return the elimination order (n_blocks,) that the ordering `name` gives.

    `positions` (n_primal, 3) are those of the bodies [m], for the orderings that take them. Raises
    UnknownNameError or MissingDependencyError for an unknown or missing ordering, OrderingError if
    the pattern is too large for it, or a registered function returns no order, ShapeError if
    positions do not fit the pattern.
    """
    entry = installed_entry(ORDERINGS, name)
    if pattern.n_blocks > entry.largest:
        raise OrderingError(
            f"the ordering {name} takes {entry.largest} bodies and joints at most, not "
            f"{pattern.n_blocks}; take minimum-fill or nested-dissection"
        )
    if positions is None or not entry.takes_positions:
        return entry.function(pattern)
    points = np.ascontiguousarray(positions, dtype=float)
    if points.shape != (pattern.n_primal, 3) or not np.isfinite(points).all():
        raise ShapeError(
            f"positions {points.shape} do not fit the pattern; give finite ones of its "
            f"{pattern.n_primal} bodies, ({pattern.n_primal}, 3)"
        )
    return entry.function(pattern, points)


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
    name, summary : str
        A new name, and a few words.
    function : callable
        Takes a BlockPattern, and positions (n_primal, 3) if `takes_positions`; returns an
        elimination order (n_blocks,), which is checked.
    admissible : bool, optional
        True: every joint comes after both bodies, or after its outer body in a tree part; an order
        that breaks this promise is refused. False: orders are used as they are, with
        factorizations that pivot. None: joints that come too early are moved.
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
    checked = CheckedOrdering(name, function, admissible)
    ORDERINGS[name] = Ordering(checked, summary, admissible=admissible is not False, **fields)


LONGEST_ORDERING = 2.0  # [s] that computing an order may take, unless a factorization takes longer
# O(n), so that they are candidates for any number of blocks
_QUICK = ("leaves-first", "minimum-degree", "reverse-cuthill-mckee")
_CLEARLY_LESS = 0.95  # of the flops, below which a later ordering of the table is preferred


@dataclass(frozen=True, eq=False)
class OrderingChoice:
    """The ordering chosen, and the predicted costs of all candidates."""

    name: str
    order: IntArray  # (n_blocks,)
    predictions: Mapping[str, elimination_tree.OrderingMetrics]


def choose(pattern: BlockPattern, names: list[str] | None = None) -> OrderingChoice:
    """Return the ordering of `names` with the fewest predicted flops; of equals, the first one.

    Default of `names`: `candidate_orderings`. Flops that differ by less than 5 % count as equal.
    """
    candidates = candidate_orderings(pattern) if names is None else names
    orders = {name: order(pattern, name) for name in candidates}
    predictions = {name: ordering_metrics(pattern, blocks) for name, blocks in orders.items()}
    best = candidates[0]
    for name in candidates[1:]:
        if predictions[name].flops < _CLEARLY_LESS * predictions[best].flops:
            best = name
    return OrderingChoice(best, orders[best], predictions)


def candidate_orderings(pattern: BlockPattern, seconds: float = LONGEST_ORDERING) -> list[str]:
    """Return the installed orderings worth their time, up to `seconds`, on a pattern of this size.

    The size is the number of blocks or, where bodies with many joints make it larger, that of the
    Schur complement, which CHOLMOD's orderings work on: the sum of squares of the numbers of joints
    on bodies, over four, so that both are the same for four joints on each body.
    """
    joints_of = np.diff(pattern.adjacency[0])[: pattern.n_primal].astype(float)
    size = max(pattern.n_blocks, 1, float(np.sum(joints_of**2)) / 4)
    n_in_loops = np.count_nonzero(elimination_tree.core_joints(pattern))
    return [
        name
        for name in available_orderings(pattern.n_blocks)
        if ORDERINGS[name].smallest_automatic <= n_in_loops
        and size <= ORDERINGS[name].largest_automatic
        and (1e-6 * size * ORDERINGS[name].microseconds <= seconds or name in _QUICK)
    ]


def quickest(names: list[str]) -> str:
    """Return the ordering that takes the least time to compute, the first of several."""
    return min(names, key=lambda name: ORDERINGS[name].microseconds)


_general = partial(Ordering, admissible=False)
# fmt: off
GENERAL_ORDERINGS = {
    "minimum-degree": _general(heuristics.unconstrained_minimum_degree,
        "the block that couples to the fewest rows"),
    **{f"cholmod-{method}": _general(partial(heuristics.quotient_ordered_by, method=method),
        f"{method.upper()}, by CHOLMOD", needs="sksparse")
        for method in ("amd", "metis", "nesdis")},
    "reverse-cuthill-mckee": _general(lambda pattern: csgraph.reverse_cuthill_mckee(
        heuristics.quotient_graph(pattern), symmetric_mode=True).astype(np.intp),
        "small bandwidth"),
    "natural": _general(heuristics.natural, "as numbered"),
    "random": _general(reference.shuffled, "shuffled"),
}
# fmt: on


def available_general_orderings() -> list[str]:
    """Return the names of the general orderings that are installed."""
    return [name for name, entry in GENERAL_ORDERINGS.items() if is_installed(entry.needs)]


def general_order(pattern: Blocks, name: str) -> IntArray:
    """Return the elimination order (n_blocks,) of any symmetric pattern; errors as of `order`."""
    return installed_entry(GENERAL_ORDERINGS, name).function(pattern)


# fmt: off
ALGORITHMS = {
    "penalty": Ordering(literature.penalty, "joints first, then bodies: D + A' A / eps",
        "Bayo, García de Jalón and Serna (1988)"),
    "delassus": Ordering(literature.delassus, "bodies first, then joints: A D^-1 A'",
        "Delassus (1917); Baraff (1994)"),
    "baraff": Ordering(literature.baraff, "a tree from the leaves, then loop joints",
        "Baraff (1996)"),
    "articulated-body": Ordering(literature.articulated_body,
        "loop joints, then a tree from the leaves",
        "Featherstone (1983); with loops Sathya and Carpentier (2026)"),
    "depth-first": Ordering(literature.depth_first, "LDU against a depth-first search",
        "Brüdigam and Manchester (2020)"),
    "band": Ordering(heuristics.level_sweep, "level by level", "Featherstone (2008), fig. 8.4"),
    "dissection": Ordering(heuristics.nested_dissection, "halves first, cuts last",
        "George (1973)"),
    "minimum-degree": Ordering(heuristics.minimum_degree, "the least coupled block next",
        "Amestoy, Davis and Duff (1996)"),
    "auto": Ordering(lambda pattern: choose(pattern).order,
        "the least predicted work of all orderings", "this package"),
}
# fmt: on


def algorithm_order(pattern: BlockPattern, name: str) -> IntArray:
    """Return the elimination order (n_blocks,) that the algorithm `name` stands for.

    Raises UnknownNameError if there is no algorithm of this name.
    """
    return installed_entry(ALGORITHMS, name, "algorithm").function(pattern)
