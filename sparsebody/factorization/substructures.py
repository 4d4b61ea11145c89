"""Preconditioner of A A' + delta by substructures, for mechanisms whose factors would be large.

Bodies are cut into parts of some hundred freedoms. In each part the joints inside (I) are
eliminated by LDL'; what remains for the joints between parts (J) is F = A_J P A_J', where P
projects on the motions that the joints inside leave to a part: those of a floating rigid body, and
its mobility. P = (1 + A_I' A_I / delta)^-1 = N N', N of orthogonal columns, whose norms tell how
little the joints hold these motions (1 for a motion that they leave free); so F = G G' with G =
A_J N is the system of a smaller mechanism, which has a body for each part, with as many freedoms as
the part has motions, and a joint for each pair of parts. It is cut into parts again, until one is
left. So the memory is O(n) where parts have few motions, as in cubes, in which a separator is much
larger.

    (A A')^-1 = [1 -S^-1 A_I A_J'; 0 1] [S^-1 0; 0 F^-1] [1 0; -A_J A_I' S^-1 1],   S = A_I A_I'

Motions are found by projecting random vectors. Those that are left out make F approximate, which
costs conjugate gradient steps.

Farhat and Roux (1991), Int. J. Numer. Meth. Engng 32:1205, on floating substructures; Smith,
Bjorstad and Gropp (1996), Domain Decomposition, ch. 4; Halko, Martinsson and Tropp (2011), SIAM
Review 53:217, on random ranges.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.sparse.linalg import LinearOperator, cg

from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray, IntArray, offsets
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import backend, krylov, unit_factors
from sparsebody.sparse.elimination_tree import elimination, light_subtrees, postordered
from sparsebody.sparse.pattern import BlockPattern, check_order, positions

MOST_FREEDOMS = 500  # of a part
RIGID, EXTRA_VECTORS = 6, 6  # motions of a part at least expected, and random ones beyond them
MOTION_TOLERANCE = 1e-10  # of what A leaves of a random vector, relative to the largest
_ROUNDING = 1e-13  # of products with P
RANGE_TOLERANCE = 1e-7  # relative, of rows of G
SHIFTED_REDUCTION = 1e-10  # of the residual, where delta is no rounding
MOST_SHIFTED_STEPS = 500
DOUBTFUL_INVERSE = 1e9  # entry of (A A')^-1 from which on rows are looked at; 1 / DELTA at most


def parts_of(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return the part (n_primal,) of each primal block, numbered in sequence; all 0 for one.

    Parts are neighbouring subtrees of the elimination tree in a postorder, with up to MOST_FREEDOMS
    rows. Primal blocks above the subtrees join the one before.
    """
    n, tree = pattern.n_primal, elimination(pattern, order)
    weight = np.where(order < n, pattern.block_sizes[order], 0)
    subtree = light_subtrees(tree, weight, MOST_FREEDOMS)
    subtree = np.maximum.accumulate(np.append(0, subtree))[1:]
    part, freedoms, of_subtree = 0, 0, list[int]()
    for size in np.bincount(subtree, weight):
        if freedoms + size > MOST_FREEDOMS and freedoms > 0:
            part, freedoms = part + 1, 0
        freedoms += size
        of_subtree.append(part)
    parts, is_primal = np.empty(n, dtype=np.intp), order < n
    parts[order[is_primal]] = np.array(of_subtree)[subtree[is_primal]]
    parts = np.unique(parts, return_inverse=True)[1]
    return parts if 2 <= parts.max(initial=0) < n // 2 else parts * 0


@dataclass(eq=False)
class Part:
    """Primal and dual blocks that are eliminated together; rows in the numbering of its parent."""

    primal: slice  # scalar rows
    dual: slice
    position: int  # the last of its blocks in the order
    factor: unit_factors.MultifrontalSymbolic
    rows: FloatArray = field(init=False)
    motions: FloatArray = field(init=False)  # (n_primal_rows, k) N, orthogonal

    def eliminate(self, rows: FloatArray, delta: float) -> None:
        """Factorize [1 A'; A -delta]."""
        self.rows = rows[self.dual]
        self.factor.eliminate(self.rows, delta)

    def solve(self, f: FloatArray, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return x, y with x + A' y = f and A x - delta y = g."""
        xy = self.factor.unit_solution(self.rows, np.concatenate([f, g]))
        return xy[: len(f)], xy[len(f) :]

    def find_motions(self) -> None:
        """Find N with P = N N', by as many random vectors as its range needs.

        Motions that the rows hardly hold count by how little: P is (1 + A' A / delta)^-1, and
        P V (V' P V)^-1 V' P, of random V with as many columns as its rank, is P (Nystrom's way).
        """
        n, nothing = self.primal.stop - self.primal.start, np.zeros(len(self.rows))
        random = np.random.default_rng(0)
        vectors, projected = np.zeros((2, 0, n))
        n_vectors = min(max(RIGID, n - len(self.rows)) + EXTRA_VECTORS, n)
        while True:
            more = random.normal(size=(n_vectors - len(vectors), n))
            vectors = np.vstack([vectors, more])
            projected = np.vstack([projected, *(self.solve(v, nothing)[0] for v in more)])
            square, turn = np.linalg.eigh(vectors @ projected.T)
            is_positive = square > _ROUNDING * max(square[-1], 1.0)
            root = projected.T @ (turn[:, is_positive] / np.sqrt(square[is_positive]))
            basis, size, _ = np.linalg.svd(root, full_matrices=False)
            present = size**2 > MOTION_TOLERANCE
            if n_vectors == n or np.count_nonzero(present) < n_vectors:
                break
            n_vectors = min(2 * n_vectors, n)
        self.motions = basis[:, present] * size[present]


@dataclass(eq=False)
class Interface:
    """The joints between two parts: rows of A_J, and G = Q R on the motions of both."""

    parts: tuple[int, int]
    dual: slice  # rows
    interface_rows: slice  # those rows, counted among the rows between parts
    position: int  # the last of its blocks in the order
    sides: tuple[IntArray, IntArray]  # of the rows, towards either part
    columns: tuple[IntArray, IntArray]  # (n_rows, width) of A_J, in either part
    q: FloatArray = field(init=False)

    def reduce(self, rows: FloatArray, parts: list[Part]) -> tuple[FloatArray, FloatArray]:
        """Set Q and return R, its columns for either part."""
        sides = []
        for part, side, columns in zip(self.parts, self.sides, self.columns, strict=True):
            of_rows = rows[self.dual][np.arange(len(side)), side]
            local = columns - parts[part].primal.start
            motions = parts[part].motions
            sides.append(
                np.einsum("rw,rwk->rk", of_rows, motions[np.minimum(local, len(motions) - 1)])
            )
        both = np.hstack(sides)
        q, r, column = qr(both, mode="economic", pivoting=True, check_finite=False)
        size = np.abs(np.diag(r))
        rank = int(np.count_nonzero(size > RANGE_TOLERANCE * max(size.max(initial=0.0), 1e-9)))
        self.q = np.ascontiguousarray(q[:, :rank])
        reduced = np.empty((rank, both.shape[1]))
        reduced[:, column] = r[:rank]
        first, second = np.split(reduced, [sides[0].shape[1]], axis=1)
        return first, second


class Substructures:
    """Parts of a pattern by its elimination tree in an order, and the joints between them."""

    def __init__(self, pattern: BlockPattern, order: IntArray) -> None:
        order = postordered(pattern, unit_factors.safe_order(pattern, order))
        label = np.append(parts_of(pattern, order), -1)
        of_ends = np.sort(label[pattern.ends], axis=1)
        of_ends[:, 0] = np.where(of_ends[:, 0] < 0, of_ends[:, 1], of_ends[:, 0])
        is_inside = of_ends[:, 0] == of_ends[:, 1]
        position = positions(order)
        primal = np.lexsort([position[: pattern.n_primal], label[:-1]])
        dual = np.lexsort([position[pattern.n_primal :], *of_ends.T[::-1], ~is_inside])
        self._number(pattern, position, primal, dual)
        inside, of_ends, label[:-1] = np.count_nonzero(is_inside), of_ends[dual], label[primal]
        edges = np.arange(label.max(initial=0) + 2)
        blocks = zip(
            itertools.pairwise(np.searchsorted(label[:-1], edges)),
            itertools.pairwise(np.searchsorted(of_ends[:inside, 0], edges)),
            strict=True,
        )
        self.parts = [self._part(*primal, *dual) for primal, dual in blocks]
        first = np.flatnonzero(np.any(np.diff(of_ends[inside:], axis=0, prepend=-2), axis=1))
        bounds = inside + np.append(first, len(of_ends) - inside)
        self.n_inside = int(self.pattern.dual_offsets[inside])
        self.interfaces = [
            self._interface(tuple(of_ends[a]), slice(a, b), label)
            for a, b in itertools.pairwise(bounds)
        ]
        everything = np.arange(pattern.n_primal, dtype=np.intp)
        of_joints = np.arange(inside, pattern.n_dual, dtype=np.intp)
        self._between = self.pattern.part(everything, of_joints)
        self.threads = 1
        self.coarse: Substructures | None = None
        self._coarse_pattern: BlockPattern | None = None

    def _number(
        self, pattern: BlockPattern, position: IntArray, primal: IntArray, dual: IntArray
    ) -> None:
        """Number primal blocks by parts, dual ones by parts, then by pairs of parts."""
        self.pattern = pattern.part(primal, dual)
        self.position = position[np.concatenate([primal, pattern.n_primal + dual])]
        sizes = pattern.block_sizes[pattern.n_primal + dual]
        start = np.repeat(pattern.dual_offsets[dual] - np.cumsum(sizes) + sizes, sizes)
        self.dual_rows = start + np.arange(len(start))  # natural ones in this numbering

    def _part(self, first: int, last: int, first_dual: int, last_dual: int) -> Part:
        pattern = self.pattern
        blocks = np.arange(first, last, dtype=np.intp)
        duals = np.arange(first_dual, last_dual, dtype=np.intp)
        own = pattern.part(blocks, duals)
        at = self.position[np.concatenate([blocks, pattern.n_primal + duals])]
        primal = slice(*(int(pattern.offsets[k]) for k in (first, last)))
        dual = slice(*(int(pattern.dual_offsets[k]) for k in (first_dual, last_dual)))
        factor = unit_factors.analyze_multifrontal(own, np.argsort(at))
        return Part(primal, dual, int(at.max(initial=0)), factor)

    def _interface(self, parts: tuple[int, int], joints: slice, label: IntArray) -> Interface:
        pattern = self.pattern
        n_rows = np.diff(pattern.dual_offsets)[joints]
        ends = np.repeat(pattern.ends[joints], n_rows, axis=0)
        dual = slice(*(int(pattern.dual_offsets[k]) for k in (joints.start, joints.stop)))
        width = np.arange(pattern.primal_sizes.max(initial=0))
        sides = tuple(np.argmax(label[ends] == part, axis=1) for part in parts)
        columns = tuple(
            pattern.offsets[ends[np.arange(len(ends)), side]][:, None] + width for side in sides
        )
        at = int(self.position[pattern.n_primal :][joints].max())
        interface_rows = slice(dual.start - self.n_inside, dual.stop - self.n_inside)
        return Interface((int(parts[0]), int(parts[1])), dual, interface_rows, at, sides, columns)

    def _each(self, function: Callable[..., object], *arguments: Iterable[object]) -> Iterator[Any]:
        """Map a function, in threads if there are several."""
        if self.threads == 1:
            return map(function, *arguments)
        with ThreadPoolExecutor(self.threads) as pool:
            return iter(list(pool.map(function, *arguments)))

    def eliminate(self, rows: FloatArray, delta: float) -> None:
        """Factorize for rows (n_dual_rows, 2, width)."""
        self.rows = rows = np.ascontiguousarray(rows[self.dual_rows])
        if not self.interfaces:
            for part in self.parts:
                part.eliminate(rows, delta)
            return

        def eliminate(part: Part) -> None:
            part.eliminate(rows, delta)
            part.find_motions()

        list(self._each(eliminate, self.parts))
        reduced = list(self._each(lambda one: one.reduce(rows, self.parts), self.interfaces))
        self._reduce(reduced, delta)

    def _reduce(self, reduced: list[tuple[FloatArray, FloatArray]], delta: float) -> None:
        """Eliminate the mechanism of parts; one without motions is the world."""
        freedoms = np.array([part.motions.shape[1] for part in self.parts], dtype=np.intp)
        moves = freedoms > 0
        body = np.append(np.where(moves, np.cumsum(moves) - 1, -1), -1)
        ranks = np.array([len(first) for first, _ in reduced], dtype=np.intp)
        joints = np.flatnonzero(ranks)
        ends = body[
            np.array([self.interfaces[k].parts for k in joints], dtype=np.intp).reshape(-1, 2)
        ]
        pattern = BlockPattern(np.concatenate([freedoms[moves], ranks[joints]]), ends)
        rows = np.zeros((int(ranks.sum()), 2, int(freedoms.max(initial=1))))
        start = offsets(ranks)
        for k in joints:
            for side, values in enumerate(reduced[k]):
                rows[start[k] : start[k + 1], side, : values.shape[1]] = values
        self.start = start
        if self._coarse_pattern is None or not self._coarse_pattern.is_like(pattern):
            at = [self.parts[k].position for k in np.flatnonzero(moves)]
            at += [self.interfaces[k].position for k in joints]
            self.coarse = Substructures(pattern, np.argsort(at, kind="stable"))
            self._coarse_pattern = pattern
        assert self.coarse is not None
        self.coarse.threads = self.threads
        self.coarse.eliminate(rows, delta)

    def solve(self, r: FloatArray) -> FloatArray:
        """Return (A A' + delta)^-1 r, both (n_dual_rows,), nearly; symmetric and positive."""
        y, ordered = np.empty_like(r), r[self.dual_rows]
        y[self.dual_rows] = self._solve(ordered)
        return y

    def _solve(self, r: FloatArray) -> FloatArray:
        y, x = np.empty_like(r), np.zeros(self.pattern.n_primal_rows)

        def solve(part: Part) -> None:
            x[part.primal], y[part.dual] = part.solve(-x[part.primal], -r[part.dual])

        list(self._each(solve, self.parts))
        if self.coarse is None:
            return y
        between, rows = (self._between.offsets, self._between.ends), self.rows[self.n_inside :]
        r_between = r[self.n_inside :] + native.constraint_product(between, rows, x)
        y[self.n_inside :] = self._solve_between(r_between)
        x[:] = native.constraint_forces(between, rows, y[self.n_inside :])
        list(self._each(solve, self.parts))
        return y

    def _solve_between(self, r: FloatArray) -> FloatArray:
        """Return F^-1 r; out of the range of G, where r is rounding, r itself."""
        assert self.coarse is not None
        runs = list(itertools.pairwise(self.start))
        reduced = np.zeros(self.start[-1])
        for one, (first, last) in zip(self.interfaces, runs, strict=True):
            reduced[first:last] = r[one.interface_rows] @ one.q
        change = self.coarse.solve(reduced) - reduced
        y = r.copy()
        for one, (first, last) in zip(self.interfaces, runs, strict=True):
            y[one.interface_rows] += one.q @ change[first:last]
        return y

    def explain(self) -> list[dict[str, int]]:
        """Return parts, freedoms and rows of each level, the mechanism itself first."""
        level = {
            "bodies": self.pattern.n_primal,
            "freedoms": self.pattern.n_primal_rows,
            "rows": self.pattern.n_rows - self.pattern.n_primal_rows,
            "parts": len(self.parts),
        }
        return [level, *(self.coarse.explain() if self.coarse else [])]


@dataclass(eq=False)
class IterativeSymbolic(unit_factors.UnitSymbolic):
    """Substructures of a pattern; see UnitSymbolic."""

    substructures: Substructures

    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize; without a delta, a row of A is returned that may depend on others."""
        self.delta = max(delta, krylov.DELTA)
        self.substructures.eliminate(rows, self.delta)
        if delta > 0.0 or len(rows) == 0:
            return unit_factors.REGULAR
        y = np.abs(self.substructures.solve(backend.probe_vector(len(rows))))
        if y.max() < DOUBTFUL_INVERSE:
            return unit_factors.REGULAR
        return self.pattern.n_primal_rows + int(np.argmax(y))

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Solve, nearly; by conjugate gradients where a large delta is asked for."""
        n, of_rows = self.pattern.n_primal_rows, (self.pattern.offsets, self.pattern.ends)
        r = native.constraint_product(of_rows, rows, rhs[:n]) - rhs[n:]
        y = self._shifted_solution(rows, r)
        return np.concatenate([rhs[:n] - native.constraint_forces(of_rows, rows, y), y])

    def _shifted_solution(self, rows: FloatArray, r: FloatArray) -> FloatArray:
        """Return (A A' + delta)^-1 r, both (n_dual_rows,)."""
        if self.delta == krylov.DELTA:
            return self.substructures.solve(r)
        of_rows, shape = (self.pattern.offsets, self.pattern.ends), (len(r), len(r))

        def product(y: FloatArray) -> FloatArray:
            x = native.constraint_forces(of_rows, rows, y)
            return native.constraint_product(of_rows, rows, x) + self.delta * y

        y, failure = cg(
            LinearOperator(shape, product),
            r,
            rtol=SHIFTED_REDUCTION,
            maxiter=MOST_SHIFTED_STEPS,
            M=LinearOperator(shape, self.substructures.solve),
        )
        if failure:
            raise SingularSystemError(
                f"conjugate gradients do not converge in {MOST_SHIFTED_STEPS} steps with a shift "
                f"of {self.delta:.0e}: use another factorization, such as multifrontal"
            )
        return y


def analyze(pattern: BlockPattern, order: IntArray) -> IterativeSymbolic:
    """Cut the pattern into parts by its elimination tree in the given order."""
    check_order(pattern, order)
    return IterativeSymbolic(pattern, Substructures(pattern, order))
