"""Joint-space equations H qdd + C = tau of a spanning tree, and their first-order form."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError
from sparsebody.model.system import State, System
from sparsebody.tree import recursions
from sparsebody.tree.loops_aba import LoopsArticulatedBody
from sparsebody.tree.method import TreeDynamics
from sparsebody.tree.spanning_tree import SpanningTree


@dataclass(frozen=True, eq=False)
class JointSpace:
    """A mechanism in the coordinates of its spanning tree: Featherstone (2008), (3.1), (8.3).

    Springs, loads and gravity are part of C; loops and prescribed motions exert tau = K' lambda.
    """

    tree: SpanningTree
    q: FloatArray  # (n_positions,) [rad, m]; unit quaternions of spherical and free joints
    qd: FloatArray  # (n_velocities,) [rad/s, m/s]
    qdd: FloatArray  # (n_velocities,) [rad/s^2, m/s^2]
    H: FloatArray  # (n_velocities, n_velocities) joint-space inertia
    C: FloatArray  # (n_velocities,) joint-space bias force [N m, N]

    @property
    def names(self) -> Sequence[str]:
        """(n_velocities,) joints of velocity coordinates, with an index where one has several."""
        return [self.tree.velocity_name(k) for k in range(self.tree.n_velocities)]


def joint_space(
    system: System, state: State, tree: SpanningTree | str = "minimum-nonzeros"
) -> JointSpace:
    """Return coordinates, accelerations, inertia and bias force of a mechanism, with any loops.

    At a consistent `state`, by a tree or one of TREE_CHOICES; ModelError if H, which is
    dense, is too large.
    """
    dynamics = LoopsArticulatedBody(system, tree)
    problem, tree = dynamics.problem(state), dynamics.tree
    H = recursions.dense_inertia(tree, problem.motion)
    C = recursions.joint_space_bias_force(tree, problem.motion, problem.force)
    q, qd = recursions.joint_coordinates(tree, state)
    return JointSpace(tree, q, qd, dynamics.solve(problem).qdd, H, C)


class StateSpace:
    """First-order form dx/dt = f(t, x), x = (q, qd), of the dynamics of a spanning tree.

    `dynamics`: any method; with closed loops it needs Baumgarte stabilization. Positions of
    spherical and free joints are quaternions, so that n_positions exceeds n_velocities.
    """

    def __init__(self, dynamics: TreeDynamics) -> None:
        self.dynamics = dynamics
        self.tree = dynamics.tree

    def pack(self, state: State) -> FloatArray:
        """Return x (n_positions + n_velocities,) of a state."""
        return np.concatenate(recursions.joint_coordinates(self.tree, state))

    def unpack(self, x: FloatArray, time: float = 0.0) -> State:
        """Return the state of x."""
        return recursions.tree_state(self.tree, *self._parts(x), time=time)

    def __call__(self, time: float, x: FloatArray) -> FloatArray:
        """Return dx/dt = (Q(q) qd, qdd)."""
        q, qd = self._parts(x)
        problem = self.dynamics.problem(recursions.tree_state(self.tree, q, qd, time=time))
        return np.concatenate(
            [recursions.position_rates(self.tree, q, qd), self.dynamics.solve(problem).qdd]
        )

    def _parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = self.tree.n_positions
        if np.shape(x) != (n + self.tree.n_velocities,):
            raise ShapeError(
                f"x has shape {np.shape(x)}; the tree has {n} positions and "
                f"{self.tree.n_velocities} velocities"
            )
        return x[:n], x[n:]
