"""Method "loops-aba": trees with loops by a recursion that forms no H.

The articulated-body algorithm with the multipliers of loops eliminated on the way inwards and a
proximal term for rows that depend on others, after Sathya and Carpentier (2024 to 2026). O(n)
where fronts stay bounded, as on ladders with a good tree. Any joint closes a loop.

Proximal iterations solve [H K'; K -mu] for the residuals of the equations of motion and of the
loops, formed anew from the accelerations of all links, so that neither mu nor the rounding of the
factors stays. Carpentier, Budhiraja and Mansard (2021), sec. III; Rockafellar (1976).
"""

from typing import NamedTuple, TypeAlias

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.equations.system_motion import LoadsAndRows
from sparsebody.errors import AccuracyWarning, warn_user
from sparsebody.model.system import State, body_arrays, with_joints
from sparsebody.tree import fronts, recursions
from sparsebody.tree.loop_constraints import LoopRows, loop_rows
from sparsebody.tree.method import TreeDynamics, TreeProblem, TreeSolution, checked_finite
from sparsebody.tree.recursions import TreeMotion
from sparsebody.tree.spanning_tree import FRAME, FRAME_POINT, SpanningTree

SOFT = 1e-14  # proximal term of a row, relative to A I^-1 A' of its two bodies
SOFT_EARLY = 1e-12  # where a loop is eliminated before its ends have met
DEPENDENT = 1e-6  # relative pivots below this may be those of dependent rows
MU_FACTOR = 1e3  # by which all proximal terms mu grow where iterations do not converge
LEVELS = 3  # values of mu that are tried

Prescribed: TypeAlias = tuple[BoolArray, FloatArray]  # which qdd, and their values


class LoopTable(NamedTuple):
    """Constants of the loop joints that have rows."""

    ends: IntArray  # (n, 2) links of predecessor and successor, -1 for the world
    first_row: IntArray  # (n + 1,) among loop rows
    row: FloatArray  # (m, 6) T' in the axes of the successor's link about its origin
    anchor: FloatArray  # (n, 3) origin of S in the world, where the successor is the world


def loop_table(tree: SpanningTree) -> LoopTable:
    """Return the constants of the loop joints of a tree."""
    system, (joint, ends, first_row) = tree.system, fronts.constrained_loops(tree)
    own, link = np.repeat(np.arange(len(joint)), np.diff(first_row)), ends[:, 1]
    is_link = (link >= 0)[:, None]
    constants = tree.links.constants[link]
    origin = constants[:, FRAME_POINT : FRAME_POINT + 3]
    frame = constants[:, FRAME:FRAME_POINT].reshape(-1, 3, 3)
    to_body = np.where(is_link[:, :, None], frame, np.eye(3))
    point, rotation = system.successor_point[joint], system.successor_rotation[joint]
    to_link = np.einsum("nba,nbc->nac", to_body, rotation)
    arm = np.einsum("nba,nb->na", to_body, np.where(is_link, point - origin, 0.0))
    parts = system.subspace[tree.loop_rows].reshape(-1, 2, 3)
    moment, force = np.einsum("mab,mpb->pma", to_link[own], parts)
    row = np.concatenate([moment + np.cross(arm[own], force), force], axis=1)
    return LoopTable(ends, first_row, row, np.where(is_link, 0.0, point))


class ProximalWork(NamedTuple):
    """Work space of the iterations."""

    fronts: fronts.Fronts
    force: FloatArray  # (n, 6) on the links, with those of the loops
    acceleration: FloatArray  # (n, 6) of the links
    transmitted: FloatArray  # (n, 6)
    tau: FloatArray  # (n_velocities,) residuals of the equations of motion
    b: FloatArray  # (m,) residuals of the loop rows
    qdd_step: FloatArray
    multiplier_step: FloatArray


class LoopsArticulatedBody(TreeDynamics):
    """O(n) on ladders too. Parameters as in TreeDynamics."""

    name = "loops-aba"
    takes_loops = True
    best_tree = "minimum-fronts"

    def prepare(self) -> None:
        """Plan the elimination of the tree that has the smallest fronts."""
        tree, system = self.tree, self.system
        elimination = fronts.least_elimination(tree)
        self._front_sizes = {
            "loops_closed_early": int(elimination.closed_early.sum()),
            "widest_front": elimination.widest,
            "front_work": elimination.work,
            "factor_entries": elimination.n_factor_entries,
        }
        self.plan, rows = elimination.plan(), np.diff(elimination.loops.first_row)
        n_rows, early = int(rows.sum()), np.repeat(elimination.closed_early, rows)
        problem = self.problem(system.initial_state)  # A I^-1 A' of every loop row, of its bodies
        at_ends = tree.loop_rows, system.ends[system.row_joint[tree.loop_rows]]
        lengths = problem.constraint.rows, *at_ends, system.inverse_inertia
        self._compliance = native.row_norms(*lengths) ** 2
        self._soft = np.where(early, SOFT_EARLY, SOFT) * self._compliance
        self._table = loop_table(tree)
        self._is_plain = not system.has_loads and len(system.coordinates.joint) == 0
        varying = tree.loop_joint[np.isin(tree.loop_joint, system.varying_joints)]
        self._is_varying = np.isin(system.row_joint[tree.loop_rows], varying)  # T, on both bodies
        self._varying = LoadsAndRows(with_joints(system, varying)) if self._is_plain else None
        self._motion = recursions.empty_motion(tree)
        links, n_v = (tree.n_bodies, 6), tree.n_velocities
        shapes = links, links, links, n_v, n_rows, n_v, n_rows
        arrays = (np.zeros(shape) for shape in shapes)
        self._work = ProximalWork(fronts.empty_fronts(self.plan), *arrays)
        link = np.repeat(self._table.ends, rows, axis=0)
        self._rows = LoopRows(tree.loop_rows, link, np.zeros((n_rows, 2, 6)), np.zeros(n_rows))
        self._at_rest = np.zeros(tree.n_velocities)
        self.iterations, self.factorizations, self.last_step = 0, 0, 0.0

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd and the multipliers."""
        rows, motion = loop_rows(problem), problem.motion
        acting = problem.force, (self.tree.is_prescribed, problem.prescribed_qdd)
        qdd, of_loops = self._iterate(problem.state, motion, rows, *acting)
        multiplier = np.zeros(problem.system.n_rows)
        multiplier[rows.row] = of_loops
        at_first = self._table.first_row, self._compliance
        weakest = native.weakest_pivot(self.plan, *at_first, self._work.fronts)
        is_unique = bool(weakest > DEPENDENT)
        return TreeSolution(qdd, multiplier, is_unique=is_unique)

    def acceleration(self, state: State, *, body_force: FloatArray | None = None) -> FloatArray:
        """Return the accelerations of the bodies (n_bodies, 6) alone, in body coordinates."""
        if self._varying is None or self.baumgarte is not None or body_force is not None:
            return super().acceleration(state, body_force=body_force)
        state, links, motion = self.problem(state).state, self.tree.links, self._motion
        native.motion_from_bodies(links, body_arrays(self.system, state), motion)
        rows, varies = self._rows, self._is_varying
        native.fill_loop_rows(links, self._table, state.position, motion, rows.wrench, rows.gamma)
        if varies.any():
            self._varying.fill(state)
            wrench = self._varying.rows.copy()
            native.rows_to_links(links, motion, rows.link[varies], wrench)
            rows.wrench[varies], rows.gamma[varies] = wrench, self._varying.gamma
        nothing = recursions.NO_FORCE, (recursions.NONE_PRESCRIBED, self._at_rest)
        qdd, _ = self._iterate(state, motion, rows, *nothing)
        result = np.empty((self.tree.n_bodies, 6))
        native.link_accelerations(links, motion, qdd, self._work.acceleration)
        native.body_accelerations(links, motion, self._work.acceleration, result)
        return checked_finite(result, state.time)

    def _iterate(
        self, state: State, motion: TreeMotion, rows: LoopRows, force: FloatArray, known: Prescribed
    ) -> tuple[FloatArray, FloatArray]:
        """Return qdd and the multipliers of loop rows."""
        qdd, multiplier = np.empty(self.tree.n_velocities), np.empty(len(rows.gamma))
        loops = (rows.link, self._table.first_row, rows.wrench, rows.gamma), self._soft
        outcome = native.proximal_iterations(
            *(self.tree.links, self.plan, motion, force, *loops, *known),
            *(LEVELS, MU_FACTOR, self._work, qdd, multiplier),
        )
        self.note_outcome(outcome, state)
        return qdd, multiplier

    def explain(self) -> dict[str, object]:
        """Say which tree is used, how wide its fronts are, and how the last iterations went."""
        return {
            **super().explain(),
            "loop_rows": len(self._rows.row),
            **self._front_sizes,
            "solutions": self.iterations,
            "proximal_term": SOFT * MU_FACTOR ** (min(max(self.factorizations, 1), LEVELS) - 1),
            "last_step": self.last_step,
        }

    def note_outcome(self, outcome: tuple[int, int, float], state: State) -> None:
        """Keep how the iterations went; warn where none of LEVELS factorizations converged."""
        self.iterations, self.factorizations, self.last_step = outcome
        if self.factorizations > LEVELS and np.isfinite(self.last_step):
            warn_user(
                f"the accelerations at t = {state.time:.6g} s still change by {self.last_step:.0e} "
                f"of the largest after {self.iterations} proximal iterations; make the state "
                "consistent, or use method 'sparse'",
                AccuracyWarning,
            )
