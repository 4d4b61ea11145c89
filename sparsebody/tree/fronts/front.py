"""A front: the dense matrix of all that couples when a link of a tree with loops is eliminated.

A link's rows in it pass on to its parent, so that along a mechanism one front is carried inwards.
"""

from __future__ import annotations

LANES = 4  # rows of fronts are multiples of this many numbers


class Front:
    """The rows of a front in the making: which node has which.

    Nodes are numbers: links, then loops.
    """

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}  # first row of each node
        self.sizes: dict[int, int] = {}
        self.holes: list[tuple[int, int]] = []  # first row, number of rows
        self.end = 0
        self.height = 0  # rows ever used
        self.base, self.side = -1, -1  # where its matrix and its right-hand side begin

    @property
    def stride(self) -> int:
        """Numbers in a row."""
        return padded(self.height)

    @property
    def width(self) -> int:
        """Numbers of a row that are in use now."""
        return padded(self.end)

    def slot_of(self, node: int, size: int) -> int:
        """Return the first row of a node, after making room for its rows if they are new."""
        if node in self.slots:
            return self.slots[node]
        self.sizes[node] = size
        for k, (first, room) in enumerate(self.holes):
            if room >= size:
                self.holes[k : k + 1] = [(first + size, room - size)] if room > size else []
                self.slots[node] = first
                return first
        self.slots[node] = self.end
        self.end += size
        self.height = max(self.height, self.end)
        return self.slots[node]

    def free(self, node: int) -> None:
        """Give a node's rows back."""
        self.holes.append((self.slots.pop(node), self.sizes.pop(node)))
        self.holes.sort()
        merged: list[tuple[int, int]] = []
        for first, room in self.holes:
            start, size = first, room
            if merged and sum(merged[-1]) == first:
                start, before = merged.pop()
                size += before
            merged.append((start, size))
        if merged and sum(merged[-1]) == self.end:
            self.end = merged.pop()[0]
        self.holes = merged

    def pass_on(self, node: int, other: int) -> None:
        """Give a node's rows to another one of the same size."""
        self.slots[other], self.sizes[other] = self.slots.pop(node), self.sizes.pop(node)


def padded(n: int) -> int:
    """Return the number of lanes that n numbers fill, times their size."""
    return -(-n // LANES) * LANES
