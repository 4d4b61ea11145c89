"""Method "aba": trees by the articulated-body algorithm."""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.model.system import State, System
from sparsebody.tree.articulated_body import empty_articulated
from sparsebody.tree.coordinates import checked_coordinates
from sparsebody.tree.methods import TreeDynamics
from sparsebody.tree.motion import empty_motion
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.solution import TreeSolution, check_finite
from sparsebody.tree.spanning_tree import SpanningTree


class ArticulatedBody(TreeDynamics):
    """O(n) on trees. Featherstone (2008), sec. 7.3.

    Parameters as in TreeDynamics.
    """

    name = "aba"
    takes_loops = False

    def __init__(
        self,
        system: System,
        tree: SpanningTree | str = "minimum-nonzeros",
        *,
        reactions: str = "minimum-norm",
        baumgarte: float | None = None,
    ) -> None:
        super().__init__(system, tree, reactions=reactions, baumgarte=baumgarte)
        self._motion, self._work = empty_motion(self.tree), empty_articulated(self.tree)
        self._passive = np.zeros(self.tree.n_velocities)

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd."""
        qdd = problem.driven_qdd.copy()
        native.articulated_body(
            self.tree.links,
            problem.motion,
            self._passive,
            problem.force,
            problem.is_driven,
            self._work,
            qdd,
        )
        return TreeSolution(qdd, np.zeros(problem.system.n_rows))

    def acceleration(self, state: State, *, body_force: FloatArray | None = None) -> FloatArray:
        """Return the accelerations of the bodies (n_bodies, 6) alone, in body coordinates."""
        problem = self.problem(state, body_force)
        if self.baumgarte is not None or len(problem.drives.velocity) or problem.load is not None:
            return super().acceleration(state, body_force=body_force)
        state = problem.state
        result, qdd = np.empty((self.tree.n_bodies, 6)), np.empty(self.tree.n_velocities)
        native.accelerations_at_bodies(
            self.tree.links,
            state.position,
            state.orientation,
            state.velocity,
            self._passive,
            self._motion,
            self._work,
            qdd,
            result,
        )
        check_finite(result, state.time)
        return result

    def joint_acceleration(self, q: FloatArray, qd: FloatArray, tau: FloatArray) -> FloatArray:
        """Return qdd (n_velocities,) at joint coordinates, with tau and gravity alone acting.

        Parameters
        ----------
        q : (n_positions,) float array
            Positions.
        qd, tau : (n_velocities,) float array
            Velocities, and forces of the tree joints [N m, N].
        """
        n_v = self.tree.n_velocities
        q = checked_coordinates(self.tree, q, "q", self.tree.n_positions)
        qd = checked_coordinates(self.tree, qd, "qd", n_v)
        tau = checked_coordinates(self.tree, tau, "tau", n_v)
        qdd = np.empty(n_v)
        native.accelerations_at_coordinates(
            self.tree.links, q, qd, tau, self._motion, self._work, qdd
        )
        return qdd
