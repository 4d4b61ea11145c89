"""Implicit steps in the time loop: halved steps, starting values, reactions, checkpoints."""

import copy
import itertools
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.energy import is_conservative
from sparsebody.equations.initial_state import compliant_state, consistent_state
from sparsebody.equations.system_motion import SystemMotion, constraint_errors
from sparsebody.errors import SimulationError
from sparsebody.model.system import State, States, System
from sparsebody.simulation.implicit import step_equations
from sparsebody.simulation.implicit.generalized_alpha import (
    AlphaState,
    AlphaSteps,
    GeneralizedAlpha,
    StabilizedAlpha,
    StartingValues,
)
from sparsebody.simulation.implicit.newton import NewtonMatrix
from sparsebody.simulation.implicit.step_equations import Newest, StepEquations
from sparsebody.simulation.integrators import INTEGRATORS, LocalError
from sparsebody.simulation.stabilization import largest
from sparsebody.simulation.stepping import Checkpoint, Problem, RankWatch, packed, unpacked
from sparsebody.simulation.trajectory import Ends, Event, cause_of

_SAME_STEP = 1e-9  # relative difference of steps, by rounding of times
# Part of a step that is left to the next one, as what remains after an event. In shorter steps
# constraints of index 3 would turn position errors, over h, into velocities.
_SHORT_STEP = 0.1
_CALM_STEPS = 8  # steps in parts of one length without a failure, after which parts are doubled
_MOST_HALVINGS = 10  # parts of a thousandth of the step
_FULL_MATRIX_HALVINGS = 4  # after which the full matrix of Newton's method is factorized
# Position error over the mechanism's extent from which joints are closed before implicit steps
_LARGE_ERROR = 1e-4
# Position error over the mechanism's size, or [rad], beyond which the compliance is not negligible
_ERROR_LIMIT = 0.01
# Compliance of rigid joints, over h^2 / m, that makes dependent rows regular. h is the step, but at
# least _RIGID_TIME of the time in which loads move the mechanism by its size: where motions leave
# singular poses, multipliers grow as 1 / t^2
_RIGID_COMPLIANCE, _RIGID_TIME = 1e-11, 5e-3
_NEWEST_SHARE = 0.2  # weight of the newest multipliers in the mean that the compliance is sized by
# Factor of a compliance on trial, and the relative change of multipliers from which it is kept
_TRIAL_FACTOR, _LOAD_TOLERANCE = 0.1, 0.02
_MOST_TRIALS = 8  # starts with ever stiffer joints
# Factor of a compliance that is too small for Newton's method, and the longest part of a step by
# whose failure it is
_SOFTER_FACTOR, _SHARE_TO_SOFTEN = 30.0, 0.6


Now = TypeVar("Now", bound=Newest)


class HalvedSteps(Generic[Now]):
    """Halves steps where Newton's method fails, and doubles them again after some that succeed."""

    undoes_exactly = False  # factors of the matrix are those of the undone steps
    has_reactions_of_all = False  # only in the newest step
    rank = RankWatch()  # of all implicit steppers: they make no choice of rows, and never change it

    def __init__(self, problem: Problem) -> None:
        self._system, self._note, self.nominal = problem.system, problem.note, problem.options.step
        self._most_halvings = 0 if problem.options.is_adaptive else _MOST_HALVINGS
        # Of steps now; steps since that changed, before the end of the step that halves them -1
        self._halvings, self._n_calm = 0, 0
        self._now: Now | None = None
        self.passed: list[Now] = []  # where the parts of the newest step began

    @property
    def now(self) -> Now:
        """The newest values of the method."""
        assert self._now is not None
        return self._now

    @property
    def state(self) -> State:
        """The state that the next step starts from."""
        return self.now.state

    @property
    def acceleration(self) -> FloatArray:
        """Its accelerations (n_bodies, 6)."""
        return self.now.acceleration

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        raise NotImplementedError

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        raise NotImplementedError

    def restart(self, state: State) -> None:
        """Go on from another state."""
        self._now = None
        self.start(state)

    def consistent(self, state: State) -> State:
        """Return the nearest state that steps can start from."""
        return consistent_state(self._system, state)

    def multiplier_at(self, time: float) -> FloatArray | None:
        """Return None: only compliant joints have multipliers of their own."""
        return None

    @property
    def row_compliance(self) -> FloatArray:
        """Compliances (n_rows,) of the joints, (0,) where they are rigid."""
        return np.zeros(0)

    def closed(self, state: State) -> State:
        """Return the state as it is: steps close joints themselves, up to their compliance."""
        return state

    def take_steps(self, times: FloatArray, out: States | None = None) -> Ends | None:
        """Take none of several steps at once."""
        return None

    def advance(self, time: float) -> State:
        """Return the state at `time`.

        Raises SimulationError if Newton's method does not converge however short the step is, or a
        joint opens beyond the limit.
        """
        saved, self.passed = self.saved(), []
        try:
            self._advance(time, 0)
        except SimulationError:
            self.restore(saved)  # none of its parts
            raise
        self._check_closed()
        self._n_calm += 1
        if self._n_calm == _CALM_STEPS:
            self._halvings, self._n_calm = max(0, self._halvings - 1), 0
        return self.state

    def _advance(self, time: float, halvings: int) -> None:
        """Reach `time` in parts, halved again where Newton's method fails."""
        if halvings >= self._halvings:
            try:
                h, nominal = time - self.state.time, self.nominal / 2**halvings
                h = nominal if abs(h - nominal) < _SAME_STEP * nominal else h
                start = self.now
                self._step(time, h, halvings)
                self.passed.append(start)
                return
            except SimulationError as error:
                if self._soften(time, h):
                    self._advance(time, halvings)
                    return
                self._halve(time, halvings, error)
        self._advance(0.5 * (self.state.time + time), halvings + 1)
        self._advance(time, halvings + 1)

    def _halve(self, time: float, halvings: int, error: SimulationError) -> None:
        """Take the step to `time` in twice as many parts, after an error; raise it after many."""
        if halvings == self._most_halvings:
            raise SimulationError(self._explained(error)) from error
        self._halvings, self._n_calm = halvings + 1, -1
        parts = f"{2**self._halvings} parts: {cause_of(error)}"
        self._note(Event(time, "step in parts", parts))

    def _step(self, time: float, h: float, halvings: int) -> None:
        """Take one step of `h` [s] to `time`."""
        raise NotImplementedError

    def _soften(self, time: float, h: float) -> bool:
        """Make joints softer where a step of `h` [s] fails; return whether they are."""
        return False

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` needs to undo steps."""
        return self._now, self.passed, self._halvings, self._n_calm

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Undo the steps since then."""
        self._now, self.passed, self._halvings, self._n_calm = saved

    def _check_closed(self) -> None:
        """Raise SimulationError where a joint opens beyond the limit."""

    def _explained(self, error: SimulationError) -> str:
        """Return an error with what may have caused it."""
        return str(error)


def implicit_memory(system: System, is_controlled: bool) -> int:
    """Return how many numbers `ImplicitStepper.memory` has."""
    n, tracked, efforts = system.n_bodies, system.coordinates, system.joint_forces.effort
    n_inputs = len(tracked.prescribed) + len(efforts) + len(system.point_forces.effort)
    n_inputs += 6 * n if is_controlled else 0
    n_others = 3 * step_equations.n_rows(system) + system.n_rows + len(tracked.joint)
    return 10 + 25 * n + n_inputs + n_others


class ImplicitStepper(HalvedSteps[AlphaState]):
    """Takes steps of the generalized-alpha method; no decision on rank, whatever the pose.

    A step in which Newton's method fails is taken in halves. Unless the user gives a compliance, it
    is lowered at the start until no joint opens noticeably under its multipliers, and later only
    in driven motions, whose multipliers may grow, unless steps are in parts. In conservative ones
    the energy bounds the loads, and stiffer joints would make the forces of shocks larger. Near
    singular poses multipliers grow as fast as the compliance falls: where Newton's method fails in
    parts of steps as well, joints become softer again, and stay so.
    """

    undoes_exactly = True
    error_order = 3  # of local errors
    least_step = _SHORT_STEP  # part of a step: what is shorter is left to the next step

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        system, state, options = problem.system, problem.state, problem.options
        integrator = INTEGRATORS.get(options.method)
        self.is_rigid = getattr(integrator, "closes_velocities", False)
        self._is_negligible = options.compliance is None and not self.is_rigid
        compliance = options.compliance
        if compliance is None:
            compliance = step_equations.negligible_compliance(system, state)
        if self.is_rigid:
            loads, mass = step_equations.all_loads(system, state), system.mass
            time = _RIGID_TIME * (system.typical_length * float(mass.sum()) / loads) ** 0.5
            h = max(options.step, time)
            compliance = _RIGID_COMPLIANCE * h**2 / float(mass.mean())
        self.compliance = compliance  # [m/N]
        self._extent = step_equations.extent_of(system, state)  # [m]
        self._largest_error = 0.0  # of joints so far [m, rad], and beyond which C is not negligible
        self._error_limit = _ERROR_LIMIT * system.typical_length if self._is_negligible else np.inf
        blocks = step_equations.uniform_compliance(system, state, compliance)
        self.equations = StepEquations(system, blocks, problem.control)
        self.memory_size = implicit_memory(system, problem.control is not None)
        matrix = NewtonMatrix(self.equations, options.ordering, options.factorization)
        self._matrix, self.newton = matrix, matrix.native
        self._first, self._first_compliance = copy.deepcopy(blocks), compliance
        # (n_rows,) lengths of errors of 1: 1 m, or of a radian the mechanism's size
        self._length = np.sqrt(compliance / self._first.diagonal)
        work = step_equations.all_loads(system, state) * self._extent  # [J] along the extent
        self._is_conservative = is_conservative(system)  # but for a control
        self._is_driven = problem.control is not None or not self._is_conservative
        self._load = np.zeros(system.n_rows)  # exponential mean of multipliers while driven
        share = _NEWEST_SHARE if self._is_driven and not self.is_rigid else 0.0
        openings = self._load, self._length, share, self._extent, work, self._is_conservative
        arguments = self.equations, matrix, options.spectral_radius, openings
        self.method = (
            StabilizedAlpha(*arguments, step=options.step)
            if self.is_rigid
            else GeneralizedAlpha(*arguments)
        )
        b = self.method.coefficients.of_newton(options.step)[0]
        # [m/N]: that at the start, to which it may be raised again; that to which it may be
        # lowered, at first by the precision of factors
        self._softest = self._least = self._least_of_factors = compliance
        if self._is_negligible:
            self._least = self._least_of_factors = step_equations.least_compliance(system, b)
        self._is_adaptive = options.is_adaptive
        self._starting = StartingValues(self.equations, matrix, self.method.coefficients)
        self._failure: BaseException | None = None  # of `take_steps`
        self._start_a: FloatArray | None = None  # the method's a where the newest step began
        # [s] the newest step; before the first one that for which the starting values are, or zero
        # if they depend on a step that is chosen by its error
        self._h = 0.0

    def multiplier_at(self, time: float) -> FloatArray | None:
        """Return the multipliers (n_rows,) of the joints in the newest step; None of rigid ones."""
        return None if self.is_rigid else self._interpolated(time)

    @property
    def row_compliance(self) -> FloatArray:
        """Compliances (n_rows,) of the joints, (0,) where they are rigid."""
        return np.zeros(0) if self.is_rigid else self.equations.compliance.diagonal.copy()

    def _interpolated(self, time: float) -> FloatArray:
        """Return the multipliers of the joints, by linear interpolation in each part of a step.

        That is of order 2, as they are. At the end of a step, and before the first one, they are
        those of the newest state.
        """
        n, parts = self._system.n_rows, itertools.pairwise([*self.passed, self.now])
        for before, after in parts:
            start, end = before.state.time, after.state.time
            if start <= time < end:
                share = (end - time) / (end - start)
                return share * before.multiplier[:n] + (1.0 - share) * after.multiplier[:n]
        return self._multiplier

    @property
    def memory(self) -> FloatArray:
        """Numbers that the next step depends on, beside the state."""
        now = self.now
        before = self.passed[-1] if self.passed else now
        own = *self._numbers, self._halvings, self._n_calm, before.state.time
        multipliers = before.multiplier, self._load
        return packed(now.a, now.multiplier, *own, *multipliers, self.newton.point())

    @property
    def _numbers(self) -> tuple[float, ...]:
        """Those that steps change, beside their ends."""
        return self._h, self.compliance, self._least, self._softest, self._largest_error

    @_numbers.setter
    def _numbers(self, numbers: tuple[float, ...]) -> None:
        self._h, compliance, self._least, self._softest, self._largest_error = numbers
        self.set_compliance(compliance)

    @property
    def _multiplier(self) -> FloatArray:
        return self.now.multiplier[: self._system.n_rows]

    def start(self, state: State) -> None:
        """Start from a consistent state, unless steps have begun.

        `joint_wrench` does so for the first record, which is made before the start.
        """
        if self._now is not None:
            return
        self._begin(state)
        if self.is_rigid:
            return
        for _ in range(_MOST_TRIALS):
            if not (self._try_stiffer(state) or self._stiffen()):
                break
            self._begin(state)
        self._set_out()

    def _begin(self, state: State) -> None:
        """Begin at a state, with starting values for the first step if its size is known."""
        self._now, self._h = self._starting_values(state, self.nominal), self.nominal
        if self._is_adaptive:
            self._now, self._h = replace(self.now, state=state), 0.0
        self.passed, self._load[:] = [], self._multiplier

    def _starting_values(self, state: State, h: float) -> AlphaState:
        values = self._starting.at(state, h)
        return replace(values, state=state) if self.is_rigid else values

    def restart(self, state: State) -> None:
        """Go on from another state, with stiffer joints if its loads are larger in all.

        Loads, not multipliers, because near a singular pose joints may have errors that no motion
        closes, and multipliers that grow with their stiffness.
        """
        if self.is_rigid:
            super().restart(state)
            return
        self._begin(state)
        self._least, self._failure = self._least_of_factors, None
        compliance = step_equations.negligible_compliance(self._system, state)
        if self._is_negligible and self._lower(compliance / self.compliance):
            self._begin(self.state)
        self._set_out()

    def _set_out(self) -> None:
        """Take the compliance for that at the start, and forget loads that no control exerts."""
        self._softest = self.compliance
        if self._is_conservative:
            self._load[:] = 0.0

    def consistent(self, state: State) -> State:
        """Return the nearest state that steps can start from.

        Joints stay open by their compliance under load. Errors are closed by the least squares of
        motions and of openings over compliances, as in a step, for exact closing would move bodies
        far near singular poses.
        """
        error = constraint_errors(self._system, state)[0]
        if self.is_rigid or largest(self._length * error) > _LARGE_ERROR * self._extent:
            state = super().consistent(state)
            if self.is_rigid:
                return state
        b = self.method.coefficients.of_newton(self.nominal)[0]
        compliance = b * self.equations.compliance.diagonal
        error = self._compliance_error(self._interpolated(state.time))
        return compliant_state(self._system, state, error, compliance)

    def _try_stiffer(self, state: State) -> bool:
        """Make joints stiffer if that changes the multipliers at the start; return whether it did.

        In long lifts rigid joints bear far more than soft ones, which let the lift sag.
        """
        compliance, stiffer = self.compliance, max(_TRIAL_FACTOR * self.compliance, self._least)
        if not self._is_negligible or stiffer >= compliance:
            return False
        self.set_compliance(stiffer)
        change = self._starting.at(state, self.nominal).multiplier[: len(self._load)] - self._load
        if largest(change) > _LOAD_TOLERANCE * largest(self._load):
            return True
        self.set_compliance(compliance)
        return False

    def _compliance_error(self, multiplier: FloatArray) -> FloatArray:
        """Return C lambda (n_rows,) of the joints [m, rad]."""
        return np.asarray(self.equations.compliance.diagonal * multiplier)

    def _stiffen(self) -> bool:
        """Lower the compliance if recent multipliers open joints noticeably; tell whether it fell.

        Also if they deform the mechanism noticeably: lambda' C lambda is the work of all loads
        along its deflection, which in long lifts is far larger than any joint error. Errors of
        joints are reduced in proportion to C, which leaves lambda = C^-1 delta as it is.
        """
        share = self.method.opening()
        if not (self._is_negligible and share > step_equations.NEGLIGIBLE_ERROR):
            return False
        return self._lower(0.5 * step_equations.NEGLIGIBLE_ERROR / share)

    def _lower(self, factor: float) -> bool:
        """Multiply the compliance by a factor < 1, down to `_least`; return whether it changed."""
        factor = max(factor, self._least / self.compliance)
        if factor >= 1.0:
            return False
        closing = np.zeros(self.equations.n_rows)
        closing[: self._system.n_rows] = (1.0 - factor) * self._compliance_error(self._multiplier)
        self.set_compliance(factor * self.compliance)
        h = self._h or self.nominal
        self._now = replace(self.now, state=self._starting.closed(self.state, h, closing))
        return True

    def _soften(self, time: float, h: float) -> bool:
        """Raise the compliance again where parts of steps fail as well, and keep it from then on.

        At most to that at the start. Errors of joints stay, so that their elastic energy falls.
        """
        whole = self._h if self._is_adaptive else self.nominal
        softer = min(_SOFTER_FACTOR * self.compliance, self._softest)
        if h > _SHARE_TO_SOFTEN * whole or softer <= self.compliance:
            return False
        self.set_compliance(softer)
        self._least = softer
        message = f"raised to {softer:.1e} m/N: Newton's method fails with stiffer joints"
        self._note(Event(time, "compliance", message))
        return True

    def set_compliance(self, compliance: float) -> None:
        """Give joints a compliance [m/N]."""
        if compliance != self.compliance:
            self.equations.compliance.set_to(self._first, compliance / self._first_compliance)
            self.compliance = compliance
            self.newton.drop_factors()

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` needs to undo steps."""
        return super().saved(), self._numbers, self._load.copy(), self.newton.point()

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Undo the steps since then."""
        steps, self._numbers, self._load[:], factors = saved
        super().restore(steps)
        self._failure = None
        if not self._is_adaptive:  # the next step has another length, and factors of its own
            self._factorize_at(factors)

    def advance(self, time: float) -> State:
        """Return the state at `time`, from where the motion goes on unless the step is short."""
        self._raise_failure()
        if time < self.state.time + self.least_step * self.nominal:
            h = time - self.state.time
            return self._starting.moved(self.state, self.acceleration, h).with_(time=time)
        return super().advance(time)

    def take_steps(self, times: FloatArray, out: States | None = None) -> Ends | None:
        """Take steps of the nominal length to these times, up to one in parts, for at most 50 ms.

        The times are that far apart, and states are in `out` if there is any. None if there are
        none. An error of a user's function after the first step is raised by the next call.
        """
        self._raise_failure()
        h = self.nominal
        is_whole = len(times) > 0 and abs(times[0] - self.state.time - h) < _SAME_STEP * h
        if not is_whole or self._halvings > 0 or self._h != h:
            return None
        taken = self._take_steps(self.now, h, times, out=out)
        ends, failure = taken.ends, taken.failure
        if isinstance(failure, SimulationError):
            self._halve(float(times[ends.n_steps]), 0, failure)
        elif failure is not None and ends.n_steps == 0:
            raise failure
        else:
            self._failure = failure
        if ends.n_steps == 0:
            return None
        self.passed = [self._began(*taken.began)]
        self._check_closed()
        position, orientation, *_ = ends.states  # joints may have become stiffer, and closed more
        position[-1], orientation[-1] = self.state.position, self.state.orientation
        n_rows = 0 if self.is_rigid else self._system.n_rows
        return ends._replace(multiplier=ends.multiplier[:, :n_rows])

    def _take_steps(
        self,
        start: AlphaState,
        h: float,
        times: FloatArray,
        with_full_matrix: bool = False,
        out: States | None = None,
    ) -> AlphaSteps:
        """Take steps from values of the method, and make joints stiffer after the last one."""
        can_lower = self._is_negligible and self._is_driven and self._halvings == 0
        can_lower = can_lower and self.compliance > self._least
        share = step_equations.NEGLIGIBLE_ERROR if can_lower else np.inf
        limits = self._error_limit, share
        taken = self.method.take_steps(start, h, times, limits, with_full_matrix, out)
        if taken.newest is not None:
            self._now, self._h = taken.newest, h
            self._largest_error = max(self._largest_error, taken.largest_error)
            if can_lower:
                self._stiffen()
        return taken

    def _began(self, time: float, multiplier: FloatArray) -> AlphaState:
        """Return the start of the newest step, of which only time and multipliers are known."""
        return replace(self.now, state=self.state.with_(time=time), multiplier=multiplier)

    def _raise_failure(self) -> None:
        """Raise what ended the newest call of `take_steps`, if it has failed."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def local_error(self) -> LocalError | None:
        """Return the errors of poses in the newest step, (1/6 - beta) h^2 times the jump of a.

        Those of velocities are zeros: joints oscillate where steps resolve their compliance.
        Zienkiewicz and Xie (1991), Earthq. Eng. Struct. Dyn. 20:871.
        """
        if self._start_a is None or self._halvings > 0:
            return None
        factor = abs(1.0 / 6.0 - self.method.coefficients.beta) * self._h**2
        jump = self.now.a - self._start_a
        angle, distance = (float(np.abs(part).max(initial=0.0)) for part in np.hsplit(jump, 2))
        return LocalError(factor * angle, factor * distance, 0.0, 0.0)

    def acceleration_at(self, state: State) -> FloatArray:
        """Return the accelerations (n_bodies, 6) at a state from which steps could start."""
        return self._starting.at(state, self.nominal).acceleration

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        state, acceleration = checkpoint.state, checkpoint.acceleration
        rows = self.equations.multiplier
        shapes = acceleration, rows, *[0.0] * 8, rows, self._load  # as `memory` packs them
        a, multiplier, *scalars, before, load, factors = unpacked(checkpoint.memory, *shapes)
        self._load[:] = load
        *numbers, halvings, n_calm, before_at = scalars
        self._numbers = tuple(numbers)
        self._now = AlphaState(state, acceleration, multiplier, a)
        self.passed = [self._began(before_at, before)]
        self._halvings, self._n_calm = int(halvings), int(n_calm)
        self._factorize_at(factors)

    def _factorize_at(self, point: FloatArray) -> None:
        """Factorize the matrix anew as it was at such a point, for the same bits."""
        if isinstance(self.method, StabilizedAlpha) and point[0] > 0.0:
            self.method.scale_compliance(point[0])
        self.newton.factorize_at(point)

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6) at a state in the newest step."""
        self.start(state)
        multiplier = -self._interpolated(state.time)
        return SystemMotion(self._system, state).joint_reactions(multiplier)

    def _step(self, time: float, h: float, halvings: int) -> None:
        is_last_resort = halvings >= _FULL_MATRIX_HALVINGS
        start = self.now
        if self._h == 0.0:
            start = self._starting_values(start.state, h)
        elif h != self._h:  # a is dv/dt at t + shift h; by linear interpolation, that for the new h
            a = start.acceleration + h / self._h * (start.a - start.acceleration)
            start = replace(start, a=a)
        taken = self._take_steps(start, h, np.array([time]), is_last_resort)
        if taken.failure is not None:
            raise taken.failure
        self._start_a = start.a

    def _explained(self, error: SimulationError) -> str:
        """Add to an error which joint bears most."""
        if self._system.n_rows == 0 or (self._halvings == 0 and not self._is_adaptive):
            return str(error)
        loads = f"{error}; joint {self._joint_of_largest_error()!r} bears the largest loads: "
        if self.is_rigid:
            loads += 'if rows depend on others near this pose, take method="auto"; if not, '
        return f"{loads}see whether a prescribed motion blocks, or a damper is too strong there"

    def _joint_of_largest_error(self) -> str:
        error = np.abs(self._compliance_error(self._multiplier))
        return self._system.joint_names[self._system.row_joint[int(np.argmax(error))]]

    def _check_closed(self) -> None:
        """Raise SimulationError where a joint opens beyond the limit."""
        if self._largest_error < self._error_limit:
            return
        raise SimulationError(
            f"joint {self._joint_of_largest_error()!r} opens by {self._largest_error:.1e} at "
            f"t = {self.state.time:.6g} s under a compliance that is to be negligible: see whether "
            "a prescribed motion blocks, or give a compliance"
        )

    def last_events(self, time: float) -> list[Event]:
        """Return the report at the end of a run: how far joints opened."""
        if self.is_rigid:
            return []
        opened = f"joints opened by {self._largest_error:.1e} [m, rad] at most"
        since = (
            f"since implicit steps began; their compliance was {self.compliance:.1e} m/N at the end"
        )
        return [Event(time, "compliance", f"rigid {opened} {since}")]
