"""Derivatives of inverse and forward dynamics by the joint coordinates of a tree.

    dtau/dq, dtau/dqd, dtau/dqdd = H,    dqdd/dq = -H^-1 dtau/dq, dqdd/dqd = -H^-1 dtau/dqd, H^-1.

The first ones by a recursion over the links, the others by H = L' L. Carpentier and Mansard (2018),
Analytical derivatives of rigid body dynamics algorithms, RSS; Singh, Russell and Wensing (2022).
"""

from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.errors import ModelError, SingularSystemError
from sparsebody.model.system import System
from sparsebody.tree import recursions, tree_choice
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.recursions import NO_FORCE, NONE_PRESCRIBED, TreeMotion, checked_coordinates
from sparsebody.tree.spanning_tree import AnyTree


class InverseDynamicsDerivatives(NamedTuple):
    """tau = H qdd + C, and its derivatives (n_velocities, n_velocities), a column a coordinate."""

    tau: FloatArray  # (n_velocities,) [N m, N]
    tau_q: FloatArray
    tau_qd: FloatArray
    H: FloatArray  # by qdd: the joint-space inertia


class ForwardDynamicsDerivatives(NamedTuple):
    """qdd = H^-1 (tau - C), and its derivatives (n_velocities, n_velocities), columns as above."""

    qdd: FloatArray  # (n_velocities,) [rad/s^2, m/s^2]
    qdd_q: FloatArray
    qdd_qd: FloatArray
    qdd_tau: FloatArray  # H^-1, zero in rows and columns of prescribed coordinates


Slopes = tuple[FloatArray, FloatArray, FloatArray]  # tau, and its derivatives in q and qd


class TreeDerivatives:
    """Derivatives of the dynamics of a tree by q, qd, qdd and tau, prepared once for many states.

    What Pinocchio calls computeRNEADerivatives and computeABADerivatives. Columns are velocity
    coordinates: where positions are quaternions, rotations seen from the joint's frame S (of free
    joints its displacement as well), as in the columns of JointType.motion_subspace; the other
    velocities are rates of positions. With one coordinate changed the others, qd and qdd or tau
    stay the same numbers.

    Parameters
    ----------
    system : System
        A mechanism without closed loops.
    tree : SpanningTree or str
        Its tree, or one of TREE_CHOICES; coordinates are named by `tree.velocity_name`, and in the
        order of `joint_space(system, state).names` by default.

    Raises
    ------
    ModelError
        If a joint closes a loop, or the dense matrices are too large.
    """

    def __init__(self, system: System, tree: AnyTree = "minimum-nonzeros") -> None:
        self.tree = tree = tree_choice.tree_of(system, tree)
        self.system, n = system, tree.n_velocities
        if tree.n_loops:
            name = system.joint_names[int(tree.loop_joint[0])]
            raise ModelError(
                f"derivatives in joint coordinates are of trees, and joint {name!r} closes a loop "
                f"({tree.n_loops} joints do); take those of the bodies by jvp, vjp and matrix of "
                "sparsebody.derivatives"
            )
        if n**2 > recursions.MOST_ENTRIES:
            raise ModelError(
                f"matrices of {n} joint coordinates of {system.name!r} are too large; take "
                "products with vectors by jvp and vjp of sparsebody.derivatives"
            )
        self._motion = recursions.empty_motion(tree)
        self._work = recursions.empty_articulated(tree)
        self._transmitted = np.empty((tree.n_bodies, 6))
        self._rates = np.empty((n, 4, 6))
        self._packed = recursions.empty_inertia(tree)

    def inverse_dynamics(
        self, q: FloatArray, qd: FloatArray, qdd: FloatArray
    ) -> InverseDynamicsDerivatives:
        """Return tau that gives qdd under gravity alone, and its derivatives.

        `q` (n_positions,) [rad, m, unit quaternions], `qd` and `qdd` (n_velocities,). Raises
        ShapeError or ModelError if there are too many or too few, or one is not finite,
        SingularSystemError if they are too large to multiply.
        """
        qdd = checked_coordinates(self.tree, qdd, "qdd", self.tree.n_velocities)
        tau, tau_q, tau_qd = self._inverse(self._motion_at(q, qd), qdd)
        _check_finite(tau)
        H = recursions.symmetric(self.tree.pattern, self._packed)
        return InverseDynamicsDerivatives(tau, tau_q, tau_qd, H)

    def _inverse(self, motion: TreeMotion, qdd: FloatArray) -> Slopes:
        """Return tau with its derivatives in q and qd; fill H and the rates of coordinates."""
        tree, n = self.tree, len(qdd)
        result = np.empty(n), np.zeros((n, n)), np.zeros((n, n))
        work = self._work.acceleration, self._transmitted, self._rates
        native.inverse_dynamics_derivatives(
            tree.links, motion, tree.pattern, qdd, NO_FORCE, *work, *result, self._packed
        )
        return result

    def forward_dynamics(
        self, q: FloatArray, qd: FloatArray, tau: FloatArray
    ) -> ForwardDynamicsDerivatives:
        """Return qdd under tau [N m, N] and gravity alone, and its derivatives; see above.

        No coordinate is prescribed here. Raises SingularSystemError besides, naming the
        coordinate, if H is not positive definite.
        """
        tau = checked_coordinates(self.tree, tau, "tau", self.tree.n_velocities)
        return self._forward(self._motion_at(q, qd), tau, np.empty_like(tau))

    def with_loads(
        self, problem: TreeProblem, tau_q: FloatArray, tau_qd: FloatArray
    ) -> ForwardDynamicsDerivatives:
        """Return qdd and its derivatives, with all forces of a problem.

        The forces move with the bodies, except for what else they add to the derivatives of tau,
        `tau_q` and `tau_qd` (n_velocities, n_velocities), which are overwritten.
        """
        qdd, tau = problem.prescribed_qdd.copy(), np.zeros(self.tree.n_velocities)
        acting = tau, qdd, problem.force, self.tree.is_prescribed
        return self._forward(problem.motion, *acting, (tau_q, tau_qd))

    def body_rates(self, problem: TreeProblem) -> tuple[FloatArray, FloatArray]:
        """Return twists of the bodies by q, and changes of their velocities, both in body axes.

        (n_velocities, n_bodies, 6) both; the twists are also the velocities by qd.
        """
        tree, motion = self.tree, problem.motion
        n, at_rest = tree.n_velocities, motion._replace(drift=np.zeros_like(motion.drift))
        self._inverse(motion, np.zeros(n))
        by_unit = np.empty((2, n, tree.n_bodies, 6))
        for columns, subspace in zip(by_unit, np.swapaxes(self._rates[:, :2], 0, 1), strict=True):
            moved = at_rest._replace(subspace=np.ascontiguousarray(subspace))
            for k, unit in enumerate(np.eye(n)):
                links = recursions.link_accelerations(tree, moved, unit)
                columns[k] = recursions.body_accelerations(tree, motion, links)
        return by_unit[0], by_unit[1]

    def _motion_at(self, q: FloatArray, qd: FloatArray) -> TreeMotion:
        tree = self.tree
        q = checked_coordinates(tree, q, "q", tree.n_positions)
        qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
        native.motion_from_coordinates(tree.links, q, qd, self._motion)
        return self._motion

    def _forward(
        self,
        motion: TreeMotion,
        tau: FloatArray,
        qdd: FloatArray,
        force: FloatArray = NO_FORCE,
        is_prescribed: BoolArray = NONE_PRESCRIBED,
        by_loads: tuple[FloatArray, FloatArray] | None = None,
    ) -> ForwardDynamicsDerivatives:
        tree, shape = self.tree, (len(tau), len(tau))
        by_q, by_qd = by_loads or (np.zeros(shape), np.zeros(shape))
        matrices = by_q, by_qd, np.zeros(shape)
        acting = tau, force, is_prescribed
        failed = native.forward_dynamics_derivatives(
            tree.links, motion, tree.pattern, *acting, self._work, qdd, matrices, self._packed
        )
        recursions.check_pivots(tree, failed)
        _check_finite(qdd)
        return ForwardDynamicsDerivatives(qdd, *matrices)


def _check_finite(values: FloatArray) -> None:
    if not np.isfinite(values).all():
        raise SingularSystemError(
            "joint forces or accelerations are not finite: q, qd, qdd or tau are too large to "
            "multiply; look at them"
        )
