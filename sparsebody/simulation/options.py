"""What a simulation is asked to do, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

from sparsebody.errors import SimulationOptionError, UnknownNameError
from sparsebody.simulation.integrators import INTEGRATORS
from sparsebody.simulation.stabilization import STABILIZATIONS

_RECORD_STEP = 0.01  # [s] between records where steps are chosen by their errors
_ADAPTIVE = ("auto", "rk4", "generalized-alpha", "generalized-alpha-2", "radau-iia")
_ROUNDING = 1e-9  # by which a time may miss a whole number of steps, in steps


@dataclass(frozen=True)
class SimulationOptions:
    """The options that decide what a trajectory is; two runs that share them are the same motion.

    The duration is not among them: a resumed run may be longer than the interrupted one.
    """

    step: float  # [s]; from one record to the next where steps are chosen by their errors
    rtol: float | None  # of local errors; None where `step` is taken
    atol: float | None  # [rad, m, rad/s, m/s]
    method: str
    stabilization: str
    time_constant: float  # [s], of the Baumgarte terms
    ordering: str
    factorization: str
    reduction: str
    record_every: int  # steps from one record to the next
    record_reactions: bool
    compliance: float | None  # [m/N] of joints in implicit steps; None: negligible
    spectral_radius: float  # of implicit steps

    @property
    def is_adaptive(self) -> bool:
        """Whether steps are chosen by their errors."""
        return self.rtol is not None

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name, for files."""
        return asdict(self)


def simulation_options(
    *,
    step: float | str,
    rtol: float,
    atol: float,
    method: str,
    stabilization: str,
    time_constant: float | None,
    record_step: float | None,
    compliance: float | None,
    spectral_radius: float,
    **others: Any,
) -> SimulationOptions:
    """Return the checked options; the time constant defaults to ten steps."""
    is_adaptive = step == "auto"
    if is_adaptive:
        _check_tolerances(rtol, atol, method)
        step = _RECORD_STEP if record_step is None else record_step
    check_positive(step, "record step" if is_adaptive else "step")
    step = float(step)
    check_name(method, (*INTEGRATORS, "auto"), "method")
    check_name(stabilization, STABILIZATIONS, "stabilization")
    if compliance is not None:
        check_positive(compliance, "compliance", "metres per newton")
    _check_share(spectral_radius, "spectral radius")
    if time_constant is None:
        time_constant = 10.0 * step
    check_positive(time_constant, "time constant")
    return SimulationOptions(
        step=step,
        rtol=float(rtol) if is_adaptive else None,
        atol=float(atol) if is_adaptive else None,
        method=method,
        stabilization=stabilization,
        time_constant=float(time_constant),
        record_every=1 if record_step is None else _whole_steps(record_step, step),
        compliance=None if compliance is None else float(compliance),
        spectral_radius=float(spectral_radius),
        **others,
    )


def _check_tolerances(rtol: float, atol: float, method: str) -> None:
    """Raise SimulationOptionError unless steps can be chosen by such errors."""
    if method not in _ADAPTIVE:
        raise SimulationOptionError(
            f"step is 'auto', but {method!r} does not tell its errors; take a step in seconds, or "
            f"one of {', '.join(_ADAPTIVE)}"
        )
    check_positive(rtol, "rtol", "errors relative to what there is")
    check_positive(atol, "atol", "rad, m, rad/s and m/s")


def check_positive(value: object, what: str, unit: str = "seconds") -> None:
    """Raise SimulationOptionError unless `value` is a positive, finite number."""
    if not (isinstance(value, Real) and math.isfinite(float(value)) and float(value) > 0.0):
        raise SimulationOptionError(f"{what} is {value!r}; give a positive number of {unit}")


def _check_share(value: object, what: str) -> None:
    if not (isinstance(value, Real) and 0.0 <= float(value) <= 1.0):
        raise SimulationOptionError(f"{what} is {value!r}; give a number from 0 to 1")


def check_name(name: str, table: Iterable[str], what: str) -> None:
    """Raise UnknownNameError unless `name` is in the table."""
    if not isinstance(name, str) or name not in table:
        raise UnknownNameError(f"{what} is {name!r}; give one of {', '.join(table)}")


def n_whole_steps(duration: float, step: float) -> int:
    """Return how many whole steps fit into the duration, up to rounding."""
    return math.floor(duration / step + _ROUNDING)


def rest_of_step(duration: float, step: float) -> float:
    """Return what the whole steps leave of the duration [s]: the last, shorter step, or 0."""
    rest = duration - n_whole_steps(duration, step) * step
    return rest if rest > _ROUNDING * step else 0.0


def _whole_steps(record_step: float, step: float) -> int:
    check_positive(record_step, "record step")
    every = round(record_step / step)
    if every < 1 or abs(record_step / step - every) > 1e-6 * every:
        nearest = max(1, every) * step
        raise SimulationOptionError(
            f"record step is {record_step}, not a multiple of the step {step}; try {nearest:.6g}"
        )
    return every
