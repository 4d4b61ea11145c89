"""Dynamics in independent variables, H_G dv/dt + C_G = u. Featherstone (2008), (3.20), (3.21)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError
from sparsebody.tree.crba import joint_space_inertia
from sparsebody.tree.explicit.closure_functions import ExplicitMotion, LoopClosure
from sparsebody.tree.explicit.constraint_forms import projected_system
from sparsebody.tree.ltl import symmetric
from sparsebody.tree.motion import body_accelerations
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.rnea import joint_space_bias_force, recursion


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
