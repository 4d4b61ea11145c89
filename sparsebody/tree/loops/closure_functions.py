"""Loop-closure functions q = gamma(y): explicit constraints. Featherstone (2008), sec. 8.11."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ModelError, ShapeError
from sparsebody.model.system import State
from sparsebody.tolerances import FUNCTION_CLOSURE
from sparsebody.tree.joint_coordinates import checked_coordinates, tree_state, velocities_of_rates
from sparsebody.tree.loops.jets import differentiate
from sparsebody.tree.spanning_tree import SpanningTree

Numbers: TypeAlias = FloatArray | Sequence[Any] | Mapping[str, Any]  # by joints, or in a row


@dataclass(frozen=True, eq=False)
class ExplicitMotion:
    """The motions that the loops allow: qd = G v, qdd = G dv/dt + g."""

    q: FloatArray  # (n_positions,)
    G: FloatArray  # (n_velocities, m)
    g: FloatArray  # (n_velocities,)
    qd: FloatArray  # (n_velocities,) G v


class LoopClosure:
    """Positions of the tree as a function of independent variables, differentiated for the user.

    G and g come from `jacobian` and `bias`, or from gamma itself by forward differentiation, exact
    to rounding: write it with NumPy's functions (np.sin, np.arctan2, ...), not those of math.

    Parameters
    ----------
    tree : SpanningTree
        What q belongs to.
    gamma : callable
        From y (n,) to q (tree.n_positions,), or to a mapping from the names of all tree joints to
        their positions, the loops closed.
    jacobian : callable, optional
        From y to G (tree.n_velocities, m), or to rows of it by joints. (8.58).
    bias : callable, optional
        From y and v to g = (dG/dt) v (tree.n_velocities,), or by joints. (8.60).
    rates : callable, optional
        From y and v (m,) to dy/dt (n,), linear in v: for velocities that are not derivatives of
        y, such as the angular velocity of a platform; default: v = dy/dt. (3.6).

    Raises
    ------
    ModelError
        If the mechanism has drives, or one of jacobian and bias is given without the other.
    """

    def __init__(
        self,
        tree: SpanningTree,
        gamma: Callable[[Any], Numbers],
        *,
        jacobian: Callable[[FloatArray], Numbers] | None = None,
        bias: Callable[[FloatArray, FloatArray], Numbers] | None = None,
        rates: Callable[[Any, FloatArray], Numbers] | None = None,
    ) -> None:
        if (jacobian is None) != (bias is None):
            raise ModelError(
                f"{'jacobian' if jacobian else 'bias'} is given alone; give both, or neither"
            )
        prescribed = tree.system.coordinates.prescribed
        if len(prescribed):
            joint = int(tree.system.coordinates.joint[prescribed[0]])
            raise ModelError(
                f"joint {tree.system.joint_names[joint]!r} has a drive; leave it out where "
                "independent variables tell the motion"
            )
        self.tree = tree
        self.gamma, self.jacobian, self.bias, self.rates = gamma, jacobian, bias, rates

    def position(self, y: FloatArray) -> FloatArray:
        """Return q = gamma(y)."""
        q = self._in_order(self.gamma(np.asarray(y, dtype=float))).astype(float)
        return checked_coordinates(self.tree, q, "gamma(y)", self.tree.n_positions)

    def _in_order(self, values: Numbers, columns: int = 1) -> Any:
        """What belongs to the joints, in the order of the tree."""
        if not isinstance(values, Mapping):
            return np.asarray(values)
        tree = self.tree
        names = [tree.system.joint_names[int(j)] for j in tree.joint if j >= 0]
        if sorted(names) != sorted(values) or len(names) < tree.n_bodies:
            raise ModelError(
                f"the loop-closure function gives {', '.join(sorted(values))}; the tree has the "
                f"joints {', '.join(names)}"
            )
        parts = [np.asarray(values[name]).reshape(-1, columns) for name in names]
        whole = np.concatenate(parts)
        return whole if columns > 1 else whole[:, 0]

    def position_rate(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """Return dy/dt."""
        v = np.asarray(v, dtype=float)
        return v if self.rates is None else np.asarray(self.rates(y, v), dtype=float)

    def __call__(self, y: FloatArray, v: FloatArray) -> ExplicitMotion:
        """Return q, G and g at independent positions y (n,) and velocities v (m,)."""
        y, v = np.asarray(y, dtype=float), np.asarray(v, dtype=float)
        if self.jacobian is None or self.bias is None:
            return self._differentiated(y, v)
        nv = self.tree.n_velocities
        G, g = self._in_order(self.jacobian(y), len(v)), self._in_order(self.bias(y, v))
        if G.shape != (nv, len(v)) or g.shape != (nv,):
            raise ShapeError(
                f"jacobian and bias give {G.shape} and {g.shape}; the tree has {nv} velocities, "
                f"and there are {len(v)} independent ones"
            )
        return ExplicitMotion(self.position(y), G, g, G @ v)

    def _differentiated(self, y: FloatArray, v: FloatArray) -> ExplicitMotion:
        tree, m, rates = self.tree, len(v), self.rates
        rate, bend = self.position_rate(y, v), np.zeros(len(y))
        own = np.eye(m)  # dy/dt for unit velocities
        try:
            if rates is not None:
                own = np.stack([self.position_rate(y, unit) for unit in np.eye(m)], axis=1)
                bend = differentiate(lambda z: rates(z, v), y, rate)[1] @ rate
            q, slope, second = differentiate(lambda z: self._in_order(self.gamma(z)), y, rate, bend)
        except TypeError as error:
            raise ModelError(
                f"the loop-closure function cannot be differentiated ({error}); write it with "
                "NumPy's functions instead of those of math, or give jacobian and bias"
            ) from error
        q = checked_coordinates(tree, q, "gamma(y)", tree.n_positions)
        qd, g = velocities_of_rates(tree, q, slope @ rate, second)
        columns = slope @ own
        still = np.zeros(tree.n_positions)
        G = [velocities_of_rates(tree, q, columns[:, k].copy(), still)[0] for k in range(m)]
        return ExplicitMotion(q, np.stack(G, axis=1), g, qd)

    def state(self, y: FloatArray, v: FloatArray, *, time: float = 0.0) -> State:
        """Return poses and velocities of the bodies; raise ModelError where a loop stays open."""
        return self.closed_state(self(y, v), time)

    def closed_state(self, motion: ExplicitMotion, time: float = 0.0) -> State:
        """Return the same for what a call has returned."""
        tree, system = self.tree, self.tree.system
        state = tree_state(tree, motion.q, motion.qd, time=time)
        error = SystemMotion(system, state).position_error
        size = 1.0 + np.abs(state.position).max(initial=0.0)
        if np.abs(error).max(initial=0.0) > FUNCTION_CLOSURE * size:
            k = int(np.argmax(np.abs(error)))
            raise ModelError(
                f"gamma(y) leaves joint {system.joint_names[int(system.row_joint[k])]!r} open by "
                f"{abs(error[k]):.3g} rad or m; its angles and lengths are those of the tree's q"
            )
        return state
