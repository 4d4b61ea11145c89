"""Forward dynamics by the sparse body-level system. Featherstone (2008), sec. 8.13."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.dynamics import preparation, reductions
from sparsebody.dynamics.assembler import ReductionViolated, is_plain
from sparsebody.dynamics.compliant_reactions import LeastEnergy, joint_compliances, least_energy
from sparsebody.dynamics.conditioning import ConditionEstimate, condition_estimate
from sparsebody.dynamics.evaluators import Evaluator, InaccurateFactors, KrylovEvaluator
from sparsebody.dynamics.preparation import AUTO, Formulation, SolverChoice, SolverOptions
from sparsebody.equations import Accelerations, SystemMotion, consistent_state
from sparsebody.equations.accelerations import minimum_norm
from sparsebody.equations.inverse import DesiredMotion
from sparsebody.errors import AccuracyWarning, RankWarning, ShapeError, warn_user
from sparsebody.html_tables import html_facts, html_table
from sparsebody.kinematics.joint_motion import JointMotion
from sparsebody.model.subgroups import Subgroup, describe, loop_classes, redundant_subgroups
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse import RankDecision
from sparsebody.tolerances import CORRECTION_GOAL, WORST_RESIDUAL

__all__ = ["Evaluation", "ForwardDynamics"]

_NOTHING = np.zeros(0)
Result = TypeVar("Result")


class Exchange(NamedTuple):
    """A row left out that replaces one of the independent rows."""

    row: int  # to be left out
    other: int  # to replace it
    gain: float  # factor on the sine of the angle between the row and the span of the others


def _first_largest(values: FloatArray) -> int:
    """Return the first of the largest values, which are equal up to errors of the factors."""
    return int((values >= (1.0 - 1e-6) * values.max()).argmax())


class ForwardDynamics:
    """Accelerations and constraint forces of a System, prepared once and called at many states.

    Threads may call it at the same time: each one evaluates with arrays of its own.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where dependent constraint rows are looked for; default: the consistent initial state.
    redundancy : {"remove", "keep", "krylov", "auto"}
        Treatment of dependent rows: leave them out; solve with all rows, which works where none is
        dependent; solve with all of them by Krylov steps, which works at every pose, also where it
        is in doubt whether rows are dependent; or leave them out where that is certain, and else
        take the Krylov steps. Whether these have converged stands in `Accelerations.solver`. Where
        rows contradict each other, as dependent ones can by drift, Baumgarte's terms or velocities
        that they forbid, the kept ones hold exactly and the others are left with the residual
        (`dropped_residual`); with Krylov steps all rows, scaled to unit norm in the metric of the
        inertias, have the least sum of squares. The factorization "iterative" keeps all rows and
        takes Krylov steps whatever is given here, and refuses rows that contradict each other.
    reactions : {"minimum-norm", "basic"} or LeastEnergy
        Which multipliers, where rows are dependent and they are not unique: the smallest, which do
        not depend on numbering, or those with zeros at the left-out rows (cheaper), or those of
        least strain energy in joints of given compliances.
    baumgarte : float, optional
        Time constant [s] of the stabilization terms of (8.22), alpha = beta = 1 / T; default none.
    ordering, factorization : str
        Names from ORDERINGS and FACTORIZATIONS, or "auto" for the least predicted time.
    threads : int
        That preparation and each evaluation of a large mechanism may use, from some 10^4 bodies on.
        The results are the same bits for any number.
    formulation : Formulation
        In which freedoms, and to how many digits, the equations are solved.

    Raises
    ------
    UnknownNameError, MissingDependencyError
        For an unknown ordering or factorization, or one without its package.
    ModelError
        For compliances, a time constant or a number of threads that cannot be.
    AssemblyError
        If no state is given and the initial one cannot be made consistent.
    MemoryLimitError
        If no factors fit into the memory of the machine.

    Warns
    -----
    RankWarning
        If it is in doubt which rows are dependent at the state.
    """

    def __init__(
        self,
        system: System,
        state: State | None = None,
        *,
        redundancy: str = "remove",
        reactions: str | LeastEnergy = "minimum-norm",
        baumgarte: float | None = None,
        ordering: str = "auto",
        factorization: str = "auto",
        threads: int = 1,
        formulation: Formulation = AUTO,
    ) -> None:
        solver = ordering, factorization, threads, formulation
        self._prepare(system, state, SolverOptions(redundancy, reactions, baumgarte, *solver))

    def _prepare(self, system: System, state: State | None, options: SolverOptions) -> None:
        """Decide all that does not depend on later states."""
        self.system, self.options = system, options
        self._shape = system.n_bodies, 6  # of accelerations
        self.baumgarte, self.reactions = options.baumgarte, options.reactions
        self.compliance: FloatArray | None = None
        if isinstance(options.reactions, LeastEnergy):
            self.compliance = joint_compliances(system, options.reactions.compliance)
        self._wants_extended = options.formulation.residuals == "extended"
        self._has_warned = False
        at = consistent_state(system, threads=options.threads) if state is None else state
        check_state(system, at)
        self._analyzed_at = at
        self._prepared = preparation.for_threads(preparation.prepared(system, at, options))
        if self.rank_decision is not None and not self.rank_decision.certain:
            self._warn_of_doubt(self.rank_decision)

    def __repr__(self) -> str:
        solver = f"{self.ordering}, {self.factorization}"
        return f"ForwardDynamics({self.system.name!r}: {solver}, {self.rank} independent rows)"

    def _repr_html_(self) -> str:
        facts = self._decisions() | self.choice.explain(self.options.threads)
        orders = [
            (name, f"{one.flops:.3g}", one.nnz_l, one.largest_front, one.etree_height)
            for name, one in self.choice.metrics.items()
        ]
        facts["orderings"] = html_table(("ordering", "flops", "nnz(L)", "front", "height"), orders)
        for name in ("predictions", "predicted_seconds", "predicted_megabytes"):
            del facts[name]  # "why" tells the least
        if self.rank_decision is not None:
            facts["redundancy_gap"] = f"{self.rank_decision.gap:.1e}"
        shown = {name: value for name, value in facts.items() if value not in ("", {}, [], None)}
        return html_facts(repr(self), shown)

    @property
    def evaluator(self) -> Evaluator:
        """Assembler and factors in use, with arrays that no other thread sees."""
        return self._prepared.own.evaluator

    @property
    def choice(self) -> SolverChoice:
        """The elimination order and the factorization in use, and why."""
        return self._prepared.own.choice

    @property
    def structure(self) -> KKTStructure:
        """The independent rows, on the freedoms."""
        return self._prepared.own.structure

    @property
    def rank_decision(self) -> RankDecision | None:
        """The independent rows, and how certain they are; None if all are used, undecided."""
        return self._prepared.own.rank_decision

    @property
    def is_planar(self) -> bool:
        """Whether bodies have three freedoms, in a plane."""
        return isinstance(self.evaluator.assembler, reductions.PlanarAssembler)

    @property
    def rotational_inertia(self) -> FloatArray:
        """(n_bodies, 3, 3) of the bodies; in a plane without products with its normal.

        These affect reactions of joints only.
        """
        inertia, normal = self.system.inertia, self.evaluator.assembler.normal
        if normal is None:
            return inertia
        along = normal[:, :, None] * normal[:, None]
        across = np.eye(3) - along
        return np.asarray(along @ inertia @ along + across @ inertia @ across)

    @property
    def is_krylov(self) -> bool:
        """Whether solutions use Krylov steps."""
        return isinstance(self.evaluator, KrylovEvaluator)

    @property
    def reduced_bodies(self) -> dict[str, int]:
        """Number of bodies with fewer freedoms, by kind of subgroup about the world."""
        return self._prepared.own.reduced_bodies

    @property
    def rank(self) -> int:
        """Number of independent constraint rows, or of all where that is undecided."""
        decision = self.rank_decision
        return self.system.n_rows if decision is None else decision.rank

    @property
    def is_kept(self) -> BoolArray:
        """(n_rows,) whether each constraint row is not left out."""
        decision = self.rank_decision
        return np.ones(self.system.n_rows, dtype=bool) if decision is None else decision.keep

    @property
    def redundant_rows(self) -> IntArray:
        """The constraint rows that are left out."""
        return np.flatnonzero(~self.is_kept)

    def _warn_of_doubt(self, decision: RankDecision) -> None:
        """Warn of an uncertain rank, and go over to Krylov steps where redundancy is "auto"."""
        done = f"{decision.n_dependent} are left out"
        remedy = "redundancy='krylov' does without a decision"
        if self.options.redundancy == "auto":
            at, options = self._analyzed_at, self.options
            self._prepared.own = preparation.prepared_for_krylov(self.system, at, options)
            done, remedy = "all are kept", "redundancy='remove' takes the likeliest ones out"
        why = f": {decision.doubt}" if decision.doubt else ", as near singular poses"
        warn_user(
            f"it is in doubt which constraint rows are dependent at t = "
            f"{self._analyzed_at.time:.6g} s (gap {decision.gap:.0e}){why}; {done}, and {remedy}",
            RankWarning,
        )

    def analyzed_at(self, state: State, **changes: Any) -> ForwardDynamics:
        """Return the dynamics decided at another state, and with other SolverOptions if given.

        The ordering is the one in use, and so is the factorization unless bodies have fewer
        freedoms.
        """
        used = {"ordering": self.ordering}
        if not (self.is_planar or self.reduced_bodies):
            used["factorization"] = self.factorization
        return self._with(state, **(used | changes))

    def _with(self, state: State, **changes: Any) -> ForwardDynamics:
        """Return the dynamics decided at a state, with some options changed."""
        dynamics = object.__new__(ForwardDynamics)
        dynamics._prepare(self.system, state, replace(self.options, **changes))
        return dynamics

    def with_better_rows(self, state: State, least_gain: float, most: int = 1) -> ForwardDynamics:
        """Return the dynamics after at most `most` exchanges of rows, of gains > `least_gain`."""
        dynamics = self
        for _ in range(most):
            best = dynamics.evaluate(state).best_exchange()
            if best is None or not best.gain > least_gain:
                break
            dynamics = dynamics.exchanged(best)
        return dynamics

    def exchanged(self, exchange: Exchange) -> ForwardDynamics:
        """Return the dynamics after an exchange of rows."""
        rows = self.structure.rows
        return self.with_rows(np.sort(np.where(rows == exchange.row, exchange.other, rows)))

    def with_rows(self, rows: IntArray) -> ForwardDynamics:
        """Return the dynamics with other independent rows (k,), sorted, as many as those in use.

        Those in use are the rows of `structure`, those left out `evaluator.assembler.left_out`.
        """
        prepared = self._prepared.own.with_rows(rows, self.options)
        dynamics = object.__new__(ForwardDynamics)
        vars(dynamics).update(vars(self), _prepared=preparation.for_threads(prepared))
        return dynamics

    def run(self, function: Callable[[Evaluator], Result]) -> Result:
        """Return the value of a function of the evaluator.

        If it fails, others replace it in this thread, at most two: all freedoms, then QR.
        """
        try:
            return function(self._prepared.own.evaluator)
        except (ReductionViolated, InaccurateFactors) as failure:
            self._fall_back(failure)
        return self.run(function)

    def _fall_back(self, failure: preparation.Failure) -> None:
        """Go over to another evaluator in this thread."""
        own, at = self._prepared.own, self._analyzed_at
        self._prepared.own = own.fallback(failure, at, self.options)

    def retracted(self, state: State) -> State:
        """Return the state nearby in which bodies are within their subgroups about the world."""
        return self.evaluator.assembler.retracted(state)

    @cached_property
    def unreduced(self) -> ForwardDynamics:
        """The dynamics with all freedoms of the bodies, for errors out of their subgroups."""
        if self.reduction == "none" and self.baumgarte is None:
            return self
        spatial = replace(self.options.formulation, reduction="none")
        return self._with(self._analyzed_at, formulation=spatial, baumgarte=None)

    @property
    def reduction(self) -> str:
        """Whether fewer freedoms were looked for, "auto" or "none"."""
        return self.options.formulation.reduction

    @cached_property
    def subgroups(self) -> tuple[Subgroup, ...]:
        """The sub-mechanisms that move within displacement subgroups, and have rows too many."""
        classes = None if self.reduction == "none" else loop_classes(self.system)
        return () if classes is None else redundant_subgroups(classes)

    @property
    def residuals(self) -> str:
        """The residuals in use: "extended" only in a plane."""
        return "extended" if self._wants_extended and self.is_planar else "double"

    @property
    def ordering(self) -> str:
        """Name of the ordering in use."""
        return self.choice.ordering

    @property
    def factorization(self) -> str:
        """Name of the factorization in use."""
        return self.choice.factorization

    def explain(self) -> dict[str, object]:
        """Say what was chosen, and why: rank decision, ordering, factorization, predictions."""
        subgroups = {"subgroups": describe(self.subgroups)}
        of_factors = self.evaluator.explain()
        choice = self.choice.explain(self.options.threads)
        return self._decisions() | subgroups | choice | of_factors

    def _decisions(self) -> dict[str, object]:
        """Return freedoms, rows and rank, without what has to be computed first."""
        decision = self.rank_decision
        undecided = "Krylov steps, no rank decided" if self.is_krylov else "all rows kept"
        return {
            "planar": self.is_planar,
            "residuals": self.residuals,
            "reduced_bodies": dict(self.reduced_bodies),
            "constraint_rows": self.system.n_rows,
            "redundant_rows": len(self.redundant_rows),
            "redundancy_gap": None if decision is None else decision.gap,
            "redundancy_certain": True if decision is None else decision.certain,
            "redundancy_doubt": "" if decision is None else decision.doubt,
            "redundancy_method": undecided if decision is None else decision.method,
            "history": [*self._prepared.own.history],
        }

    def __call__(self, state: State, *, body_force: FloatArray | None = None) -> Accelerations:
        """Return the accelerations and constraint forces at a state, a consistent one.

        `body_force` (n_bodies, 6) are additional wrenches about the centers of mass in body axes,
        moment first [N m, N]. Raises SingularSystemError if the rows in use are dependent
        at this state.

        Warns
        -----
        RankWarning
            If the rows that were left out are violated: they are independent at this state, or
            the state is not consistent.
        AccuracyWarning
            Once, if rounding leaves few digits, as in very long lifts; with the condition number.
        """
        result = self.evaluate(state, body_force=body_force).accelerations()
        if result.dropped_residual > WORST_RESIDUAL and not self.is_krylov:
            warn_user(
                f"the constraint rows left out at the pose analyzed are violated here by "
                f"{result.dropped_residual:.1e}: make the state consistent, or a new "
                "ForwardDynamics at this state",
                RankWarning,
            )
        return result

    def acceleration(
        self, state: State, *, body_force: FloatArray | None = None, out: FloatArray | None = None
    ) -> FloatArray:
        """Return the accelerations (n_bodies, 6) alone; rows left out are not checked. Fastest.

        With `out`, a contiguous array of that shape, nothing is allocated: it is filled and
        returned.
        """
        if out is None:
            out = np.empty(self._shape)
        elif not is_plain(out, self._shape):
            raise ShapeError(f"out must be a contiguous array of {self._shape} float64 numbers")
        if self.baumgarte is not None or self._wants_extended:
            out[:] = Evaluation(self, state, body_force).acceleration()
            return out
        evaluator = self._prepared.own.evaluator
        try:
            evaluator.accelerate(state, body_force, _NOTHING, out, _NOTHING)
        except (ReductionViolated, InaccurateFactors) as failure:
            self._fall_back(failure)
            return self.acceleration(state, body_force=body_force, out=out)
        if evaluator.is_inaccurate:
            self.warn_of_inaccuracy(state)
        return out

    def warn_of_inaccuracy(self, state: State) -> None:
        """Warn once, right after a solution, of its estimated error."""
        if not self._has_warned:
            self._has_warned = True
            estimate = condition_estimate(self.evaluator, state)
            warn_user(
                f"the accelerations at t = {state.time:.6g} s are inaccurate ({estimate}): the "
                "constraint rows of so long a mechanism are ill-conditioned; use a shorter one",
                AccuracyWarning,
            )

    def evaluate(self, state: State, *, body_force: FloatArray | None = None) -> Evaluation:
        """Return the dynamics at a state; accelerations and corrections are computed on demand."""
        return Evaluation(self, state, body_force)

    def condition(self, state: State, *, body_force: FloatArray | None = None) -> ConditionEstimate:
        """Return the condition number of the system in use, and the error that it implies.

        Takes the time of some ten solutions. Parameters and errors as in a call.
        """
        return Evaluation(self, state, body_force).condition()


class Evaluation(SystemMotion):
    """A ForwardDynamics at one state: accelerations, corrections and condition by one matrix.

    Matrix and factors are those of the newest state; for another one they are made again.
    """

    def __init__(
        self, dynamics: ForwardDynamics, state: State, body_force: FloatArray | None = None
    ) -> None:
        super().__init__(dynamics.system, state, body_force, dynamics.options.threads)
        self.dynamics = dynamics
        self._assembly: object = None  # of the evaluator, at this state

    def __reduce__(self) -> tuple[type[Evaluation], tuple[object, ...]]:
        """Copy and pickle the arguments: no copy of the evaluator holds its assembly."""
        return Evaluation, (self.dynamics, self.state, self.body_force)

    @cached_property
    def joints(self) -> JointMotion:
        """Relative motion at the joints."""
        check_state(self.system, self.state)
        return super().joints

    @property
    def _stabilization(self) -> FloatArray:
        """Baumgarte's terms; (0,) for nothing."""
        T = self.dynamics.baumgarte
        return _NOTHING if T is None else self.stabilization(T)

    def assembled(self) -> Evaluator:
        """Return the evaluator, which has assembled this state."""
        dynamics = self.dynamics
        if self._assembly is not dynamics.evaluator.assembler.assembly:
            terms = self.state, self.body_force, self._stabilization
            dynamics.run(lambda evaluator: evaluator.assembler.assemble(*terms))
            self._assembly = dynamics.evaluator.assembler.assembly
        return dynamics.evaluator

    def _solution(self, multiplier: FloatArray) -> tuple[FloatArray, float]:
        """Return the accelerations and their residual; fill the multipliers if there are any."""
        dynamics, state, force = self.dynamics, self.state, self.body_force
        output = np.empty((dynamics.system.n_bodies, 6)), multiplier
        if self._assembly is dynamics.evaluator.assembler.assembly:
            residual = dynamics.run(lambda solver: solver.solve_assembled(state, *output))
        else:
            terms = state, force, self._stabilization
            residual = dynamics.run(lambda solver: solver.accelerate(*terms, *output))
        evaluator = dynamics.evaluator
        self._assembly = evaluator.assembler.assembly
        assembler = evaluator.assembler
        if dynamics.residuals == "extended" and evaluator.fused is not None:
            assert isinstance(assembler, reductions.PlanarAssembler)
            assembler.refine_by_qr(state, *output)
        tree = assembler.reaction_tree if multiplier.size > 0 else None
        if tree is not None:
            tree.add_reactions(DesiredMotion(self.system, state, force, output[0]), multiplier)
        if evaluator.is_inaccurate:
            dynamics.warn_of_inaccuracy(state)
        return output[0], residual

    def _solve_errors(self, error: FloatArray) -> FloatArray:
        """Return the twists (n_bodies, 6) that change the rows by -error."""
        dynamics, n_rows = self.dynamics, self.system.n_rows
        if np.shape(error) != (n_rows,):
            raise ShapeError(f"the errors are {np.shape(error)}, not {(n_rows,)}: one a row")
        assembler = self.assembled().assembler
        if assembler.violates_subgroup(self.state):
            return dynamics.unreduced.evaluate(self.state)._solve_errors(error)
        return self._solve_rows(-error[assembler.rows])

    def _solve_rows(self, change: FloatArray) -> FloatArray:
        """Return the least twists (n_bodies, 6) that change the rows in use, assembled, so."""
        dynamics, time = self.dynamics, self.state.time
        right = np.zeros(len(dynamics.evaluator.assembler.right))
        right[len(right) - len(change) :] = change
        dynamics.run(lambda evaluator: evaluator.solve(right, time, CORRECTION_GOAL))
        twists = np.empty(dynamics._shape)
        dynamics.evaluator.assembler.native.to_user_order(twists, _NOTHING)
        return twists

    def acceleration(self) -> FloatArray:
        """Return the accelerations (n_bodies, 6) alone."""
        return self._solution(_NOTHING)[0]

    def accelerations(self) -> Accelerations:
        """Return accelerations, multipliers and joint wrenches, with their residuals."""
        dynamics, system = self.dynamics, self.system
        multiplier = np.zeros(system.n_rows)
        acceleration, residual = self._solution(multiplier)
        dropped = dynamics.evaluator.dropped_residual()
        is_free = len(dynamics.redundant_rows) > 0 or dynamics.is_krylov
        if is_free and dynamics.reactions == "minimum-norm":
            matrix = kkt_structure(system).matrix(self.constraint)
            factors = dynamics._prepared.layout_of_all_rows
            multiplier = minimum_norm(matrix, multiplier, factors)
        elif is_free and dynamics.compliance is not None:
            multiplier = least_energy(system, self.constraint, multiplier, dynamics.compliance)
        wrench, report = self.joint_reactions(multiplier), dynamics.evaluator.report
        return Accelerations(acceleration, multiplier, wrench, residual, dropped, report)

    def condition(self) -> ConditionEstimate:
        """Return the condition number, and the error of the accelerations that it implies."""
        self.assembled()
        estimate = self.dynamics.run(lambda solver: condition_estimate(solver, self.state))
        return estimate.extended() if self.dynamics.residuals == "extended" else estimate

    def best_exchange(self) -> Exchange | None:
        """Return the best exchange of a row that nearly depends on others; None if there is none.

        The row r that has the largest part in the dependence of the row of the smallest pivot: both
        by solutions for A z = e_r, z a motion that this row alone prevents. With a row a in its
        place the volume of the kept rows, of unit length in the metric of the inertias, is |a z|
        |r| / |a| times as large, as r z = 1. Gu and Eisenstat (1996), SIAM J. Sci. Comput. 17:848,
        lemma 3.1.
        """
        decision = self.dynamics.rank_decision
        if decision is None or len(self.dynamics.evaluator.assembler.left_out.rows) == 0:
            return None
        if self.dynamics.evaluator.assembler.state is not self.state:
            self.acceleration()  # makes the factors of this pose
        evaluator = self.dynamics.evaluator
        assembler, (_, row) = evaluator.assembler, evaluator.smallest_pivot()
        rows, others = assembler.rows, assembler.left_out.rows
        is_dependent = ~decision.keep[others]
        if row < 0 or assembler.violates_subgroup(self.state):
            return None
        assembler.violation()  # fills the rows left out
        length = assembler.native.row_lengths()
        self._solve_rows((rows == row).astype(float))
        index = _first_largest(np.abs(assembler.x[len(assembler.x) - len(rows) :] * length))
        self._solve_rows((rows == rows[index]).astype(float))
        sine = assembler.native.sines(assembler.left_out.native) * is_dependent
        best = _first_largest(sine)
        if not is_dependent[best]:
            return None
        return Exchange(int(rows[index]), int(others[best]), float(sine[best] * length[index]))

    def velocity_correction(self) -> FloatArray:
        """Return the change (n_bodies, 6) of least kinetic energy that corrects A v."""
        return self._solve_errors(self.velocity_error)

    def position_correction(self, position_error: FloatArray | None = None) -> FloatArray:
        """Return twists (n_bodies, 6), least in the metric of M, that close joints to first order.

        Apply them with kinematics.joint_motion.displaced; errors of a nearby pose use the same
        factors again.
        """
        return self._solve_errors(self.position_error if position_error is None else position_error)
