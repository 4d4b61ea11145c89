"""What each elimination order of a mechanism would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.choice import SolverChoice, choose_solver
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial import consistent_state
from sparsebody.errors import OrderingError
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import System
from sparsebody.ordering import ORDERINGS, available_orderings
from sparsebody.sparse.etree import OrderingMetrics
from sparsebody.sparse.pattern import BlockPattern, Blocks

_PATIENCE = 30e6  # of computing one order [us], beyond which it is left out unless asked for


@dataclass(frozen=True)
class OrderingLine:
    """The predicted cost of one elimination order."""

    name: str
    metrics: OrderingMetrics
    factorization: str  # the fastest one for it
    predicted_seconds: float  # of one factorization and solution
    remark: str = ""  # on an order that was given

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "ordering": self.name,
            **vars(self.metrics),
            "factorization": self.factorization,
            "predicted_seconds": self.predicted_seconds,
            **({"remark": self.remark} if self.remark else {}),
        }


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


def by_flops(lines: Sequence[OrderingLine]) -> tuple[OrderingLine, ...]:
    """Return the lines, the one with the fewest operations first."""
    return tuple(sorted(lines, key=lambda line: (line.metrics.flops, line.metrics.nnz_l)))


def ordering_lines(choice: SolverChoice) -> tuple[OrderingLine, ...]:
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
        For an ordering or a factorization that is not there.
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
    choices = {}
    for name in dict.fromkeys(names or _bearable(pattern)):
        try:
            choices[name] = choose_solver(pattern, name, factorization, positions)
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


def _bearable(pattern: BlockPattern) -> list[str]:
    names = available_orderings(pattern.n_blocks)
    return [name for name in names if ORDERINGS[name].microseconds * pattern.n_blocks < _PATIENCE]
