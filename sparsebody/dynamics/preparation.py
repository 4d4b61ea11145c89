"""What a ForwardDynamics decides once: rows, freedoms, elimination order, factorization."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.dynamics.assembler import ReductionViolated, SpatialAssembler
from sparsebody.dynamics.compliant_reactions import LeastEnergy
from sparsebody.dynamics.evaluators import (
    BlockQREvaluator,
    Evaluator,
    InaccurateFactors,
    KrylovEvaluator,
    direct_evaluator,
)
from sparsebody.dynamics.reductions import (
    Reduction,
    classes_of,
    ground_reduction,
    planar_reduction,
    rank_decision,
)
from sparsebody.dynamics.solver_choice import (
    SolverChoice,
    choose_in_plane,
    choose_quasi_definite,
    choose_solver,
    reduction_pays,
)
from sparsebody.equations.accelerations import check_baumgarte, check_reactions
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.factorization.krylov import QUASI_DEFINITE
from sparsebody.model.subgroups import Classes
from sparsebody.model.system import State, System
from sparsebody.sparse.rank import RankDecision
from sparsebody.tolerances import RANK_TOLERANCE

REDUNDANCY = ("remove", "keep", "krylov", "auto")
REDUCTION = ("auto", "none")
RESIDUALS = ("double", "extended")
IN_PLANE = ("auto", "block-qr")  # factorizations of planar mechanisms


def _check_known(value: str, known: tuple[str, ...], what: str) -> None:
    if value not in known:
        raise UnknownNameError(f"{what} is {value!r}; give one of {', '.join(known)}")


@dataclass(frozen=True)
class Formulation:
    """In which freedoms, and to how many digits, the equations of motion are solved.

    Parameters
    ----------
    reduction : {"auto", "none"}
        Use displacement subgroups, or decide ranks by numbers alone, with six freedoms a body. Rows
        that are redundant within a subgroup are left out first, and bodies that move within one
        about the world get fewer freedoms: all of them if they move parallel to one plane, else
        where it is predicted to be faster. A factorization other than "auto", or "block-qr" in the
        plane, asks for six. The answers are the same.
    residuals : {"double", "extended"}
        "extended" corrects accelerations with residuals of 31 digits made from the state, so that
        they are good to the last digits whatever the condition number, at about five times the
        cost. In a plane only, where bodies have three freedoms; elsewhere the same as "double".

    Raises
    ------
    UnknownNameError
        For another word.
    """

    reduction: str = "auto"
    residuals: str = "double"

    def __post_init__(self) -> None:
        _check_known(self.reduction, REDUCTION, "reduction")
        _check_known(self.residuals, RESIDUALS, "residuals")


AUTO = Formulation()
SPATIAL = Formulation(reduction="none")  # six freedoms a body
EXTENDED = Formulation(residuals="extended")


@dataclass(frozen=True, eq=False)
class SolverOptions:
    """What a user asks of a ForwardDynamics, with the errors that it raises; see there."""

    redundancy: str = "remove"
    reactions: str | LeastEnergy = "minimum-norm"
    baumgarte: float | None = None
    ordering: str = "auto"
    factorization: str = "auto"
    threads: int = 1
    formulation: Formulation = AUTO
    rank_tolerance: float = RANK_TOLERANCE  # looser where a pose is nearly singular

    def __post_init__(self) -> None:
        _check_known(self.redundancy, REDUNDANCY, "redundancy")
        if not isinstance(self.reactions, LeastEnergy):
            check_reactions(self.reactions)
        check_baumgarte(self.baumgarte)
        if self.threads < 1:
            raise ModelError(f"threads is {self.threads}; give the number of them, 1 or more")


@dataclass(frozen=True, eq=False)
class Preparation:
    """The outcome: all that evaluations need to know."""

    evaluator: Evaluator
    choice: SolverChoice
    structure: KKTStructure  # of the kept rows, on the freedoms
    rank_decision: RankDecision | None  # None: all rows are kept without asking
    reduced_bodies: dict[str, int] = field(default_factory=dict)  # by displacement subgroup
    history: tuple[str, ...] = ()  # why earlier preparations were dropped

    def __post_init__(self) -> None:
        self.structure.pattern.forget_adjacency()


class ThreadPreparation(threading.local):
    """A preparation, and a copy with an evaluator of its own for every other thread that evaluates.

    Copies are made when a thread first asks, and are freed with it.
    """

    def __init__(self, preparation: Preparation, thread: int, lock: threading.Lock) -> None:
        """Called again in every thread that asks, with the thread that was the first."""
        self.own = preparation
        if threading.get_ident() != thread:
            with lock:
                evaluator = copy.copy(preparation.evaluator)
            self.own = replace(preparation, evaluator=evaluator)

    def __reduce__(self) -> tuple[Callable[[Preparation], ThreadPreparation], tuple[Preparation]]:
        """Copy and pickle the preparation of this thread."""
        return for_threads, (self.own,)


def for_threads(preparation: Preparation) -> ThreadPreparation:
    """Return a preparation that belongs to this thread."""
    return ThreadPreparation(preparation, threading.get_ident(), threading.Lock())


def prepared(system: System, state: State, options: SolverOptions) -> Preparation:
    """Decide at a state: with fewer freedoms where that is possible and pays.

    What is decided does not depend on the number of threads.
    """
    names, tolerance = (options.ordering, options.factorization), options.rank_tolerance
    if options.formulation.reduction == "none" or options.redundancy not in ("remove", "auto"):
        return prepared_unreduced(system, state, options)
    if options.factorization in IN_PLANE:
        planar = planar_reduction(system, state, tolerance, options.threads)
        if planar is not None:
            pattern = planar.structure.pattern
            choice = choose_in_plane(pattern, *names, state.position)
            pattern.forget_adjacency()
            return _reduced(planar, choice, options.threads)
    classes = classes_of(system)
    if classes is not None and options.factorization == "auto":
        is_corrected = options.baumgarte is None
        pays = partial(reduction_pays, ordering=options.ordering)
        ground = ground_reduction(system, classes, state, pays, is_corrected, tolerance)
        if ground is not None:
            choice = choose_solver(ground.structure.pattern, *names, state.position)
            return _reduced(ground, choice, options.threads)
    return prepared_unreduced(system, state, options, classes)


def _reduced(reduction: Reduction, choice: SolverChoice, threads: int) -> Preparation:
    evaluator = direct_evaluator(reduction.assembler(choice.order, choice.factorization, threads))
    return Preparation(evaluator, choice, reduction.structure, reduction.decision, reduction.bodies)


def prepared_unreduced(
    system: System, state: State, options: SolverOptions, classes: Classes | None = None
) -> Preparation:
    """Decide with all freedoms of the bodies; displacement classes tell redundant rows."""
    threads = options.threads
    if options.redundancy == "krylov":
        return prepared_for_krylov(system, options)
    kind = options.redundancy, options.rank_tolerance
    decision = rank_decision(system, state, *kind, classes, threads)
    structure = kkt_structure(system, None if decision is None else decision.keep)
    names = options.ordering, options.factorization
    choice = choose_solver(structure.pattern, *names, state.position)
    assembler = SpatialAssembler(system, structure, choice.order, choice.factorization, threads)
    return Preparation(direct_evaluator(assembler), choice, structure, decision)


def prepared_for_krylov(system: System, options: SolverOptions) -> Preparation:
    """Keep all rows, without any decision on them."""
    structure, factorization = kkt_structure(system), options.factorization
    if options.redundancy == "auto" and factorization not in QUASI_DEFINITE:
        factorization = "auto"
    choice = choose_quasi_definite(structure.pattern, options.ordering, factorization)
    solver = choice.order, choice.factorization, options.threads
    return Preparation(
        KrylovEvaluator(SpatialAssembler(system, structure, *solver)), choice, structure, None
    )


def fallback(
    preparation: Preparation,
    failure: ReductionViolated | InaccurateFactors,
    state: State,
    options: SolverOptions,
) -> Preparation:
    """Return a preparation that can, and tells why in its history.

    Outside subgroups: with all freedoms, decided at `state`. Where factors are inaccurate: QR of
    the same rows; SingularSystemError if it loses a pivot, too.
    """
    assembler = preparation.evaluator.assembler
    if isinstance(failure, ReductionViolated):
        unreduced = prepared_unreduced(assembler.system, state, options)
        return replace(unreduced, history=(*preparation.history, f"all freedoms: {failure}"))
    evaluator = BlockQREvaluator(assembler)
    evaluator.factorize(failure.time)
    why = f"block-qr: rounding hides the softest motions at t = {failure.time:.6g} s"
    history = (*preparation.history, why)
    return replace(preparation, evaluator=evaluator, history=history)
