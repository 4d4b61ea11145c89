"""Costs of elimination orders, of the package and of users, and of the literature's algorithms.

An order is admissible if it needs no pivoting (`sparse/elimination_tree.py`); one that is not is
compared as it is, for factorizations that pivot, and repaired, for those that do not. Algorithms of
the literature are orders of one matrix, compared by flops, time and error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import thread_time
from typing import Any

import numpy as np

from sparsebody import ordering
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.dynamics import ForwardDynamics, preparation
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import OrderingError, ShapeError, SingularSystemError
from sparsebody.factorization import choose_factorization, pivoted_seconds, plain_ldl
from sparsebody.model import Mechanism, State, System
from sparsebody.ordering import ALGORITHMS, algorithm_order
from sparsebody.sparse import BlockPattern, SaddleMatrix, SymmetricPattern, elimination_tree
from sparsebody.sparse.pattern import Blocks, block_order, positions, saddle_blocks

_LONGEST_COMPUTATION = (
    30e6  # of computing one order [us], beyond which it is left out unless asked for
)


@dataclass(frozen=True)
class OrderingLine:
    """The predicted cost of one elimination order."""

    name: str
    metrics: elimination_tree.OrderingMetrics
    factorization: str  # the fastest one for it
    predicted_seconds: float  # of one factorization and solution
    remark: str = ""  # on an order that was given

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        own = {"ordering": self.name, **vars(self.metrics), **vars(self)}
        left_out = ("name", "metrics", "" if self.remark else "remark")
        return {key: value for key, value in own.items() if key not in left_out}


@dataclass(frozen=True, eq=False)
class OrderingComparison:
    """The orders of one pattern, the one with the fewest operations first."""

    pattern: Blocks
    lines: tuple[OrderingLine, ...]
    orders: dict[str, IntArray]  # (n_blocks,) each
    automatic: str  # what the automatic choice takes
    structure: KKTStructure | None = None  # of a mechanism

    def with_lines(self, *lines: OrderingLine) -> OrderingComparison:
        """Return the comparison with other lines beside its own."""
        return replace(self, lines=by_flops([*self.lines, *lines]))

    def judged(self, order: IntArray, name: str) -> OrderingComparison:
        """Return the comparison with an order of the mechanism's blocks or scalar rows.

        They are those of the matrix in use, or of the whole [M A'; A 0] with all rows of all
        joints, of which those without independent rows are then left out. Raises ShapeError if the
        order fits neither; the message lists the lengths that do.
        """
        structure = self.structure
        if structure is None:
            raise ShapeError("a comparison without a mechanism; use compare_orderings to make one")
        all_rows = kkt_structure(structure.system)
        for candidate in (structure, all_rows):
            if len(order) in (candidate.pattern.n_blocks, candidate.pattern.n_rows):
                blocks, remark = _in_blocks(candidate.pattern, order)
                n, joints_in_use = structure.system.n_bodies, structure.joints
                slot = np.full(n + structure.system.n_joints, -1, dtype=np.intp)
                slot[:n], slot[n + joints_in_use] = np.arange(n), n + np.arange(len(joints_in_use))
                slots = slot[np.concatenate([np.arange(n), n + candidate.joints])[blocks]]
                sequence, n_missing = slots[slots >= 0], int(np.count_nonzero(slots < 0))
                comment = (
                    f"{n_missing} joints without independent rows omitted" if n_missing else ""
                )
                comment = "; ".join(filter(None, (remark, comment)))
                joints = [structure.system.joint_names[j] for j in structure.joints]
                lines = judge_order(structure.pattern, sequence, name, comment, joints)
                return self.with_lines(*lines)
        sizes = sorted(
            {n for s in (structure, all_rows) for n in (s.pattern.n_blocks, s.pattern.n_rows)}
        )
        raise ShapeError(
            f"the order {name!r} has {len(order)} entries, but {structure.system.name} has "
            f"{all_rows.system.n_bodies} bodies and {len(all_rows.joints)} joints; orders of its "
            f"blocks or rows have {', '.join(map(str, sizes))}"
        )


def by_flops(lines: Sequence[OrderingLine]) -> tuple[OrderingLine, ...]:
    """Return the lines, the one with the fewest operations first."""
    return tuple(sorted(lines, key=lambda line: (line.metrics.flops, line.metrics.nnz_l)))


def ordering_lines(choice: preparation.SolverChoice) -> tuple[OrderingLine, ...]:
    """Return what was predicted of every ordering that was tried, the quickest first."""
    lines = [
        OrderingLine(name, metrics, min(times, key=lambda one: times[one]), min(times.values()))
        for name, metrics in choice.metrics.items()
        for times in [choice.seconds[name]]
    ]
    return tuple(sorted(lines, key=lambda line: line.predicted_seconds))


def compare_orderings(
    mechanism: Mechanism | System, names: Sequence[str] = (), factorization: str = "auto"
) -> OrderingComparison:
    """Return the predicted cost of orderings for the matrix that forward dynamics factorizes.

    Parameters
    ----------
    mechanism : Mechanism or System
        Looked at in the consistent pose nearest to its initial one.
    names : sequence of str
        Keys of ORDERINGS; default: all that are installed, do not take too long and find an order.
    factorization : str
        What the time is predicted for, or "auto" for the quickest of each.

    Raises
    ------
    UnknownNameError, MissingDependencyError
        For an ordering or a factorization that is unknown or not installed.
    AssemblyError
        If the joints of the mechanism do not close.
    """
    system = mechanism.compile() if isinstance(mechanism, Mechanism) else mechanism
    state = consistent_state(system)
    dynamics = ForwardDynamics(system, state, reactions="basic", factorization=factorization)
    pattern, automatic = dynamics.structure.pattern, dynamics.ordering
    comparison = compared(pattern, names, factorization, automatic, state.position)
    return replace(comparison, structure=dynamics.structure)


def compared(
    pattern: BlockPattern,
    names: Sequence[str] = (),
    factorization: str = "auto",
    automatic: str = "",
    positions: FloatArray | None = None,
) -> OrderingComparison:
    """Return the comparison for a pattern; parameters and errors as of `compare_orderings`.

    Orderings that take the `positions` (n_primal, 3) of the bodies get them.
    """
    affordable = [
        name
        for name in ordering.available_orderings(pattern.n_blocks)
        if ordering.ORDERINGS[name].microseconds * pattern.n_blocks < _LONGEST_COMPUTATION
    ]
    choices = {}
    for name in dict.fromkeys(names or affordable):
        try:
            choices[name] = preparation.choose_solver(pattern, name, factorization, positions)
        except OrderingError:
            if names:
                raise
    lines = [line for choice in choices.values() for line in ordering_lines(choice)]
    return OrderingComparison(
        pattern,
        by_flops(lines),
        {name: choice.order for name, choice in choices.items()},
        automatic,
    )


@dataclass(frozen=True, eq=False)
class MatrixComparison:
    """The orders of a user's matrix; `block` maps its blocks to those of the comparison."""

    comparison: OrderingComparison
    block: IntArray  # (n_blocks,)

    def order(self, name: str) -> IntArray:
        """Return the order (n_blocks,) of an ordering, in the blocks of the file."""
        return self.block[self.comparison.orders[name]]

    def judged(self, order: IntArray, name: str) -> MatrixComparison:
        """Return the comparison with an order of the blocks or scalar rows of the file."""
        pattern, position = self.comparison.pattern, positions(self.block)
        of_file = BlockPattern(pattern.block_sizes[position], np.zeros((0, 2), dtype=np.intp))
        blocks, remark = _in_blocks(of_file, order)
        lines = judge_order(pattern, position[blocks], name, remark)
        return MatrixComparison(self.comparison.with_lines(*lines), self.block)

    @property
    def description(self) -> str:
        """What the matrix is, in words."""
        pattern = self.comparison.pattern
        size = f"{pattern.n_blocks} blocks, {pattern.n_rows} rows"
        if isinstance(pattern, BlockPattern):
            return f"{size}: [D A'; A 0] of {pattern.n_primal} bodies and {pattern.n_dual} joints"
        return f"{size}: not a matrix of bodies and joints; times are those of LU with pivoting"


def compare_pattern(pattern: SymmetricPattern, names: Sequence[str] = ()) -> MatrixComparison:
    """Return the predicted cost of orderings for any symmetric matrix.

    Parameters
    ----------
    pattern : SymmetricPattern
        From `read_pattern`.
    names : sequence of str
        Keys of ORDERINGS for a matrix of bodies and joints, else of GENERAL_ORDERINGS; default:
        all that are installed.

    Raises
    ------
    UnknownNameError, MissingDependencyError
        For an ordering that is unknown or not installed.
    """
    saddle = saddle_blocks(pattern)
    if saddle is not None:
        bodies_and_joints, block = saddle
        return MatrixComparison(compared(bodies_and_joints, names), block)
    names = list(dict.fromkeys(names)) or ordering.available_general_orderings()
    orders = {name: ordering.general_order(pattern, name) for name in names}
    lines = [_line(pattern, order, name) for name, order in orders.items()]
    comparison = OrderingComparison(pattern, by_flops(lines), orders, "")
    return MatrixComparison(comparison, np.arange(pattern.n_blocks))


def judge_order(
    pattern: Blocks, order: IntArray, name: str, remark: str = "", joints: Sequence[str] = ()
) -> tuple[OrderingLine, ...]:
    """Return a line for an order of blocks, and one more for the repaired order.

    The `joints` (n_dual,) are names, for the remark on the first one that comes too early.
    """
    if not isinstance(pattern, BlockPattern):
        return (_line(pattern, order, name, "given", remark),)
    early = elimination_tree.early_joints(pattern, order)
    if len(early) == 0:
        return (_line(pattern, order, name, "admissible", remark),)
    who = repr(joints[early[0]]) if len(joints) else f"dual block {early[0]}"
    comment = f"{len(early)} joints before their bodies, first {who}: needs pivoting"
    return (
        _line(pattern, order, name, comment, remark, pivoting=True),
        _line(pattern, elimination_tree.repair(pattern, order), f"{name}, repaired", "admissible"),
    )


def _in_blocks(pattern: Blocks, order: IntArray) -> tuple[IntArray, str]:
    """Return an order of blocks, and a remark on it."""
    blocks, is_whole = block_order(pattern, order)
    return blocks, "" if is_whole else "rows of a block apart: blocks by their last rows"


def _line(
    pattern: Blocks, order: IntArray, name: str, *remarks: str, pivoting: bool = False
) -> OrderingLine:
    """Return the line of an order with the fastest factorization, of those that pivot or of all."""
    if pivoting or not isinstance(pattern, BlockPattern):
        times = pivoted_seconds(pattern, order)
    else:
        times = choose_factorization(pattern, order)[1]
    best = min(times, key=lambda one: times[one])
    remark = "; ".join(filter(None, remarks))
    return OrderingLine(
        name, elimination_tree.ordering_metrics(pattern, order), best, times[best], remark
    )


# ---- algorithms ---------------------------------------------------------------------------------


EPS = (1e-4, 1e-8, 1e-12, 0.0)
MOST_FLOPS = 2e9  # beyond which nothing is factorized: some seconds
_TRIALS = 5


@dataclass(frozen=True)
class AlgorithmLine:
    """One algorithm as an order of the matrix; NaN for what was not done, or had a zero pivot."""

    name: str
    summary: str
    source: str
    metrics: elimination_tree.OrderingMetrics  # predicted
    counted_flops: float  # operations of the factorization, as they were done
    seconds: float  # of processor time: the least of some factorizations, each with a solution
    errors: dict[float, float]  # by eps: of the accelerations, relative to the largest

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        errors = {f"{eps:g}": error for eps, error in self.errors.items()}
        own = {"algorithm": self.name, **vars(self), **vars(self.metrics), "errors": errors}
        return {key: value for key, value in own.items() if key not in ("name", "metrics")}


@dataclass(frozen=True, eq=False)
class AlgorithmComparison:
    """The algorithms on one matrix, in the order of their table."""

    pattern: BlockPattern
    lines: tuple[AlgorithmLine, ...]
    orders: dict[str, IntArray]  # (n_blocks,) each


def compare_algorithms(
    mechanism: Mechanism | System,
    names: Sequence[str] = (),
    *,
    eps: Sequence[float] = EPS,
    state: State | None = None,
    most_flops: float = MOST_FLOPS,
) -> AlgorithmComparison:
    """Return costs and errors of the algorithms as orders of [D A'; A -eps] in one factorization.

    Constraint rows that depend on others are left out, and rows of A are scaled to one in the
    metric of D^-1. The predicted flops are exactly the counted ones: zeros within blocks count.

    Parameters
    ----------
    mechanism : Mechanism or System
        All bodies with six freedoms.
    names : sequence of str
        Keys of ALGORITHMS; default: all.
    eps : sequence of float
        Errors are found with each. Zero suits only orders without joints before their bodies.
    state : State, optional
        Default: the consistent one nearest to the initial one.
    most_flops : float
        Orders that are predicted to take more are not run.

    Raises
    ------
    UnknownNameError
        For an unknown algorithm.
    ShapeError
        If there is no eps, or one that is negative or not finite.
    AssemblyError
        If the joints of the mechanism do not close.
    """
    if len(eps) == 0 or not all(0.0 <= value < math.inf for value in eps):
        raise ShapeError(f"eps is {list(eps)}; give zero or small positive numbers, such as 1e-8")
    if not most_flops >= 0.0:
        raise ShapeError(f"most_flops is {most_flops}; give a number that is not negative")
    system = mechanism.compile() if isinstance(mechanism, Mechanism) else mechanism
    state = consistent_state(system) if state is None else state
    dynamics = ForwardDynamics(system, state, formulation=preparation.SPATIAL, reactions="basic")
    evaluation, structure = dynamics.evaluate(state), dynamics.structure
    force, gamma = evaluation.applied - evaluation.bias, evaluation.constraint.acceleration
    matrix = structure.matrix(evaluation.constraint)  # (8.64) with independent rows
    acceleration = dynamics.acceleration(state)
    free = np.einsum("nij,nj->ni", matrix.inverse, force.reshape(system.n_bodies, -1))
    largest = max(np.abs(free).max(initial=0.0), np.abs(acceleration).max(initial=0.0))
    size = float(largest) or 1.0  # of the accelerations, with joints or not
    equations = matrix, structure.right_hand_side(force, gamma), acceleration.ravel(), size
    pattern = matrix.pattern
    orders = {name: algorithm_order(pattern, name) for name in dict.fromkeys(names or ALGORITHMS)}
    lines = (
        _algorithm_line(name, order, equations, eps, most_flops) for name, order in orders.items()
    )
    return AlgorithmComparison(pattern, tuple(lines), orders)


_Equations = tuple[SaddleMatrix, FloatArray, FloatArray, float]


def _algorithm_line(
    name: str, order: IntArray, equations: _Equations, eps: Sequence[float], most_flops: float
) -> AlgorithmLine:
    """Factorize in one order with every eps; `equations` with accelerations and their size."""
    matrix, rhs, acceleration, size = equations
    metrics = elimination_tree.ordering_metrics(matrix.pattern, order)
    errors, counted, seconds = dict.fromkeys(map(float, eps), math.nan), math.nan, math.nan
    if metrics.flops <= most_flops:
        symbolic = plain_ldl.analyze(matrix.pattern, order)
        for value in errors:
            try:
                numeric = symbolic.factorize(matrix, value)
            except SingularSystemError:
                continue
            wrong = numeric.solve(rhs)[: len(acceleration)] - acceleration
            errors[value] = float(np.abs(wrong).max(initial=0.0)) / size
            if math.isnan(seconds):
                counted, times = float(numeric.flops), []
                for _ in range(_TRIALS):
                    begin = thread_time()
                    symbolic.factorize(matrix, value).solve(rhs)
                    times.append(thread_time() - begin)
                seconds = min(times)
    entry = ALGORITHMS[name]
    return AlgorithmLine(name, entry.summary, entry.source, metrics, counted, seconds, errors)
