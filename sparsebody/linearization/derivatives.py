"""Derivatives of accelerations and multipliers, by the implicit function theorem.

With the residuals F and r of `linearize`, and p any of what they depend on,

    [M A'; A 0] [da; -dlambda] = -[dF/dp; dr/dp] dp,

so each direction is one more right-hand side for factors of one matrix, and each gradient as well,
for the matrix is symmetric. Griewank and Walther (2008), Evaluating Derivatives, sec. 15.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import block_array, csc_array

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ShapeError, check_name
from sparsebody.linearization.linearize import Linearization
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.step_equations import Solve, scaled_solver


class Tangent(NamedTuple):
    """Changes of accelerations and multipliers along one direction, or k of them."""

    acceleration: FloatArray  # (n_bodies, 6) or (n_bodies, 6, k)
    multiplier: FloatArray  # (n_rows,) or (n_rows, k)


@dataclass(frozen=True, eq=False, repr=False)
class Derivatives(BriefRepr):
    """Derivatives of accelerations and multipliers at a state; see `derivatives`.

    Variables and their shapes: "position" (n_bodies, 6), twists of the bodies in body coordinates
    [rad, m]; "velocity" (n_bodies, 6) [rad/s, m/s]; "force" (n_bodies, 6), wrenches about the
    centers of mass in body axes [N m, N]; "mass" (n_bodies,); "inertia" (n_bodies, 6): Ixx, Iyy,
    Izz, Ixy, Ixz, Iyz about the center of mass [kg m^2]; "gravity" (3,) [m/s^2]; "effort",
    "stiffness", "rest", "damping" (n,) of the springs on joint coordinates;
    "prescribed_acceleration" (n_prescribed,).
    """

    acceleration: FloatArray  # (n_bodies, 6) at the state
    multiplier: FloatArray  # (n_rows,), zero in rows left out as dependent
    equations: Linearization = field(repr=False)

    @cached_property
    def residual(self) -> Mapping[str, csc_array]:
        """Sparse rates (6 n_bodies + n_rows, size) of F and r by each variable."""
        return self.equations.by_motion() | self.equations.by_parameters()

    def jvp(self, **directions: FloatArray) -> Tangent:
        """Return the changes along directions of the variables given by name.

        All of the variables' shapes, or all with one more axis, of k directions. Raises
        UnknownNameError for a name that is none, ShapeError for a shape that does not fit.
        """
        total, n = 0.0, 6 * self.equations.system.n_bodies
        for name, direction in directions.items():
            check_name(name, tuple(self.residual), "variable")
            rate, shape = self.residual[name], self.shape(name)
            direction = np.asarray(direction, dtype=float)
            if direction.shape[: len(shape)] != shape or direction.ndim > len(shape) + 1:
                raise ShapeError(
                    f"{name} has shape {direction.shape}, not {shape} or (*{shape}, k)"
                )
            total = total - rate @ direction.reshape(rate.shape[1], *direction.shape[len(shape) :])
        right = np.asarray(total)
        if right.ndim == 0:
            raise ShapeError(f"no direction: give one or more of {', '.join(self.residual)}")
        x = self._solve(right)
        return Tangent(x[:n].reshape(-1, 6, *right.shape[1:]), -x[n:])

    def vjp(
        self, acceleration: FloatArray | None = None, multiplier: FloatArray | None = None
    ) -> dict[str, FloatArray]:
        """Return the gradients of acceleration . da + multiplier . dlambda by all variables.

        `acceleration` (n_bodies, 6[, k]), `multiplier` (n_rows[, k]); zero where none is given.
        """
        n, m = self.equations.system.n_bodies, self.equations.system.n_rows
        parts = [(acceleration, (n, 6), 1.0), (multiplier, (m,), -1.0)]
        last = [np.shape(w)[len(shape) :] for w, shape, _ in parts if w is not None]
        tail = last[0] if last else ()
        right = []
        for weight, shape, sign in parts:
            w = np.zeros((*shape, *tail)) if weight is None else np.asarray(weight, dtype=float)
            if w.shape != (*shape, *tail) or len(tail) > 1:
                raise ShapeError(f"weights have shape {w.shape}, not {shape} or (*{shape}, k)")
            right.append(sign * w.reshape(int(np.prod(shape)), *tail))
        y = self._solve(np.concatenate(right))
        return {
            name: -(rate.T @ y).reshape(*self.shape(name), *tail)
            for name, rate in self.residual.items()
        }

    def matrix(self, variable: str) -> FloatArray:
        """Return the dense derivative (n_bodies, 6, *shape) of the accelerations by a variable."""
        check_name(variable, tuple(self.residual), "variable")
        x = self._solve(-self.residual[variable].toarray())
        n = self.equations.system.n_bodies
        return x[: 6 * n].reshape(n, 6, *self.shape(variable))

    def shape(self, variable: str) -> tuple[int, ...]:
        """Return the shape of a variable."""
        n, size = self.equations.system.n_bodies, self.residual[variable].shape[1]
        per_body = variable in ("position", "velocity", "force", "inertia")
        return (n, 6) if per_body else (size,)

    @cached_property
    def _factors(self) -> Solve:
        rows = self.equations.rows[self.equations.independent_rows]
        matrix = block_array([[self.equations.mass, rows.T], [rows, None]])
        scale = np.ones(matrix.shape[0])
        inertia = self.equations.mass.diagonal()
        scale[: len(inertia)] = 1.0 / np.sqrt(inertia)
        weighted = rows.multiply(scale[: len(inertia)])
        scale[len(inertia) :] = 1.0 / np.sqrt(weighted.multiply(weighted).sum(axis=1))
        return scaled_solver(matrix, scale, "the independent rows are dependent at this state")

    def _solve(self, right: FloatArray) -> FloatArray:
        """Return (6n + n_rows, ...) of [M A'; A 0] x = right, zero in dependent rows."""
        n = 6 * self.equations.system.n_bodies
        index = np.concatenate([np.arange(n), n + self.equations.independent_rows])
        x = np.zeros_like(right)
        x[index] = self._factors(right[index]).real
        return x


def derivatives(
    system: System, state: State | None = None, *, body_force: FloatArray | None = None
) -> Derivatives:
    """Return the derivatives of `ForwardDynamics(system)(state)` by all that it depends on.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where; default: the consistent initial state.
    body_force : (n_bodies, 6) float array, optional
        Additional wrenches about the centers of mass in body axes, moment first [N m, N].

    Returns
    -------
    Derivatives
        Products with directions (`jvp`) and with weights (`vjp`), sparse rates of the residuals,
        dense matrices. Where rows are dependent, those of `ForwardDynamics` are left out: along
        directions that the joints allow the accelerations do not depend on which.

    Raises
    ------
    SingularSystemError
        If the independent rows are dependent at the state.
    ModelError
        If the state is none of the system.
    """
    at = consistent_state(system) if state is None else state
    equations = Linearization.at(system, at, body_force)
    return Derivatives(equations.acceleration, equations.multiplier, equations)
