"""Dynamics in independent variables, and forms of constraints on H qdd + C = tau.

Implicit: K qdd = k, with constraint forces K' lambda. Explicit: qdd = G ydd + g, with constraint
forces tau_c that do no work, G' tau_c = 0. Both describe the same motions if K G = 0, K g = k and
rank K + rank G = n. All matrices are dense; `right` is tau - C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError
from sparsebody.tree.crba import joint_space_inertia
from sparsebody.tree.loops.closure_functions import ExplicitMotion, LoopClosure
from sparsebody.tree.ltl import symmetric
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.rnea import joint_space_bias_force, recursion
from sparsebody.tree.tree_motion import body_accelerations


def implicit_system(
    H: FloatArray, K: FloatArray, right: FloatArray, k: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return matrix and right-hand side of (3.17), whose solution is [qdd; -lambda]."""
    m = len(K)
    return np.block([[H, K.T], [K, np.zeros((m, m))]]), np.concatenate([right, k])


def explicit_system(
    H: FloatArray, G: FloatArray, right: FloatArray, g: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return matrix and right-hand side of (3.18), whose solution is [qdd; tau_c; ydd]."""
    n, m = G.shape
    one, none = np.eye(n), np.zeros((n, m))
    matrix = np.block(
        [[H, -one, none], [-one, np.zeros((n, n)), G], [none.T, G.T, np.zeros((m, m))]]
    )
    return matrix, np.concatenate([right, -g, np.zeros(m)])


def dual_system(
    H: FloatArray, G: FloatArray, right: FloatArray, g: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return matrix and right-hand side of (3.19), whose solution is [tau_c; -ydd].

    The dual of (3.17): motions and forces have changed places. The sign of ydd is that for which
    the matrix is symmetric and its first equation is qdd = G ydd + g.
    """
    n, m = G.shape
    factor = cho_factor(H)
    matrix = np.block([[cho_solve(factor, np.eye(n)), G], [G.T, np.zeros((m, m))]])
    return matrix, np.concatenate([g - cho_solve(factor, right), np.zeros(m)])


def projected_system(
    H: FloatArray, C: FloatArray, G: FloatArray, g: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return H_G = G' H G and C_G = G' (C + H g) of H_G ydd + C_G = u = G' tau. (3.20), (3.21).

    The projection method: G' takes the constraint forces away. H_G is positive definite, the
    kinetic energy is yd' H_G yd / 2, and u' yd is the power of tau.
    """
    return G.T @ H @ G, G.T @ (C + H @ g)


@dataclass(frozen=True, eq=False)
class ProjectedEquations:
    """The equations of motion at a state."""

    inertia: FloatArray  # H_G (m, m)
    bias_force: FloatArray  # C_G (m,) gravity, springs and loads in it
    force: FloatArray  # u (m,) = G' tau
    motion: ExplicitMotion
    problem: TreeProblem

    def acceleration(self) -> FloatArray:
        """Return dv/dt (m,)."""
        return cho_solve(cho_factor(self.inertia), self.force - self.bias_force)


class ExplicitDynamics:
    """Forward dynamics of a mechanism whose loops are closed by a function.

    Loops stay closed whatever is integrated, so nothing needs stabilization.

    Parameters
    ----------
    closure : LoopClosure
        q = gamma(y).
    """

    def __init__(self, closure: LoopClosure) -> None:
        self.closure = closure
        self.tree = closure.tree

    def equations(
        self,
        y: FloatArray,
        v: FloatArray,
        *,
        time: float = 0.0,
        tau: FloatArray | None = None,
        body_force: FloatArray | None = None,
    ) -> ProjectedEquations:
        """Return H_G, C_G and u.

        Parameters
        ----------
        y, v : (n,) and (m,) float arrays
            Independent positions and velocities.
        time : float
            For forces that depend on it [s].
        tau : (n_velocities,) float array, optional
            Forces of the tree's joints besides those of the model [N m, N].
        body_force : (n_bodies, 6) array, optional
            Additional wrenches about the centers of mass in body axes [N m, N].

        Raises
        ------
        ModelError
            If gamma(y) leaves a loop open.
        """
        tree, motion = self.tree, self.closure(y, v)
        problem = TreeProblem(tree, self.closure.closed_state(motion, time), body_force)
        H = symmetric(tree.pattern, joint_space_inertia(tree, problem.motion))
        C = joint_space_bias_force(tree, problem.motion, problem.force)
        inertia, bias = projected_system(H, C, motion.G, motion.g)
        force = np.zeros(len(bias)) if tau is None else motion.G.T @ self._checked(tau)
        return ProjectedEquations(inertia, bias, force, motion, problem)

    def _checked(self, tau: FloatArray) -> FloatArray:
        if np.shape(tau) != (self.tree.n_velocities,):
            raise ShapeError(f"tau is {np.shape(tau)}, the tree needs ({self.tree.n_velocities},)")
        return np.asarray(tau, dtype=float)

    def acceleration(self, y: FloatArray, v: FloatArray, **at: Any) -> FloatArray:
        """Return dv/dt (m,); arguments as in `equations`."""
        return self.equations(y, v, **at).acceleration()

    def body_accelerations(
        self, equations: ProjectedEquations, acceleration: FloatArray
    ) -> FloatArray:
        """Return accelerations of the bodies (n_bodies, 6) that belong to a given dv/dt (m,)."""
        qdd = equations.motion.G @ acceleration + equations.motion.g
        of_links = recursion(self.tree, equations.problem.motion, qdd)[1]
        return body_accelerations(self.tree, equations.problem.motion, of_links)

    def rate(self, time: float, x: FloatArray, n_velocities: int | None = None) -> FloatArray:
        """Return dx/dt for x = (y, v), as integrators of ordinary equations want it. (3.9).

        Half of x are velocities, unless their number is given.
        """
        m = len(x) // 2 if n_velocities is None else n_velocities
        y, v = x[: len(x) - m], x[len(x) - m :]
        vd = self.acceleration(y, v, time=time)
        return np.concatenate([self.closure.position_rate(y, v), vd])
