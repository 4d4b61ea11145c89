"""Accelerations and simulations as vector functions y = f(x) with products J dx and J' w.

x and y hold named arrays one after the other. A pose is a position and a quaternion q, of which
f takes q / |q|: dq turns a body by w = 2 Im(q^-1 dq) in body axes, so that a gradient g in w is
2 q (0, g) / |q|^2 by q. It is tangent to the sphere of quaternions of one length.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, ShapeError, SimulationOptionError, check_name
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.linearization.adjoint import Pullback, simulate_with_pullback
from sparsebody.linearization.derivatives import (
    ELASTIC_VARIABLES,
    GEOMETRY,
    LINE_VARIABLES,
    POINT_VARIABLES,
    Derivatives,
    derivatives,
    shapes_of,
)
from sparsebody.linearization.spring_stretches import AnySprings
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import Polynomial, TimeFunction
from sparsebody.simulation.options import check_positive, last_step_size, n_whole_steps

Shapes = Mapping[str, tuple[int, ...]]
_SIMULATION_OPTIONS = ("method", "dynamics", "memory")
_STATE = ("position", "orientation", "velocity")
_CONSTANTS = ("stiffness", "rest", "rest_length", "damping")  # of springs of either kind
_NO_VALUES = *ELASTIC_VARIABLES, *GEOMETRY  # parameters of which there are only changes
_ENTRIES = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]  # of xx, yy, zz, xy, xz, yz
_SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])  # from them


def size_of(shapes: Shapes) -> int:
    """Return the number of entries of all arrays."""
    return sum(int(np.prod(shape)) for shape in shapes.values())


def split(vector: Any, shapes: Shapes) -> dict[str, Any]:
    """Return the arrays of a vector (n,), of NumPy or of any package with its slices."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    return {
        name: vector[end - int(np.prod(shape)) : end].reshape(shape)
        for (name, shape), end in zip(shapes.items(), ends.tolist(), strict=True)
    }


def joined(arrays: Iterable[FloatArray]) -> FloatArray:
    """Return the vector of all entries."""
    return np.concatenate([np.ravel(array) for array in arrays])


class VectorFunction(ABC):
    """A function of named arrays with derivatives, on vectors that hold them one after another.

    The arrays are variables of a mechanism; the others are those of a system and a state.
    """

    inputs: Shapes
    outputs: Shapes

    def __init__(self, system: System, state: State, shapes: Shapes, names: Sequence[str]) -> None:
        n = system.n_bodies
        known = {**shapes, "position": (n, 3), "orientation": (n, 4)}
        known = {name: shape for name, shape in known.items() if name not in _NO_VALUES}
        if not names:
            raise ShapeError(f"no variable: give one or more of {', '.join(known)}")
        for name in names:
            check_name(name, tuple(known), "variable")
        self.inputs = {name: shape for name, shape in known.items() if name in names}
        self._system, self._state = system, state

    def _state_and_values(self, x: FloatArray) -> tuple[State, dict[str, FloatArray]]:
        """Return the state, and the values of all other variables."""
        values = split(x, self.inputs)
        parts = {name: values.pop(name) for name in _STATE if name in values}
        if "orientation" in parts:
            norm = np.linalg.norm(parts["orientation"], axis=1)
            bad = ~((norm > 0.0) & np.isfinite(norm))
            if bad.any():
                i = int(np.argmax(bad))
                raise ModelError(
                    f"orientation of body {self._system.body_names[i]!r} is "
                    f"{parts['orientation'][i]}; give a quaternion of finite length above zero"
                )
            parts["orientation"] = parts["orientation"] / norm[:, None]
        return self._state.with_(**parts), values

    def _pose_rates(self, x: FloatArray) -> dict[str, tuple[slice, FloatArray]]:
        """Return the parts of twists that positions and quaternions make, and the derivatives."""
        values, rates = split(x, self.inputs), {}
        if "position" in values:
            R = body_rotations(self._state_and_values(x)[0])
            rates["position"] = slice(3, 6), np.swapaxes(R, 1, 2)
        if "orientation" in values:
            q = values["orientation"]
            w, i, j, k = (2.0 * q / np.sum(q * q, axis=1, keepdims=True)).T
            rows = [[-i, w, k, -j], [-j, -k, w, i], [-k, j, -i, w]]  # of 2 Im(q^-1 dq)
            rates["orientation"] = slice(0, 3), np.moveaxis(np.array(rows), 2, 0)
        return rates

    def _gradient(self, x: FloatArray, vjp: dict[str, FloatArray]) -> FloatArray:
        """Return the gradient in x from those in all variables, poses by twists."""
        twist_bar = vjp["position"]
        for name, (part, rate) in self._pose_rates(x).items():
            vjp[name] = np.einsum("nij,ni->nj", rate, twist_bar[:, part])
        return joined(vjp[name] for name in self.inputs)

    @abstractmethod
    def value(self, x: FloatArray) -> FloatArray:
        """Return y."""

    @abstractmethod
    def jvp(self, x: FloatArray, direction: FloatArray) -> FloatArray:
        """Return J dx."""

    @abstractmethod
    def vjp(self, x: FloatArray, weight: FloatArray) -> FloatArray:
        """Return J' w."""

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ShapeError unless each value has the shape of its input."""
        for name, shape in self.inputs.items():
            if np.shape(values[name]) != shape:
                raise ShapeError(f"{name} has shape {np.shape(values[name])}, not {shape}")


class AccelerationFunction(VectorFunction):
    """Accelerations (n_bodies, 6) and multipliers (n_rows,) by variables of some names.

    The last derivatives are kept for products at the same x, and the last dynamics for the same
    parameters. Raises UnknownNameError for a name that is none.
    """

    def __init__(self, system: System, state: State | None, names: Sequence[str]) -> None:
        at = consistent_state(system) if state is None else state
        super().__init__(system, at, shapes_of(system), names)
        self.outputs = {"acceleration": (system.n_bodies, 6), "multiplier": (system.n_rows,)}
        self._last: tuple[bytes, Derivatives] = b"", derivatives(system, at)
        self._dynamics: tuple[bytes, ForwardDynamics] = b"", self._last[1].evaluation.dynamics

    def value(self, x: FloatArray) -> FloatArray:
        """Return accelerations and multipliers."""
        of = self._at(x)
        return joined([of.acceleration, of.multiplier])

    def jvp(self, x: FloatArray, direction: FloatArray) -> FloatArray:
        """Return their changes."""
        along = split(direction, self.inputs)
        twist = np.zeros((self._system.n_bodies, 6))
        for name, (part, rate) in self._pose_rates(x).items():
            twist[:, part] = np.einsum("nij,nj->ni", rate, along.pop(name))
        return joined(self._at(x).jvp(**along, position=twist))

    def vjp(self, x: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the gradients, those in quaternions tangent to the unit sphere."""
        return self._gradient(x, self._at(x).vjp(**split(weight, self.outputs)))

    def _at(self, x: FloatArray) -> Derivatives:
        key, last = self._last
        if (here := x.tobytes()) != key:
            state, values = self._state_and_values(x)
            force = values.pop("force", None)
            dynamics = self._dynamics_of(values)
            last = derivatives(dynamics.system, state, body_force=force, dynamics=dynamics)
            self._last = here, last
        return last

    def _dynamics_of(self, parameters: Mapping[str, FloatArray]) -> ForwardDynamics:
        key, last = self._dynamics
        if (here := joined([*parameters.values(), np.zeros(0)]).tobytes()) != key:
            used = {name: getattr(last, name) for name in ("ordering", "factorization")}
            options: dict[str, Any] = {**used, "formulation": last.options.formulation}
            system = with_parameters(self._system, parameters)
            last = ForwardDynamics(system, self._state, reactions="basic", **options)
            self._dynamics = here, last
        return last


def simulation_times(duration: float, step: float, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the times of simulations; raise an error for one, or an option, that does not fit."""
    check_positive(duration, "duration")
    check_positive(step, "step")
    if "control" in options:
        raise SimulationOptionError("control is a variable; give control=... at a call")
    for name in options:
        check_name(name, _SIMULATION_OPTIONS, "option")
    return {"duration": duration, "step": step}


class SimulationFunction(VectorFunction):
    """The state at the end of a simulation, by variables of some names and "control".

    It begins at the nearest consistent state; gradients are those at consistent ones. "force" are
    wrenches constant in body axes; for the others see `Pullback`. There is no J dx, only J' w.
    """

    def __init__(
        self,
        system: System,
        state: State | None,
        names: Sequence[str],
        *,
        duration: float,
        step: float = 1e-3,
        **options: Any,
    ) -> None:
        at, n = consistent_state(system) if state is None else state, system.n_bodies
        shapes = shapes_of(system)
        del shapes["prescribed_acceleration"]
        self._times = simulation_times(duration, step, options)
        n_ends = n_whole_steps(duration, step) + 1 + (last_step_size(duration, step) > 0.0)
        super().__init__(system, at, {**shapes, "control": (n_ends, n, 6)}, names)
        self.outputs = {"position": (n, 3), "orientation": (n, 4), "velocity": (n, 6)}
        self._zero, self._options = np.zeros((n_ends, n, 6)), options
        self._last: tuple[bytes, Pullback | None] = b"", None

    def value(self, x: FloatArray) -> FloatArray:
        """Return the pose and the velocity at the end."""
        end = self._at(x).trajectory.state(-1)
        return joined(getattr(end, name) for name in self.outputs)

    def jvp(self, x: FloatArray, direction: FloatArray) -> FloatArray:
        """Raise ModelError."""
        raise ModelError("simulations have gradients only: use reverse derivatives")

    def vjp(self, x: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the gradients, those in quaternions tangent to the unit sphere."""
        return self._gradient(x, self._at(x)(**split(weight, self.outputs)))

    def _at(self, x: FloatArray) -> Pullback:
        key, last = self._last
        if last is None or x.tobytes() != key:
            state, values = self._state_and_values(x)
            control = None
            if "control" in values or "force" in values:
                control = self._zero + values.pop("control", 0.0) + values.pop("force", 0.0)
            system = with_parameters(self._system, values)
            options = {**self._times, **self._options, "control": control}
            last = simulate_with_pullback(system, consistent_state(system, state), **options)
            self._last = x.tobytes(), last
        return last


def by_keywords(
    on_arrays: Callable[[VectorFunction], Any], kind: Callable[..., Any], *of: Any, **options: Any
) -> Callable[..., Any]:
    """Return a function of keywords; that of vectors is made once for each set of names."""
    function_of = cache(lambda names: on_arrays(kind(*of, names, **options)))
    return lambda **values: function_of(tuple(sorted(values)))(values)


def variables(system: System, state: State) -> dict[str, FloatArray]:
    """Return what the system and a state have for the variables of functions; no wrenches."""
    springs, lines, tracked = system.joint_forces, system.point_forces, system.coordinates
    return {
        **{name: getattr(state, name) for name in _STATE},
        "force": np.zeros((system.n_bodies, 6)),
        **{"mass": system.mass, "gravity": np.asarray(system.gravity, dtype=float)},
        "inertia": system.inertia[:, *_ENTRIES],
        "effort": springs.efforts(state.time),
        **{name: getattr(springs, name) for name in ("stiffness", "rest", "damping")},
        "point_effort": lines.efforts(state.time),
        **{
            f"point_{name}": getattr(lines, name)
            for name in ("stiffness", "rest_length", "damping")
        },
        **{name: getattr(lines, name) for name in POINT_VARIABLES},
        "prescribed_acceleration": tracked.motions(state.time)[:, 2],
    }


def with_parameters(system: System, values: Mapping[str, FloatArray]) -> System:
    """Return the system with other values of the parameters of `Derivatives`.

    Raises ModelError for a number that is not finite, or a mass or moment that is not positive.
    """
    for name, value in values.items():
        finite = np.isfinite(value.reshape(len(value), -1)).all(axis=1)
        if not finite.all():
            k = int(np.argmin(finite))
            raise ModelError(f"{name}{_owner(system, name, k)} is {value[k]}; it must be finite")
    if "mass" in values:
        _check_positive(system, "mass", values["mass"])
    changes: dict[str, Any] = {name: values[name] for name in ("mass", "gravity") if name in values}
    if "inertia" in values:
        changes["inertia"] = inertia = values["inertia"][:, _SYMMETRIC]
        least = np.asarray(np.linalg.eigvalsh(inertia)[:, 0], dtype=float)
        _check_positive(system, "the least principal moment", least)
    changes["joint_forces"] = _with_constants(system.joint_forces, values, "")
    changes["point_forces"] = _with_constants(system.point_forces, values, "point_")
    if "prescribed_acceleration" in values:
        tracked, motion = system.coordinates, list(system.coordinates.motion)
        for item, value in zip(tracked.prescribed, values["prescribed_acceleration"], strict=True):
            motion[item] = _accelerated(motion[item], float(value))
        changes["coordinates"] = replace(tracked, motion=tuple(motion))
    return replace(system, **changes)


def _with_constants(
    springs: AnySprings, values: Mapping[str, FloatArray], prefix: str
) -> AnySprings:
    """Return springs with those of the values whose names begin with the prefix."""
    constants: dict[str, Any] = {
        name: values[prefix + name] for name in _CONSTANTS if prefix + name in values
    }
    if prefix + "effort" in values:
        constant = values[prefix + "effort"].tolist()
        constants["effort"] = tuple(Polynomial((value,)) for value in constant)
    if prefix == "point_":
        constants |= {name: values[name] for name in POINT_VARIABLES if name in values}
    return replace(springs, **constants)


def _check_positive(system: System, what: str, value: FloatArray) -> None:
    if not (value > 0.0).all():
        k = int(np.argmin(value))
        raise ModelError(
            f"{what} of body {system.body_names[k]!r} is {value[k]:.6g}; it must be positive"
        )


def _owner(system: System, name: str, k: int) -> str:
    """Return in words what the k-th entry of a parameter belongs to."""
    if name in ("mass", "inertia"):
        return f" of body {system.body_names[k]!r}"
    if name == "gravity":
        return ""
    if name in (*LINE_VARIABLES, *POINT_VARIABLES):
        return f" of {system.point_forces.labels[k]}"
    prescribed, item = system.coordinates.prescribed, system.joint_forces.item
    at = prescribed[k] if name == "prescribed_acceleration" else item[k]
    return f" at joint {system.joint_names[int(system.coordinates.joint[at])]!r}"


def _accelerated(motion: TimeFunction | None, acceleration: float) -> TimeFunction:
    """Return the motion with another second derivative."""
    assert motion is not None
    return lambda time: (*motion(time)[:2], acceleration)
