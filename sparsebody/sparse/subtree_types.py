"""The elimination tree as a derivation of a grammar: how the fronts of subtrees fit together.

A subtree of the elimination tree is coupled to the other blocks by its front: the blocks that its
root couples to, all of them above it. A *production* states how a front follows from those of the
children: which blocks take part, by kind and size, which of them the pivot couples to in the
matrix, and at which positions the blocks of each child's front stand. Positions are counted from
the pivot upwards, so that productions depend neither on the numbering of the blocks nor on the
choice among equivalent orders. Equal productions all the way down mean equal parts of the
mechanism, eliminated alike. Small subtrees belong to the production that they hang on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sparsebody.sparse.etree import Elimination, filled_columns

Slot = tuple[tuple[int, int], ...]  # of a subtree: the productions above it, child by child
Key = tuple[Slot, int]  # a slot, and the number of blocks of its subtree
Label = tuple[int, int]  # of a block: its kind, and its scalar rows
Glue = tuple[tuple[int, ...], int]  # positions of a child's front in that of its parent, and the
#   production of a child that is small, -1 for others

TOP: Slot = ()  # the slot of the complete forest


class Derivation(NamedTuple):
    """A node of an elimination tree."""

    production: int
    children: tuple[Key, ...]  # without small ones


class Shape(NamedTuple):
    """The parts of a production."""

    front: tuple[Label, ...]  # the pivot first; nothing at TOP
    coupled: tuple[bool, ...]  # whether the pivot couples to each other block in the matrix
    glues: tuple[Glue, ...]  # of the children, sorted


@dataclass(eq=False)
class Productions:
    """The productions of several eliminations, numbered as they come.

    Parameters
    ----------
    small : int
        Blocks of the largest subtrees that are taken as a whole.
    context : int
        The number of productions above a subtree that make up its slot.
    """

    small: int = 0
    context: int = 1
    numbers: dict[Shape, int] = field(default_factory=dict)
    widths: list[int] = field(default_factory=list)  # scalar rows of the largest front of each

    def derivations(
        self, tree: Elimination, labels: Sequence[Label]
    ) -> list[tuple[Key, Derivation]]:
        """Return the nodes of an elimination forest from TOP downwards, each with its key.

        Parameters
        ----------
        tree : Elimination
            Of a graph in some order.
        labels : sequence of Label
            Of the node at each position.
        """
        forest = _Forest(tree, labels)
        number, growing = self._numbered(forest)
        n = len(labels)
        slots: dict[int, Slot] = {n: TOP}
        derived: list[tuple[Key, Derivation]] = []
        for j in range(n, -1, -1):
            slot = slots.pop(j, None)
            if slot is None:
                continue
            own = []
            for i, c in enumerate(growing[j]):
                slots[c] = (*slot, (number[j], i))[-self.context :]
                own.append((slots[c], forest.sizes[c]))
            derived.append(((slot, forest.sizes[j]), Derivation(number[j], tuple(own))))
        return derived

    def _numbered(self, forest: _Forest) -> tuple[list[int], list[list[int]]]:
        """Return the production of every node, and its children that are not small."""
        number: list[int] = []
        growing = []
        for j, children in enumerate(forest.children):
            glued = sorted(
                (
                    forest.glue(c, j),
                    -1 if forest.sizes[c] > self.small else number[c],
                    forest.sizes[c],
                    c,
                )
                for c in children
            )
            shape = Shape(*forest.front(j), tuple([(glue, kind) for glue, kind, *_ in glued]))
            number.append(self.numbers.setdefault(shape, len(self.numbers)))
            growing.append([c for _, kind, _, c in glued if kind < 0])
            if number[j] == len(self.widths):
                wide = (self.widths[kind] for _, kind in shape.glues if kind >= 0)
                self.widths.append(max([sum(size for _, size in shape.front), *wide]))
        return number, growing


class _Forest:
    """An elimination forest by position; the last node stands for the top of all."""

    def __init__(self, tree: Elimination, labels: Sequence[Label]) -> None:
        start, rows = filled_columns(tree)
        first, below, n = start.tolist(), rows.tolist(), len(labels)
        entry, near = (part.tolist() for part in tree.graph)
        self.labels = labels
        self.fronts = [[j, *below[first[j] : first[j + 1]]] for j in range(n)] + [[]]
        self.coupled = [set(near[entry[j] : entry[j + 1]]) for j in range(n)] + [set()]
        self.children: list[list[int]] = [[] for _ in range(n + 1)]
        self.sizes = [1] * n + [0]
        for j, parent in enumerate(tree.parent.tolist()):
            self.children[parent].append(j)  # -1 is the last one
            self.sizes[parent] += self.sizes[j]

    def front(self, j: int) -> tuple[tuple[Label, ...], tuple[bool, ...]]:
        """Return the blocks of a front, and which of them couple to the pivot."""
        front, coupled = self.fronts[j], self.coupled[j]
        labels = tuple([self.labels[row] for row in front])
        return labels, tuple([row in coupled for row in front[1:]])

    def glue(self, child: int, j: int) -> tuple[int, ...]:
        """Return the positions of the blocks of a child's front, without its pivot."""
        position = {row: i for i, row in enumerate(self.fronts[j])}
        return tuple([position[row] for row in self.fronts[child][1:]])
