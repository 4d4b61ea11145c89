"""A new evaluator where that of a ForwardDynamics cannot evaluate a state."""

from __future__ import annotations

from dataclasses import replace

from sparsebody.dynamics.evaluators import (
    BlockQRSolver,
    Evaluator,
    InaccurateFactors,
    ReductionViolated,
)
from sparsebody.dynamics.options import SolverOptions
from sparsebody.dynamics.preparation import Preparation, prepared_unreduced
from sparsebody.model.system import State


def fallback(
    preparation: Preparation,
    failure: ReductionViolated | InaccurateFactors,
    state: State,
    options: SolverOptions,
) -> Preparation:
    """Return a preparation that can, and tells why in its history.

    Outside the subgroups of a reduction: with all freedoms of the bodies, decided at the state
    `preparation` was. Where factors are inaccurate: QR of the same rows, which keeps the softest
    motions and loses no pivot to rounding alone.

    Parameters
    ----------
    preparation : Preparation
        With the evaluator that has failed.
    failure : ReductionViolated or InaccurateFactors
        What it has raised.
    state : State
        Where rank is decided.
    options : SolverOptions
        Of the ForwardDynamics.

    Raises
    ------
    SingularSystemError
        If QR loses a pivot, too.
    """
    assembler = preparation.evaluator.assembler
    if isinstance(failure, ReductionViolated):
        unreduced = prepared_unreduced(assembler.system, state, options)
        return replace(unreduced, history=(*preparation.history, f"all freedoms: {failure}"))
    solver = BlockQRSolver(assembler)
    solver.factorize(failure.time)
    why = f"block-qr: rounding hides the softest motions at t = {failure.time:.6g} s"
    history = (*preparation.history, why)
    return replace(preparation, evaluator=Evaluator(assembler, solver), history=history)
