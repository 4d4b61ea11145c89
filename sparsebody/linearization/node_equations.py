"""Transposed equations of implicit steps whose rigid joints close in positions and velocities.

At each of its nodes, such a step meets F(q, v, a, lambda) = 0, delta(q) = 0 and A v = k. Gradients
turn into weights (w, u, s) of these, by the transposed Jacobian: transposed steps of Newton's
method, that is its factors, make it nearly 1.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.linearization.state_gradients import Adjoint, momenta, solve_near_identity
from sparsebody.model.system import State

Weights = tuple[FloatArray, FloatArray, FloatArray]
"""w (s, n_bodies, 6), u and s (s, n_rows) of F, delta and A v at s nodes."""


class NodeGradients(NamedTuple):
    """Gradients (s, n_bodies, 6) and, by multipliers, (s, n_rows) at s nodes."""

    twist: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    multiplier: FloatArray


Correct = Callable[[NodeGradients], Weights]
"""Weights, nearly, of gradients."""


class NodeEquations:
    """The equations at nodes, by the states, accelerations and multipliers there."""

    def __init__(
        self,
        adjoint: Adjoint,
        states: Sequence[State],
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> None:
        self._adjoint, self.states, n = adjoint, states, adjoint.system.n_rows
        self._no_rows, self._still = np.zeros(n), np.zeros((adjoint.system.n_bodies, 6))
        self._residuals = [
            adjoint.residuals(state, np.ascontiguousarray(a), -row[:n])
            for state, a, row in zip(states, acceleration, multiplier, strict=True)
        ]
        self._rows = [adjoint.rows_at(state, state.velocity) for state in states]

    def weights(
        self,
        by_nodes: tuple[FloatArray, FloatArray, FloatArray],
        rate: float,
        corrected: Correct,
    ) -> Weights:
        """Return the weights of gradients (s, n_bodies, 6) by twists, velocities, accelerations.

        Velocities are about `rate` times twists.
        """
        by_twist, mass = by_nodes[0], float(self._adjoint.system.mass.mean())
        shape, s = by_twist.shape, len(by_twist)
        sizes = np.cumsum([by_twist.size, s * len(self._no_rows)])
        units = rate**2 * mass, 1.0, rate

        def split(z: FloatArray) -> Weights:
            parts = zip(np.split(z, sizes), units, (shape, (s, -1), (s, -1)), strict=True)
            w, u, v = (np.ascontiguousarray(part / unit).reshape(to) for part, unit, to in parts)
            return w, u, v

        def joined(weights: Weights) -> FloatArray:
            return np.concatenate(
                [k * part.ravel() for k, part in zip(units, weights, strict=True)]
            )

        def product(z: FloatArray) -> FloatArray:
            w, u, v = split(z)
            by_multiplier = np.zeros_like(u)
            for rows, weight, row in zip(self._rows, w, by_multiplier, strict=True):
                rows.native.row_products(weight, row)
            return joined(corrected(NodeGradients(*self.gradients(w, u, v), by_multiplier)))

        def effect(z: FloatArray) -> FloatArray:
            """Weights of rows by their forces, as those of dependent ones are not unique."""
            forces = np.zeros((2, *shape))
            for total, weights in zip(forces, split(z)[1:], strict=True):
                for rows, weight, force in zip(self._rows, weights, total, strict=True):
                    rows.native.add_row_forces(weight, force)
            forces[1] *= rate
            return np.append(z[: by_twist.size], forces)

        none = np.zeros((s, len(self._no_rows)))
        right = joined(corrected(NodeGradients(*by_nodes, none)))
        return split(solve_near_identity(product, right, effect))

    def gradients(
        self, w: FloatArray, u: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return those of w . F + u . delta + v . A v by twists, velocities and accelerations."""
        by_twist, by_velocity = np.empty_like(w), np.empty_like(w)
        for k, (of, rows) in enumerate(zip(self._residuals, self._rows, strict=True)):
            by = of.vjp(w[k], self._no_rows)
            by_velocity[k] = by["velocity"]
            rows.native.add_row_forces(v[k], by_velocity[k])
            by_twist[k] = by["position"] + rows.vjp(self._still, v[k])["position"]
            rows.native.add_row_forces(u[k], by_twist[k])
        return by_twist, by_velocity, np.array([momenta(self._adjoint.system, k) for k in w])

    def add_parameters(self, w: FloatArray, u: FloatArray, v: FloatArray) -> None:
        """Add gradients of -(w . F + u . delta + v . A v) by parameters."""
        adjoint = self._adjoint
        for state, of, weight in zip(self.states, self._residuals, w, strict=True):
            by = of.vjp(weight, self._no_rows)
            adjoint.add_parameters(state.time, {name: -by[name] for name in adjoint.by_parameters})
        for rows, of_pose, of_velocity in zip(self._rows, u, v, strict=True):
            adjoint.errors_vjp(rows, -of_pose)
            adjoint.rows_vjp(rows, -of_velocity)
