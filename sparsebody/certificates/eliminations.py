"""Members of a family, eliminated: by an order of the whole graph, or by "loops-aba" on a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.certificates.growing_family import Member
from sparsebody.dynamics.solver_choice import choose_solver
from sparsebody.errors import ModelError
from sparsebody.model.system import System
from sparsebody.ordering import order
from sparsebody.ordering.entry import Checked
from sparsebody.sparse.elimination_tree import (
    Elimination,
    elimination,
    elimination_metrics,
    elimination_of,
    weighted_counts,
)
from sparsebody.sparse.pattern import BlockPattern, positions
from sparsebody.sparse.subtree_rules import Label
from sparsebody.tree.fronts import LINK, SIZE, least_elimination
from sparsebody.tree.fronts import Elimination as TreeElimination
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_choice import spanning_tree

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
    def labels(self) -> list[Label]:
        """What counts of each node."""
        return list(zip(self.kinds.tolist(), self.sizes.tolist(), strict=True))


def ordered(member: Member, choice: Ordering) -> Eliminated:
    """Return a mechanism in the order of an ordering, by name or as a function of a pattern."""
    pattern = member.pattern
    if isinstance(choice, str):
        sequence = order(pattern, choice, member.positions)
    else:
        name = getattr(choice, "__name__", "own")
        sequence = Checked(name, choice, False)(pattern)
    graph = elimination(pattern, sequence)
    sizes = np.ascontiguousarray(pattern.block_sizes[sequence], dtype=np.intp)
    metrics = elimination_metrics(graph, sizes)
    kinds = (sequence >= pattern.n_primal).astype(np.intp)
    cost = metrics.nnz_l, metrics.flops, metrics.largest_front
    return Eliminated(member, graph, sizes, kinds, *cost, sequence)


def automatic_ordering(member: Member) -> str:
    """Return the ordering that the automatic choice takes for the whole pattern."""
    return choose_solver(member.pattern, "auto", "auto").ordering


def recursed(member: Member, choice: Tree) -> Eliminated:
    """Return a mechanism as "loops-aba" eliminates it on a tree, by name or as a function.

    A front has a link, its parent and the loops that are open there, each counted in full; the
    recursion itself keeps link and parent in the same rows where it can.
    """
    tree_elimination = least_elimination(tree_of(member, choice))
    graph, sizes, kinds = elimination_graph(tree_elimination)
    front = int(weighted_counts(graph, sizes).max(initial=0))
    return Eliminated(
        member,
        graph,
        sizes,
        kinds,
        tree_elimination.size.numbers,
        tree_elimination.size.work,
        front,
    )


def tree_of(member: Member, choice: Tree) -> SpanningTree:
    """Return a spanning tree of a mechanism.

    Raises
    ------
    ModelError
        If the family is one of patterns.
    """
    if member.system is None:
        raise ModelError("a spanning tree takes a mechanism, and the family has patterns only")
    return (
        spanning_tree(member.system, choice) if isinstance(choice, str) else choice(member.system)
    )


def elimination_graph(tree_elimination: TreeElimination) -> tuple[Elimination, IntArray, IntArray]:
    """Return the same elimination as one of a graph, with scalar rows and kinds by position.

    Links couple to their parents and to the loops that end at them; a loop follows where
    "loops-aba" closes it.
    """
    tree, n = tree_elimination.tree, tree_elimination.tree.n_bodies
    links = np.flatnonzero(tree.parent >= 0)
    ends = tree_elimination.loops.ends
    loop, side = np.nonzero(ends >= 0)
    pairs = np.concatenate(
        [
            np.stack([links, tree.parent[links]], axis=1),
            np.stack([ends[loop, side], n + loop], axis=1),
        ]
    )
    sequence = np.array(
        [s.node if s.kind == LINK else n + s.node for s in tree_elimination.steps], np.intp
    )
    place = positions(sequence)
    sizes = np.concatenate([np.full(n, SIZE), np.diff(tree_elimination.loops.first_row)])[sequence]
    return (
        elimination_of(_adjacency(place[pairs], len(sequence))),
        sizes.astype(np.intp),
        (sequence >= n).astype(np.intp),
    )


def _adjacency(pairs: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the neighbours of n nodes, (indptr, indices), from pairs of them."""
    both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    start = np.searchsorted(both[:, 0], np.arange(n + 1))
    return start.astype(np.intp), np.ascontiguousarray(both[:, 1], dtype=np.intp)
