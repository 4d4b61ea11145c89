"""Costs of lattices of any size before anything is computed: flops, memory, messages and time.

The cost of a factorization follows from the elimination tree, for a compiled mechanism. A lattice
needs not even the tree: nested dissection cuts a box of bodies into two until single ones are
left, and the joints across a cut are eliminated after both halves, in a front with the joints that
lead out of the box. The cost is the recursion

    c(box) = c(one half) + c(other half) + front(joints across the cut, joints out of the box),

exactly, for the order that dissects down to single bodies. George (1973), SIAM J. Numer. Anal.
10:345; Lipton, Rose and Tarjan (1979), SIAM J. Numer. Anal. 16:346: n log n entries and n^1.5 flops
in the plane, n^(4/3) and n^2 in space.

On several ranks, each cut gives half of the ranks to either half, as proportional mapping does
(Pothen and Sun (1993), SIAM J. Sci. Comput. 14:1253), and all of them share the front of the cut,
row by row: the master sends its pivots to the others, and these pass their rows on (Amestoy, Duff,
L'Excellent and Koster (2001), SIAM J. Matrix Anal. Appl. 23:15).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sparsebody.assembly.constraint import kkt_structure
from sparsebody.errors import ModelError, check_name
from sparsebody.factorization import BYTES, FACTORIZATIONS, Case, Work, parts_work
from sparsebody.factorization.substructures import EXTRA_VECTORS, MOST_FREEDOMS, RIGID
from sparsebody.model.system import System
from sparsebody.ordering import order
from sparsebody.sparse.elimination_tree import pivot_flops

COST_METHODS = ("direct", "iterative")
PANEL = 32  # pivots that are sent together
BANDWIDTH, LATENCY = 2e9, 5e-6  # of messages [bytes/s], [s]: those of a fast network
APPLICATIONS = 7  # of the preconditioner, in four iterations of conjugate gradients, as on cubes
SPHERICAL, BODY = 3, 6  # rows of a spherical joint, freedoms of a body


@dataclass(frozen=True)
class CostPrediction:
    """What one factorization takes."""

    bodies: int
    rows: int  # of the system, freedoms and constraint rows
    ranks: int
    entries: float  # of the factors
    flops: float  # multiplications, divisions and additions
    largest_front: int  # rows
    memory: float  # [bytes] of factors and fronts, on all ranks
    memory_of_rank: float  # [bytes] on the rank that needs most
    critical_flops: float  # along the longest path of the tree, each front shared by its ranks
    messages: float  # of all ranks
    message_bytes: float
    seconds: float  # of one factorization and solution

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"{self.bodies} bodies on {self.ranks} ranks: {self.flops:.2g} flops, "
            f"{self.memory / 1e9:.2g} GB ({self.memory_of_rank / 1e9:.2g} GB a rank), "
            f"{self.messages:.2g} messages of {self.message_bytes / 1e9:.2g} GB, "
            f"{self.seconds:.2g} s"
        )


def predict_cost(
    mechanism: System | Sequence[int],
    *,
    method: str = "direct",
    ordering: str = "geometric-dissection",
    ranks: int = 1,
) -> CostPrediction:
    """Predict what one factorization of all constraint rows takes.

    Parameters
    ----------
    mechanism : System or three integers
        A compiled mechanism, whose elimination tree is computed; or rows, columns and layers of a
        lattice of spherical joints, up to any size, which is not built.
    method : {"direct", "iterative"}
        LDL' of the whole system, as by "multifrontal" or "mumps"; or, for lattices, the
        factorization "iterative".
    ordering : str
        A name from ORDERINGS, for a System. Lattices are dissected.
    ranks : int
        Number of ranks of mpiexec, a power of two. More than one: for lattices by "direct" only.

    Raises
    ------
    UnknownNameError
        For another method or ordering.
    ModelError
        If a size is less than one, `ranks` is not a power of two or too large for this prediction,
        or, by "iterative", the mechanism is no lattice or less than two bodies wide.
    """
    check_name(method, COST_METHODS, "method")
    is_lattice = not isinstance(mechanism, System)
    if not isinstance(ranks, int | np.integer) or ranks < 1 or ranks & (ranks - 1):
        raise ModelError(f"{ranks} ranks: give a power of two")
    if ranks > 1 and not (is_lattice and method == "direct"):
        raise ModelError(f"{ranks} ranks: costs on several are predicted for lattices by 'direct'")
    if isinstance(mechanism, System):
        if method == "iterative":
            raise ModelError(
                "costs by 'iterative' are those of lattices; give rows, columns and layers"
            )
        pattern = kkt_structure(mechanism).pattern
        positions = mechanism.initial_state.position
        metrics = Case(pattern, order(pattern, ordering, positions)).metrics
        total = _Cost(metrics.nnz_l, metrics.flops, metrics.largest_front).on_one_rank()
        return _prediction(mechanism.n_bodies, pattern.n_rows, 1, total)
    try:
        shape = tuple(operator.index(n) for n in mechanism)
    except TypeError:
        shape = ()
    if len(shape) != 3 or min(shape) < 1:
        raise ModelError(
            f"no costs of {mechanism!r}: give a compiled System, or three integers of one or more"
        )
    if method == "iterative" and min(shape) < 2:
        raise ModelError(
            f"costs by 'iterative' of a lattice {shape} are not predicted, for its substructures "
            "have too many free motions; give two bodies or more in every direction"
        )
    if method == "iterative":
        return _iterative(shape)
    cost = _Dissection(BODY, (SPHERICAL,) * 3).cost(shape, ranks)
    cost = cost if ranks > 1 else cost.on_one_rank()
    return _prediction(math.prod(shape), _rows(shape), ranks, cost)


def _prediction(bodies: int, rows: int, ranks: int, cost: _Cost) -> CostPrediction:
    share = Work(rows / ranks, cost.entries_of_rank, cost.critical_flops)
    seconds = FACTORIZATIONS["multifrontal"].seconds(share)
    message_bytes = 8.0 * cost.words
    seconds += (message_bytes / BANDWIDTH + cost.messages * LATENCY) / ranks
    return CostPrediction(
        bodies=bodies,
        rows=rows,
        ranks=ranks,
        entries=cost.entries,
        flops=cost.flops,
        largest_front=cost.largest_front,
        memory=BYTES * cost.entries,
        memory_of_rank=BYTES * cost.entries_of_rank,
        critical_flops=cost.critical_flops,
        messages=cost.messages,
        message_bytes=message_bytes,
        seconds=seconds,
    )


# ---- by recursion ----------------------------------------------------------------------------


class _Cost(NamedTuple):
    """The cost of eliminating a box, as in CostPrediction."""

    entries: float = 0.0
    flops: float = 0.0
    largest_front: int = 0  # rows
    entries_of_rank: float = 0.0
    critical_flops: float = 0.0
    messages: float = 0.0
    words: float = 0.0  # numbers of 8 bytes in them

    def on_one_rank(self) -> _Cost:
        return self._replace(entries_of_rank=self.entries, critical_flops=self.flops)


def _front(pivots: int, below: int, ranks: int) -> _Cost:
    """Return the cost of a dense front that all ranks share, with rows below its pivots.

    The master sends the pivots' triangle to the p - 1 others, and each of these its rows to half of
    the others, on average, which need them above the diagonal; a message for each panel.
    """
    front = pivots + below
    entries = pivots * front - pivots * (pivots - 1) / 2
    flops = pivot_flops(front) - pivot_flops(below)
    words = (ranks - 1) * (pivots * (pivots + 1) / 2 + pivots * below / 2)
    messages = (ranks - 1) * math.ceil(pivots / PANEL) * ranks / 2
    shares = entries / ranks, flops / ranks
    return _Cost(entries, flops, front, *shares, messages, words)


Shape = tuple[int, ...]  # bodies across x, y and z
Sides = tuple[tuple[int, int], ...]  # whether the low and the high side are joined, by axis


class _Dissection(NamedTuple):
    """A lattice: rows of a body, and of a joint across x, y and z."""

    body: int
    joints: tuple[int, int, int]

    def cut_rows(self, shape: Shape, axis: int) -> int:
        return self.joints[axis] * math.prod(shape) // shape[axis]

    def cost(self, shape: Shape, ranks: int = 1) -> _Cost:
        """Return the cost of a lattice that is joined to nothing."""
        return _dissected(self, shape, ((0, 0),) * 3, ranks)


@lru_cache(maxsize=1 << 18)
def _dissected(lattice: _Dissection, shape: Shape, joined: Sides, ranks: int) -> _Cost:
    """Return the cost of a box; joined (3, 2): 1 on the sides with joints to bodies outside."""
    outward_rows = sum(lattice.cut_rows(shape, k) * sum(joined[k]) for k in range(3))
    if math.prod(shape) == 1:
        return _front(lattice.body, outward_rows, 1)
    axis = max(range(3), key=lambda k: (shape[k], -sum(joined[k])))
    halves, contributions = [], 0.0
    for side in (0, 1):
        half, ends = list(shape), list(joined)
        half[axis] = shape[axis] // 2 if side == 0 else shape[axis] - shape[axis] // 2
        ends[axis] = (joined[axis][0], 1) if side == 0 else (1, joined[axis][1])
        halves.append(_dissected(lattice, tuple(half), tuple(ends), max(ranks // 2, 1)))
        n = sum(lattice.cut_rows(tuple(half), k) * sum(ends[k]) for k in range(3))
        contributions += n * (n + 1) / 2  # entries that the half adds to the front
    one, two = halves
    front = _front(lattice.cut_rows(shape, axis), outward_rows, ranks)
    entries, flops = one.entries + two.entries, one.flops + two.flops
    largest = max(one.largest_front, two.largest_front)
    if ranks > 1:
        of_rank = max(one.entries_of_rank, two.entries_of_rank)
        critical = max(one.critical_flops, two.critical_flops)
        moved = contributions * (ranks - 1) / ranks
    else:
        of_rank, critical, moved = entries, flops, 0.0
    return _Cost(
        entries + front.entries,
        flops + front.flops,
        max(largest, front.largest_front),
        of_rank + front.entries_of_rank,
        critical + front.critical_flops,
        one.messages + two.messages + front.messages + (ranks if ranks > 1 else 0),
        one.words + two.words + front.words + moved,
    )


def _rows(shape: Shape) -> int:
    """Return the rows of a lattice with one more joint, to the world."""
    n = math.prod(shape)
    return BODY * n + SPHERICAL * sum(n - n // k for k in shape) + SPHERICAL


def _iterative(shape: Shape) -> CostPrediction:
    """Return the cost of all levels of substructures, boxes of a x b x c bodies of the lattice.

    A box keeps a + b + c + 6 motions: those of a rigid body, and one relative rotation of each
    plane of bodies. At a face of b x c joints two boxes have b + c + 6 relative motions, the rows
    of the joint between them at the next level.
    """
    grid, cell = np.array(shape), np.ones(3, dtype=int)
    total, level = _Cost(), 0
    while True:
        a, b, c = (int(k) for k in cell)
        body = BODY if level == 0 else a + b + c + RIGID
        joints = (SPHERICAL,) * 3 if level == 0 else (b + c + RIGID, a + c + RIGID, a + b + RIGID)
        part = grid.copy()  # of the bodies of this level
        while body * math.prod(part) > MOST_FREEDOMS and math.prod(part) > 2:
            axis = int(np.argmax(part * cell))
            part[axis] = -(-part[axis] // 2) if part[axis] > 1 else 1
        n_parts = int(math.prod(-(-grid // part)))
        is_last = n_parts <= 2
        if is_last:
            part, n_parts = grid, 1
        shape_of_part = tuple(int(k) for k in part)
        cost = _Dissection(body, joints).cost(shape_of_part)
        freedoms = body * math.prod(shape_of_part)
        motions = 0 if is_last else int((part * cell).sum()) + RIGID
        vectors = (RIGID + EXTRA_VECTORS) * 2 ** math.ceil(
            math.log2(max((motions + 1) / (RIGID + EXTRA_VECTORS), 1))
        )
        solves = (0 if is_last else vectors) + 2 * APPLICATIONS
        total = _Cost(
            total.entries + n_parts * (cost.entries + freedoms * motions),
            total.flops + n_parts * (cost.flops + 4.0 * solves * cost.entries),
            max(total.largest_front, cost.largest_front),
        )
        if is_last:
            break
        grid, cell, level = -(-grid // part), cell * part, level + 1
    rows = _rows(shape)
    prediction = _prediction(math.prod(shape), rows, 1, total.on_one_rank())
    work = parts_work(rows)
    memory = BYTES * work.entries  # with rows, indices and fronts of every part
    return replace(
        prediction,
        memory=memory,
        memory_of_rank=memory,
        seconds=FACTORIZATIONS["iterative"].seconds(work),
    )
