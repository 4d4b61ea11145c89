"""Gradients of simulations by the discrete adjoint of their steps.

With steps s_(k+1) = Phi(s_k, p) and a function J of the states,

    g_k = (dPhi/ds_k)' g_(k+1) + dJ/ds_k,  dJ/dp = sum (dPhi/dp)' g_(k+1),

is the gradient of what the simulation computes, to rounding, not one of a motion in continuous
time. Giles and Pierce (2000), Flow Turbul. Combust. 65:393; Griewank and Walther (2008), Evaluating
Derivatives, sec. 3.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, check_finite, numbers
from sparsebody.dynamics import ForwardDynamics, energy
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, ShapeError, SimulationOptionError, check_name
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.linearization import explicit_adjoint, implicit_adjoint
from sparsebody.linearization.state_gradients import Adjoint, StateGradient
from sparsebody.model.system import State, System, check_state
from sparsebody.simulation import INTEGRATORS, Method, Recording, Solver, Trajectory, callbacks
from sparsebody.simulation import options as run_options
from sparsebody.simulation.implicit.step_equations import n_rows
from sparsebody.simulation.integrators import Collocation, Composition, Integrator, Tableau
from sparsebody.simulation.simulate import Run, prepared_dynamics, started, without_subgroups
from sparsebody.simulation.trajectory import Header, MemoryRecorder

ADJOINT_METHODS = (
    "rk4",
    "semi-implicit-euler",
    "variational",
    "variational-4",
    "generalized-alpha",
    "generalized-alpha-2",
    "radau-iia",
)
"""The methods of `simulate` whose steps have an adjoint."""

_STAGE_SIZE = 19  # numbers of a body in a stage of an explicit method
_END_SIZE = 25  # numbers of a body at the end of a step of "generalized-alpha"


@dataclass(frozen=True, eq=False)
class Pullback:
    """Gradients of functions of a trajectory; see `simulate_with_pullback`."""

    trajectory: Trajectory
    _adjoint: Callable[..., Adjoint]
    _nodes: _Nodes | None

    def __call__(
        self,
        position: FloatArray | None = None,
        orientation: FloatArray | None = None,
        velocity: FloatArray | None = None,
        *,
        frames: bool = False,
    ) -> dict[str, FloatArray]:
        """Return the gradients of a function, given its derivatives in the trajectory.

        Parameters
        ----------
        position : (n_records, n_bodies, 3) or (n_bodies, 3) float array, optional
            Derivatives with respect to the centers of mass, of all records or of the last one;
            default: zero.
        orientation : (n_records, n_bodies, 4) or (n_bodies, 4) float array, optional
            Derivatives with respect to the unit quaternions, likewise.
        velocity : (n_records, n_bodies, 6) or (n_bodies, 6) float array, optional
            Derivatives with respect to the velocities, likewise.
        frames : bool
            Whether by frames, pitches and lengths as well, which takes up to twice as long.

        Returns
        -------
        dict of float arrays
            By "position" and "velocity" of the first state, both (n_bodies, 6), twists in body
            coordinates and velocities, along changes that the least motion makes consistent, as
            `consistent_state` does; by "force" (n_bodies, 6), wrenches that are constant in body
            axes, about the centers of mass; by "mass" (n_bodies,), "inertia" (n_bodies, 6): Ixx,
            Iyy, Izz, Ixy, Ixz, Iyz, "gravity" (3,), "effort", "stiffness", "rest" and "damping"
            (n_springs,) of the springs on joint coordinates, "point_effort", "point_stiffness",
            "point_rest_length" and "point_damping" of those between points, "first_point" and
            "second_point" (n, 3) of these, "elastic_stiffness", "elastic_compliance" and
            "elastic_damping" (n_elements, 6, 6) as in `Derivatives`; and by "control", of its
            shape, if one is given. In SI units of the function over those of the variable.

            If `frames` is true, by "predecessor_frame", "successor_frame" (n_joints, 6),
            "elastic_predecessor_frame", "elastic_successor_frame" (n_elements, 6), "pitch"
            (n_helical,) and "length" (n_constant_distance,) as in `Derivatives`, where the motion
            begins at what `consistent_state` makes of the first state with changed frames. Where
            rows are dependent, along changes that leave them so.

        Raises
        ------
        ShapeError
            If an array does not fit.
        ModelError
            If a derivative is not finite.
        """
        weights = {"position": position, "orientation": orientation, "velocity": velocity}
        records = self._by_records(weights)
        adjoint, nodes = self._adjoint(with_geometry=frames), self._nodes
        control_bar = {}
        if nodes is not None:
            control_bar["control"] = value_bar = np.zeros_like(nodes.value)
            adjoint.add_force_gradient = lambda time, g: nodes.add_gradient(time, g, value_bar)
        first = adjoint.run(lambda time: self._state_bar(records, time))
        state_bar = {"position": first.twist, "velocity": first.velocity}
        return state_bar | adjoint.by_parameters | control_bar

    def _by_records(self, weights: dict[str, FloatArray | None]) -> dict[str, FloatArray]:
        """Return the derivatives in the states of all records; ShapeError if they do not fit."""
        records = {}
        for name, array in weights.items():
            if array is None:
                continue
            shape = getattr(self.trajectory, name).shape
            records[name] = full = np.zeros(shape)
            value = numbers(array, f"the derivatives with respect to {name}")
            if value.shape not in (shape, shape[1:]):
                raise ShapeError(
                    f"the derivatives with respect to {name} have shape {value.shape}, not {shape} "
                    f"or, of the last record, {shape[1:]}"
                )
            check_finite(value, f"the derivatives with respect to {name}")
            full[-1 if value.ndim < len(shape) else slice(None)] = value
        return records

    def _state_bar(self, records: dict[str, FloatArray], time: float) -> StateGradient | None:
        """Return the gradient in the state at a time; None where no record is."""
        k = int(np.searchsorted(self.trajectory.time, time))
        if k == len(self.trajectory.time) or self.trajectory.time[k] != time:
            return None
        state, g = self.trajectory.state(k), StateGradient.zero(self.trajectory.velocity.shape[1])
        if "position" in records:  # dx = R u
            g.twist[:, 3:] = np.einsum("nji,nj->ni", body_rotations(state), records["position"][k])
        if "orientation" in records:  # dq = q (0, w) / 2
            (s, v), (gs, gv) = (
                np.split(q, [1], axis=1) for q in (state.orientation, records["orientation"][k])
            )
            g.twist[:, :3] = 0.5 * (s * gv - gs * v - np.cross(v, gv))
        if "velocity" in records:
            g.velocity[:] = records["velocity"][k]
        return g


def simulate_with_pullback(
    system: System,
    state: State | None = None,
    *,
    duration: float,
    step: float = 1e-3,
    method: str | Method = "rk4",
    dynamics: ForwardDynamics | Solver | None = None,
    control: FloatArray | None = None,
    record: Recording = run_options.EVERY_STEP,
    memory: int = 2**28,
) -> Pullback:
    """Simulate a motion, and return its trajectory with the gradients of functions of it.

    These are the gradients of the very steps of `simulate`, projections included: those of explicit
    steps agree with differences of its results to the rounding of these, but where a pose is so far
    open that factors are made anew while it is closed. Explicit steps are those with all freedoms
    of bodies on joints to the world, as by Solver(reduction="none"). All gradients together take
    four to seven simulations of a large mechanism, and up to ten of one of a few bodies, however
    many variables there are.

    Those of "radau-iia" and "generalized-alpha-2" leave out how the metric changes in which
    velocities or poses are closed: that is the one where Newton's factors were made, and these
    corrections are as small as the error of a step. They agree to 1e-8 and better where steps
    resolve the motion, and take up to five simulations.

    Those of "generalized-alpha" agree with differences to what Newton's method leaves in a step,
    some 1e-6, and to terms of the order h^2 of the starting values: springs and elements have to be
    soft enough for the step there. They are gradients at fixed compliances of the joints, those
    that the method chooses included: as these depend on the loads, and on the typical distance of
    joints, differences by mass, gravity and frames deviate by as much as compliance changes the
    motion, mostly less than 1e-6 of it, but by percents where joints still vibrate. They take two
    to four simulations of a large mechanism besides the one; where iterations with
    Newton's factors do not converge, as beside stiff springs, an LU decomposition of the exact
    matrix a step, which takes far longer.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where it begins; default: the nearest consistent state to the model's initial one.
    duration, step : float
        As in `simulate` [s].
    method : str or Method
        A name in ADJOINT_METHODS; Method(name, ...) has options.
    dynamics : Solver or ForwardDynamics, optional
        How equations are solved, as in `simulate`.
    control : (n_steps + 1, n_bodies, 6) float array, optional
        Wrenches about the centers of mass in body axes at the beginning and at the ends of all
        steps, linear between, moment first [N m, N].
    record : Recording
        As in `simulate`; default: every step. Functions are of what is recorded, and the trajectory
        takes memory besides the steps.
    memory : int
        Bytes for the steps of the motion. Where they do not fit, checkpoints are kept, as many as
        steps between two of them, and these are made again: one simulation more, and the same
        gradients.

    Returns
    -------
    Pullback
        Its `trajectory`; called with derivatives of a function in the arrays of the trajectory, it
        returns the function's gradients, see `Pullback.__call__`. It may be called again.

    Raises
    ------
    UnknownNameError
        If the method has no adjoint; the message names those that have.
    ShapeError
        If the control does not fit.
    ModelError
        If a number of the control is not finite.
    SimulationError
        For an argument that does not fit.
    StoppedSimulationError
        If the motion passes a singular pose, where it is not differentiable.

    References
    ----------
    Giles and Pierce (2000), Flow Turbul. Combust. 65:393; Griewank and Walther (2008), Evaluating
    Derivatives, sec. 3.4.

    Examples
    --------
    >>> import sparsebody as sb
    >>> ball = sb.Mechanism("ball")
    >>> _ = ball.add_body("ball", mass=1.0, inertia=[0.1, 0.1, 0.1])
    >>> pullback = simulate_with_pullback(ball.compile(), duration=2.0, step=0.1)
    >>> gradient = pullback(position=np.array([[0.0, 0.0, 1.0]]))  # of the height at the end
    >>> gradient["gravity"].round(6).tolist(), gradient["velocity"].round(6).tolist()
    ([0.0, 0.0, 2.0], [[0.0, 0.0, 0.0, 0.0, 0.0, 2.0]])
    """
    run_options.check_positive(duration, "duration")
    if memory != 0:
        run_options.check_positive(memory, "memory", "bytes")
    solver = Solver() if dynamics is None else dynamics
    options = run_options.simulation_options(step, (1e-6, 1e-9), method, solver, record)
    check_name(options.method, ADJOINT_METHODS, "method with an adjoint")
    if options.is_adaptive:
        raise SimulationOptionError("step is 'auto', which has no gradient; give one in seconds")
    if options.stabilization != "projection":
        raise SimulationOptionError(
            f"stabilization is {options.stabilization!r}, which has no gradient; leave 'projection'"
        )
    if isinstance(solver, ForwardDynamics):
        run_options.check_dynamics(system, solver, options)
    change = ""
    if state is None:
        state = consistent_state(system)
    else:
        check_state(system, state)
        state, change = started(system, state, options)
    nodes = None if control is None else _Nodes.of(system, state.time, step, duration, control)
    function = None if nodes is None else nodes.force
    run = Run(system, state, options, function, callbacks.EventFinder([]))
    run.change_of_start = change
    conservative = control is None and energy.is_conservative(system)
    header = Header(system, options, conservative, None)
    run.recorder = MemoryRecorder(header, run_options.n_records(duration, options))
    prepared = prepared_dynamics(run.problem) if isinstance(solver, Solver) else solver
    adjoint: Callable[..., Adjoint]
    n_steps = math.ceil(duration / step)
    fits = n_steps * step_size(system, options.method) <= memory
    interval = 1 if fits else math.isqrt(n_steps - 1) + 1  # of checkpoints
    if isinstance(INTEGRATORS[options.method], Integrator):
        prepared = without_subgroups(prepared)  # of poses that are put back there is no adjoint
        run.stepper = tape = explicit_adjoint.Tape(run.problem, prepared, interval)
        adjoint = partial(explicit_adjoint.ExplicitAdjoint, tape)
    elif isinstance(INTEGRATORS[options.method].scheme, Collocation):
        run.stepper = nodes_tape = implicit_adjoint.CollocationTape(run.problem, interval)
        adjoint = partial(implicit_adjoint.CollocationAdjoint, nodes_tape, prepared)
    else:
        run.stepper = implicit = implicit_adjoint.ImplicitTape(run.problem, interval)
        kinds = implicit_adjoint.ImplicitAdjoint, implicit_adjoint.StabilizedAdjoint
        adjoint = partial(kinds[implicit.is_rigid], implicit, prepared)
    return Pullback(run.to(duration, False), adjoint, nodes)


def step_size(system: System, method: str) -> int:
    """Return the bytes of a step: of all stages, or of the end of an implicit one."""
    n, coordinates = system.n_bodies, len(system.coordinates.joint)
    scheme = INTEGRATORS[method].scheme
    if isinstance(INTEGRATORS[method], Integrator):
        n_stages = len(scheme.node) if isinstance(scheme, Tableau) else 1
        n_stages = 2 * len(scheme.parts) if isinstance(scheme, Composition) else n_stages
        return 8 * n_stages * (_STAGE_SIZE * n + system.n_rows)
    if isinstance(scheme, Collocation):
        return 8 * (len(scheme.node) + 1) * (_END_SIZE * n + n_rows(system))
    return 8 * (_END_SIZE * n + n_rows(system) + coordinates)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """A control that is linear between the ends of steps."""

    time: FloatArray  # (n,)
    value: FloatArray  # (n, n_bodies, 6)

    @classmethod
    def of(cls, system: System, start: float, step: float, duration: float, control: Any) -> _Nodes:
        """Return the control of an array; ShapeError if it does not fit."""
        ends = (start + step * np.arange(run_options.n_whole_steps(duration, step) + 1)).tolist()
        last = [start + duration] if run_options.last_step_size(duration, step) > 0.0 else []
        time = np.array([*ends, *last])
        remedy = "an array of wrenches at the ends of the steps"
        value, shape = numbers(control, "control", remedy), (len(time), system.n_bodies, 6)
        if value.shape != shape:
            raise ShapeError(
                f"control has shape {value.shape}, not {shape}: wrenches on all bodies at the "
                "beginning and at the ends of all steps"
            )
        finite = np.isfinite(value).all(axis=2)
        if not finite.all():
            k, i = np.argwhere(~finite)[0]
            raise ModelError(
                f"control of body {system.body_names[i]!r} at t = {time[k]:.6g} s is "
                f"{value[k, i]}; give six finite numbers"
            )
        return cls(time, value)

    def _at(self, time: float) -> tuple[int, float]:
        """Return the node before a time, and the share of the next one in the value there."""
        k = int(np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, len(self.time) - 2))
        return k, float((time - self.time[k]) / (self.time[k + 1] - self.time[k]))

    def force(self, time: float, state: State) -> FloatArray:
        """Return the wrenches at a time: a control of `simulate`."""
        k, share = self._at(time)
        return np.asarray((1.0 - share) * self.value[k] + share * self.value[k + 1])

    def add_gradient(self, time: float, force_bar: FloatArray, value_bar: FloatArray) -> None:
        """Add the gradient in the wrenches at a time to that in the values."""
        k, share = self._at(time)
        value_bar[k] += (1.0 - share) * force_bar
        value_bar[k + 1] += share * force_bar
