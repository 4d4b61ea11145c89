"""Inverse dynamics: the forces that cause a wanted motion. Featherstone (2008), sec. 8.12.

A method is a class derived from InverseMethod, and one line in INVERSE_METHODS.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.dynamics.initial import consistent_state
from sparsebody.dynamics.inverse.actuators import Freedom
from sparsebody.dynamics.inverse.base import TOLERANCE, Actuation, ActuatorForces, InverseMethod
from sparsebody.dynamics.inverse.driven import driven_accelerations
from sparsebody.dynamics.inverse.sparse import InverseDynamics
from sparsebody.dynamics.inverse.tree import ProjectedInverse, RecursiveNewtonEuler
from sparsebody.errors import UnknownNameError
from sparsebody.model.system import State, System

INVERSE_METHODS: dict[str, type[InverseMethod]] = {
    "sparse": InverseDynamics,
    "rnea": RecursiveNewtonEuler,
    "loops-projection": ProjectedInverse,
}


def inverse_dynamics(
    system: System,
    state: State | None = None,
    acceleration: FloatArray | None = None,
    *,
    actuated: Iterable[Freedom] | None = None,
    weights: ArrayLike | None = None,
    method: str = "sparse",
    body_force: FloatArray | None = None,
    tree: str = "minimum-nonzeros",
    reactions: str = "minimum-norm",
    tolerance: float = TOLERANCE,
) -> ActuatorForces:
    """Return the forces of actuators that cause a motion, at one state.

    Parameters
    ----------
    system : System
        The mechanism; springs, loads and efforts in it act besides the actuators.
    state : State, optional
        Poses and velocities; default: the consistent initial state.
    acceleration : (n_bodies, 6) array, optional
        Wanted spatial accelerations in body coordinates, as forward dynamics and
        `driven_accelerations` return them; default: the bodies stay at rest.
    actuated, weights, reactions, tolerance, body_force
        As in InverseMethod.
    method : str
        "sparse" for InverseDynamics, or another name from INVERSE_METHODS, in joint coordinates.
    tree : str
        Which spanning tree the other methods use; see spanning_tree.

    Raises
    ------
    MotionError
        If a joint forbids the accelerations, or the actuators cannot cause them.
    UnknownNameError
        If there is no such method or tree.
    ModelError
        If the method takes trees only, and the mechanism has loops.
    """
    state = consistent_state(system) if state is None else state
    if method not in INVERSE_METHODS:
        known = ", ".join(INVERSE_METHODS)
        raise UnknownNameError(f"method is {method!r}; give one of {known}")
    own: dict[str, Any] = {"state": state} if method == "sparse" else {"tree": tree}
    dynamics = INVERSE_METHODS[method](
        system,
        actuated=actuated,
        weights=weights,
        reactions=reactions,
        tolerance=tolerance,
        **own,
    )
    acceleration = np.zeros((system.n_bodies, 6)) if acceleration is None else acceleration
    return dynamics(state, acceleration, body_force=body_force)


__all__ = [
    "INVERSE_METHODS",
    "Actuation",
    "ActuatorForces",
    "InverseDynamics",
    "InverseMethod",
    "driven_accelerations",
    "inverse_dynamics",
]
