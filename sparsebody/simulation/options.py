"""Options of a simulation, checked before anything is computed."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import SimulationOptionError, UnknownNameError, warn_user
from sparsebody.model.system import System
from sparsebody.simulation.integrators import INTEGRATORS, ImplicitIntegrator
from sparsebody.simulation.stabilization import STABILIZATIONS
from sparsebody.writing import check_writable

_RECORD_STEP = 0.01  # [s] between records where steps are chosen by their errors
ADAPTIVE = ("auto", "rk4", "generalized-alpha", "generalized-alpha-2", "radau-iia")
_TIME_TOLERANCE = 1e-9  # by which a time may miss a whole number of steps, in steps


@dataclass(frozen=True)
class Method:
    """An integrator with its options.

    Parameters
    ----------
    name : str
        A name in INTEGRATORS, or "auto": "rk4" as long as the mechanism is regular and not stiff,
        "generalized-alpha" where it is not; events say which, why, and how far joints opened.
    stabilization : str
        Of explicit steps, a name in STABILIZATIONS: "projection" closes the joints after every
        step, "baumgarte" pulls them together with `time_constant`, "none" lets them drift.
    time_constant : float, optional
        Of Baumgarte's terms [s]; default ten steps.
    compliance : float, optional
        Of all joints in "generalized-alpha" [m/N]; where rows only rotate it is divided by the
        square of the mechanism's size. Default: so small that joints open by no more than 1e-8
        of the mechanism's extent under all loads at once, and lowered on the way where prescribed
        motions make multipliers that would open them by more than 1e-7 of it.
    spectral_radius : float
        Of "generalized-alpha" at infinite frequency, from 0 to 1: oscillations that steps do not
        resolve fade by this factor in every step.
    """

    name: str = "auto"
    stabilization: str = "projection"
    time_constant: float | None = None
    compliance: float | None = None
    spectral_radius: float = 0.7


@dataclass(frozen=True)
class Solver:
    """Solver of the equations of a step.

    Parameters
    ----------
    ordering, factorization : str
        Names from ORDERINGS and FACTORIZATIONS, or "auto" for the least predicted time.
    reduction : {"auto", "none"}
        Of explicit steps: in the fewer freedoms of displacement subgroups, or in six a body.
    """

    ordering: str = "auto"
    factorization: str = "auto"
    reduction: str = "auto"


@dataclass(frozen=True)
class Recording:
    """Contents of a trajectory.

    Parameters
    ----------
    step : float, optional
        Time between records [s], a multiple of the steps; default: every step, 0.01 s where steps
        are chosen by their errors.
    reactions : bool
        Record the joint wrenches as well, which costs an evaluation per record.
    """

    step: float | None = None
    reactions: bool = False


EVERY_STEP = Recording()


@dataclass(frozen=True)
class Output:
    """An HDF5 file, written while the run goes on.

    Parameters
    ----------
    path : path-like
        The file.
    resume : bool
        Go on with a run that was interrupted, exactly as if it had not been; a longer duration
        than before is allowed. Without such a file, the run begins anew.
    overwrite : bool
        Allow to replace a file.
    source : str, optional
        The mechanism file, kept in it, by which `sparsebody plot` draws the motion.
    """

    path: str | Path
    resume: bool = False
    overwrite: bool = False
    source: str | None = None

    def checked(self) -> Path:
        """Return the path after a check that it may be written."""
        path = Path(self.path)
        if not path.parent.is_dir():
            raise SimulationOptionError(
                f"output {str(path)!r}: there is no directory {str(path.parent)!r}"
            )
        if path.exists() and not path.is_file():
            what = "a directory" if path.is_dir() else "a device"
            raise SimulationOptionError(f"output {str(path)!r} is {what}; give a file name")
        if path.exists() and not (self.resume or self.overwrite):
            raise SimulationOptionError(
                f"output {str(path)!r} exists; give another name, Output(path, resume=True) or "
                "Output(path, overwrite=True)"
            )
        check_writable(path)
        return path


_FORMER: dict[str, tuple[Any, dict[str, str]]] = {  # keywords of version 0.1 in their groups
    "method": (
        Method,
        {x: x for x in ("stabilization", "time_constant", "compliance", "spectral_radius")},
    ),
    "dynamics": (Solver, {x: x for x in ("ordering", "factorization", "reduction")}),
    "record": (Recording, {"record_step": "step", "record_reactions": "reactions"}),
    "output": (Output, {x: x for x in ("resume", "overwrite", "source")}),
}


def with_former_keywords(groups: dict[str, Any], former: dict[str, Any]) -> tuple[Any, ...]:
    """Return method, dynamics, record and output with the single keywords that 0.1 took.

    Raises TypeError for an unknown keyword.
    """
    forms = []
    for group, (form, fields) in _FORMER.items():
        keywords = {fields[name]: former.pop(name) for name in fields if name in former}
        if not keywords:
            continue
        forms.append(f"{group}={form.__name__}({', '.join(f'{name}=...' for name in keywords)})")
        value = groups[group]
        if isinstance(value, ForwardDynamics) or (form is Output and value is None):
            continue  # ignored by 0.1 as well
        if not isinstance(value, form):
            value = form() if value is None else form(value)
        groups[group] = replace(value, **keywords)
    if former:
        raise TypeError(f"simulate() got an unexpected keyword argument {min(former)!r}")
    if forms:
        warn_user(f"simulate takes single options as {', '.join(forms)}", DeprecationWarning)
    return tuple(groups.values())


@dataclass(frozen=True)
class SimulationOptions:
    """The options that determine a trajectory: runs that share them compute the same motion.

    The duration is not among them: a resumed run may be longer than the interrupted one. Files
    hold them under these names.
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
    step: float | str,
    tolerances: tuple[float, float],
    method: str | Method,
    solver: Solver | ForwardDynamics,
    record: Recording,
) -> SimulationOptions:
    """Return the checked options; the time constant defaults to ten steps."""
    chosen = method if isinstance(method, Method) else Method(method)
    _check_type(solver, "dynamics", (Solver, ForwardDynamics), "Solver(ordering=...)")
    _check_type(record, "record", (Recording,), "Recording(step=..., reactions=...)")
    is_adaptive = step == "auto"
    if is_adaptive:
        if chosen.name not in ADAPTIVE:
            raise SimulationOptionError(
                f"step is 'auto', but {chosen.name!r} has no error estimate; take a step in "
                f"seconds, or one of {', '.join(ADAPTIVE)}"
            )
        check_positive(tolerances[0], "rtol", "")
        check_positive(tolerances[1], "atol", "rad, m, rad/s and m/s")
        step = _RECORD_STEP if record.step is None else record.step
    check_positive(step, "record step" if is_adaptive else "step")
    step = float(step)
    check_name(chosen.name, (*INTEGRATORS, "auto"), "method")
    check_name(chosen.stabilization, STABILIZATIONS, "stabilization")
    if chosen.compliance is not None:
        check_positive(chosen.compliance, "compliance", "metres per newton")
    radius: Any = chosen.spectral_radius
    if not (isinstance(radius, Real) and 0.0 <= float(radius) <= 1.0):
        raise SimulationOptionError(f"spectral radius is {radius!r}; give a number from 0 to 1")
    time_constant = 10.0 * step if chosen.time_constant is None else chosen.time_constant
    check_positive(time_constant, "time constant")
    return SimulationOptions(
        step=step,
        rtol=float(tolerances[0]) if is_adaptive else None,
        atol=float(tolerances[1]) if is_adaptive else None,
        method=chosen.name,
        stabilization=chosen.stabilization,
        time_constant=float(time_constant),
        ordering=solver.ordering,
        factorization=solver.factorization,
        reduction=solver.reduction,
        record_every=1 if record.step is None else _whole_steps(record.step, step),
        record_reactions=bool(record.reactions),
        compliance=None if chosen.compliance is None else float(chosen.compliance),
        spectral_radius=float(radius),
    )


def check_dynamics(system: System, dynamics: ForwardDynamics, options: SimulationOptions) -> None:
    """Raise SimulationOptionError unless the given dynamics fits the system and the method."""
    if isinstance(INTEGRATORS.get(options.method), ImplicitIntegrator):
        raise SimulationOptionError(
            f"dynamics cannot be given: {options.method!r} makes its own equations; "
            "Solver(ordering=..., factorization=...) says how they are solved"
        )
    if dynamics.system is not system:
        raise SimulationOptionError(
            f"dynamics was prepared for another system, {dynamics.system.name!r}; "
            f"prepare it for {system.name!r}"
        )
    needs = STABILIZATIONS[options.stabilization].uses_time_constant
    if needs != (dynamics.baumgarte is not None):
        raise SimulationOptionError(
            f"stabilization is {options.stabilization!r}, but the given dynamics has a Baumgarte "
            f"time constant of {dynamics.baumgarte}; let both agree"
        )


def _check_type(value: object, name: str, kinds: tuple[type, ...], example: str) -> None:
    if not isinstance(value, kinds):
        raise SimulationOptionError(f"{name} is {value!r}; give {example}")


def check_positive(value: object, what: str, unit: str = "seconds") -> None:
    """Raise SimulationOptionError unless `value` is a positive, finite number."""
    if not (isinstance(value, Real) and math.isfinite(float(value)) and float(value) > 0.0):
        of_unit = f" of {unit}" if unit else ""
        raise SimulationOptionError(f"{what} is {value!r}; give a positive number{of_unit}")


def check_name(name: str, table: Iterable[str], what: str) -> None:
    """Raise UnknownNameError unless `name` is in the table."""
    if not isinstance(name, str) or name not in table:
        raise UnknownNameError(f"{what} is {name!r}; give one of {', '.join(table)}")


def n_whole_steps(duration: float, step: float) -> int:
    """Return how many whole steps fit into the duration, up to rounding."""
    return math.floor(duration / step + _TIME_TOLERANCE)


def n_records(duration: float, options: SimulationOptions) -> int:
    """Return how many records a run makes at most, at its start and end and in between."""
    return 2 + n_whole_steps(duration, options.step) // options.record_every


def last_step_size(duration: float, step: float) -> float:
    """Return the size [s] of the last, shorter step after all whole ones; 0 if there is none."""
    size = duration - n_whole_steps(duration, step) * step
    return size if size > _TIME_TOLERANCE * step else 0.0


def _whole_steps(record_step: float, step: float) -> int:
    check_positive(record_step, "record step")
    every = round(record_step / step)
    if every < 1 or abs(record_step / step - every) > 1e-6 * every:
        nearest = max(1, every) * step
        raise SimulationOptionError(
            f"record step is {record_step}, not a multiple of the step {step}; try {nearest:.6g}"
        )
    return every
