"""The time loop: conservation, recording, control, and every error it raises."""

import json
import os
import signal
import threading

import numpy as np
import pytest
from linkages import one_body

import sparsebody as sb
from sparsebody.errors import (
    AssemblyError,
    EnergyWarning,
    InterruptionWarning,
    ModelError,
    ShapeError,
    SimulationError,
    SimulationOptionError,
    UnknownNameError,
)
from sparsebody.model.gallery.open_chains import chain, pendulum
from sparsebody.simulation import INTEGRATORS, StoppedSimulationError

FREE = one_body(gravity=(0, 0, 0))
AUTO, ALPHA = {"step": "auto"}, {"method": "generalized-alpha"}


def test_momentum_and_energy_of_free_bodies_are_constant():
    pair = sb.Mechanism("pair", gravity=(0, 0, 0))
    pair.add_bodies(
        ["left", "right"],
        mass=[0.5, 1.5],
        inertia=[0.1, 0.2, 0.25],
        position=[[-1, 0.1, 0], [1, 0.1, 0]],
        linear_velocity=[[0.1, -0.3, 0.2], [0.1, 0.3, 0.2]],
        angular_velocity=[[0.5, -1, -0.3], [0.5, 1, -0.3]],
    )
    points = {"first_point": [0, 0.2, 0], "second_point": [0.1, 0, 0]}
    pair.add_point_force("spring", "left", "right", stiffness=5.0, rest_length=1.0, **points)
    run = sb.simulate(pair.compile(), duration=2.0, step=0.01)
    assert run.conservative
    np.testing.assert_allclose(run.momentum, run.momentum[:1].repeat(len(run), 0), atol=1e-6)
    assert run.energy_error < 1e-6
    still = sb.simulate(FREE.compile(), duration=0.1, step=0.05)
    assert still.energy_error == 0.0


def test_records_are_taken_every_record_step_from_the_start_and_at_the_end():
    system = pendulum().compile()
    state = sb.consistent_state(system).with_(time=2.0)
    run = sb.simulate(system, state, duration=0.0105, step=0.002)
    np.testing.assert_allclose(run.time - 2.0, [0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.0105])
    assert run.steps == 6
    record = sb.Recording(step=0.004)
    coarse = sb.simulate(system, state, duration=0.0105, step=0.002, record=record)
    np.testing.assert_allclose(coarse.time - 2.0, [0, 0.004, 0.008, 0.0105])
    np.testing.assert_array_equal(coarse.position, run.position[[0, 2, 4, 6]])


def test_motions_have_the_same_bits_however_rarely_they_are_recorded():
    system = sb.build("n-four-bar", loops=3).compile()  # passes two singular poses
    motion = {"duration": 1.3, "step": 0.01, "method": "rk4"}
    run = sb.simulate(system, **motion)
    rare = sb.simulate(system, record=sb.Recording(step=0.26), **motion)
    assert rare.events == run.events
    assert [event.kind for event in rare.events] == ["passed pose"] * 2
    np.testing.assert_array_equal(rare.velocity, run.velocity[::26])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: run.state(11), "no record 11; the trajectory has 11"),
        (lambda run: run.state(-12), "no record -12; the trajectory has 11"),
        (lambda run: run.body("pivot"), "no body 'pivot'"),
        (lambda run: run.joint("mass"), "no joint 'mass'"),
    ],
)
def test_what_a_trajectory_does_not_hold_is_refused(ask, message):
    with pytest.raises(SimulationError, match=message):
        ask(sb.simulate(pendulum().compile(), duration=0.1, step=0.01))


def test_control_acts_as_a_force_on_the_bodies():
    def push(time, state):
        return np.array([[0, 0, 0, 6.0 * time, 0, 0]])

    run = sb.simulate(FREE.compile(), duration=1.0, step=0.1, control=push)
    np.testing.assert_allclose(run.position[-1, 0, 0], 1.0, rtol=1e-12)  # t^3
    assert not run.conservative
    assert run.energy_error is None


def test_prepared_dynamics_is_used():
    system = pendulum().compile()
    dynamics = sb.ForwardDynamics(system, ordering="natural", factorization="dense")
    run = sb.simulate(system, duration=0.1, step=0.01, dynamics=dynamics)
    assert (run.options["ordering"], run.options["factorization"]) == ("natural", "dense")
    other = sb.simulate(system, duration=0.1, step=0.01)
    np.testing.assert_allclose(run.position, other.position, atol=1e-12)


def test_progress_is_reported_to_a_callable_and_to_a_bar(capfd):
    system, seen = pendulum().compile(), []
    sb.simulate(system, duration=0.1, step=0.01, progress=lambda now, end: seen.append((now, end)))
    assert seen[-1] == pytest.approx((0.1, 0.1))
    sb.simulate(system, duration=0.1, step=0.01, progress=True)
    assert "0.100/0.100 s" in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_between_two_steps_and_keep_what_was_computed(number):
    def report(now, end):
        if now > 0.05:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.warns(InterruptionWarning, match=r"the trajectory ends at .* s"):
        run = sb.simulate(pendulum().compile(), duration=1e4, step=0.01, progress=report)
    assert run.interrupted
    assert len(run) > 5
    assert run.events[-1].kind == "interruption"
    assert signal.Signals(number).name in run.events[-1].message
    assert signal.getsignal(number) is before


def test_handlers_of_signals_that_python_did_not_install_are_left_alone(monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: None)
    monkeypatch.setattr(signal, "signal", lambda number, handler: handler + None)
    assert sb.simulate(PENDULUM, duration=0.05, step=0.01).steps == 5


def test_keyboard_interrupt_in_a_control_keeps_what_was_computed():
    def control(time, state):
        if time > 0.05:
            raise KeyboardInterrupt
        return np.zeros((1, 6))

    with pytest.warns(InterruptionWarning, match="the trajectory ends at 0.05 s"):
        run = sb.simulate(pendulum().compile(), duration=1.0, step=0.01, control=control)
    assert run.interrupted
    assert run.time[-1] == pytest.approx(0.05)
    assert json.loads(json.dumps(run.summary()))["interrupted"] is True


def test_runs_in_another_thread_leave_signals_alone():
    runs, options = [], {"duration": 0.05, "step": 0.01}
    thread = threading.Thread(target=lambda: runs.append(sb.simulate(PENDULUM, **options)))
    thread.start()
    thread.join()
    assert runs[0].steps == 5


def test_blow_up_names_body_and_time_and_keeps_what_was_computed():
    mechanism = one_body(gravity=(0, 0, 0), mass=1e-3, position=[0, 0, 1])
    mechanism.add_point_force("spring", sb.WORLD, "body", stiffness=1e9)
    with pytest.raises(StoppedSimulationError, match="body 'body' blew up at t = ") as caught:
        sb.simulate(mechanism.compile(), duration=10.0, step=0.1, method="rk4")
    assert len(caught.value.trajectory) >= 1
    assert caught.value.trajectory.interrupted
    assert np.isfinite(caught.value.trajectory.position).all()


def test_error_of_a_force_on_the_way_names_the_time():
    mechanism = one_body(gravity=(0, 0, 0), position=[1, 0, 0], linear_velocity=[-1, 0, 0])
    mechanism.add_point_force("spring", sb.WORLD, "body", stiffness=0.0, damping=0.0)
    with pytest.raises(StoppedSimulationError, match=r"t = 0.5 s: point force 'spring'"):
        sb.simulate(mechanism.compile(), duration=2.0, step=0.5, method="rk4")


def state_with(**change):
    return sb.consistent_state(PENDULUM).with_(**change)


PENDULUM = pendulum().compile()
PREPARED = sb.ForwardDynamics(PENDULUM)


Method, Recording = sb.Method, sb.Recording
OF_OPTIONS = [  # all of SimulationOptionError
    ({"step": 0.0}, "step is 0.0; give a positive"),
    ({"step": float("nan")}, "step is nan"),
    ({"step": "1"}, "step is '1'"),
    ({"duration": -1.0}, "duration is -1.0; give a positive"),
    ({"duration": float("inf")}, "duration is inf"),
    ({"method": Method(time_constant=0.0)}, "time constant is 0.0"),
    ({"record": Recording(step=-0.1)}, "record step is -0.1"),
    ({"record": Recording(step=0.0125)}, "not a multiple of the step 0.01; try 0.01"),
    ({"record": Recording(step=0.001)}, "not a multiple of the step 0.01; try 0.01"),
    ({"control": 3}, "control is 3; give a function"),
    ({"events": 3}, "an event is 3; give a function"),
    ({"dynamics": "best"}, "dynamics is 'best'; give Solver"),
    ({"record": 0.1}, "record is 0.1; give Recording"),
    ({"output": "missing/run.h5"}, "there is no directory 'missing'"),
    ({"output": "."}, "is a directory; give a file name"),
    ({"system": pendulum().compile(), "dynamics": PREPARED}, "another system"),
    ({"dynamics": PREPARED, "method": Method(stabilization="baumgarte")}, "Baumgarte"),
    ({"method": "semi-implicit-euler", **AUTO}, "has no error est"),
    ({"rtol": 0.0, **AUTO}, "rtol is 0.0"),
    ({"atol": -1.0, **AUTO}, "atol is -1.0"),
    ({"record": Recording(step=-1.0), **AUTO}, "record step is -1.0"),
    ({"method": Method("variational", stabilization="baumgarte")}, "closes the joints itself"),
    ({"method": Method(compliance=-1.0)}, "compliance is -1.0; give a positive numb"),
    ({"method": Method(spectral_radius=1.5)}, "radius is 1.5; give a number from 0"),
    ({"dynamics": PREPARED, **ALPHA}, "makes its own equations"),
]
OPEN = state_with(position=np.ones((1, 3)))
OF_OTHERS = [
    ({"method": "rk5"}, UnknownNameError, "method is 'rk5'; give one of .*rk4"),
    ({"method": Method(stabilization="glue")}, UnknownNameError, "'glue'; give one of projection"),
    ({"dynamics": sb.Solver(ordering="best")}, UnknownNameError, "best"),
    ({"dynamics": sb.Solver(factorization="best")}, UnknownNameError, "best"),
    ({"dynamics": sb.Solver(factorization="dense"), **ALPHA}, UnknownNameError, "one of auto, blo"),
    ({"control": lambda t, state: np.zeros(6)}, StoppedSimulationError, "control's wrench"),
    ({"state": sb.consistent_state(chain(bodies=3).compile())}, ShapeError, "position"),
    ({"state": state_with(velocity=np.full((1, 6), np.nan))}, ModelError, "'mass'"),
    ({"state": OPEN}, AssemblyError, r"joint '.*' is open by .*consistent_state"),
]
WRONG = [*((given, SimulationOptionError, said) for given, said in OF_OPTIONS), *OF_OTHERS]


@pytest.mark.parametrize(("arguments", "error", "message"), WRONG)
def test_arguments_are_checked_before_anything_is_done(
    arguments, error, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        sb.simulate(**{"system": PENDULUM, "duration": 1.0, "step": 0.01} | arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_motion_with_wrong_energy_is_doubted():
    """Four bars at steps of a second turn by several radians at once, and nothing else tells."""
    with pytest.warns(EnergyWarning, match=r"of 'four-bar' (fell|grew) by .*%.*smaller steps"):
        run = sb.simulate(sb.build("four-bar").compile(), duration=3.0, step=1.0, method="rk4")
    assert run.energy_error > 0.2


def test_a_damped_motion_whose_energy_grows_is_doubted():
    """Dampers take energy, so that there is none to compare with; but none may come."""
    damped = sb.build("four-bar")
    damped.add_joint_force("damper", next(iter(damped.joints)), damping=1e-3)
    system = damped.compile()
    with pytest.warns(EnergyWarning, match=r"energy of 'four-bar' grew by .*%.* adds any"):
        run = sb.simulate(system, duration=3.0, step=0.6, method="rk4")
    assert run.energy_error is None
    run = sb.simulate(system, duration=3.0, step=0.01, method="rk4")  # no warning
    assert run.energy[-1] < run.energy[0]


@pytest.mark.parametrize("damping", [0.0, 1.0])
def test_a_motion_whose_springs_steps_do_not_resolve_is_doubted_damped_or_not(damping):
    """A mass on a spring with a period of 0.02 s; the damper takes 5% of its energy in 0.1 s."""
    slide = one_body(sb.Prismatic(), mass=2.0, gravity=(0, 0, 0))
    joint = next(iter(slide.joints))
    slide.add_joint_force("spring", joint, stiffness=2e5, rest=2.5e-3, damping=damping)
    system, method = slide.compile(), sb.Method("generalized-alpha", spectral_radius=0.3)
    with pytest.warns(EnergyWarning, match=r"fell by .*%.* takes? any|beyond what dampers take"):
        sb.simulate(system, duration=0.1, step=0.01, method=method)
    sb.simulate(system, duration=0.1, step=1e-3, method="rk4")  # no warning
    sb.simulate(system, duration=0.1, step=1e-3, method="rk4", record=Recording(step=0.02))


def test_keywords_of_the_version_before_are_taken_with_a_warning(tmp_path):
    shared = {"system": sb.build("four-bar").compile(), "duration": 0.04, "step": 0.01}
    method, solver = Method("rk4", stabilization="none"), sb.Solver(ordering="natural")
    record = Recording(step=0.02, reactions=True)
    now = sb.simulate(method=method, dynamics=solver, record=record, **shared)
    former = {"method": "rk4", "stabilization": "none", "ordering": "natural"}
    former |= {"record_step": 0.02, "record_reactions": True, "overwrite": True}
    with pytest.warns(DeprecationWarning, match=r"record=Recording\(step="):
        before = sb.simulate(output=tmp_path / "run.h5", **former, **shared)
    np.testing.assert_array_equal(before.joint_wrench, now.joint_wrench)
    np.testing.assert_array_equal(before.position, now.position)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stpe'"):
        sb.simulate(**shared, stpe=0.01)


@pytest.mark.parametrize("method", [*INTEGRATORS, "auto"])
def test_motions_begin_in_a_consistent_state_and_say_so(method, tmp_path):
    """Implicit steps, and explicit ones that are long, would make vibrations of the difference."""
    system = sb.build("four-bar").compile()
    wrong = 10.0 * np.random.default_rng(0).normal(size=(system.n_bodies, 6))
    closed = sb.consistent_state(system, system.initial_state.with_(velocity=wrong))
    options = {"duration": 2.5e-4, "step": 5e-5, "method": method}
    for size, is_noted in ((0.1, True), (1e-6, False)):
        given = closed.with_(velocity=closed.velocity + size * wrong)
        run = sb.simulate(system, given, **options)
        notes = [event.kind for event in run.events].count("inconsistent start")
        assert notes == is_noted
        if not is_noted:
            np.testing.assert_array_equal(run.velocity[0], given.velocity)
            continue
        assert run.velocity_error[0].max() < 1e-12
        nearest = sb.simulate(system, sb.consistent_state(system, given), **options)
        np.testing.assert_array_equal(run.position, nearest.position)
        path = tmp_path / "run.h5"
        sb.simulate(system, given, **options | {"duration": 1e-4}, output=path)
        resumed = sb.simulate(system, given, **options, output=sb.Output(path, resume=True))
        assert resumed.events == run.events
        np.testing.assert_array_equal(resumed.position, run.position)
        if method != "auto":
            pullback = sb.simulate_with_pullback(system, given, **options)
            difference = pullback.trajectory.position - run.position
            assert np.abs(difference).max() < 1e-9


def test_motions_with_a_given_compliance_begin_with_open_joints():
    system = sb.build("four-bar").compile()
    given = sb.displaced(sb.consistent_state(system), 1e-4 * np.eye(system.n_bodies, 6))
    soft = sb.Method("generalized-alpha", compliance=1.0)
    for method, is_open in ((soft, True), ("generalized-alpha", False)):
        run = sb.simulate(system, given, duration=0.01, step=0.01, method=method)
        assert (run.position_error[0].max() > 1e-5) == is_open
