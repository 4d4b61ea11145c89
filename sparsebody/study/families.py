"""Families of gallery mechanisms at any number of bodies, and the state that they are taken at."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics import ForwardDynamics, count_loops
from sparsebody.errors import ModelError
from sparsebody.model import GALLERY, Mechanism, State, System, build
from sparsebody.model.subgroups.classes import plane_normals

_CONTRADICTION = 1e-6  # relative residual of redundant rows
_FIRST = 3  # the least value of a size parameter that every mechanism of the gallery takes


@dataclass(frozen=True, eq=False)
class Problem:
    """One mechanism at one state."""

    mechanism: str  # its name in the gallery, or the function that makes it
    system: System
    state: State


def function_named(name: str) -> Callable[..., Any]:
    """Import what "module:function" stands for."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


@dataclass(frozen=True)
class Family:
    """A mechanism that grows.

    Its mechanism is a key of GALLERY; or "module:function", of a size and parameters, which returns
    a Mechanism. Its motion is "rest", as the gallery gives it; "random", with the consistent
    velocities nearest to random ones; or "module:function", of a System and a seed: its State.
    """

    name: str
    mechanism: str
    parameters: Mapping[str, Any] = field(default_factory=dict)  # constant ones
    grows: tuple[str, ...] = ()  # size parameters; default: all that are not in `parameters`
    motion: str = "rest"
    shuffled: bool = False  # bodies and joints are declared in a random order

    @property
    def known_size_parameters(self) -> tuple[str, ...]:
        """All parameters that set the number of bodies."""
        entry = GALLERY.get(self.mechanism)
        return ("size",) if entry is None else entry.size_parameters

    @property
    def size_parameters(self) -> tuple[str, ...]:
        """The parameters that the number of bodies sets."""
        known = self.known_size_parameters
        return self.grows or tuple(name for name in known if name not in self.parameters)

    def of_parameter(self, value: int, seed: int = 0) -> Mechanism:
        """Return the mechanism with `value` for the size parameters."""
        parameters = {**self.parameters, **dict.fromkeys(self.size_parameters, value)}
        if ":" in self.mechanism:
            mechanism = function_named(self.mechanism)(**parameters)
        else:
            entry = GALLERY.get(self.mechanism)
            random = {"seed": seed} if entry and "seed" in entry.defaults else {}
            mechanism = build(self.mechanism, **random | parameters)
        return shuffled(mechanism, seed) if self.shuffled else mechanism

    @cached_property
    def counts(self) -> np.poly1d:
        """The number of bodies, a polynomial of the size parameter, through some small sizes."""
        value = np.arange(_FIRST, _FIRST + len(self.size_parameters) + 1)
        bodies = [replace(self, shuffled=False).of_parameter(int(k)).n_bodies for k in value]
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
        state = system.initial_state
        if self.motion == "random":
            velocity = np.random.default_rng((seed, 3)).normal(size=(system.n_bodies, 6))
            state = moving(system, velocity)
        elif self.moves:
            state = function_named(self.motion)(system, seed)
        return Problem(self.mechanism, system, state)


def moving(system: System, velocity: FloatArray) -> State:
    """Return the initial pose with the consistent velocities nearest to `velocity` (n_bodies, 6).

    ModelError if no accelerations go with them: in a singular pose rows may contradict each other.
    """
    state = system.initial_state.with_(velocity=_in_plane(system, velocity))
    dynamics = ForwardDynamics(system, state, reactions="basic")
    for _ in range(2):  # the second removes the rounding error of the first
        correction = dynamics.evaluate(state).velocity_correction()
        state = state.with_(velocity=state.velocity + correction)
    residual = dynamics.evaluate(state).accelerations().dropped_residual
    if residual > _CONTRADICTION:
        raise ModelError(
            f"{system.name}: with these velocities its constraints on accelerations contradict "
            f"each other (by {residual:.1e}): the pose is singular; take the motion 'rest'"
        )
    return state


def _in_plane(system: System, velocity: FloatArray) -> FloatArray:
    """Return the part of velocities (n_bodies, 6) that a planar mechanism can have."""
    normals = plane_normals(system)
    if normals is None:
        return velocity
    normal, (w, v) = normals[:-1], np.split(velocity, 2, axis=1)
    w, v_normal = (np.einsum("ni,ni->n", normal, part)[:, None] * normal for part in (w, v))
    return np.concatenate([w, v - v_normal], axis=1)


def shuffled(mechanism: Mechanism, seed: int) -> Mechanism:
    """Return a mechanism with its bodies and joints declared in a random order."""
    rng = np.random.default_rng((seed, 1))
    bodies, joints = mechanism.columns()
    order, joint_order = rng.permutation(len(bodies)), rng.permutation(len(joints))
    index = np.append(np.argsort(order), -1)  # the world stays -1
    joints = joints.take(joint_order)
    p, s = index[joints.predecessor], index[joints.successor]
    return Mechanism.of_columns(
        mechanism,
        ([mechanism.body_names[i] for i in order], bodies.take(order)),
        (
            [mechanism.joint_names[j] for j in joint_order],
            replace(joints, predecessor=p, successor=s),
        ),
    )


def check_family(family: Family) -> None:
    """Raise ModelError unless the family can be built and grows."""
    known = family.known_size_parameters
    for name in family.grows:
        if name not in known:
            raise ModelError(
                f"family {family.name!r}: {family.mechanism} does not grow by {name!r}; "
                f"its size parameters: {', '.join(known) or 'none'}"
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
