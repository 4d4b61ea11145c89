"""Forward and inverse dynamics by the name of a method: the tables of both schools.

The sparse school (`dynamics`) solves for all bodies at once, the other (`tree`) in the coordinates
of a spanning tree. Neither knows of the other; both return what `equations` says.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from sparsebody import errors, tolerances
from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.dynamics import ForwardDynamics, InverseDynamics, LeastEnergy
from sparsebody.equations import Accelerations, consistent_state
from sparsebody.equations.inverse import ActuatorForces, Freedom, InverseMethod
from sparsebody.model.system import State, System
from sparsebody.tree import TREE_INVERSE_METHODS, TREE_METHODS, TreeDynamics, tree_dynamics

SPARSE = "sparse"
METHODS: dict[str, type[ForwardDynamics | TreeDynamics]] = {SPARSE: ForwardDynamics, **TREE_METHODS}
INVERSE_METHODS: dict[str, type[InverseMethod]] = {SPARSE: InverseDynamics, **TREE_INVERSE_METHODS}


def forward_dynamics(
    system: System,
    state: State | None = None,
    *,
    method: str = SPARSE,
    body_force: FloatArray | None = None,
    tree: str = "auto",
    reactions: str | LeastEnergy = "minimum-norm",
    baumgarte: float | None = None,
    **options: Any,
) -> Accelerations:
    """Return the accelerations and constraint forces at one state.

    Parameters
    ----------
    system, state, body_force, reactions, baumgarte
        As in ForwardDynamics, whatever the method.
    method : str
        "sparse" for ForwardDynamics, or another name from METHODS, in joint coordinates.
    tree : str
        Which spanning tree the other methods use, see spanning_tree; "auto": what suits them.
    **options
        Others of the sparse method; see ForwardDynamics.

    Raises
    ------
    UnknownNameError
        If there is no such method or tree.
    ModelError
        If the method takes trees only, and the mechanism has loops.
    """
    errors.check_name(method, METHODS, "method")
    state = consistent_state(system) if state is None else state
    if method != SPARSE:
        if options:
            raise errors.ModelError(
                f"method {method!r} has no option {', '.join(options)}; give method 'sparse'"
            )
        if isinstance(reactions, LeastEnergy):
            raise errors.ModelError(f"method {method!r} takes no LeastEnergy; give method 'sparse'")
        of_tree = tree_dynamics(method, system, tree, reactions=reactions, baumgarte=baumgarte)
        return of_tree(state, body_force=body_force)
    dynamics = ForwardDynamics(system, state, reactions=reactions, baumgarte=baumgarte, **options)
    return dynamics(state, body_force=body_force)


def inverse_dynamics(
    system: System,
    state: State | None = None,
    acceleration: FloatArray | None = None,
    *,
    actuated: Iterable[Freedom] | None = None,
    weights: ArrayLike | None = None,
    method: str = SPARSE,
    body_force: FloatArray | None = None,
    tree: str = "minimum-nonzeros",
    reactions: str = "minimum-norm",
    tolerance: float = tolerances.MOTION_TOLERANCE,
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
    errors.check_name(method, INVERSE_METHODS, "method")
    state = consistent_state(system) if state is None else state
    own: dict[str, Any] = {"state": state} if method == SPARSE else {"tree": tree}
    dynamics = INVERSE_METHODS[method](
        system, actuated=actuated, weights=weights, reactions=reactions, tolerance=tolerance, **own
    )
    acceleration = np.zeros((system.n_bodies, 6)) if acceleration is None else acceleration
    return dynamics(state, acceleration, body_force=body_force)
