"""The time loop."""

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsebody import ranks
from sparsebody.arrays import FloatArray
from sparsebody.dynamics import Formulation, ForwardDynamics
from sparsebody.dynamics.energy import is_conservative, is_passive
from sparsebody.dynamics.reductions import SubgroupAssembler
from sparsebody.equations.initial_state import consistent_state
from sparsebody.equations.system_motion import damping_powers, joint_errors
from sparsebody.errors import (
    AccuracyWarning,
    EnergyWarning,
    InterruptionWarning,
    OutputError,
    RankWarning,
    SimulationOptionError,
    SparsebodyError,
    warn_user,
)
from sparsebody.model.system import State, States, System, check_state
from sparsebody.simulation import callbacks, trajectory_files
from sparsebody.simulation.callbacks import Control, EventFinder, EventFunction, Report
from sparsebody.simulation.compliance_errors import rigid_differences
from sparsebody.simulation.implicit.collocation import CollocationStepper
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper
from sparsebody.simulation.integrators import (
    INTEGRATORS,
    Composition,
    ImplicitIntegrator,
    Integrator,
)
from sparsebody.simulation.options import (
    ADAPTIVE,
    EVERY_STEP,
    Method,
    Output,
    Recording,
    SimulationOptions,
    Solver,
    check_dynamics,
    check_positive,
    last_step_size,
    n_records,
    n_whole_steps,
    simulation_options,
    with_former_keywords,
)
from sparsebody.simulation.outer_steppers import (
    SINGULAR_START,
    AdaptiveStepper,
    AutoStepper,
    Inner,
    is_singular,
)
from sparsebody.simulation.stabilization import STABILIZATIONS, check_is_closed, closed_start
from sparsebody.simulation.step_errors import End, StepErrors
from sparsebody.simulation.stepper import UNDETERMINED_BRANCH, Stepper
from sparsebody.simulation.stepping import Checkpoint, Problem, row_size
from sparsebody.simulation.trajectory import (
    Ends,
    Event,
    Header,
    MemoryRecorder,
    StoppedSimulationError,
    Trajectory,
    records_of,
)

# Of the energy that moves; a larger one warns. In adaptive steps, which are to resolve the motion
_MOST_ENERGY_ERROR, _MOST_ADAPTIVE_ENERGY_ERROR = 0.2, 0.02
# The same of conservative motions in fixed steps whose own errors are not noticeable by estimate
_MOST_UNEXPLAINED_ENERGY_ERROR = 0.002
# Elastic energy of rigid joints, of the same: the square of a relative error of 5 %
_MOST_STORED_ENERGY = 0.05**2
# Estimated errors above which a warning comes, and of the step that it proposes: most are larger
# than the true ones, by two in the median
_MOST_STEP_ERROR, _GOOD_STEP_ERROR = 0.0025, 0.0005
_LOWEST_ORDER = 2  # of the steps of "auto"
_MOST_MASS_RATIO = 1e3  # of bodies, above which a motion is compared with one in longer steps
_NEGLIGIBLE_DISTANCE = 1e-6  # of the mechanism's size
_MOST_STEPS = 1024  # in one native call, whose time is limited as well
# The same where users look for events, at first and after one, and after many steps without any:
# all are undone for an event, and some taken again
_STEPS_TO_EVENT, _MOST_STEPS_TO_EVENT = 16, 128
_MOST_UNWRITTEN = 4096  # bodies in records that are computed at once
_MOST_ROWS_OF_START = 50_000  # a rank analysis of so many takes less time than a few steps
_TIME_ROUNDING = 8.0 * np.finfo(float).eps  # relative; of an event at the end of a step


def simulate(
    system: System,
    state: State | None = None,
    *,
    duration: float,
    step: float | str = 1e-3,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    method: str | Method = "auto",
    dynamics: ForwardDynamics | Solver | None = None,
    control: Control | None = None,
    events: EventFunction | Sequence[EventFunction] | None = None,
    output: str | Path | Output | None = None,
    record: Recording = EVERY_STEP,
    progress: bool | Report = False,
    **former: Any,
) -> Trajectory:
    """Simulate the motion of a mechanism.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where it begins; default: the nearest consistent state to the model's initial one. Where
        joints are open by more than 1e-5 of the mechanism's size, or velocities miss theirs by more
        than 1e-3 of the largest, the motion begins in the nearest consistent state instead, and an
        event says so, unless a compliance or another stabilization is given.
    duration : float
        How long [s].
    step : float or "auto"
        In which steps [s]; the last one is shorter if need be. "auto": as long as local errors
        are at most `atol` + `rtol` * size, where the size is one radian and the typical length for
        poses, the largest velocities for velocities; records are interpolated.
    rtol, atol : float
        Tolerances of step="auto": relative, and in rad, m, rad/s and m/s.
    method : str or Method
        A name in INTEGRATORS, or "auto": "rk4" as long as the mechanism is regular and not stiff,
        "generalized-alpha" where it is not; events say which, why, and how far joints opened.
        Method(name, ...) has options: stabilization, compliance, spectral_radius.
    dynamics : Solver or ForwardDynamics, optional
        Solver(ordering=..., factorization=..., reduction=...) says how equations are solved; a
        prepared ForwardDynamics is what explicit steps take.
    control : callable, optional
        control(time, state) returns wrenches (n_bodies, 6) about the centers of mass in body
        axes, moment first [N m, N], which act besides the forces of the model. Or a C function,
        which explicit steps call without Python: see sparsebody.simulation.callbacks.
    events : callable or sequence of callables, optional
        Functions g(time, state) whose zeros are located and recorded in the trajectory's events, as
        in scipy.integrate.solve_ivp: a function's attribute `terminal = True` ends the motion
        there, `direction` > 0 or < 0 takes only zeros on the way up or down. An attribute `change`,
        a function of time and state, returns the state that the motion goes on from.
    output : path or Output, optional
        An HDF5 file, written while the run goes on; else the trajectory stays in memory.
        Output(path, resume=True) goes on with a run that was interrupted. Where ranks of mpiexec
        share the factorization "mumps", rank 0 writes it, and the others return a trajectory in
        memory.
    record : Recording
        Recording(step=..., reactions=...) says how often, and whether joint wrenches too.
    progress : bool or callable
        A progress bar on standard error, or report(time, end), called ten times a second.
    **former
        Single options that are parts of `method`, `dynamics`, `record` and `output` now, and how
        version 0.1 took them; with a DeprecationWarning.

    Returns
    -------
    Trajectory
        After Ctrl-C or SIGTERM up to there, marked as interrupted, with an InterruptionWarning.
        With an EnergyWarning if nothing adds or takes energy, and it changed by more than a fifth
        of what moves, a fiftieth in adaptive steps, a five-hundredth in fixed ones whose errors are
        not noticeable otherwise; if nothing adds any, and it grew by a fifth or a fiftieth, or fell
        by as much beyond what dampers take; or if rigid joints, which implicit steps make slightly
        compliant, stored more than a four-hundredth of it. Its `estimated_error` is that of steps
        of a fixed size, relative to how far bodies moved; with an AccuracyWarning, which names a
        step that would do, if it is more than 0.25 %.

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
    groups = {"method": method, "dynamics": dynamics, "record": record, "output": output}
    method, dynamics, record, output = with_former_keywords(groups, former)
    dynamics = Solver() if dynamics is None else dynamics
    options = simulation_options(step, (rtol, atol), method, dynamics, record)
    if isinstance(dynamics, ForwardDynamics):
        check_dynamics(system, dynamics, options)
    control, finder = callbacks.control_of(control), EventFinder(callbacks.user_events(events))
    file = output if isinstance(output, Output) or output is None else Output(output)
    is_shared = options.factorization == "mumps" and ranks.n_ranks() > 1
    listens = is_shared and ranks.rank() > 0  # rank 0 writes
    path = None if file is None else Path(file.path) if listens else file.checked()
    conservative = control is None and not finder.changes_states and is_conservative(system)
    header = Header(system, options, conservative, None if file is None else file.source)
    is_resumed = path is not None and file is not None and file.resume and path.exists()
    if is_shared:
        is_resumed = ranks.communicator().bcast(is_resumed)
    if path is not None and is_resumed:
        trajectory_files.check_same_run(path, header)
    change = ""
    if state is None:
        state = consistent_state(system)
    else:
        check_state(system, state)
        if STABILIZATIONS[options.stabilization].closes:
            state, change = started(system, state, options)
    run = Run(system, state, options, control, finder, is_shared)
    run.change_of_start = change
    run.solver, run.stepper = dynamics, stepper_of(run.problem, dynamics)
    if path is None:
        run.recorder = MemoryRecorder(header, n_records(duration, options))
        return run.to(duration, progress)
    size = run.checkpoint_size
    checkpoint = trajectory_files.checkpoint_of(path, system, state, size) if is_resumed else None
    if is_shared:
        ranks.communicator().Barrier()  # all have read the file that is written now
    if listens:
        run.recorder = MemoryRecorder(header, n_records(duration, options))
    elif checkpoint is None:
        run.recorder = trajectory_files.FileRecorder(path, header, size)
    else:
        trajectory_files.rewind(path, header, checkpoint)
        run.recorder = trajectory_files.FileRecorder(path, header)
    if checkpoint is not None:
        run.go_back_to(checkpoint)
    return run.to(duration, progress)


def started(system: System, state: State, options: SimulationOptions) -> tuple[State, str]:
    """Return the state in which a motion begins, and how it differs from the given one.

    Joints of a given compliance may be open. Raises AssemblyError if one is wide open.
    """
    if options.compliance is None:
        return closed_start(system, state, options.step)
    check_is_closed(system, state)
    return state, ""


def stepper_of(problem: Problem, dynamics: ForwardDynamics | Solver) -> Inner | AdaptiveStepper:
    """Return the stepper of the method."""
    options = problem.options
    integrator = INTEGRATORS["rk4" if options.method == "auto" else options.method]
    if not isinstance(integrator, Integrator):
        implicit = ImplicitStepper if integrator.scheme is None else CollocationStepper
        return AdaptiveStepper(problem, implicit) if options.is_adaptive else implicit(problem)
    prepared = prepared_dynamics(problem) if isinstance(dynamics, Solver) else dynamics
    if isinstance(integrator.scheme, Composition):
        if options.stabilization != "projection":
            raise SimulationOptionError(
                f"the stabilization is {options.stabilization!r}, but {options.method!r} closes "
                "the joints itself; leave 'projection'"
            )
        prepared = without_subgroups(prepared)  # steps without constraints leave those
    explicit = AutoStepper if options.method == "auto" else Stepper
    if options.is_adaptive:
        return AdaptiveStepper(problem, lambda problem: explicit(problem, prepared))
    return explicit(problem, prepared)


def prepared_dynamics(problem: Problem) -> ForwardDynamics:
    """Return the dynamics, without a RankWarning: events report doubts about the rank."""
    options = problem.options
    uses_time_constant = STABILIZATIONS[options.stabilization].uses_time_constant
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        return ForwardDynamics(
            problem.system,
            problem.state,
            ordering=options.ordering,
            factorization=options.factorization,
            formulation=Formulation(reduction=options.reduction),
            baumgarte=options.time_constant if uses_time_constant else None,
        )


def without_subgroups(dynamics: ForwardDynamics) -> ForwardDynamics:
    """Return dynamics in which bodies have all freedoms, not those of subgroups alone."""
    in_subgroups = isinstance(dynamics.evaluator.assembler, SubgroupAssembler)
    return dynamics.unreduced if in_subgroups else dynamics


def undamped_loss(system: System, trajectory: Trajectory) -> float:
    """Return the largest loss of energy beyond the work of dampers [J], from records of every step.

    The work is integrated by the trapezoidal rule over all records and over every other one; their
    difference bounds its error, and is subtracted.
    """
    from scipy.integrate import cumulative_trapezoid  # takes longer to import than a short run

    arrays = trajectory.position, trajectory.orientation, trajectory.velocity
    states = States(*arrays, trajectory.coordinate, trajectory.time)
    power = damping_powers(system, states)
    work, rough = (
        cumulative_trapezoid(power[::n], trajectory.time[::n], initial=0.0) for n in (1, 2)
    )
    loss = trajectory.energy[0] - trajectory.energy - work
    return float(np.max(loss[::2] - np.abs(work[::2] - rough)))


class Run:
    """One run of the time loop."""

    solver: ForwardDynamics | Solver
    stepper: Inner | AdaptiveStepper
    recorder: MemoryRecorder | trajectory_files.FileRecorder
    change_of_start = ""  # how the first state differs from the given one

    def __init__(
        self,
        system: System,
        state: State,
        options: SimulationOptions,
        control: Control | None,
        finder: EventFinder,
        is_shared: bool = False,
    ) -> None:
        self._is_shared = is_shared  # by ranks, which must stop at the same step
        self.problem = Problem(system, state, options, control, self._note)
        self._system, self._options, self._finder = system, options, finder
        self._first_time, self._state, self._step, self._n_events = state.time, state, 0, 0
        self._event_time = state.time  # of the newest event
        self._is_under_way = False
        self._is_whole = True  # the state is a whole number of steps from the first
        self._is_ended = False  # by an event
        self._n_to_event = _STEPS_TO_EVENT  # steps to look for events in at once
        self._is_amid_events = False  # those of a step that the stepper has taken
        self._held_notes: list[Event] | None = None  # of steps that may be undone
        self._recorded_at = -float("inf")
        # Records to be written, with multipliers (n_rows,) of compliant joints
        self._unwritten: list[tuple[State, FloatArray | None]] = []
        # True if nothing adds energy
        self._is_passive = control is None and not finder.changes_states and is_passive(system)
        joint_errors(system)  # laid out for many records
        self._clock = 0.0  # [s] start of the loop, less the wall time before a resumption
        self._errors: StepErrors | None = None  # None for adaptive steps, and a single one
        # What StepErrors goes on from: nothing up to the first state
        self._earlier_errors = np.append(np.zeros(23 * system.n_bodies + 5), state.time)

    @property
    def checkpoint_size(self) -> int:
        """The length of a packed checkpoint."""
        return row_size(self._system, self.stepper.memory_size) + len(self._earlier_errors)

    def go_back_to(self, checkpoint: Checkpoint) -> None:
        """Begin at a checkpoint."""
        n = len(self._earlier_errors)
        memory, self._earlier_errors = np.split(checkpoint.memory, [-n])
        self.stepper.resume(replace(checkpoint, memory=memory))
        self._state, self._is_under_way = checkpoint.state, True
        self._step, self._n_events = checkpoint.step, checkpoint.n_events
        here = self._first_time + self._step * self._options.step
        # The stepper may be ahead: after adaptive steps, or on the way out of a singular pose
        if isinstance(self.stepper, AdaptiveStepper) or self._state.time > here:
            self._state = self.stepper.advance(here)
        self._clock -= checkpoint.wall_time
        if self._step % self._options.record_every == 0:
            self._recorded_at = self._state.time

    def to(self, duration: float, progress: bool | Report) -> Trajectory:
        """Run for `duration` from the first state and return the trajectory."""
        end, self._clock = self._first_time + duration, time.perf_counter() + self._clock
        with (
            np.errstate(all="ignore"),  # a blow-up is reported by name, not by warnings
            callbacks.progress_report(progress, end) as report,
            callbacks.stop_request() as stop,
        ):
            try:
                for _ in self._steps(duration):
                    report(self._state.time, end)
                    if self._is_shared:
                        stop.signal = ranks.first_of_all(stop.signal)
                    if stop:
                        break
                is_over = not stop or self._state.time >= end - 0.5 * self._options.step
                if is_over and not stop:
                    self._compare_with_longer_steps(end, stop)
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
            self.recorder.note(Event(self._state.time, "interruption", f"by {stop.signal}"))
            ends = f"interrupted by {stop.signal}: the trajectory ends at {self._state.time:.6g} s"
            warn_user(ends, InterruptionWarning)
        trajectory = self._close(not is_over)
        self._doubt(trajectory)
        return trajectory

    def _compare_with_longer_steps(self, end: float, stop: callbacks.StopRequest) -> None:
        """Compare the end of the motion of ill-scaled bodies with that in steps twice as long.

        Light bodies between heavy ones amplify errors as nothing along the motion tells.
        """
        mass, errors, problem = self._system.mass, self._errors, self.problem
        is_ill_scaled = len(mass) > 0 and mass.max() > _MOST_MASS_RATIO * mass.min()
        is_alone = problem.control is None and not self._finder.changes_states
        if errors is None or not is_ill_scaled or not is_alone or self._is_ended or self._is_shared:
            return
        if self._is_whole:
            self._flush()  # nothing that was computed is lost
        step = 2.0 * self._options.step
        longer = replace(problem, options=replace(problem.options, step=step), note=lambda _: None)
        stepper = stepper_of(longer, self.solver)
        times = np.arange(self._first_time + step, end, step)
        with suppress(SparsebodyError):  # as steps so long do not lead on
            stepper.start(problem.state)
            k = 0
            while k < len(times) and not stop:
                ends = stepper.take_steps(times[k:])
                if ends is None:
                    stepper.advance(float(times[k]))
                k += 1 if ends is None else ends.n_steps
            if not stop:
                other = stepper.advance(self._state.time)
                errors.compare(self._state, other, 1.0 / (2.0**self._order - 1.0))

    @property
    def _order(self) -> int:
        """The order of the method, that of the newest steps at most."""
        integrator, stepper = INTEGRATORS.get(self._options.method), self.stepper
        if isinstance(stepper, AutoStepper) and stepper.is_implicit:
            return _LOWEST_ORDER
        return INTEGRATORS["rk4"].order if integrator is None else integrator.order

    def _doubt(self, trajectory: Trajectory) -> None:
        """Warn of joints too soft, of undetermined branches, and of steps too long for a motion."""
        self._doubt_joints(trajectory)
        self._doubt_branches(trajectory)
        is_adaptive = self._options.is_adaptive
        most = _MOST_ADAPTIVE_ENERGY_ERROR if is_adaptive else _MOST_ENERGY_ERROR
        if self._is_passive and self._doubts_energy(trajectory, most):
            return
        integrator = INTEGRATORS.get(self._options.method)
        swings = isinstance(integrator, Integrator) and integrator.is_symplectic
        is_judged = trajectory.conservative and not (is_adaptive or swings)
        if not self._doubts_steps() and self._is_passive and is_judged:
            self._doubts_energy(trajectory, _MOST_UNEXPLAINED_ENERGY_ERROR)

    @property
    def _negligible_distance(self) -> float:
        """The distance [m] below which a displacement counts as none."""
        return _NEGLIGIBLE_DISTANCE * self._system.typical_length

    @property
    def _negligible_energy(self) -> float:
        """The work of the mechanism's weight along that distance [J]."""
        system = self._system
        return self._negligible_distance * float(system.mass.sum() * np.linalg.norm(system.gravity))

    def _doubt_joints(self, trajectory: Trajectory) -> None:
        """Warn where rigid joints are so soft in implicit steps that it shows in the motion."""
        if trajectory.elastic_energy is None or self._options.compliance is not None:
            return
        elastic = float(trajectory.elastic_energy.max())
        stored = trajectory.relative_to_motion(elastic)
        if stored > _MOST_STORED_ENERGY and elastic > self._negligible_energy:
            warn_user(
                f"rigid joints of {self._system.name!r} stored {stored:.1%} of what moves, so that "
                "the motion depends on how stiff they are: give the compliance of real joints, "
                'sb.Method("generalized-alpha", compliance=...), or try "generalized-alpha-2"',
                EnergyWarning,
            )

    def _doubt_branches(self, trajectory: Trajectory) -> None:
        """Warn where rounding decided how rigid joints went on; soft ones decide themselves."""
        branches = [
            event
            for event in trajectory.events
            if event.kind == UNDETERMINED_BRANCH and event.message != SINGULAR_START
        ]
        if branches:
            warn_user(
                f"the motion of {self._system.name!r} takes an undetermined branch at t = "
                f"{branches[0].time:.6g} s, the first of {len(branches)}: {branches[0].message}",
                AccuracyWarning,
            )

    def _doubts_energy(self, trajectory: Trajectory, most: float) -> bool:
        """Warn if an energy error shows that steps are too long; return whether it does.

        With elastic elements only a growing energy counts: implicit steps may damp vibrations.
        """
        energy, system, is_adaptive = trajectory.energy, self._system, self._options.is_adaptive
        loss = 0.0 if system.elastic.kind.size else float((energy[0] - energy).max())
        if trajectory.conservative:
            drift = float((energy - energy[0]).max())
        else:
            drift = float((energy - np.minimum.accumulate(energy)).max())
            is_large = trajectory.relative_to_motion(loss) > _MOST_ENERGY_ERROR
            has_all = self._options.record_every == 1 and not is_adaptive
            loss = undamped_loss(system, trajectory) if is_large and has_all else 0.0
        is_lost, drift = loss > drift, max(drift, loss)
        change = trajectory.relative_to_motion(drift)
        closes = STABILIZATIONS[self._options.stabilization].closes
        if not (change > most and closes and drift > self._negligible_energy):
            return False
        cause = "beyond what dampers take" if is_lost else "with nothing that adds any"
        if trajectory.conservative:
            cause = "with nothing that adds or takes any"
        done = "fell" if is_lost else "grew"
        remedy = 'take smaller steps, or step="auto"'
        if is_adaptive:
            remedy = 'give a smaller rtol, or try method="radau-iia"'
        if {"passed pose", "step in parts"} & {event.kind for event in trajectory.events}:
            remedy += ', or method="auto" if poses were singular'
        warn_user(
            f"the energy of {system.name!r} {done} by {change:.1%} of what moves, {cause}: "
            f"{remedy}",
            EnergyWarning,
        )
        return True

    @property
    def _estimated_error(self) -> tuple[float, bool]:
        """The error over the motion, at most 1 where nothing is known, and whether bodies rest."""
        assert self._errors is not None
        error, is_small = self._errors.relative_to_motion(self._state)
        return min(error, 1.0), is_small

    def _doubts_steps(self) -> bool:
        """Warn where the errors of the steps grow to a noticeable part of the motion."""
        if self._errors is None:
            return False
        error, is_small = self._estimated_error
        if is_small or error <= _MOST_STEP_ERROR:
            return False
        factor = (_GOOD_STEP_ERROR / error) ** (1.0 / self._order)
        remedy = f"take steps of {factor * self._options.step:.1g} s"
        if self._options.method in ADAPTIVE:
            remedy += ', or step="auto"'
        warn_user(
            f"errors of the steps of {self._system.name!r} grow to an estimated {error:.1%} of how "
            f"far its bodies moved: {remedy}",
            AccuracyWarning,
        )
        return True

    def _steps(self, duration: float) -> Iterator[None]:
        """Advance step by step, recording."""
        options = self._options
        if not self._is_under_way:
            self._record()
            if self.change_of_start:
                self._note(Event(self._state.time, "inconsistent start", self.change_of_start))
            self._note_branches()
            self.stepper.start(self._state)
            self._is_under_way = True
        self._finder.begin(self._state)
        n_steps = n_whole_steps(duration, options.step)
        if not options.is_adaptive and n_steps > 1:
            self._errors = StepErrors(self._system, self.problem.state)
            self._errors.resume(self._earlier_errors)
            if (
                self._is_near_rigid
                and self.problem.control is None
                and not len(self._system.elastic)
            ):
                self._errors.rigid_differences = self._rigid_differences
        while self._step < n_steps:
            self._look_at_errors()
            if not self._take_steps(n_steps):
                self._advance(self._first_time + (self._step + 1) * options.step)
                if self._is_ended:
                    return
                self._step += 1
                if self._step % options.record_every == 0:
                    self._record()
            if self.recorder.is_flush_due():
                self._flush()
            yield
        self._look_at_errors()
        if last_step_size(duration, options.step) > 0.0:
            self._flush()
            self._is_whole = False
            self._advance(self._first_time + duration)
            yield

    def _take_steps(self, n_steps: int) -> bool:
        """Take several steps, up to `n_steps` in all, and record them; False if it takes none."""
        every, errors, has_events = self._options.record_every, self._errors, self._finder.events
        if self._steps_alone:
            return False
        n = self._n_to_event if has_events else _MOST_STEPS
        times = np.arange(self._step + 1, min(n_steps, self._step + n) + 1, dtype=np.float64)
        times *= self._options.step
        times += self._first_time
        take_steps = self._take_quiet_steps if has_events else self.stepper.take_steps
        start = self.stepper.state, self.stepper.acceleration
        compliance = self.stepper.row_compliance  # which the last step may change
        out = self.recorder.free_states(len(self._unwritten)) if every == 1 else None
        ends = take_steps(times, out)
        if ends is None:
            return False
        if errors is not None:  # `_look_at_errors` adds the last one
            inner, end_at = slice(ends.n_steps - 1), partial(self._end_of, ends, compliance)
            states, acceleration = ends.states.chosen(inner), ends.acceleration[inner]
            joints = self._joints(ends.multiplier[inner], compliance)
            errors.add_ends(self._step + 1, states, acceleration, joints, end_at)
        recorded = slice(-(self._step + 1) % every, None, every)
        self._step, self._state = self._step + ends.n_steps, self.stepper.state
        if errors is not None and start[0].time < self._event_time <= self._state.time:
            k = ends.n_steps - 2  # where the step with the event began
            last = self._end_of(ends, compliance, k) if k >= 0 else self._end(*start)
            errors.begin_pair(self._step - 1, last)
        self._write(ends.states.chosen(recorded), ends.multiplier[recorded])
        return True

    def _take_quiet_steps(self, times: FloatArray, out: States | None) -> Ends | None:
        """Take steps up to the first one with a user's event, which `_advance` takes."""
        stepper, finder = self.stepper, self._finder
        assert not isinstance(stepper, AdaptiveStepper)  # whose steps are taken one by one
        saved, notes = stepper.saved(), list[Event]()
        self._held_notes = notes
        try:
            ends = stepper.take_steps(times, out)
            n = 0 if ends is None else finder.n_before(ends.states)
            self._n_to_event = min(2 * self._n_to_event, _MOST_STEPS_TO_EVENT)
            if ends is not None and n < ends.n_steps:
                self._n_to_event = _STEPS_TO_EVENT
                stepper.restore(saved)
                notes.clear()
                ends = stepper.take_steps(times[:n], out) if n > 0 else None
            if ends is not None:
                finder.begin(ends.states.at(-1))
        except BaseException:  # of an event function, or a second Ctrl-C
            stepper.restore(saved)
            notes.clear()
            raise
        finally:
            self._held_notes = None
            for event in notes:
                self._note(event)
        return ends

    def _note_branches(self) -> None:
        """Note that implicit steps, which decide on no rows, start at a singular pose."""
        if self._options.method == "auto" or not self._is_near_rigid:
            return
        with suppress(SparsebodyError):  # implicit steps need no choice of rows
            if is_singular(self._rigid, self._state, self._options.step):
                self._note(Event(self._state.time, UNDETERMINED_BRANCH, SINGULAR_START))

    @cached_property
    def _rigid(self) -> ForwardDynamics:
        """The dynamics with rigid joints, where implicit steps give them a compliance."""
        stepper = self.stepper
        return (
            stepper.dynamics
            if isinstance(stepper, AutoStepper)
            else prepared_dynamics(self.problem)
        )

    @property
    def _is_near_rigid(self) -> bool:
        """Whether steps may give rigid joints a compliance, and a rank analysis is no effort."""
        options = self._options
        integrator = INTEGRATORS.get(options.method)  # None of "auto"
        is_implicit = integrator is None or isinstance(integrator, ImplicitIntegrator)
        is_alone = options.compliance is None and not self._is_shared
        return is_implicit and is_alone and self._system.n_rows <= _MOST_ROWS_OF_START

    def _rigid_differences(self, ends: list[End]) -> FloatArray | None:
        """Return those of `compliance_errors`; None where a pose is singular."""
        with suppress(SparsebodyError):
            return rigid_differences(self._rigid, ends)
        return None

    def _look_at_errors(self) -> None:
        """Add the state to the pairs of StepErrors."""
        errors, stepper = self._errors, self.stepper
        if errors is None:
            return
        if stepper.state.time != self._state.time:  # it goes on from another state
            errors.restart()
            return
        if self._step < errors.next_step:
            return
        for part in stepper.passed[1:]:
            errors.add(self._step, self._end(part.state, part.acceleration))
        errors.add(self._step, self._end(self._state, stepper.acceleration))

    def _end(self, state: State, acceleration: FloatArray) -> End:
        """Return a state in the newest step as a sample for StepErrors."""
        multiplier = self.stepper.multiplier_at(state.time)
        compliance = self.stepper.row_compliance
        joints = () if multiplier is None else self._joints(multiplier, compliance)
        return End(state, acceleration, *joints)

    def _end_of(self, ends: Ends, compliance: FloatArray, k: int) -> End:
        """Return the same of the k-th of some ends of steps."""
        joints = self._joints(ends.multiplier[k].copy(), compliance)
        return End(ends.states.at(k), ends.acceleration[k].copy(), *joints)

    def _joints(
        self, multiplier: FloatArray, compliance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return multipliers (..., n_rows), and compliances (n_rows,); none of rigid joints."""
        compliance = compliance if multiplier.shape[-1] > 0 else np.zeros(0)
        return multiplier[..., : len(compliance)], compliance

    def _advance(self, time: float) -> None:
        """Advance to a time, or to the event that ends the motion.

        Events are found in every step: with adaptive ones several lead to a record.
        """
        self._advance_once(time)
        while self._state.time < time and self._finds_in_parts and not self._is_ended:
            self._is_amid_events = True  # the stepper is ahead of the newest record
            self._advance_once(time)

    @property
    def _finds_in_parts(self) -> bool:
        return bool(self._finder.events) and self._options.is_adaptive

    def _advance_once(self, time: float) -> None:
        """Advance to a time, or an adaptive step towards it where events are looked for."""
        start, n_noted = (self.stepper.state, self.stepper.acceleration), self._n_events
        after = self._reached(time)
        is_eventful = len(self.stepper.passed) > 1 or self._n_events > n_noted
        if self._errors is not None and is_eventful and start[0].time == self._state.time:
            self._errors.begin_pair(self._step, self._end(*start))
        self._is_amid_events = True
        finder = self._finder
        crossings, here = [], self._state
        if finder.events:
            within = [
                at.state for at in self.stepper.passed if here.time < at.state.time < after.time
            ]
            for there in (*within, after):
                crossings += finder.find(self.stepper, here, there)
                here = there
        for event, here in crossings:
            self._note(Event(here.time, "event", event.name))
            if event.is_terminal:
                self._state, self._is_ended, self._is_whole = here, True, False
                return
            if event.change is not None:
                changed = event.change(here.time, here)
                check_state(self._system, changed)
                is_over = time - here.time <= _TIME_ROUNDING * abs(time)  # no step is as short
                changed = changed.with_(time=time) if is_over else changed
                self._state = self.stepper.consistent(changed)
                self.stepper.restart(self._state)
                if self._errors is not None:
                    self._errors.restart()
                finder.begin(self._state, event)
                if not is_over:
                    self._advance(time)
                self._is_amid_events = False
                return
        self._state, self._is_amid_events = after, False

    def _reached(self, time: float) -> State:
        """Return the state at a time, after one native step if several are not tried at once."""
        if self._finds_in_parts and isinstance(self.stepper, AdaptiveStepper):
            return self.stepper.advance_once(self._state.time, time)
        alone = np.array([time])
        if self._steps_alone and self.stepper.take_steps(alone) is not None:
            return self.stepper.state
        return self.stepper.advance(time)

    @property
    def _steps_alone(self) -> bool:
        """Whether steps cannot be undone for an event, or looked back at for reactions.

        A control would be called beyond the event, or again: it may have memory, such as one that
        is sampled, or fail there.
        """
        stepper, goes_one_way = self.stepper, self.problem.control is not None
        undone = bool(self._finder.events), stepper.undoes_exactly
        looked_at = self._options.record_reactions, stepper.has_reactions_of_all
        return any(is_asked and (goes_one_way or not can) for is_asked, can in (undone, looked_at))

    def _record(self) -> None:
        """Take the newest state for the records, and write some at once."""
        stepper, self._recorded_at = self.stepper, self._state.time
        multiplier = stepper.multiplier_at(self._state.time) if self._is_under_way else None
        self._unwritten.append((self._state, multiplier))
        n_bodies = len(self._unwritten) * self._system.n_bodies
        if self._options.record_reactions or n_bodies >= _MOST_UNWRITTEN:
            self._write()

    def _write(self, newest: States | None = None, multiplier: FloatArray | None = None) -> None:
        """Write the records so far, and of the newest states, compliant joints by multipliers."""
        if self._unwritten:
            states, multipliers = zip(*self._unwritten, strict=True)
            self._unwritten.clear()
            of_rigid = np.zeros(self._system.n_rows)
            rows = np.array([of_rigid if rows is None else rows for rows in multipliers])
            self._write(States.of(*states), rows)
        if newest is not None and len(newest.time) > 0:
            self._recorded_at = float(newest.time[-1])
            wrench = self.stepper.joint_wrench if self._options.record_reactions else None
            self.recorder.append(records_of(self._system, newest, multiplier, wrench))

    def _note(self, event: Event) -> None:
        if self._held_notes is not None:
            self._held_notes.append(event)
            return
        self._n_events, self._event_time = self._n_events + 1, event.time
        self.recorder.note(event)

    def _flush(self) -> None:
        self._write()
        self.recorder.flush(self._checkpoint)

    def _checkpoint(self) -> Checkpoint:
        stepper, wall_time = self.stepper, time.perf_counter() - self._clock
        here = stepper.state, stepper.acceleration, self._n_events, wall_time
        errors = self._earlier_errors if self._errors is None else self._errors.memory
        return Checkpoint(self._step, *here, stepper.rank, np.append(stepper.memory, errors))

    def _close(self, interrupted: bool) -> Trajectory:
        """Record where the run ended, and close.

        If a user's function was interrupted amid the events of a step, the stepper is ahead of the
        state, or has gone on from an event: no checkpoint, so resuming begins at an older one.
        """
        if self._is_under_way and self._is_whole and not self._is_amid_events:
            self._flush()
        if self._recorded_at != self._state.time:
            self._record()
        self._write()
        if self._is_under_way:
            for event in self.stepper.last_events(self._state.time):
                self.recorder.note(event)
        return self.recorder.close(
            steps=self._step + (not self._is_whole),
            wall_time=time.perf_counter() - self._clock,
            interrupted=interrupted,
            estimated_error=None if self._errors is None else self._estimated_error[0],
        )
