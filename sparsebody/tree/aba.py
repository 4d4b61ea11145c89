"""Forward dynamics of trees by the articulated-body algorithm. Featherstone (2008), table 7.1.

leaves to root   U = I^A S,  D = S' U,  u = tau - S' p^A
I^A_parent += I^A - U D^-1 U',  p^A_parent += p^A + (I^A - U D^-1 U') c + U D^-1 u
root to leaves   a' = a_parent + c,  qdd = D^-1 (u - U' a'),  a = a' + S qdd
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.tree.joint_coordinates import checked_coordinates
from sparsebody.tree.method import TreeDynamics, TreeProblem, TreeSolution, check_finite
from sparsebody.tree.rnea import NO_FORCE
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_motion import TreeMotion, body_states, empty_motion

NONE_PRESCRIBED = np.zeros(0, dtype=np.bool_)


class Articulated(NamedTuple):
    """Articulated inertias and bias forces, and what the elimination of each coordinate leaves."""

    link: FloatArray  # (n, 27) I^A = [A B; B' D], triangles of A and D, and p^A; world axes
    coordinate: FloatArray  # (n_velocities, 8) U = I^A S, 1 / (S' U), u = tau - S' p^A
    acceleration: FloatArray  # (n, 6) true ones, in world axes about the links' origins


def empty_articulated(tree: SpanningTree) -> Articulated:
    """Return arrays of the right shapes."""
    n, n_v = tree.n_bodies, tree.n_velocities
    return Articulated(np.zeros((n, 27)), np.zeros((n_v, 8)), np.zeros((n, 6)))


def forward_dynamics_tree(
    tree: SpanningTree, motion: TreeMotion, tau: FloatArray, force: FloatArray = NO_FORCE
) -> FloatArray:
    """Return qdd (n_velocities,) of the tree, its loop joints exerting nothing.

    Parameters
    ----------
    tree, motion, force
        As in rnea.recursion.
    tau : (n_velocities,) float array
        Forces of the tree joints [N m, N].
    """
    qdd, work = np.empty(tree.n_velocities), empty_articulated(tree)
    native.articulated_body(tree.links, motion, tau, force, NONE_PRESCRIBED, work, qdd)
    return qdd


class ArticulatedBody(TreeDynamics):
    """Method "aba", O(n) on trees. Featherstone (2008), sec. 7.3.

    Parameters as in TreeDynamics.
    """

    name = "aba"
    takes_loops = False

    def prepare(self) -> None:
        """Make the work space."""
        self._motion, self._work = empty_motion(self.tree), empty_articulated(self.tree)
        self._passive = np.zeros(self.tree.n_velocities)

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd."""
        qdd = problem.prescribed_qdd.copy()
        native.articulated_body(
            self.tree.links,
            problem.motion,
            self._passive,
            problem.force,
            problem.is_prescribed,
            self._work,
            qdd,
        )
        return TreeSolution(qdd, np.zeros(problem.system.n_rows))

    def acceleration(self, state: State, *, body_force: FloatArray | None = None) -> FloatArray:
        """Return the accelerations of the bodies (n_bodies, 6) alone, in body coordinates."""
        problem = self.problem(state, body_force)
        is_plain = len(self.tree.is_prescribed) == 0 and problem.load is None
        if self.baumgarte is not None or not is_plain:
            return super().acceleration(state, body_force=body_force)
        state = problem.state
        result, qdd = np.empty((self.tree.n_bodies, 6)), np.empty(self.tree.n_velocities)
        native.accelerations_at_bodies(
            self.tree.links,
            body_states(state),
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
        tree, n_v = self.tree, self.tree.n_velocities
        q = checked_coordinates(tree, q, "q", tree.n_positions)
        qd = checked_coordinates(tree, qd, "qd", n_v)
        tau = checked_coordinates(tree, tau, "tau", n_v)
        qdd = np.empty(n_v)
        native.accelerations_at_coordinates(tree.links, q, qd, tau, self._motion, self._work, qdd)
        return qdd
