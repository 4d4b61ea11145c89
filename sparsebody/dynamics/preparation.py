"""What a ForwardDynamics decides once: rows, freedoms, elimination order, factorization."""

from __future__ import annotations

import copy
import threading
from dataclasses import dataclass, field, replace

from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.dynamics.assembler import ReductionViolated, SpatialAssembler
from sparsebody.dynamics.compliant_reactions import Compliance
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
from sparsebody.dynamics.solvers import BlockQRSolver, Evaluator, InaccurateFactors, KrylovSolver
from sparsebody.equations.accelerations import REACTIONS, check_baumgarte, check_reactions
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.factorization.quasi_definite import QUASI_DEFINITE
from sparsebody.model.subgroups import Classes
from sparsebody.model.system import State, System
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank import RankDecision
from sparsebody.tolerances import RANK_TOLERANCE

REDUNDANCY = ("remove", "keep", "krylov", "auto")
REDUCTION = ("auto", "none")
RESIDUALS = ("double", "extended")


@dataclass(frozen=True, eq=False)
class SolverOptions:
    """What a user asks of a ForwardDynamics; see there.

    Raises
    ------
    UnknownNameError, ModelError
        For a value that there is not, or values that contradict each other.
    """

    redundancy: str = "remove"
    reduction: str = "auto"
    reactions: str = "minimum-norm"
    compliance: Compliance | None = None
    baumgarte: float | None = None
    ordering: str = "auto"
    factorization: str = "auto"
    residuals: str = "double"
    threads: int = 1
    rank_tolerance: float = RANK_TOLERANCE  # looser where a pose is nearly singular

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.redundancy, REDUNDANCY, "redundancy"),
            (self.reduction, REDUCTION, "reduction"),
            (self.residuals, RESIDUALS, "residuals"),
        ):
            if value not in known:
                raise UnknownNameError(f"{what} is {value!r}; give one of {', '.join(known)}")
        check_reactions(self.reactions, (*REACTIONS, "compliance"))
        check_baumgarte(self.baumgarte)
        if self.threads < 1:
            raise ModelError(f"threads is {self.threads}; give the number of them, 1 or more")
        if (self.reactions == "compliance") != (self.compliance is not None):
            raise ModelError(
                "give compliance=... together with reactions='compliance', and only then"
            )


IN_PLANE = ("auto", "block-qr")  # factorizations of planar mechanisms


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


class ThreadPreparation:
    """A preparation, and a copy with an evaluator of its own for every other thread that evaluates.

    An evaluation overwrites the arrays of its evaluator. Copies are made when a thread first asks,
    and are freed with it.
    """

    def __init__(self, preparation: Preparation) -> None:
        self._original = preparation
        self._lock = threading.Lock()
        self._local = threading.local()
        self._local.preparation = preparation

    def __reduce__(self) -> tuple[type[ThreadPreparation], tuple[Preparation]]:
        """Copy and pickle the preparation of this thread."""
        return ThreadPreparation, (self.own,)

    @property
    def own(self) -> Preparation:
        """That of this thread."""
        try:
            return self._local.preparation
        except AttributeError:
            with self._lock:
                evaluator = copy.copy(self._original.evaluator)
            own: Preparation = replace(self._original, evaluator=evaluator)
            self._local.preparation = own
            return own

    @own.setter
    def own(self, preparation: Preparation) -> None:
        self._local.preparation = preparation


def prepared(system: System, state: State, options: SolverOptions) -> Preparation:
    """Decide at a state: with fewer freedoms where that is possible and pays.

    What is decided does not depend on the number of threads.
    """
    if options.reduction == "none" or options.redundancy not in ("remove", "auto"):
        return prepared_unreduced(system, state, options)
    preparation = None
    if options.factorization in IN_PLANE:
        preparation = _in_plane(system, state, options)
    if preparation is not None:
        return preparation
    classes = classes_of(system)
    if classes is not None and options.factorization == "auto":
        preparation = _within_subgroups(system, classes, state, options)
    return preparation or prepared_unreduced(system, state, options, classes)


def prepared_unreduced(
    system: System, state: State, options: SolverOptions, classes: Classes | None = None
) -> Preparation:
    """Decide with all freedoms of the bodies; displacement classes tell redundant rows."""
    if options.redundancy == "krylov":
        return prepared_for_krylov(system, options)
    decision = rank_decision(
        system, state, options.redundancy, options.rank_tolerance, classes, options.threads
    )
    structure = kkt_structure(system, None if decision is None else decision.keep)
    choice = choose_solver(
        structure.pattern, options.ordering, options.factorization, state.position
    )
    assembler = SpatialAssembler(
        system, structure, choice.order, choice.factorization, options.threads
    )
    return Preparation(Evaluator(assembler), choice, structure, decision)


def prepared_for_krylov(system: System, options: SolverOptions) -> Preparation:
    """Keep all rows, without any decision on them."""
    structure, factorization = kkt_structure(system), options.factorization
    if options.redundancy == "auto" and factorization not in QUASI_DEFINITE:
        factorization = "auto"
    choice = choose_quasi_definite(structure.pattern, options.ordering, factorization)
    assembler = SpatialAssembler(
        system, structure, choice.order, choice.factorization, options.threads
    )
    evaluator = Evaluator(assembler, KrylovSolver(assembler))
    return Preparation(evaluator, choice, structure, None)


def _in_plane(system: System, state: State, options: SolverOptions) -> Preparation | None:
    """Decide with three freedoms; None if bodies have more."""
    reduction = planar_reduction(system, state, options.rank_tolerance, options.threads)
    if reduction is None:
        return None
    pattern = reduction.structure.pattern
    choice = choose_in_plane(pattern, options.ordering, options.factorization, state.position)
    pattern.forget_adjacency()
    return _reduced(reduction, choice, options.threads)


def _within_subgroups(
    system: System, classes: Classes, state: State, options: SolverOptions
) -> Preparation | None:
    """Decide with what freedoms subgroups about the world leave; None if that does not pay."""
    names = options.ordering, options.factorization

    def pays(reduced: BlockPattern, whole: BlockPattern) -> bool:
        return reduction_pays(reduced, whole, *names)

    corrected = options.baumgarte is None
    reduction = ground_reduction(system, classes, state, pays, corrected, options.rank_tolerance)
    if reduction is None:
        return None
    choice = choose_solver(reduction.structure.pattern, *names, state.position)
    return _reduced(reduction, choice, options.threads)


def _reduced(reduction: Reduction, choice: SolverChoice, threads: int) -> Preparation:
    evaluator = Evaluator(reduction.assembler(choice.order, choice.factorization, threads))
    return Preparation(evaluator, choice, reduction.structure, reduction.decision, reduction.bodies)


def fallback(
    preparation: Preparation,
    failure: ReductionViolated | InaccurateFactors,
    state: State,
    options: SolverOptions,
) -> Preparation:
    """Return a preparation that can, and tells why in its history.

    Outside the subgroups of a reduction: with all freedoms of the bodies, decided at `state`, where
    `preparation` was. Where factors are inaccurate: QR of the same rows, which keeps the softest
    motions and loses no pivot to rounding alone; SingularSystemError if it loses one, too.
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
