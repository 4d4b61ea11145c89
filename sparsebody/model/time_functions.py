"""Given functions of time, for prescribed joints and actuators; the table TIME_FUNCTIONS."""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import ClassVar, Protocol

import numpy as np

from sparsebody._core import model as native
from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.columns import positive, put_checked, scalar


class TimeFunction(Protocol):
    """A twice differentiable function of time."""

    def __call__(self, time: float, /) -> tuple[float, float, float]:
        """Value, first and second derivative at `time` [s]."""


@dataclass(frozen=True)
class Polynomial:
    """c[0] + c[1] t + c[2] t^2 + ..."""

    name: ClassVar[str] = "polynomial"
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if np.ndim(self.coefficients) != 1:
            raise ModelError(f"polynomial: coefficients is {self.coefficients!r}; give a list")
        numbers = tuple(scalar(c, "polynomial", "a coefficient") for c in self.coefficients)
        object.__setattr__(self, "coefficients", numbers)

    def __call__(self, time: float) -> tuple[float, float, float]:
        """Value, first and second derivative (Horner)."""
        value = rate = acceleration = 0.0
        for c in reversed(self.coefficients):
            acceleration = acceleration * time + 2.0 * rate
            rate = rate * time + value
            value = value * time + c
        return value, rate, acceleration


@dataclass(frozen=True)
class Sinusoid:
    """offset + amplitude sin(angular_frequency t + phase)."""

    name: ClassVar[str] = "sinusoid"
    amplitude: float
    angular_frequency: float  # [rad/s]
    phase: float = 0.0  # [rad]
    offset: float = 0.0

    def __post_init__(self) -> None:
        checks = {"amplitude": scalar, "angular_frequency": scalar}
        put_checked(self, "sinusoid", **checks, phase=scalar, offset=scalar)

    def __call__(self, time: float) -> tuple[float, float, float]:
        """Value, first and second derivative."""
        w, a = self.angular_frequency, self.amplitude
        s, c = math.sin(w * time + self.phase), math.cos(w * time + self.phase)
        return self.offset + a * s, a * w * c, -a * w * w * s


@dataclass(frozen=True)
class SmoothStep:
    """From start to end within `duration` after `delay`, at rest outside (a quintic)."""

    name: ClassVar[str] = "smooth-step"
    start: float
    end: float
    duration: float  # [s]
    delay: float = 0.0  # [s]

    def __post_init__(self) -> None:
        put_checked(self, "smooth step", start=scalar, end=scalar, duration=positive, delay=scalar)

    def __call__(self, time: float) -> tuple[float, float, float]:
        """Value, first and second derivative."""
        rise, s = self.end - self.start, (time - self.delay) / self.duration
        if s <= 0.0:
            return self.start, 0.0, 0.0
        if s >= 1.0:
            return self.end, 0.0, 0.0
        value = s**3 * (10.0 + s * (6.0 * s - 15.0))
        rate = 30.0 * s**2 * (1.0 - s) ** 2 / self.duration
        acceleration = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / self.duration**2
        return self.start + rise * value, rise * rate, rise * acceleration


TIME_FUNCTIONS: dict[str, type[Polynomial] | type[Sinusoid] | type[SmoothStep]] = {
    kind.name: kind for kind in (Polynomial, Sinusoid, SmoothStep)
}


def is_constant(function: TimeFunction) -> bool:
    """Return whether it is a polynomial of degree zero."""
    return isinstance(function, Polynomial) and not any(function.coefficients[1:])


class TimeFunctions:
    """Several time functions; those of TIME_FUNCTIONS take one native call."""

    def __init__(self, functions: Sequence[TimeFunction]) -> None:
        kinds: list[type] = list(TIME_FUNCTIONS.values())
        kind = [kinds.index(type(f)) if type(f) in kinds else self._OTHER for f in functions]
        numbers = [
            np.ravel(astuple(f)) if k != self._OTHER else ()  # type: ignore[call-overload]
            for f, k in zip(functions, kind, strict=True)
        ]
        first = np.cumsum([0, *map(len, numbers)])
        self._functions, self._shape = functions, (len(functions), 3)
        self._others = [(i, f) for i, f in enumerate(functions) if kind[i] == self._OTHER]
        self._native = native.TimeFunctions(
            np.array(kind, dtype=np.intp),
            first.astype(np.intp),
            np.concatenate([*numbers, np.zeros(0)]).astype(float),
        )

    _OTHER = native.TimeFunctions.OTHER

    def __reduce__(self) -> "tuple[type[TimeFunctions], tuple[Sequence[TimeFunction]]]":
        """Copy and pickle the functions: native objects can be neither."""
        return type(self), (self._functions,)

    def __call__(self, time: float) -> FloatArray:
        """Return values, first and second derivatives (n, 3) at a time [s]."""
        values = np.zeros(self._shape)
        self.fill(time, values)
        return values

    def fill(self, time: float, values: FloatArray) -> None:
        """Fill values, first and second derivatives (n, 3) at a time [s]."""
        self._native.fill(time, values)
        for i, function in self._others:
            values[i] = function(time)


def time_function(f: float | TimeFunction, who: str, what: str = "the given value") -> TimeFunction:
    """Return `f` as a function of time; a number is a constant."""
    if callable(f):
        try:
            sample = tuple(float(part) for part in f(0.0))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise ModelError(
                f"{who}: a time function must return (value, rate, acceleration) at t = 0"
            ) from error
        if len(sample) != 3 or not all(math.isfinite(part) for part in sample):
            raise ModelError(
                f"{who}: the time function returns {sample} at t = 0; "
                "it must return three finite numbers (value, rate, acceleration)"
            )
        return f
    return Polynomial((scalar(f, who, what),))
