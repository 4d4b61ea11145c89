"""Families of mechanisms of one size parameter, of the gallery or of a user; eliminations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.errors import ModelError
from sparsebody.model import Mechanism, System
from sparsebody.ordering import CheckedOrdering, order
from sparsebody.sparse import elimination_tree, subtree_rules
from sparsebody.sparse.elimination_tree import Elimination, elimination
from sparsebody.sparse.pattern import BlockPattern, positions
from sparsebody.study.families import Family, check_family
from sparsebody.tree import SpanningTree, spanning_tree
from sparsebody.tree.fronts import LINK, LINK_SIZE, least_elimination
from sparsebody.tree.fronts import Elimination as TreeElimination

FIRST = 3  # the least value of a size parameter that every mechanism of the gallery takes
SMALLEST = 16  # bodies of the members that are measured
FEWEST = 4  # of them
MOST = 1 << 20  # bodies of the largest
_LARGEST = 1 << 24  # values that are tried

Made = Mechanism | System | BlockPattern
FamilyLike = Family | str | Callable[[int], Made]


class Member(NamedTuple):
    """One mechanism of a family."""

    value: int  # of the size parameter
    n_bodies: int
    pattern: BlockPattern  # all bodies with all freedoms, all constraint rows
    positions: FloatArray | None  # (n_bodies, 3)
    system: System | None  # None where the family is one of patterns


@dataclass(frozen=True, eq=False)
class GrowingFamily:
    """What grows with one size parameter, from FIRST on."""

    name: str
    make: Callable[[int], Made]
    nearest: Callable[[int], int] | None = None  # the parameter for a number of bodies, if known

    def member(self, value: int) -> Member:
        """Return the mechanism at a value of the parameter."""
        made = self.make(value)
        if isinstance(made, BlockPattern):
            return Member(value, made.n_primal, made, None, None)
        system = made.compile() if isinstance(made, Mechanism) else made
        if not isinstance(system, System):
            raise ModelError(
                f"family {self.name!r}: its function returns {type(made).__name__} at {value}; "
                "return a Mechanism, a System or a BlockPattern"
            )
        pattern, position = kkt_structure(system).pattern, system.initial_state.position
        return Member(value, system.n_bodies, pattern, position, system)

    def parameter(self, n_bodies: int, least: int = FIRST) -> int:
        """Return the value of the parameter nearest to a number of bodies, `least` or more.

        For functions it is the largest with no more bodies; steps double, so that members with
        many more are not made even where bodies double with every step.
        """
        if self.nearest is not None:
            return max(least, self.nearest(n_bodies))
        step = 1
        while step <= _LARGEST and self.member(least + step).n_bodies <= n_bodies:
            least, step = least + step, 2 * step
        while step > 1:
            step //= 2
            if self.member(least + step).n_bodies <= n_bodies:
                least += step
        return least


def as_growing(family: FamilyLike) -> GrowingFamily:
    """Return a family, a gallery mechanism by name, or a function of a whole number, as one.

    Raises UnknownNameError if the gallery has no such mechanism, ModelError if it does not grow.
    """
    if isinstance(family, str):
        family = Family(family, family)
    if isinstance(family, Family):
        check_family(family)
        return GrowingFamily(family.name, family.of_parameter, family.parameter)
    name = getattr(family, "__name__", "family")
    grown = GrowingFamily(name, family)
    first = grown.member(FIRST).n_bodies
    values = range(FIRST + 1, 8 * FIRST + 1)
    if all(grown.member(value).n_bodies <= first for value in values):
        raise ModelError(
            f"family {name!r} does not grow: {first} bodies at {FIRST}, no more up to "
            f"{values[-1]}; give a function whose mechanisms have more bodies for larger numbers"
        )
    return grown


def measured_values(grown: GrowingFamily, largest: int) -> list[int]:
    """Return the size parameters of members of 16, 32, ... bodies up to the largest.

    Raises ModelError if they are fewer than four, or the largest is too large.
    """
    if largest > MOST:
        raise ModelError(f"largest is {largest}; give {MOST} bodies or fewer")
    n = SMALLEST * 2 ** np.arange(max(1, int(np.log2(max(largest, 1) / SMALLEST)) + 1))
    values = [FIRST]
    for size in n[n <= largest]:
        values.append(grown.parameter(int(size), values[-1]))
    values = sorted(set(values[1:]))
    if len(values) < FEWEST:
        raise ModelError(
            f"family {grown.name!r} has {len(values)} of {FEWEST} sizes that are needed from "
            f"{SMALLEST} to {largest} bodies; give {SMALLEST << FEWEST} or more for the largest"
        )
    return values


Ordering = str | Callable[[BlockPattern], IntArray]
Tree = str | Callable[[System], SpanningTree]


@dataclass(frozen=True, eq=False)
class Eliminated:
    """One mechanism of a family with its elimination, by position."""

    member: Member
    elimination: Elimination
    sizes: IntArray  # scalar rows of each node
    kinds: IntArray  # 0 for bodies, 1 for joints
    nnz_l: int
    flops: float
    largest_front: int  # scalar rows
    order: IntArray | None = None  # of the whole graph, where it is one

    @cached_property
    def labels(self) -> list[subtree_rules.Label]:
        """Kind and size of each node."""
        return list(zip(self.kinds.tolist(), self.sizes.tolist(), strict=True))


def ordered(member: Member, choice: Ordering) -> Eliminated:
    """Return a mechanism in the order of an ordering, by name or as a function of a pattern."""
    pattern = member.pattern
    if isinstance(choice, str):
        sequence = order(pattern, choice, member.positions)
    else:
        name = getattr(choice, "__name__", "own")
        sequence = CheckedOrdering(name, choice, False)(pattern)
    graph = elimination(pattern, sequence)
    sizes = np.ascontiguousarray(pattern.block_sizes[sequence], dtype=np.intp)
    metrics = elimination_tree.elimination_metrics(graph, sizes)
    kinds = (sequence >= pattern.n_primal).astype(np.intp)
    cost = metrics.nnz_l, metrics.flops, metrics.largest_front
    return Eliminated(member, graph, sizes, kinds, *cost, sequence)


def recursed(member: Member, choice: Tree) -> Eliminated:
    """Return a mechanism as "loops-aba" eliminates it on a tree, by name or as a function.

    A front has a link, its parent and the loops that are open there, each counted in full; the
    recursion itself keeps link and parent in the same rows where it can.
    """
    system = system_of(member)
    tree = spanning_tree(system, choice) if isinstance(choice, str) else choice(system)
    elimination = least_elimination(tree)
    graph, sizes, kinds = elimination_graph(elimination)
    front = int(elimination_tree.weighted_counts(graph, sizes).max(initial=0))
    cost = elimination.n_factor_entries, elimination.work
    return Eliminated(member, graph, sizes, kinds, *cost, front)


def system_of(member: Member) -> System:
    """Return the mechanism; raise ModelError if the family is one of patterns."""
    if member.system is None:
        raise ModelError("a spanning tree takes a mechanism, and the family has patterns only")
    return member.system


def elimination_graph(tree_elimination: TreeElimination) -> tuple[Elimination, IntArray, IntArray]:
    """Return an elimination on a tree as one of a graph, with scalar rows and kinds by position.

    Links couple to their parents and to the loops that end at them; a loop follows where
    "loops-aba" closes it.
    """
    tree, n = tree_elimination.tree, tree_elimination.tree.n_bodies
    links = np.flatnonzero(tree.parent >= 0)
    ends = tree_elimination.loops.ends
    loop, side = np.nonzero(ends >= 0)
    of_tree, of_loops = np.c_[links, tree.parent[links]], np.c_[ends[loop, side], n + loop]
    pairs = np.concatenate([of_tree, of_loops], dtype=np.intp)
    nodes = [s.node if s.kind == LINK else n + s.node for s in tree_elimination.steps]
    sequence = np.array(nodes, np.intp)
    pairs = positions(sequence)[pairs]
    both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    start = np.searchsorted(both[:, 0], np.arange(len(sequence) + 1)).astype(np.intp)
    graph = elimination_tree.elimination_of((start, np.ascontiguousarray(both[:, 1])))
    sizes = np.concatenate([np.full(n, LINK_SIZE), np.diff(tree_elimination.loops.first_row)])[
        sequence
    ]
    return graph, sizes.astype(np.intp), (sequence >= n).astype(np.intp)
