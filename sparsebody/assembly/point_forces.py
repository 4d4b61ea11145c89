"""Springs, dampers and efforts along the lines between points of two bodies."""

from __future__ import annotations

from sparsebody._core import model
from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.system import State, System


def add_point_forces(system: System, state: State, effort: FloatArray, force: FloatArray) -> None:
    """Add the point forces at a state to `force` (n_bodies, 6) in body coordinates.

    `effort` (n_point_forces,) pushes the points apart [N].

    Raises
    ------
    ModelError
        If two points coincide.
    """
    springs = system.point_forces
    points = springs.first, springs.second, springs.first_point, springs.second_point
    bad = model.add_point_forces(
        (*points, springs.stiffness, springs.rest_length, springs.damping, effort),
        (state.position, state.orientation, state.velocity),
        force,
    )
    if bad >= 0:
        name = springs.names[bad]
        raise ModelError(f"point force {name!r}: its points coincide, so it has no direction")
