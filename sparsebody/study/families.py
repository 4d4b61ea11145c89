"""Families of gallery mechanisms at any number of bodies, and the state that they are taken at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.mobility import count_loops
from sparsebody.errors import ModelError
from sparsebody.model.gallery import GALLERY, build
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.planar_motion import planar_motion
from sparsebody.model.system import State, System

MOTIONS = ("rest", "random")
_CONTRADICTION = 1e-6  # relative residual of rows left out
_FIRST = 3  # the least value of a size parameter that every mechanism of the gallery takes


@dataclass(frozen=True, eq=False)
class Problem:
    """One mechanism at one state: what every method is given."""

    mechanism: str  # its name in the gallery
    system: System
    state: State


@dataclass(frozen=True)
class Family:
    """A gallery mechanism that grows.

    Parameters
    ----------
    name : str
        What the study calls it.
    mechanism : str
        A key of GALLERY.
    parameters : dict
        Those of its function that stay; lists stand for tuples.
    grows : tuple of str
        Its size parameters that grow together; default: all that `parameters` leaves open.
    motion : {"rest", "random"}
        As the gallery gives it, or with the consistent velocities nearest to random ones.
    """

    name: str
    mechanism: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grows: tuple[str, ...] = ()
    motion: str = "rest"

    @property
    def size_parameters(self) -> tuple[str, ...]:
        """The parameters that the number of bodies sets."""
        known = GALLERY[self.mechanism].size_parameters
        return self.grows or tuple(name for name in known if name not in self.parameters)

    def of_parameter(self, value: int, seed: int = 0) -> Mechanism:
        """Return the mechanism with `value` for the size parameters."""
        given = dict.fromkeys(self.size_parameters, value)
        if "seed" in GALLERY[self.mechanism].defaults and "seed" not in self.parameters:
            given["seed"] = seed
        return build(self.mechanism, **{**self.parameters, **given})

    @cached_property
    def counts(self) -> np.poly1d:
        """The number of bodies, a polynomial of the size parameter: it is told by a few of them."""
        value = np.arange(_FIRST, _FIRST + len(self.size_parameters) + 1)
        bodies = [self.of_parameter(int(k)).n_bodies for k in value]
        return np.poly1d(np.polyfit(value, bodies, len(value) - 1))

    @cached_property
    def has_loops(self) -> bool:
        """Whether its mechanisms have loops."""
        return count_loops(self.of_parameter(_FIRST + 1).compile()) > 0

    @property
    def moves(self) -> bool:
        """Whether its mechanisms have velocities."""
        return self.motion != "rest"

    def parameter(self, n_bodies: int) -> int:
        """Return the value of the size parameter that comes nearest to a number of bodies."""
        low, high = 1, max(2, n_bodies + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.counts(middle) <= n_bodies else (low, middle)
        return low if n_bodies - self.counts(low) <= self.counts(high) - n_bodies else high

    def build(self, n_bodies: int, seed: int = 0) -> Mechanism:
        """Return the mechanism with about `n_bodies` bodies."""
        return self.of_parameter(self.parameter(n_bodies), seed)

    def problem(self, system: System, seed: int = 0) -> Problem:
        """Return a compiled mechanism at its state."""
        if not self.moves:
            return Problem(self.mechanism, system, system.initial_state)
        wish = np.random.default_rng((seed, 3)).normal(size=(system.n_bodies, 6))
        return Problem(self.mechanism, system, moving(system, wish))


def moving(system: System, wish: FloatArray) -> State:
    """Return the initial pose with the consistent velocities nearest to `wish` (n_bodies, 6).

    Raises
    ------
    ModelError
        If no accelerations go with them: in a singular pose rows may contradict each other.
    """
    state = system.initial_state.with_(velocity=_in_plane(system, wish))
    dynamics = ForwardDynamics(system, state, reactions="basic")
    for _ in range(2):  # the second takes away what rounding left
        correction = dynamics.evaluate(state).velocity_correction()
        state = state.with_(velocity=state.velocity + correction)
    violation = dynamics.evaluate(state).accelerations().dropped_residual
    if violation > _CONTRADICTION:
        raise ModelError(
            f"{system.name}: with these velocities its joints ask for accelerations that "
            f"contradict each other (by {violation:.1e}): the pose is singular; take the motion "
            "'rest'"
        )
    return state


def _in_plane(system: System, wish: FloatArray) -> FloatArray:
    """Return the part of velocities (n_bodies, 6) that a planar mechanism can have."""
    plane = planar_motion(system)
    if plane is None:
        return wish
    normal = plane.basis[:, 0]
    turning, rising = (
        np.einsum("ni,ni->n", normal, part)[:, None] * normal for part in (wish[:, :3], wish[:, 3:])
    )
    return np.concatenate([turning, wish[:, 3:] - rising], axis=1)


def check_family(family: Family) -> None:
    """Raise ModelError unless the family can be built and grows."""
    known = GALLERY[family.mechanism].size_parameters
    for name in family.grows:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ModelError(
                f"family {family.name!r}: {family.mechanism} does not grow by {name!r}; "
                f"its size parameters: {listed}"
            )
    if not family.size_parameters:
        raise ModelError(
            f"family {family.name!r}: no size parameter of {family.mechanism} is left open; "
            f"remove one from its parameters, or take a mechanism that grows"
        )
    try:
        family.counts  # noqa: B018 (it builds some)
        if family.moves:
            family.problem(family.of_parameter(_FIRST + 1).compile())
    except ModelError as error:
        raise ModelError(f"family {family.name!r}: {error}") from error
