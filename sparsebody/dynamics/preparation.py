"""Independent rows, freedoms, elimination order and factorization of a ForwardDynamics.

Order and factorization are the pair with the least predicted time.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from sparsebody import factorization as backends
from sparsebody import ranks, tolerances
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.dynamics import compliant_reactions, evaluators, reductions
from sparsebody.dynamics.assembler import ReductionViolated, Solver, SpatialAssembler
from sparsebody.equations.accelerations import REACTIONS, check_baumgarte, layout_of_all_rows
from sparsebody.equations.memoized import memoized
from sparsebody.errors import ModelError, UnknownNameError, check_name
from sparsebody.factorization import (
    LARGE_PATTERN,
    Case,
    check_memory,
    is_available,
    predict_seconds,
)
from sparsebody.factorization.krylov import PRECONDITIONERS
from sparsebody.factorization.unit_factors import UnitSymbolic
from sparsebody.model import State, System, subgroups
from sparsebody.model.subgroups.classes import ground_motion
from sparsebody.ordering import LONGEST_ORDERING, candidate_orderings, order, quickest
from sparsebody.sparse import RankDecision, elimination_tree
from sparsebody.sparse.pattern import BlockPattern, sampled

REDUNDANCY = ("remove", "keep", "krylov", "auto")
REDUCTION = ("auto", "none")
RESIDUALS = ("double", "extended")
IN_PLANE = ("auto", "block-qr")  # factorizations of planar mechanisms


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
    """

    reduction: str = "auto"
    residuals: str = "double"

    def __post_init__(self) -> None:
        check_name(self.reduction, REDUCTION, "reduction")
        check_name(self.residuals, RESIDUALS, "residuals")


AUTO = Formulation()
SPATIAL = Formulation(reduction="none")  # six freedoms a body
EXTENDED = Formulation(residuals="extended")


@dataclass(frozen=True, eq=False)
class SolverOptions:
    """The parameters of a ForwardDynamics beside system and state, checked; see there."""

    redundancy: str = "remove"
    reactions: str | compliant_reactions.LeastEnergy = "minimum-norm"
    baumgarte: float | None = None
    ordering: str = "auto"
    factorization: str = "auto"
    threads: int = 1
    formulation: Formulation = AUTO
    rank_tolerance: float = tolerances.RANK_TOLERANCE  # looser where a pose is nearly singular

    def __post_init__(self) -> None:
        check_name(self.redundancy, REDUNDANCY, "redundancy")
        if not isinstance(self.reactions, compliant_reactions.LeastEnergy):
            check_name(self.reactions, REACTIONS, "reactions")
        if self.baumgarte is not None:
            check_baumgarte(self.baumgarte)
        if self.threads < 1:
            raise ModelError(f"threads is {self.threads}; give the number of them, 1 or more")


# ---- elimination order and factorization ---------------------------------------------------------

NEARLY = 1.02  # orderings within this share of the least predicted time are as good
WIDE = 100  # rows in a front beyond which LDL' of wide fronts may be faster than QR of small ones
AS_EXPECTED = 1.25  # share of a sample's time, in proportion, at which no other ordering is tried
CHANGE_OF_BASIS = 8e-8  # [s] a body, to its freedoms and back


@dataclass(frozen=True, eq=False)
class SolverChoice:
    """An elimination order and a factorization, and why they were taken."""

    ordering: str
    factorization: str
    order: IntArray  # (n_blocks,)
    metrics: Mapping[str, elimination_tree.OrderingMetrics]  # of every ordering that was tried
    seconds: Mapping[str, Mapping[str, float]]  # predicted, by ordering and factorization
    work: backends.Work  # of the pair taken

    def solver(self, threads: int) -> Solver:
        """Return the pair for an assembler."""
        return Solver(self.order, self.factorization, threads)

    @property
    def predicted(self) -> float:
        """Time of one factorization and solution [s]."""
        return self.seconds[self.ordering][self.factorization]

    def explain(self, threads: int = 1) -> dict[str, object]:
        """Names and predictions, for people and for JSON; those of all pairs are of one thread."""
        is_mumps = self.factorization == "mumps"
        workers = ranks.n_ranks() if is_mumps else threads
        seconds, size = backends.FACTORIZATIONS[self.factorization].predict(self.work, workers)
        by = f" by {workers} {'ranks' if is_mumps else 'threads'}" if workers > 1 else ""
        return {
            "ordering": self.ordering,
            "factorization": self.factorization,
            "predicted_seconds": seconds,
            "predicted_megabytes": size / 1e6,
            "why": f"least predicted time of {sum(map(len, self.seconds.values()))} combinations: "
            f"{self.ordering} with {self.factorization}, {1e6 * seconds:.3g} us a solution{by}, "
            f"{size / 1e6:.3g} MB{' on each' if is_mumps and workers > 1 else ''}",
            "orderings": {name: vars(metrics) for name, metrics in self.metrics.items()},
            "predictions": {name: dict(times) for name, times in self.seconds.items()},
        }


Names: TypeAlias = str | Sequence[str]  # of factorizations: "auto", one, or some to choose from


def choose_solver(
    pattern: BlockPattern, ordering: str, factorization: Names, positions: FloatArray | None = None
) -> SolverChoice:
    """Return ordering and factorization, "auto" standing for the least predicted time.

    Several factorizations stand for that among them. A named ordering gets the `positions`
    (n_primal, 3) of the bodies if it takes any. Of large mechanisms samples are tried, and the
    quickest of the best is taken if it keeps its promise. Where one solution takes longer than
    others would take to compute, as in large cubes, they are tried as well. What is chosen for a
    small pattern is memoized.
    """
    if ordering != "auto":
        return _best(pattern, [ordering], factorization, positions)
    is_name = isinstance(factorization, str)
    return _automatic_choice(pattern, factorization if is_name else tuple(factorization))


@memoized
def _automatic_choice(pattern: BlockPattern, factorization: Names) -> SolverChoice:
    names = candidate_orderings(pattern)
    choice = _quick_choice(pattern, names, factorization)
    if choice.predicted > LONGEST_ORDERING:
        others = [
            name for name in candidate_orderings(pattern, choice.predicted) if name not in names
        ]
        return _best(pattern, [choice.ordering, *others], factorization)
    return choice


def _quick_choice(pattern: BlockPattern, names: list[str], factorization: Names) -> SolverChoice:
    """Return the best pair of some orderings; of large mechanisms, by samples."""
    if pattern.n_primal < LARGE_PATTERN:
        return _best(pattern, names, factorization)
    sample = sampled(pattern)
    tried = _best(sample, names, factorization).seconds
    least = {name: min(tried[name].values()) for name in names}
    name = quickest([name for name in names if least[name] <= NEARLY * min(least.values())])
    choice = _best(pattern, [name], factorization)
    expected = least[name] * pattern.n_rows / sample.n_rows
    if choice.predicted > AS_EXPECTED * expected:  # what fills in grows with the size
        unlike = {least[name]: name for name in reversed(names)}  # the same prediction once
        return _best(pattern, [*unlike.values()][::-1], factorization)
    return choice


def choose_in_plane(
    pattern: BlockPattern, ordering: str, factorization: str, positions: FloatArray | None = None
) -> SolverChoice:
    """Return the pair in a plane: QR, which long lifts need, or multifrontal LDL' if faster."""
    choice = choose_solver(pattern, ordering, "block-qr", positions)
    if factorization == "block-qr" or choice.metrics[choice.ordering].largest_front <= WIDE:
        return choice
    other = choose_solver(pattern, ordering, "multifrontal", positions)
    return min(choice, other, key=lambda c: c.predicted)


def reduction_pays(reduced: BlockPattern, unreduced: BlockPattern, ordering: str) -> bool:
    """Tell whether fewer rows are predicted to save more time than the change of basis takes."""
    less, more = (choose_solver(p, ordering, "auto").predicted for p in (reduced, unreduced))
    return less + CHANGE_OF_BASIS * reduced.n_primal < more


def _best(
    pattern: BlockPattern,
    names: list[str],
    factorization: Names,
    positions: FloatArray | None = None,
) -> SolverChoice:
    """Return the pair with the least predicted time among some orderings, the first of equals."""
    cases = {name: Case(pattern, order(pattern, name, positions)) for name in names}
    kinds = (factorization,) if isinstance(factorization, str) else factorization

    def predictions(case: Case) -> dict[str, float]:
        if factorization == "auto":
            return backends.choose_factorization(pattern, case.order, case)[1]
        return {kind: predict_seconds(kind, pattern, case.order, case) for kind in kinds}

    seconds = {name: predictions(case) for name, case in cases.items()}
    usable = () if isinstance(factorization, str) else PRECONDITIONERS  # of all rows
    check_memory({case: seconds[name] for name, case in cases.items()}, usable)
    _, best, backend = min(
        (time, names.index(name), backend)
        for name, times in seconds.items()
        for backend, time in times.items()
    )
    metrics = {name: case.metrics for name, case in cases.items()}
    case = cases[names[best]]
    work = backends.FACTORIZATIONS[backend].work(case)
    return SolverChoice(names[best], backend, case.order, metrics, seconds, work)


def order_with_joints(order: IntArray, joints: IntArray, structure: KKTStructure) -> IntArray:
    """Return an order for the joints of a structure, from one for others.

    Joints that are new come right after their bodies.
    """
    n, slot = structure.pattern.n_primal, np.argsort(order)
    slot_of_joint = np.full(structure.system.n_joints, -1.0)
    slot_of_joint[joints] = slot[n:]
    of_bodies = np.append(slot[:n], -1)[structure.pattern.ends]  # -1 of the world
    of_joints = slot_of_joint[structure.joints]
    of_joints = np.where(of_joints < 0.0, of_bodies.max(axis=1) + 0.5, of_joints)
    return np.argsort(np.append(slot[:n], of_joints), kind="stable")


# ---- rows and freedoms -------------------------------------------------------------------------


Failure: TypeAlias = ReductionViolated | evaluators.InaccurateFactors


@dataclass(frozen=True, eq=False)
class Preparation:
    """The evaluator, and the decisions that it rests on."""

    evaluator: evaluators.Evaluator
    choice: SolverChoice
    structure: KKTStructure  # of the independent rows, on the freedoms
    rank_decision: RankDecision | None  # None: all rows are used, undecided
    reduced_bodies: dict[str, int] = field(default_factory=dict)  # by displacement subgroup
    history: tuple[str, ...] = ()  # why earlier preparations were dropped
    analyzed: tuple[IntArray, SolverChoice] | None = None  # joints and choice before any exchange

    def __post_init__(self) -> None:
        self.structure.pattern.forget_adjacency()

    def with_rows(self, rows: IntArray, options: SolverOptions) -> Preparation:
        """Return a preparation that keeps `rows`, sorted, of those with a part on the freedoms.

        They are as many as before, and independent. The result depends on the rows and on the
        analysis, but not on exchanges between.
        """
        assembler, before = self.evaluator.assembler, self.structure
        assert self.rank_decision is not None
        is_independent = np.zeros(before.system.n_rows, dtype=bool)
        is_independent[rows] = True
        structure = kkt_structure(before.system, is_independent, assembler.width)
        is_left_out = before.keep.copy()
        is_left_out[assembler.left_out.rows] = True
        is_left_out[rows] = False
        joints, choice = self.analyzed or (before.joints, self.choice)
        analyzed = joints, choice
        if structure.joints.tobytes() != joints.tobytes():
            # predictions stay those of the analysis
            choice = replace(choice, order=order_with_joints(choice.order, joints, structure))
        solver = choice.solver(options.threads)
        assembler = assembler.with_rows(structure, is_left_out.nonzero()[0], solver)
        keep = self.rank_decision.keep ^ before.keep | is_independent
        decision = replace(self.rank_decision, keep=keep)
        others = self.reduced_bodies, self.history, analyzed
        evaluator = evaluators.direct_evaluator(assembler)
        return Preparation(evaluator, choice, structure, decision, *others)

    def fallback(self, failure: Failure, state: State, options: SolverOptions) -> Preparation:
        """Return a preparation that can; the reason is added to its history.

        Outside subgroups: with all freedoms, decided at `state`. Where factors are inaccurate: QR
        of the same rows; SingularSystemError if it loses a pivot, too.
        """
        assembler = self.evaluator.assembler
        if isinstance(failure, ReductionViolated):
            unreduced = prepared_unreduced(assembler.system, state, options)
            return replace(unreduced, history=(*self.history, f"all freedoms: {failure}"))
        evaluator = evaluators.BlockQREvaluator(assembler)
        evaluator.factorize(failure.time)
        why = f"block-qr: the constraint rows are ill-conditioned at t = {failure.time:.6g} s"
        history = (*self.history, why)
        return replace(self, evaluator=evaluator, history=history)


class ThreadPreparation(threading.local):
    """A preparation, and a copy of it for every other thread, made and freed with the thread."""

    def __init__(self, preparation: Preparation, thread: int, lock: threading.Lock) -> None:
        """Called again in every thread, with the arguments of the first one."""
        self.own = preparation
        if threading.get_ident() != thread:
            with lock:
                evaluator = copy.copy(preparation.evaluator)
            self.own = replace(preparation, evaluator=evaluator)

    @cached_property
    def layout_of_all_rows(self) -> UnitSymbolic:
        """Where factors are that the smallest reactions are computed with."""
        return layout_of_all_rows(kkt_structure(self.own.structure.system).pattern)

    def __reduce__(self) -> tuple[Callable[[Preparation], ThreadPreparation], tuple[Preparation]]:
        """Copy and pickle the preparation of this thread."""
        return for_threads, (self.own,)


def for_threads(preparation: Preparation) -> ThreadPreparation:
    """Return a preparation that belongs to this thread."""
    return ThreadPreparation(preparation, threading.get_ident(), threading.Lock())


def prepared(system: System, state: State, options: SolverOptions) -> Preparation:
    """Decide at a state: with fewer freedoms where that is possible and pays."""
    if options.redundancy == "krylov" or options.factorization == "iterative":
        return prepared_for_krylov(system, state, options)
    if options.formulation.reduction == "none" or options.redundancy not in ("remove", "auto"):
        return prepared_unreduced(system, state, options)
    if options.factorization not in IN_PLANE:
        return prepared_unreduced(system, state, options, subgroups.loop_classes(system))
    motion, reduced = ground_motion(system, keeps_points=options.baumgarte is None), None
    if motion.is_planar or options.factorization == "auto":
        pays = partial(reduction_pays, ordering=options.ordering)
        tolerance, threads = options.rank_tolerance, options.threads
        reduced = reductions.reduction(system, motion, state, pays, tolerance, threads)
    if reduced is None:
        classes = subgroups.loop_classes(system) if motion.is_planar else motion.classes
        return prepared_unreduced(system, state, options, classes)
    pattern = reduced.structure.pattern
    choose = choose_in_plane if motion.is_planar else choose_solver
    choice = choose(pattern, options.ordering, options.factorization, state.position)
    pattern.forget_adjacency()
    evaluator = evaluators.direct_evaluator(reduced.assembler(choice.solver(options.threads)))
    return Preparation(evaluator, choice, reduced.structure, reduced.decision, reduced.bodies)


def prepared_unreduced(
    system: System, state: State, options: SolverOptions, classes: subgroups.Classes | None = None
) -> Preparation:
    """Decide with all freedoms of the bodies; displacement classes give redundant rows."""
    threads = options.threads
    kind = options.redundancy, options.rank_tolerance
    decision = reductions.rank_decision(system, state, *kind, classes, threads)
    structure = kkt_structure(system, None if decision is None else decision.keep)
    names = options.ordering, options.factorization
    choice = choose_solver(structure.pattern, *names, state.position)
    accepts = options.redundancy == "keep"
    solver = choice.solver(threads)._replace(accepts_dependent_rows=accepts)
    assembler = SpatialAssembler(structure, solver)
    return Preparation(evaluators.direct_evaluator(assembler), choice, structure, decision)


def prepared_for_krylov(system: System, state: State, options: SolverOptions) -> Preparation:
    """Keep all rows, without any decision; UnknownNameError if the factorization needs one."""
    structure, ordering = kkt_structure(system), options.ordering
    pattern, factorization = structure.pattern, options.factorization
    if options.redundancy == "auto" and factorization not in PRECONDITIONERS:
        factorization = "auto"
    if factorization not in ("auto", *PRECONDITIONERS):
        raise UnknownNameError(
            f"factorization is {factorization!r}, which needs independent rows; without a decision "
            f"on the rank give one of auto, {', '.join(PRECONDITIONERS)}"
        )
    # parts by positions have the fewest motions; factors of all rows of cubes, the fewest entries
    by_positions = "geometric-dissection" if ordering == "auto" else ordering
    names = [factorization] if factorization != "auto" else [*filter(is_available, PRECONDITIONERS)]
    choice = choose_solver(pattern, by_positions, names, state.position)
    if ordering == "auto" and factorization != "iterative" and choice.predicted <= LONGEST_ORDERING:
        direct = [name for name in names if name != "iterative"]  # whose times depend on the order
        other = choose_solver(pattern, ordering, direct)
        choice = min(choice, other, key=lambda c: c.predicted)
    assembler = SpatialAssembler(structure, choice.solver(options.threads))
    return Preparation(evaluators.KrylovEvaluator(assembler), choice, structure, None)
