"""Method "loops-aba": trees with loops by a recursion that forms no H.

The articulated-body algorithm with the multipliers of loops eliminated on the way inwards and a
proximal term for rows that depend on others, after Sathya and Carpentier (2024 to 2026). O(n)
where fronts stay bounded, as on ladders with a good tree. Any joint closes a loop.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.tree.articulated_body import NO_DRIVES
from sparsebody.dynamics.tree.frames import fill_body_accelerations
from sparsebody.dynamics.tree.front_elimination import weakest_pivot
from sparsebody.dynamics.tree.front_tables import FrontPlan
from sparsebody.dynamics.tree.front_trees import least_elimination
from sparsebody.dynamics.tree.links import Links
from sparsebody.dynamics.tree.loop_closures import (
    LoopTable,
    VaryingLoops,
    fill_loop_rows,
    loop_table,
    take_rows,
)
from sparsebody.dynamics.tree.loop_constraints import loop_rows
from sparsebody.dynamics.tree.methods import TreeDynamics
from sparsebody.dynamics.tree.motion import TreeMotion, empty_motion, fill_from_bodies
from sparsebody.dynamics.tree.problem import TreeProblem
from sparsebody.dynamics.tree.proximal import (
    LEVELS,
    STIFFER,
    ProximalWork,
    empty_proximal,
    proximal_iterations,
)
from sparsebody.dynamics.tree.recursive_newton_euler import NO_FORCE, accelerations
from sparsebody.dynamics.tree.solution import TreeSolution, check_finite
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.errors import AccuracyWarning, warn_user
from sparsebody.model.system import State, System

SOFT = 1e-14  # proximal term of a row, relative to A I^-1 A' of its two bodies
SOFT_EARLY = 1e-12  # where a loop is eliminated before its ends have met
DEPENDENT = 1e-6  # relative pivots below this may be those of dependent rows


class LoopsArticulatedBody(TreeDynamics):
    """O(n) on ladders too. Parameters as in TreeDynamics."""

    name = "loops-aba"
    takes_loops = True
    best_tree = "minimum-fronts"

    def __init__(
        self,
        system: System,
        tree: SpanningTree | str = "auto",
        *,
        reactions: str = "minimum-norm",
        baumgarte: float | None = None,
    ) -> None:
        super().__init__(system, tree, reactions=reactions, baumgarte=baumgarte)
        tree = self.tree
        elimination = least_elimination(tree)
        self.front_size, self.plan = elimination.size, elimination.plan()
        self.n_early = int(elimination.closed_early.sum())
        n_rows = int(elimination.loops.first_row[-1])
        early = np.repeat(elimination.closed_early, np.diff(elimination.loops.first_row))
        self._compliance = self._row_compliance()
        self._soft = np.where(early, SOFT_EARLY, SOFT) * self._compliance
        self._table = loop_table(tree)
        is_loaded = any(map(len, (system.external_forces.body, system.point_forces.first)))
        is_plain = not is_loaded and len(system.coordinates.joint) == 0
        self._varying = VaryingLoops(tree) if is_plain else None  # None: by the general way
        self._motion = empty_motion(tree)
        self._work = empty_proximal(self.plan, tree.n_bodies, tree.n_velocities, n_rows)
        self._wrench, self._asked = np.zeros((n_rows, 2, 6)), np.zeros(n_rows)
        self._rest = np.zeros(tree.n_velocities)
        self._row_links = np.repeat(self._table.ends, np.diff(elimination.loops.first_row), axis=0)
        self.iterations, self.factorizations, self.last_step = 0, 0, 0.0

    def _row_compliance(self) -> FloatArray:
        """Return A I^-1 A' (m,) of every loop row, of its two bodies alone."""
        problem = self.problem(self.system.initial_state)
        row = problem.loop_rows
        joint = self.system.row_joint[row]
        ends = np.stack([self.system.predecessor[joint], self.system.successor[joint]], axis=1)
        inverse = np.concatenate([self.system.inverse_inertia, np.zeros((1, 6, 6))])
        A = problem.constraint.rows[row]
        return np.asarray(np.einsum("mea,meab,meb->m", A, inverse[ends], A))

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd and the multipliers."""
        tree, rows = self.tree, loop_rows(problem)
        qdd, found = np.empty(tree.n_velocities), np.empty(rows.n_rows)
        self.note_outcome(
            proximal_iterations(
                tree.links,
                self.plan,
                problem.motion,
                problem.force,
                rows.link,
                self._table.first_row,
                rows.wrench,
                rows.asked,
                self._soft,
                problem.is_driven,
                problem.driven_qdd,
                self._work,
                qdd,
                found,
            ),
            problem.state,
        )
        multiplier = np.zeros(problem.system.n_rows)
        multiplier[rows.row] = found
        return TreeSolution(qdd, multiplier, is_unique=self._is_unique())

    def acceleration(self, state: State, *, body_force: FloatArray | None = None) -> FloatArray:
        """Return the accelerations of the bodies (n_bodies, 6) alone, in body coordinates."""
        if self._varying is None or self.baumgarte is not None or body_force is not None:
            return super().acceleration(state, body_force=body_force)
        problem = self.problem(state)
        state, result = problem.state, np.empty((self.tree.n_bodies, 6))
        qdd, multiplier = np.empty(self.tree.n_velocities), np.empty(len(self._asked))
        self.note_outcome(
            _at_bodies(
                self.tree.links,
                self.plan,
                self._table,
                self._row_links,
                *self._varying.at(state),
                state.position,
                state.orientation,
                state.velocity,
                self._soft,
                self._rest,
                self._motion,
                self._wrench,
                self._asked,
                self._work,
                qdd,
                multiplier,
                result,
            ),
            state,
        )
        check_finite(result, state.time)
        return result

    def explain(self) -> dict[str, object]:
        """Say which tree is used, how wide its fronts are, and how the last iterations went."""
        size = self.front_size
        return {
            **super().explain(),
            "loop_rows": len(self._asked),
            "loops_closed_early": self.n_early,
            "widest_front": size.widest,
            "front_work": size.work,
            "factor_entries": size.numbers,
            "solutions": self.iterations,
            "proximal_term": SOFT * STIFFER ** max(self.factorizations - 1, 0),
            "last_step": self.last_step,
        }

    def note_outcome(self, outcome: tuple[int, int, float], state: State) -> None:
        """Keep how the iterations went; warn where they did not converge."""
        self.iterations, self.factorizations, self.last_step = outcome
        if self.factorizations > LEVELS and np.isfinite(self.last_step):
            warn_user(
                f"the accelerations at t = {state.time:.6g} s still change by {self.last_step:.0e} "
                f"of the largest after {self.iterations} proximal iterations; make the state "
                "consistent, or use method 'sparse'",
                AccuracyWarning,
            )

    def _is_unique(self) -> bool:
        """Tell whether no pivot of a loop's row was small."""
        weakest = weakest_pivot(
            self.plan, self._table.first_row, self._compliance, self._work.fronts
        )
        return bool(weakest > DEPENDENT)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _at_bodies(
    links: Links,
    plan: FrontPlan,
    table: LoopTable,
    row_links: IntArray,
    varying: IntArray,
    given: FloatArray,
    given_asked: FloatArray,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    softness: FloatArray,
    driven_qdd: FloatArray,
    motion: TreeMotion,
    wrench: FloatArray,
    asked: FloatArray,
    work: ProximalWork,
    qdd: FloatArray,
    multiplier: FloatArray,
    result: FloatArray,
) -> tuple[int, int, float]:
    """Fill the accelerations of the bodies, from their poses and velocities."""
    fill_from_bodies(links, position, orientation, velocity, motion)
    fill_loop_rows(links, table, position, motion, wrench, asked)
    take_rows(links, motion, row_links, varying, given, given_asked, wrench, asked)
    outcome = proximal_iterations(
        links,
        plan,
        motion,
        NO_FORCE,
        row_links,
        table.first_row,
        wrench,
        asked,
        softness,
        NO_DRIVES,
        driven_qdd,
        work,
        qdd,
        multiplier,
    )
    accelerations(links, motion, qdd, work.acceleration)
    fill_body_accelerations(links, motion, work.acceleration, result)
    return outcome
