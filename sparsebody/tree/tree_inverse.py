"""Inverse dynamics in joint coordinates. Featherstone (2008), secs. 5.3 and 8.12."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_solve, cholesky, lstsq, qr, solve_triangular, svd

from sparsebody._core import tree as native
from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.assembly.body_forces import add_joint_wrenches
from sparsebody.equations.actuators import ActuatorRows, Freedom
from sparsebody.equations.desired_motion import DesiredMotion, freed_norms
from sparsebody.equations.inverse import Actuation, Balance, InverseMethod
from sparsebody.model.system import System
from sparsebody.tolerances import MOTION_TOLERANCE, SINGULAR_TOLERANCE
from sparsebody.tree.crba import joint_space_inertia
from sparsebody.tree.loops.loop_equations import (
    loop_matrix,
    loop_right_hand_side,
    loop_rows,
)
from sparsebody.tree.ltl import symmetric
from sparsebody.tree.method import TreeProblem, TreeSolution, accelerations_of
from sparsebody.tree.rnea import inverse_dynamics
from sparsebody.tree.spanning_tree import loop_error
from sparsebody.tree.tree_choice import spanning_tree
from sparsebody.tree.tree_motion import joint_accelerations, powers


class TreeInverseMethod(InverseMethod):
    """Inverse dynamics by a spanning tree.

    Parameters
    ----------
    system : System
        The mechanism.
    tree : str
        What spanning_tree is to choose.
    actuated, weights, reactions, tolerance
        As in InverseMethod; actuators may be on loop joints too.

    Raises
    ------
    ModelError
        If the method takes trees only, and a joint closes a loop.
    """

    takes_loops: ClassVar[bool]

    def __init__(
        self,
        system: System,
        tree: str = "minimum-nonzeros",
        *,
        actuated: Iterable[Freedom] | None = None,
        weights: ArrayLike | None = None,
        reactions: str = "minimum-norm",
        tolerance: float = MOTION_TOLERANCE,
    ) -> None:
        super().__init__(
            system, actuated=actuated, weights=weights, reactions=reactions, tolerance=tolerance
        )
        self.tree = spanning_tree(self.system, tree)
        if self.tree.n_loops and not self.takes_loops:
            raise loop_error(self.tree, self.name, ["sparse", ProjectedInverse.name])

    def solve(self, desired: DesiredMotion, actuators: ActuatorRows) -> Balance:
        """Return the balance from tau_ID of the tree."""
        problem = TreeProblem(self.tree, desired.state, desired.body_force)
        qdd = joint_accelerations(self.tree, problem.motion, desired.acceleration)
        tau = inverse_dynamics(self.tree, problem.motion, qdd, problem.force)
        force, loop_multiplier, actuation = self.forces(problem, tau, actuators)
        system, joint = self.system, self.actuators.joint
        load = np.zeros((system.n_bodies, 6))
        if desired.body_force is not None:
            load += desired.body_force
        add_joint_wrenches(system, desired.joints, joint, actuators.dual * force[:, None], load)
        acted = TreeProblem(self.tree, desired.state, load)
        acted_on = accelerations_of(acted, TreeSolution(qdd, loop_multiplier), "basic")
        return Balance(force, acted_on.multiplier, self.tree.n_loops == 0, actuation)

    @abstractmethod
    def forces(
        self, problem: TreeProblem, tau: FloatArray, actuators: ActuatorRows
    ) -> tuple[FloatArray, FloatArray, Actuation]:
        """Return u, multipliers (n_rows,) of loop rows, and the classification, from tau_ID."""


class RecursiveNewtonEuler(TreeInverseMethod):
    """Trees in O(n): u is tau_ID. Featherstone (2008), sec. 5.3. Parameters: TreeInverseMethod."""

    name = "rnea"
    takes_loops = False

    def forces(
        self, problem: TreeProblem, tau: FloatArray, actuators: ActuatorRows
    ) -> tuple[FloatArray, FloatArray, Actuation]:
        """Pick the actuated coordinates; what the others would need stays unbalanced."""
        tree, p = self.tree, len(self.actuators)
        first = tree.first_velocity[tree.tree_index[self.actuators.joint]]
        mobility = tree.n_velocities - len(tree.prescribed.velocity)
        actuation = Actuation(p, p, mobility)
        return tau[first + self.actuators.coordinate], np.zeros(self.system.n_rows), actuation


class ProjectedInverse(TreeInverseMethod):
    """Loops by G_u' u = G' tau_ID. Featherstone (2008), (8.63). Parameters: TreeInverseMethod."""

    name = "loops-projection"
    takes_loops = True

    def forces(
        self, problem: TreeProblem, tau: FloatArray, actuators: ActuatorRows
    ) -> tuple[FloatArray, FloatArray, Actuation]:
        """Solve (8.63), then tau_ID - tau = K' lambda."""
        G, _ = independent_velocities(problem)
        rates = actuator_matrix(problem, self.actuators.joint, actuators.rows)
        H = symmetric(self.tree.pattern, joint_space_inertia(self.tree, problem.motion))
        scale = 1.0 / freed_norms(self.system, self.actuators.joint, actuators.rows)
        force, rank = actuator_forces(rates, G, H, tau, self.weights, scale)
        rows = loop_rows(problem)
        multiplier = np.zeros(self.system.n_rows)
        if rows.n_rows:
            K = loop_matrix(problem, rows)
            remaining_tau = tau - rates.T @ force
            if len(problem.is_prescribed):
                remaining_tau[problem.is_prescribed] = 0.0
            multiplier[rows.row] = lstsq(K.T, remaining_tau, cond=SINGULAR_TOLERANCE)[0]
        return force, multiplier, Actuation(len(force), rank, G.shape[1])


def independent_velocities(problem: TreeProblem) -> tuple[FloatArray, FloatArray]:
    """Return G (n_velocities, n - r) and g (n_velocities,) with K G = 0 and K g = k.

    Rows of G at driven coordinates are zero, and g has their accelerations. Featherstone (2008),
    eqs. (8.41) and (8.42).
    """
    rows = loop_rows(problem)
    K, k = loop_matrix(problem, rows), loop_right_hand_side(problem, rows)
    is_free = np.ones(problem.tree.n_velocities, dtype=np.bool_)
    if len(problem.is_prescribed):
        is_free = ~problem.is_prescribed
    K = K[:, is_free]
    scale = 1.0 / np.linalg.norm(rows.wrench, axis=(1, 2))  # K may have rows that are but rounding
    null = null_space(scale[:, None] * K)
    G, g = np.zeros((len(is_free), null.shape[1])), problem.prescribed_qdd.copy()
    G[is_free] = null
    if len(K):
        g[is_free] += lstsq(scale[:, None] * K, scale * k, cond=SINGULAR_TOLERANCE)[0]
    return G, g


def null_space(K: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the columns x with K x = 0."""
    if K.size == 0:
        return np.eye(K.shape[1])
    _, singular, Vt = svd(K)
    is_nonzero = (singular > SINGULAR_TOLERANCE * singular[0]) & (singular > 0.0)
    return Vt[np.count_nonzero(is_nonzero) :].T


def actuator_matrix(problem: TreeProblem, joint: IntArray, rows: FloatArray) -> FloatArray:
    """Return the rates of actuated coordinates (p, n_velocities) for unit velocities of the tree.

    Rows of the identity for tree joints, of loop Jacobians for loop joints.
    """
    tree = problem.tree
    link, wrench = tree.ends(joint), rows.copy()
    native.rows_to_links(tree.links, problem.motion, link, wrench)
    return powers(tree, problem.motion, link, wrench)


def actuator_forces(
    rates: FloatArray,
    G: FloatArray,
    H: FloatArray,
    tau: FloatArray,
    weights: FloatArray,
    scale: FloatArray,
) -> tuple[FloatArray, int]:
    """Return u (p,) with G_u' u = G' tau and least sum(weights u^2), and the rank of G_u.

    Parameters
    ----------
    rates : (p, n) float array
        Rates of the actuated coordinates for unit velocities of the tree: G_u = rates @ G.
    G : (n, m) float array
        Independent velocities.
    H : (n, n) float array
        Joint-space inertia, which makes coordinates of different units comparable; what
        actuators cannot balance is least in its metric.
    tau : (n,) float array
        tau_ID.
    weights : (p,) float array
        Positive.
    scale : (p,) float array
        What makes rates of bodies that nothing else holds about one.

    References
    ----------
    Featherstone (2008), eq. (8.63).
    """
    p, m = len(rates), G.shape[1]
    if m == 0 or p == 0:
        return np.zeros(p), 0
    L = cholesky(H, lower=True)
    motions = qr(L.T @ G, mode="economic")[0]
    whole = solve_triangular(L, rates.T, lower=True)
    U, singular, Vt = svd(scale[:, None] * (whole.T @ motions))
    rank = int(np.count_nonzero(singular > SINGULAR_TOLERANCE))
    right = motions.T @ solve_triangular(L, tau, lower=True)
    force = U[:, :rank] @ (Vt[:rank] @ right / singular[:rank])
    null, stiff = U[:, rank:], weights * scale**2
    if rank < p:
        square = null.T @ (stiff[:, None] * null)
        force -= null @ cho_solve((cholesky(square, lower=True), True), null.T @ (stiff * force))
    return scale * force, rank
