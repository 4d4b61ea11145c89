"""The time loop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.energy import is_conservative
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.preparation import Formulation
from sparsebody.dynamics.reductions import SubgroupAssembler
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import (
    InterruptionWarning,
    OutputError,
    RankWarning,
    SimulationError,
    SimulationOptionError,
    SparsebodyError,
    warn_user,
)
from sparsebody.model.system import State, System, check_state
from sparsebody.simulation.adaptive_stepper import AdaptiveStepper, Inner, adaptive_memory
from sparsebody.simulation.auto_stepper import N_OWN, AutoStepper, Note
from sparsebody.simulation.checkpoint import Checkpoint, row_size
from sparsebody.simulation.constraint_errors import check_is_closed
from sparsebody.simulation.control import Control, control_of
from sparsebody.simulation.implicit.collocation_stepper import CollocationStepper
from sparsebody.simulation.implicit.collocation_stepper import memory_size as collocation_memory
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper, memory_size
from sparsebody.simulation.integrators import (
    INTEGRATORS,
    Composition,
    ImplicitIntegrator,
    Integrator,
)
from sparsebody.simulation.interruption import stop_request
from sparsebody.simulation.options import (
    SimulationOptions,
    check_positive,
    n_whole_steps,
    rest_of_step,
    simulation_options,
)
from sparsebody.simulation.progress import Report, progress_report
from sparsebody.simulation.records.recorder import FileRecorder, MemoryRecorder, Recorder
from sparsebody.simulation.records.samples import Header, header, sample
from sparsebody.simulation.records.trajectory import Event, StoppedSimulationError, Trajectory
from sparsebody.simulation.records.trajectory_files import (
    check_same_run,
    first_record,
    open_trajectory,
    read_checkpoint,
    rewind,
)
from sparsebody.simulation.stabilization import STABILIZATIONS
from sparsebody.simulation.stepper import Stepper
from sparsebody.simulation.user_events import EventFinder, EventFunction, event_functions
from sparsebody.writing import check_writable

MakeInner = Callable[[Note], Inner]
MakeStepper = Callable[[Note], Inner | AdaptiveStepper]


def simulate(
    system: System,
    state: State | None = None,
    *,
    duration: float,
    step: float | str = 1e-3,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    method: str = "auto",
    stabilization: str = "projection",
    time_constant: float | None = None,
    dynamics: ForwardDynamics | None = None,
    ordering: str = "auto",
    factorization: str = "auto",
    reduction: str = "auto",
    control: Control | None = None,
    events: EventFunction | Sequence[EventFunction] | None = None,
    output: str | Path | None = None,
    record_step: float | None = None,
    record_reactions: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    source: str | None = None,
    progress: bool | Report = False,
    compliance: float | None = None,
    spectral_radius: float = 0.7,
) -> Trajectory:
    """Simulate the motion of a mechanism.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where it begins; default: the nearest consistent state to the model's initial one.
    duration : float
        How long [s].
    step : float or "auto"
        In which steps [s]; the last one is shorter if need be. "auto": as long as local errors of
        at most `atol` + `rtol` times what there is allow, one radian and the mechanism's size for
        poses, the largest velocities for velocities; records are interpolated.
    rtol, atol : float
        Tolerances of step="auto": relative, and in rad, m, rad/s and m/s.
    method : str
        A name in INTEGRATORS, or "auto": "rk4" as long as the mechanism is regular and not stiff,
        "generalized-alpha" where it is not; events say which, why, and how far joints opened.
    stabilization : str
        A name in STABILIZATIONS: "projection" closes the joints after every step, "baumgarte"
        pulls them together with `time_constant` [s] (default ten steps), "none" lets them drift.
    dynamics : ForwardDynamics, optional
        A prepared one; else it is made with `ordering`, `factorization` and `reduction`.
    control : callable, optional
        control(time, state) returns wrenches (n_bodies, 6) about the centers of mass in body
        axes, moment first [N m, N], which act besides the forces of the model. Or a C function,
        which explicit steps call without Python: see sparsebody.simulation.control.
    events : callable or sequence of callables, optional
        Functions g(time, state) of which zeros are located and told in the trajectory's events, as
        in scipy.integrate.solve_ivp: a function's attribute `terminal = True` ends the motion
        there, `direction` > 0 or < 0 takes only zeros on the way up or down. An attribute `change`,
        a function of time and state, returns the state that the motion goes on from.
    output : path, optional
        An HDF5 file, written while the run goes on; else the trajectory stays in memory.
    record_step : float, optional
        Time between records [s], a multiple of `step`; default: every step, 0.01 s with "auto".
    record_reactions : bool
        Record the joint wrenches as well, which costs an evaluation per record.
    resume : bool
        Go on with an `output` whose run was interrupted, exactly as if it had not been; a longer
        duration than before is allowed. Without such a file, the run begins anew.
    overwrite : bool
        Allow to replace an existing `output`.
    source : str, optional
        The mechanism file, kept in `output`.
    progress : bool or callable
        A progress bar on standard error, or report(time, end).
    compliance : float, optional
        Of all joints in "generalized-alpha" [m/N]; where rows only rotate it is divided by the
        square of the mechanism's size. Default: so small that joints open by no more than 1e-8
        of the mechanism's extent under all loads at once, and lowered on the way where drives make
        multipliers that would open them by more than 1e-7 of it.
    spectral_radius : float
        Of "generalized-alpha" at infinite frequency, from 0 to 1: oscillations that steps do not
        resolve fade by this factor in every step.

    Returns
    -------
    Trajectory
        After Ctrl-C or SIGTERM up to there, marked as interrupted, with an InterruptionWarning.

    Raises
    ------
    SimulationError
        For an argument that does not fit, before anything is computed or overwritten.
    OutputError
        If `output` cannot be written; where the disk is full later, what was written is kept.
    StoppedSimulationError
        If the motion cannot be continued; it carries the trajectory up to there.
    AssemblyError
        If a joint is wide open in the given state; or if none is given, and the initial one cannot
        be made consistent.

    Examples
    --------
    >>> import sparsebody as sb
    >>> ball = sb.Mechanism("ball")
    >>> _ = ball.add_body("ball", mass=1.0, inertia=[0.1, 0.1, 0.1])
    >>> fall = simulate(ball.compile(), duration=1.0, step=0.1)
    >>> round(float(fall.position[-1, 0, 2]), 6)
    -4.905
    """
    check_positive(duration, "duration")
    options = simulation_options(
        step=step,
        rtol=rtol,
        atol=atol,
        method=method,
        stabilization=stabilization,
        time_constant=time_constant,
        ordering=ordering if dynamics is None else dynamics.ordering,
        factorization=factorization if dynamics is None else dynamics.factorization,
        reduction=reduction if dynamics is None else dynamics.reduction,
        record_step=record_step,
        record_reactions=bool(record_reactions),
        compliance=compliance,
        spectral_radius=spectral_radius,
    )
    if dynamics is not None and isinstance(INTEGRATORS.get(method), ImplicitIntegrator):
        raise SimulationOptionError(f"dynamics cannot be given: {method!r} makes its own equations")
    if dynamics is not None:
        _check_dynamics(system, dynamics, stabilization)
    control = control_of(control)
    functions = event_functions(events)
    path = None if output is None else _output_path(Path(output), resume, overwrite)
    is_changed = any(hasattr(function, "change") for function in functions)
    conservative = control is None and not is_changed and is_conservative(system)
    head = header(system, options, conservative, source)
    if path is not None and resume and path.exists():
        with open_trajectory(path) as file:
            check_same_run(path, file, head)
    if state is None:
        state = consistent_state(system)
    else:
        check_state(system, state)
        if STABILIZATIONS[options.stabilization].closes:
            check_is_closed(system, state)
    make_stepper, memory = _stepper_maker(system, state, options, dynamics, control)
    start = _start(system, state, head, path, resume, memory)
    return _Run(system, options, start, make_stepper, functions).run(duration, progress)


def _stepper_maker(
    system: System,
    state: State,
    options: SimulationOptions,
    dynamics: ForwardDynamics | None,
    control: Control | None,
) -> tuple[MakeStepper, int]:
    """Return what makes the stepper, and the length of its memory."""
    make, memory = _method_maker(system, state, options, dynamics, control)
    if not options.is_adaptive:
        return make, memory
    adaptive = partial(AdaptiveStepper, make, system, options, memory)
    return adaptive, memory + adaptive_memory(system)


def _method_maker(
    system: System,
    state: State,
    options: SimulationOptions,
    dynamics: ForwardDynamics | None,
    control: Control | None,
) -> tuple[MakeInner, int]:
    """Return what makes the stepper of the method, and the length of its memory."""
    implicit = partial(ImplicitStepper, system, state, options, control)
    integrator = INTEGRATORS["rk4" if options.method == "auto" else options.method]
    if not isinstance(integrator, Integrator):
        scheme = integrator.scheme
        if scheme is not None:
            stepper = partial(CollocationStepper, system, state, scheme, options, control)
            return stepper, collocation_memory(system, scheme)
        implicit = partial(implicit, closes_velocities=integrator.closes_velocities)
        return implicit, memory_size(system, control is not None)
    prepared = _dynamics(system, state, options) if dynamics is None else dynamics
    if isinstance(integrator.scheme, Composition):
        if options.stabilization != "projection":
            raise SimulationOptionError(
                f"the stabilization is {options.stabilization!r}, but {options.method!r} closes "
                "the joints itself; leave 'projection'"
            )
        if isinstance(prepared.evaluator.assembler, SubgroupAssembler):
            prepared = prepared.unreduced  # free drifts leave subgroups about the world
    stabilization = STABILIZATIONS[options.stabilization]

    def explicit(dynamics: ForwardDynamics, note: Note) -> Stepper:
        shared = options.step, integrator, stabilization, control, note, options.is_adaptive
        return Stepper(dynamics, *shared)

    if options.method != "auto":
        return partial(explicit, prepared), 1
    size = memory_size(system, control is not None)
    auto = partial(AutoStepper, explicit, implicit, prepared, options.step, size)
    return auto, size + N_OWN


def _check_dynamics(system: System, dynamics: ForwardDynamics, stabilization: str) -> None:
    if dynamics.system is not system:
        raise SimulationOptionError(
            f"dynamics was prepared for another system, {dynamics.system.name!r}; "
            f"prepare it for {system.name!r}"
        )
    needs = STABILIZATIONS[stabilization].uses_time_constant
    if needs != (dynamics.baumgarte is not None):
        raise SimulationOptionError(
            f"stabilization is {stabilization!r}, but the given dynamics has a Baumgarte time "
            f"constant of {dynamics.baumgarte}; let both agree"
        )


def _output_path(path: Path, resume: bool, overwrite: bool) -> Path:
    """Return the path, sure that it may be written."""
    if not path.parent.is_dir():
        raise SimulationOptionError(
            f"output {str(path)!r}: there is no directory {str(path.parent)!r}"
        )
    if path.exists() and not path.is_file():
        what = "a directory" if path.is_dir() else "a device"
        raise SimulationOptionError(f"output {str(path)!r} is {what}; give a file name")
    if path.exists() and not (resume or overwrite):
        raise SimulationOptionError(
            f"output {str(path)!r} exists; give another name, resume it or overwrite it"
        )
    check_writable(path)
    return path


def _dynamics(system: System, state: State, options: SimulationOptions) -> ForwardDynamics:
    """Return the dynamics; of doubts at the start an event tells, as of those on the way."""
    uses_time_constant = STABILIZATIONS[options.stabilization].uses_time_constant
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        return ForwardDynamics(
            system,
            state,
            ordering=options.ordering,
            factorization=options.factorization,
            formulation=Formulation(reduction=options.reduction),
            baumgarte=options.time_constant if uses_time_constant else None,
        )


@dataclass(frozen=True, eq=False)
class _Start:
    """Where a run begins: at its first state, or at a checkpoint."""

    first: State
    checkpoint: Checkpoint | None
    recorder: Recorder


def _start(
    system: System, state: State, head: Header, path: Path | None, resume: bool, memory: int
) -> _Start:
    if path is None:
        return _Start(state, None, MemoryRecorder(head))
    if resume and path.exists():
        with open_trajectory(path) as file:
            checkpoint = read_checkpoint(path, file, system, row_size(system, memory))
            if checkpoint is not None:
                _check_first_record(path, state, first_record(file))
        if checkpoint is not None:
            rewind(path, head, checkpoint)
            return _Start(state, checkpoint, FileRecorder.resumed(path, head))
    return _Start(state, None, FileRecorder(path, head, row_size(system, memory)))


def _check_first_record(path: Path, state: State, stored: dict[str, FloatArray]) -> None:
    for name, value in stored.items():
        if not np.allclose(getattr(state, name), value, rtol=0.0, atol=1e-12):
            raise SimulationError(
                f"cannot resume {str(path)!r}: it began with another {name}; give the same "
                "state, or another output"
            )


class _Run:
    """One run of the time loop."""

    def __init__(
        self,
        system: System,
        options: SimulationOptions,
        start: _Start,
        make_stepper: MakeStepper,
        functions: tuple[EventFunction, ...],
    ) -> None:
        self._system, self._options, self._recorder = system, options, start.recorder
        self._first_time = start.first.time
        self._state, self._step, self._n_events = start.first, 0, 0
        self._is_under_way = False
        self._is_whole = True  # the state is a whole number of steps from the first
        self._recorded_at = -float("inf")
        self._clock = time.perf_counter()
        self._stepper = make_stepper(self._note)
        self._finder = EventFinder(functions) if functions else None
        self._is_ended = False  # by an event
        self._joint_wrench = self._stepper.joint_wrench if options.record_reactions else None
        if start.checkpoint is not None:
            self._go_back_to(start.checkpoint)

    def run(self, duration: float, progress: bool | Report) -> Trajectory:
        """Run for `duration` from the first state and return the trajectory."""
        end = self._first_time + duration
        with (
            np.errstate(all="ignore"),  # a blow-up is reported by name, not by warnings
            progress_report(progress, end) as report,
            stop_request() as stop,
        ):
            try:
                for _ in self._steps(duration):
                    report(self._state.time, end)
                    if stop:
                        break
                is_over = not stop or self._state.time >= end - 0.5 * self._options.step
            except KeyboardInterrupt:
                stop.signal, is_over = "SIGINT", False
            except OutputError:  # there is nowhere to keep the rest
                raise
            except SparsebodyError as error:
                message = f"stopped at t = {self._state.time:.6g} s: {error}"
                raise StoppedSimulationError(message, self._close(True)) from error
            except BaseException:  # of a control, say
                self._close(True)
                raise
        if not is_over:  # not counted by the checkpoint: whoever resumes undoes it
            self._recorder.note(Event(self._state.time, "interruption", f"by {stop.signal}"))
            ends = f"interrupted by {stop.signal}: the trajectory ends at {self._state.time:.6g} s"
            warn_user(ends, InterruptionWarning)
        return self._close(not is_over)

    def _steps(self, duration: float) -> Iterator[None]:
        """Advance step by step, recording."""
        options = self._options
        if not self._is_under_way:
            self._record()
            self._stepper.start(self._state)
            self._is_under_way = True
        if self._finder is not None:
            self._finder.begin(self._state)
        for step in range(self._step + 1, n_whole_steps(duration, options.step) + 1):
            self._advance(self._first_time + step * options.step)
            if self._is_ended:
                return
            self._step = step
            if step % options.record_every == 0:
                self._record()
            if self._recorder.is_flush_due():
                self._recorder.flush(self._checkpoint())
            yield
        if rest_of_step(duration, options.step) > 0.0:
            self._recorder.flush(self._checkpoint())
            self._is_whole = False
            self._advance(self._first_time + duration)
            yield

    def _advance(self, time: float) -> None:
        """Advance to a time, or to the event that ends the motion."""
        after = self._stepper.advance(time)
        if self._finder is None:
            self._state = after
            return
        for crossing in self._finder.find(self._stepper, self._state, after):
            here = crossing.state
            self._note(Event(here.time, "event", crossing.name))
            if crossing.is_terminal:
                self._state, self._is_ended, self._is_whole = here, True, False
                return
            if crossing.change is not None:
                changed = crossing.change(here.time, here)
                check_state(self._system, changed)
                self._state = consistent_state(self._system, changed)
                self._stepper.restart(self._state)
                self._finder.begin_at(crossing, self._state)
                self._advance(time)
                return
        self._state = after

    def _record(self) -> None:
        multiplier = self._stepper.multiplier if self._is_under_way else None
        self._recorder.append(sample(self._system, self._state, multiplier, self._joint_wrench))
        self._recorded_at = self._state.time

    def _note(self, event: Event) -> None:
        self._n_events += 1
        self._recorder.note(event)

    @property
    def _wall_time(self) -> float:
        return time.perf_counter() - self._clock

    def _checkpoint(self) -> Checkpoint:
        stepper = self._stepper
        return Checkpoint(
            self._step,
            stepper.state,
            stepper.acceleration,
            self._n_events,
            self._wall_time,
            stepper.rank,
            stepper.memory,
        )

    def _go_back_to(self, checkpoint: Checkpoint) -> None:
        self._stepper.resume(self._state, checkpoint)
        self._state, self._is_under_way = checkpoint.state, True
        self._step, self._n_events = checkpoint.step, checkpoint.n_events
        if isinstance(self._stepper, AdaptiveStepper):
            self._state = self._stepper.advance(self._first_time + self._step * self._options.step)
        self._clock -= checkpoint.wall_time
        if self._step % self._options.record_every == 0:
            self._recorded_at = self._state.time

    def _close(self, interrupted: bool) -> Trajectory:
        """Record where the run ended, and close."""
        if self._is_under_way and self._is_whole:
            self._recorder.flush(self._checkpoint())
        if self._recorded_at != self._state.time:
            self._record()
        if self._is_under_way:
            for event in self._stepper.last_events(self._state.time):
                self._recorder.note(event)
        return self._recorder.close(
            steps=self._step + (not self._is_whole),
            wall_time=self._wall_time,
            interrupted=interrupted,
        )
