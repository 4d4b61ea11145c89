"""Dynamics as first-order equations dx/dt = f(t, x), x = (q, qd). Featherstone (2008), (3.9)."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError
from sparsebody.model.system import State
from sparsebody.tree.coordinates import joint_coordinates, position_rates, tree_state
from sparsebody.tree.method import TreeDynamics


class StateSpace:
    """A method in joint coordinates as a function that integrators call.

    Positions of balls and free joints are quaternions, which are more than their velocities.

    Parameters
    ----------
    dynamics : TreeDynamics
        By any method; with loops, give it a Baumgarte constant.
    """

    def __init__(self, dynamics: TreeDynamics) -> None:
        self.dynamics = dynamics
        self.tree = dynamics.tree

    def pack(self, state: State) -> FloatArray:
        """Return x (n_positions + n_velocities,) of a state."""
        return np.concatenate(joint_coordinates(self.tree, state))

    def unpack(self, x: FloatArray, time: float = 0.0) -> State:
        """Return the state of x."""
        return tree_state(self.tree, *self._parts(x), time=time)

    def __call__(self, time: float, x: FloatArray) -> FloatArray:
        """Return dx/dt = (Q(q) qd, qdd)."""
        q, qd = self._parts(x)
        problem = self.dynamics.problem(tree_state(self.tree, q, qd, time=time))
        return np.concatenate([position_rates(self.tree, q, qd), self.dynamics.solve(problem).qdd])

    def _parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = self.tree.n_positions
        if np.shape(x) != (n + self.tree.n_velocities,):
            raise ShapeError(
                f"x has shape {np.shape(x)}; the tree has {n} positions and "
                f"{self.tree.n_velocities} velocities"
            )
        return x[:n], x[n:]
