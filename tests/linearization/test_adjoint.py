"""Gradients of whole simulations: central differences of what `simulate` returns."""

from dataclasses import replace

import numpy as np
import pytest
from random_motions import (
    changed,
    compliant_motion,
    direction_of,
    motion_of_type,
    random_motion,
    slope,
    unreduced,
)

import sparsebody as sb
from sparsebody.dynamics import ForwardDynamics
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import (
    ModelError,
    ShapeError,
    SimulationError,
    SingularSystemError,
    UnknownNameError,
)
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.linearization import implicit_adjoint, simulate_with_pullback
from sparsebody.linearization.adjoint import ADJOINT_METHODS
from sparsebody.linearization.derivatives import ALL_FRAMES, GEOMETRY
from sparsebody.model.gallery import build
from sparsebody.model.joints import JOINT_TYPES
from sparsebody.simulation.implicit import generalized_alpha

UP = np.array([0.0, 0.0, 1.0])


def closed_by_factors_at(dynamics, factors, state):
    """The consistent state near one, a smooth function of it: by the same factors throughout."""
    evaluation, system = dynamics.evaluate(factors), dynamics.system
    for _ in range(8):
        state = displaced(
            state, evaluation.position_correction(constraint_errors(system, state)[0])
        )
    for _ in range(4):
        change = evaluation.position_correction(constraint_errors(system, state)[1])
        state = state.with_(velocity=state.velocity + change)
    return state


class Case:
    """A random function of the records of a motion, and its gradient."""

    def __init__(self, system, state, step, n_steps, seed=0, method="rk4", **options):
        self.system, self.state, self.method = system, state, method
        self.rng, n = np.random.default_rng(seed), system.n_bodies
        self.times = {"duration": n_steps * step, "step": step}
        self.control, self.options = self.rng.normal(size=(n_steps + 1, n, 6)), options
        arguments = self.times | {"control": self.control, "method": method} | options
        self.pullback = simulate_with_pullback(system, state, **arguments)
        self.weight = [self.rng.normal(size=(n_steps + 1, n, k)) for k in (3, 4, 6)]
        self.gradient = self.pullback(*self.weight, frames=True)

    def value(self, system, state, control):
        """The function of the trajectory of `simulate`."""
        t0, h = self.state.time, self.times["step"]

        def at(time, _):
            k = max(0, min(int((time - t0) / h + 1e-9), len(control) - 2))
            share = (time - t0) / h - k
            return (1.0 - share) * control[k] + share * control[k + 1]

        dynamics = self.options.get("dynamics", sb.Solver())
        options = self.times | {"method": self.method, "dynamics": dynamics}
        motion = sb.simulate(system, state, control=at, **options)
        arrays = motion.position, motion.orientation, motion.velocity
        return sum(float(np.sum(w * a)) for w, a in zip(self.weight, arrays, strict=True))

    def error(self, name, h):
        """The error of the gradient along a direction, and the difference that it is of."""
        if name == "geometry":
            return self.geometry_error(h, self.geometry_direction())
        direction = direction_of(self.system, name, self.gradient[name].shape, self.rng)
        if name == "inertia":
            direction *= 0.01

        def along(step):
            system, state, control = self.system, self.state, self.control
            change = step * direction
            if name == "control":
                control = control + change
            elif name == "force":
                control = control + change[None]
            else:
                system, state, _ = changed(system, state, None, name, change)
            if name in ("position", "velocity"):
                state = closed_by_factors_at(unreduced(self.system, self.state), self.state, state)
            return self.value(system, state, control)

        total = slope(along, h)
        return abs(float(np.sum(self.gradient[name] * direction)) - total), abs(total)

    def geometry_direction(self):
        """A direction of all geometry, in the plane that the bodies move in."""
        along = {name: 0.1 * self.rng.normal(size=self.gradient[name].shape) for name in GEOMETRY}
        if ForwardDynamics(self.system, self.state).is_planar:
            for name in ALL_FRAMES:
                along[name][:, [0, 1, 5]] = 0.0
        return along

    def geometry_error(self, h, directions):
        """The same, the state made consistent with changed frames, at fixed compliances."""

        def along(step):
            system = self.system
            for name, direction in directions.items():
                system = changed(system, self.state, None, name, step * direction)[0]
            system.__dict__["typical_length"] = self.system.typical_length  # that of compliances
            state = sb.consistent_state(system, self.state)
            return self.value(system, state, self.control)

        total = slope(along, h)
        expected = sum(np.sum(self.gradient[name] * one) for name, one in directions.items())
        return abs(expected - total), abs(total)


def check(case, tolerance, steps=(1e-3, 1e-4), floor=1.0, names=None):
    """Differences over several steps, of which some err by rounding and some by higher orders."""
    given = [name for name in case.gradient if name not in GEOMETRY and case.gradient[name].size]
    dynamics = ForwardDynamics(case.system, case.state)
    if dynamics.is_planar or len(dynamics.redundant_rows) == 0:  # else joints need their frames
        given.append("geometry")
    for name in names or given:
        errors = (case.error(name, h) for h in steps)
        assert any(error <= tolerance * max(size, floor) for error, size in errors), name


def attempts(case):
    """Of the steps of the motion: 0, with open stages; 1, with closed ones."""
    parts = case.pullback._adjoint()._tape.steps.intervals()
    return {step.stages.attempt for part in parts for step in part}


@pytest.mark.parametrize("seed", range(4))
def test_gradients_of_random_mechanisms_are_differences(seed):
    system, state, _ = random_motion(seed)
    case = Case(system, sb.consistent_state(system, state), 1e-3, 8)
    assert 1 in attempts(case)
    check(case, 1e-8)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("scissor", {"pairs": 3}),  # in a plane, with dependent rows
        ("bricard", {}),
        ("rotating-squares", {"rows": 2, "columns": 2}),
        ("n-four-bar", {"loops": 2}),
    ],
)
def test_gradients_of_steps_with_open_stages_are_differences(name, parameters):
    system = build(name, **parameters).compile()
    state = sb.consistent_state(system)
    case = Case(system, state, 1e-3, 20)
    assert 0 in attempts(case)
    check(case, 1e-8)


@pytest.mark.usefixtures("exact_newton")
@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_gradients_by_the_geometry_of_joints_are_differences(kind):
    system, state, _ = motion_of_type(kind)
    implicit = sb.Method("generalized-alpha", compliance=1e-10)
    for method, tolerance in (("rk4", 1e-8), (implicit, 1e-4)):
        case = Case(system, sb.consistent_state(system, state), 1e-3, 4, method=method)
        check(case, tolerance, (1e-4, 1e-5), names=["geometry"])


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_a_frame_may_leave_the_plane_of_a_linkage():
    mechanism = build("four-bar", speed=1.0)
    position = np.add(mechanism.body("coupler").position, [0.1, 0.2, 0.0])
    rod = {"mass": 1.0, "inertia": [0.1, 0.2, 0.3], "position": np.add(position, [0.3, 0.0, 0.0])}
    mechanism.add_body("pendulum", **rod, linear_velocity=[0.0, 0.0, 0.0])
    mechanism.add_joint(
        "hinge", sb.Revolute(), "coupler", "pendulum", point=position, axis=[0.0, 0.0, 1.0]
    )
    system = mechanism.compile()
    case = Case(system, sb.consistent_state(system), 1e-3, 10)
    assert ForwardDynamics(system, case.state).is_planar
    along = case.geometry_direction()
    along["successor_frame"][-1] = 0.1 * case.rng.normal(size=6)
    error, size = min(case.geometry_error(h, along) for h in (1e-3, 1e-4))
    assert error <= 1e-9 * max(size, 1.0)


def test_gradients_by_frames_of_compliant_joints_and_of_elements_are_differences():
    system, state, _ = compliant_motion(1)
    check(Case(system, sb.consistent_state(system, state), 1e-3, 4), 1e-9, names=["geometry"])


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.usefixtures("exact_newton")
@pytest.mark.parametrize(
    ("method", "seed", "step", "tolerance"),
    [
        ("semi-implicit-euler", 1, 4e-3, 1e-8),
        ("variational", 0, 1e-2, 1e-8),
        ("variational-4", 2, 1e-2, 1e-8),
        ("radau-iia", 0, 1e-3, 1e-8),
        ("generalized-alpha-2", 0, 1e-3, 1e-6),
    ],
)
def test_gradients_by_other_methods_are_differences(method, seed, step, tolerance):
    system, state, _ = random_motion(seed)
    case = Case(system, sb.consistent_state(system, state), step, 2, method=method)
    check(case, tolerance)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("method", ADJOINT_METHODS)
def test_gradients_are_the_same_bits_with_checkpoints(method):
    system, state, _ = random_motion(1)
    state = sb.consistent_state(system, state)
    kept = Case(system, state, 1e-3, 20, method=method)
    repeated = Case(system, state, 1e-3, 20, method=method, memory=0)
    assert repeated.pullback._adjoint()._tape.steps.n_stored == 4 + 5  # checkpoints, and steps
    for name, gradient in kept.gradient.items():
        assert np.array_equal(gradient, repeated.gradient[name]), name


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_implicit_steps_in_parts_are_made_again_from_checkpoints():
    system = build("andrews").compile()
    times = {"duration": 0.03, "step": 3e-3, "method": "generalized-alpha"}
    weight, gradients = np.ones((system.n_bodies, 3)), []
    for memory in (2**20, 0):
        pullback = simulate_with_pullback(system, **times, memory=memory)
        assert any(event.kind == "step in parts" for event in pullback.trajectory.events)
        gradients.append(pullback(position=weight))
    for name, gradient in gradients[0].items():
        assert np.array_equal(gradient, gradients[1][name]), name


def test_fewer_records_leave_the_gradient_of_the_last_one_as_it_is():
    system = build("scissor", pairs=2).compile()
    times, weight = {"duration": 0.02, "step": 1e-3}, np.ones((system.n_bodies, 3))
    every = simulate_with_pullback(system, **times)
    few = simulate_with_pullback(system, **times, record=sb.Recording(step=0.01), memory=0)
    assert len(every.trajectory.time) == 21
    assert few.trajectory.time.tolist() == [0.0, 0.01, 0.02]
    expected = every(position=weight)
    for name, gradient in few(position=weight).items():
        assert np.array_equal(gradient, expected[name]), name


def test_a_driven_mechanism_without_freedoms_has_no_gradient_by_its_start():
    system = build("scissor", pairs=2, drive=True).compile()
    pullback = simulate_with_pullback(system, duration=0.02)
    gradient = pullback(position=np.ones((system.n_bodies, 3)))
    assert max(np.abs(g).max(initial=0.0) for g in gradient.values()) < 1e-12


@pytest.fixture
def exact_newton(monkeypatch):
    """Have implicit steps solve their equations to rounding."""
    monkeypatch.setattr(generalized_alpha, "_NEWTON_TOLERANCE", 1e-12)
    monkeypatch.setattr(generalized_alpha, "_PREDICTOR_TOLERANCE", 1e-10)


@pytest.mark.usefixtures("exact_newton")
@pytest.mark.parametrize(("seed", "tolerance"), [(None, 1e-6), (0, 1e-4), (1, 1e-4)])
def test_gradients_of_implicit_steps_are_differences(seed, tolerance):
    if seed is None:  # redundant rows
        system = build("four-bar", speed=1.0).compile()
        state = sb.consistent_state(system)
    else:
        system, state, _ = random_motion(seed)
        state = sb.consistent_state(system, state)
    method = sb.Method("generalized-alpha", compliance=1e-10)
    check(Case(system, state, 1e-3, 8, method=method), tolerance, floor=0.1)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("compliance", [1e-10, 1e-5])  # [m/N]: joints closed, and open
def test_implicit_gradients_by_refined_factors_are_those_of_the_whole_matrix(
    compliance, monkeypatch
):
    mechanism = build("scissor", pairs=3, angle=0.4)  # dependent rows
    mechanism.add_joint_force("spring", "base", stiffness=300.0, rest=1.4, damping=2.0)
    last = list(mechanism.body_names)[-1]
    mechanism.add_bushing("bush", "world", last, stiffness=5.0 * np.eye(6))
    system = mechanism.compile()
    method = sb.Method("generalized-alpha", compliance=compliance)
    times = {"duration": 0.02, "step": 1e-3, "method": method}
    pullback = simulate_with_pullback(system, **times)
    weight = np.random.default_rng(0).normal(size=(system.n_bodies, 3))

    def refuse(*_):
        raise AssertionError("the whole matrix was factorized")

    of_step = implicit_adjoint.TransposedStep
    with monkeypatch.context() as patch:
        patch.setattr(of_step, "_by_whole_matrix", refuse)
        refined = pullback(position=weight)
    monkeypatch.setattr(of_step, "solve", of_step._by_whole_matrix)
    for name, gradient in pullback(position=weight).items():
        size = np.abs(gradient).max(initial=0.0)
        np.testing.assert_allclose(refined[name], gradient, rtol=0, atol=1e-8 * size, err_msg=name)


def test_implicit_gradients_of_tiny_weights_are_as_accurate():
    system = build("four-bar").compile()
    pullback = simulate_with_pullback(system, duration=0.01, method="generalized-alpha")
    one, tiny = (pullback(position=np.full((3, 3), size))["mass"] for size in (1.0, 2.0**-900))
    np.testing.assert_allclose(tiny * 2.0**900, one, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.usefixtures("exact_newton")
def test_errors_of_implicit_gradients_are_of_second_order():
    system, state, _ = random_motion(3)
    state, error = sb.consistent_state(system, state), []
    for step in (1e-2, 1e-3):
        method = sb.Method("generalized-alpha", compliance=1e-10)
        case = Case(system, state, step, 5, method=method)
        error.append(case.error("velocity", 1e-3)[0])
    assert error[1] < 0.05 * error[0]


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.usefixtures("exact_newton")
def test_gradients_take_compliances_that_are_lowered_on_the_way_as_constants():
    mechanism = build("scissor", pairs=8, angle=0.4)
    push = 4.0e5  # [N m / s] far larger than weights
    mechanism.add_joint_force("push", "base", damping=50.0, effort=lambda t: (push * t, push, 0.0))
    system = mechanism.compile()
    times = {"duration": 0.02, "step": 1e-3, "method": "generalized-alpha"}
    pullback = simulate_with_pullback(system, **times)
    steps = [
        step for part in pullback._adjoint()._tape.steps.intervals() for s in part for step in s
    ]
    assert steps[-1].compliance < 0.5 * steps[0].compliance
    weight = np.zeros((system.n_bodies, 3))
    weight[-1] = UP
    gradient = pullback(position=weight)

    def height(change):
        changed = replace(system, mass=(1.0 + change) * system.mass)
        return sb.simulate(changed, **times).position[-1, -1, 2]

    expected = slope(height, 1e-3)
    assert float(gradient["mass"] @ system.mass) == pytest.approx(expected, rel=1e-5)


def test_errors_name_what_does_not_fit():
    system = build("scissor", pairs=2).compile()
    with pytest.raises(UnknownNameError, match=r"method with an adjoint is 'auto'.*rk4, semi"):
        simulate_with_pullback(system, duration=0.1, method="auto")
    with pytest.raises(
        SimulationError, match="stabilization is 'baumgarte', which has no gradient"
    ):
        simulate_with_pullback(system, duration=0.1, method=sb.Method("rk4", "baumgarte"))
    with pytest.raises(SimulationError, match="step is 'auto'"):
        simulate_with_pullback(system, duration=0.1, step="auto", method="rk4")
    with pytest.raises(ShapeError, match=r"control has shape \(3, 6\), not \(11, 4, 6\)"):
        simulate_with_pullback(system, duration=0.1, step=0.01, control=np.zeros((3, 6)))
    pullback = simulate_with_pullback(system, duration=0.01)
    control = np.zeros((11, system.n_bodies, 6))
    control[3, 1, 2] = np.nan
    with pytest.raises(ModelError, match=r"control of body .* at t = 0.03 s is \[ 0. +0. nan"):
        simulate_with_pullback(system, duration=0.1, step=0.01, control=control)
    with pytest.raises(SimulationError, match="memory is nan; give a positive number of bytes"):
        simulate_with_pullback(system, duration=0.1, step=0.01, memory=np.nan)
    with pytest.raises(ModelError, match=r"with respect to velocity \[0, 0\] is nan"):
        pullback(velocity=np.full((system.n_bodies, 6), np.nan))
    with pytest.raises(SingularSystemError, match="not finite"):
        pullback(velocity=np.full((system.n_bodies, 6), 1.7e308))
    with pytest.raises(ShapeError, match=r"to velocity have shape \(2, 6\), not \(11, 4, 6\)"):
        pullback(velocity=np.zeros((2, 6)))


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize(
    ("name", "step", "method", "reduction", "tolerance"),
    [
        ("ladder", 4e-3, "rk4", "auto", 1e-7),
        ("four-bar", 0.05, "rk4", "auto", 1e-9),
        ("four-bar", 0.05, "rk4", "none", 1e-9),  # slender bars in space, dependent rows
        ("four-bar", 0.01, "semi-implicit-euler", "auto", 1e-9),
        ("four-bar", 0.05, "variational", "auto", 1e-9),
        ("four-bar", 0.05, "variational", "none", 1e-9),
        ("four-bar", 0.05, "variational-4", "auto", 1e-9),
        ("four-bar", 0.01, "radau-iia", "auto", 1e-7),
        ("four-bar", 0.001, "generalized-alpha-2", "auto", 1e-6),  # dependent rows
    ],
)
def test_long_steps_have_the_gradients_of_the_factors_that_closed_them(
    name, step, method, reduction, tolerance
):
    system = build(name).compile()
    solver = sb.Solver(reduction=reduction)
    case = Case(system, sb.consistent_state(system), step, 3, method=method, dynamics=solver)
    for of in ("mass", "inertia", "velocity", "control"):
        error, size = min(case.error(of, h) for h in (1e-3, 1e-4))
        assert error <= tolerance * size, of
