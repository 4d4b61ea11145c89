"""q, qd, qdd, H and C of a mechanism at a state, in one call. Featherstone (2008), (3.1), (8.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State, System
from sparsebody.tree.crba import joint_space_inertia
from sparsebody.tree.joint_coordinates import joint_coordinates
from sparsebody.tree.loops.loops_aba import LoopsArticulatedBody
from sparsebody.tree.ltl import symmetric
from sparsebody.tree.rnea import joint_space_bias_force
from sparsebody.tree.spanning_tree import SpanningTree


@dataclass(frozen=True, eq=False)
class JointSpace:
    """A mechanism in the coordinates of its spanning tree: H qdd + C = tau.

    Springs, loads and gravity are part of C, so that tau is zero on a tree without drives; closed
    loops and drives exert what remains, tau = K' lambda.
    """

    tree: SpanningTree
    q: FloatArray  # (n_positions,) [rad, m]; unit quaternions of spherical and free joints
    qd: FloatArray  # (n_velocities,) [rad/s, m/s]
    qdd: FloatArray  # (n_velocities,) [rad/s^2, m/s^2]
    H: FloatArray  # (n_velocities, n_velocities) joint-space inertia
    C: FloatArray  # (n_velocities,) joint-space bias force [N m, N]

    @property
    def names(self) -> Sequence[str]:
        """(n_velocities,) the joint of each velocity coordinate, with its number where several."""
        return [self.tree.velocity_name(k) for k in range(self.tree.n_velocities)]


def joint_space(
    system: System, state: State, tree: SpanningTree | str = "minimum-nonzeros"
) -> JointSpace:
    """Return coordinates, accelerations, inertia and bias force of a mechanism at a state.

    Parameters
    ----------
    system : System
        The mechanism, with any loops.
    state : State
        Poses and velocities, consistent ones.
    tree : SpanningTree or str
        The tree, or a name from TREE_CHOICES.

    Raises
    ------
    ModelError
        If H is too large for memory.
    """
    dynamics = LoopsArticulatedBody(system, tree)
    problem, tree = dynamics.problem(state), dynamics.tree
    H = symmetric(tree.pattern, joint_space_inertia(tree, problem.motion))
    C = joint_space_bias_force(tree, problem.motion, problem.force)
    q, qd = joint_coordinates(tree, state)
    return JointSpace(tree, q, qd, dynamics.solve(problem).qdd, H, C)
