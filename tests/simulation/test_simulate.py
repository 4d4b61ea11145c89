"""The time loop: conservation, recording, control, and every error it raises."""

import json
import os
import signal
import threading

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import (
    AssemblyError,
    EnergyWarning,
    InterruptionWarning,
    ModelError,
    ShapeError,
    SimulationError,
    UnknownNameError,
)
from sparsebody.model.gallery.open_chains import chain, pendulum
from sparsebody.simulation import StoppedSimulationError


def two_free_bodies() -> sb.System:
    mechanism = sb.Mechanism("pair", gravity=(0, 0, 0))
    for name, x in (("left", -1.0), ("right", 1.0)):
        mechanism.add_body(
            name,
            mass=1.0 + 0.5 * x,
            inertia=[0.1, 0.2, 0.25],
            position=[x, 0.1, 0],
            linear_velocity=[0.1, 0.3 * x, 0.2],
            angular_velocity=[0.5, x, -0.3],
        )
    mechanism.add_point_force(
        "spring",
        "left",
        "right",
        first_point=[0, 0.2, 0],
        second_point=[0.1, 0, 0],
        stiffness=5.0,
        rest_length=1.0,
    )
    return mechanism.compile()


def test_momentum_and_energy_of_free_bodies_are_constant():
    run = sb.simulate(two_free_bodies(), duration=2.0, step=0.01)
    assert run.conservative
    np.testing.assert_allclose(run.momentum, run.momentum[:1].repeat(len(run), 0), atol=1e-6)
    assert run.energy_error < 1e-6


def test_energy_of_a_chain_is_constant():
    run = sb.simulate(
        chain(bodies=5).compile(), duration=1.0, step=0.002, record=sb.Recording(step=0.1)
    )
    assert run.energy_error < 1e-6
    assert run.position_error.max() < 1e-11


def test_last_step_is_shortened_to_meet_the_duration():
    run = sb.simulate(pendulum().compile(), duration=0.0105, step=0.002)
    np.testing.assert_allclose(run.time, [0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.0105])
    assert run.steps == 6


def test_records_are_taken_every_record_step_and_at_the_end():
    run = sb.simulate(pendulum().compile(), duration=0.1, step=0.01, record=sb.Recording(step=0.04))
    np.testing.assert_allclose(run.time, [0, 0.04, 0.08, 0.1])
    fine = sb.simulate(pendulum().compile(), duration=0.1, step=0.01)
    np.testing.assert_array_equal(run.position[1], fine.position[4])


def test_start_time_of_the_state_is_kept():
    system = pendulum().compile()
    state = sb.consistent_state(system).with_(time=2.0)
    run = sb.simulate(system, state, duration=0.1, step=0.05)
    np.testing.assert_allclose(run.time, [2.0, 2.05, 2.1])


def test_a_motion_from_wide_open_joints_names_one_and_the_remedy():
    system = pendulum().compile()
    state = sb.consistent_state(system)
    moved = state.with_(position=state.position + 1.0)
    with pytest.raises(AssemblyError, match=r"joint '.*' is open by 1 .*consistent_state"):
        sb.simulate(system, moved, duration=0.1, step=0.01)


def test_control_acts_as_a_force_on_the_bodies():
    mechanism = sb.Mechanism("ball", gravity=(0, 0, 0))
    mechanism.add_body("ball", mass=2.0, inertia=[1, 1, 1])
    system = mechanism.compile()

    def push(time: float, state: sb.State) -> np.ndarray:
        return np.array([[0, 0, 0, 6.0 * time, 0, 0]])

    run = sb.simulate(system, duration=1.0, step=0.1, control=push)
    np.testing.assert_allclose(run.position[-1, 0, 0], 0.5, rtol=1e-12)  # t^3 / 2
    assert not run.conservative
    assert run.energy_error is None


def test_reactions_of_a_resting_body_carry_its_weight():
    mechanism = sb.Mechanism("shelf")
    mechanism.add_body("book", mass=3.0, inertia=[1, 1, 1])
    mechanism.add_joint("shelf", sb.Fixed(), sb.WORLD, "book")
    run = sb.simulate(
        mechanism.compile(), duration=0.02, step=0.01, record=sb.Recording(reactions=True)
    )
    expected = np.tile([0, 0, 0, 0, 0, 29.43], (3, 1, 1))
    np.testing.assert_allclose(run.joint_wrench, expected, atol=1e-12)
    assert sb.simulate(mechanism.compile(), duration=0.01).joint_wrench is None


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
    assert "0.100 of 0.100 s" in capfd.readouterr().err


def test_summary_can_be_written_as_json():
    summary = sb.simulate(pendulum().compile(), duration=0.1, step=0.01).summary()
    assert json.loads(json.dumps(summary))["steps"] == 10
    assert summary["energy_error"] < 1e-6
    assert not summary["interrupted"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_between_two_steps_and_keep_what_was_computed(number):
    def report(now: float, end: float) -> None:
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


def test_keyboard_interrupt_in_a_control_keeps_what_was_computed():
    def control(time: float, state: sb.State) -> np.ndarray:
        if time > 0.05:
            raise KeyboardInterrupt
        return np.zeros((1, 6))

    with pytest.warns(InterruptionWarning, match=r"the trajectory ends at 0.05 s"):
        run = sb.simulate(pendulum().compile(), duration=1.0, step=0.01, control=control)
    assert run.interrupted
    assert run.time[-1] == pytest.approx(0.05)


def test_runs_in_another_thread_leave_signals_alone():
    runs = []
    system = pendulum().compile()
    thread = threading.Thread(
        target=lambda: runs.append(sb.simulate(system, duration=0.05, step=0.01))
    )
    thread.start()
    thread.join()
    assert runs[0].steps == 5


def test_blow_up_names_body_and_time_and_keeps_what_was_computed():
    mechanism = sb.Mechanism("stiff", gravity=(0, 0, 0))
    mechanism.add_body("cart", mass=1e-3, inertia=[1, 1, 1], position=[0, 0, 1])
    mechanism.add_point_force("spring", sb.WORLD, "cart", stiffness=1e9)
    with pytest.raises(StoppedSimulationError, match=r"body 'cart' blew up at t = ") as caught:
        sb.simulate(mechanism.compile(), duration=10.0, step=0.1, method="rk4")
    assert len(caught.value.trajectory) >= 1
    assert caught.value.trajectory.interrupted
    assert np.isfinite(caught.value.trajectory.position).all()


def test_error_of_a_force_on_the_way_names_the_time():
    mechanism = sb.Mechanism("crash", gravity=(0, 0, 0))
    mechanism.add_body(
        "cart", mass=1.0, inertia=[1] * 3, position=[1, 0, 0], linear_velocity=[-1, 0, 0]
    )
    mechanism.add_point_force("spring", sb.WORLD, "cart", stiffness=0.0, damping=0.0)
    with pytest.raises(StoppedSimulationError, match=r"t = 0.5 s: point force 'spring'"):
        sb.simulate(mechanism.compile(), duration=2.0, step=0.5, method="rk4")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"step": 0.0}, SimulationError, r"step is 0.0; give a positive"),
        ({"step": float("nan")}, SimulationError, r"step is nan"),
        ({"step": "1"}, SimulationError, r"step is '1'"),
        ({"duration": -1.0}, SimulationError, r"duration is -1.0; give a positive"),
        ({"duration": float("inf")}, SimulationError, r"duration is inf"),
        ({"method": "rk5"}, UnknownNameError, r"method is 'rk5'; give one of .*rk4"),
        (
            {"method": sb.Method(stabilization="glue")},
            UnknownNameError,
            r"'glue'; give one of projection",
        ),
        ({"method": sb.Method(time_constant=0.0)}, SimulationError, r"time constant is 0.0"),
        ({"record": sb.Recording(step=-0.1)}, SimulationError, r"record step is -0.1"),
        (
            {"record": sb.Recording(step=0.0125)},
            SimulationError,
            r"not a multiple of the step 0.01; try 0.01",
        ),
        (
            {"record": sb.Recording(step=0.001)},
            SimulationError,
            r"not a multiple of the step 0.01; try 0.01",
        ),
        ({"control": 3}, SimulationError, r"control is 3; give a function"),
        ({"dynamics": sb.Solver(ordering="best")}, UnknownNameError, r"best"),
        ({"dynamics": sb.Solver(factorization="best")}, UnknownNameError, r"best"),
        ({"dynamics": "best"}, SimulationError, r"dynamics is 'best'; give Solver"),
        ({"record": 0.1}, SimulationError, r"record is 0.1; give Recording"),
        ({"output": "missing/run.h5"}, SimulationError, r"there is no directory 'missing'"),
        ({"output": "."}, SimulationError, r"is a directory; give a file name"),
    ],
)
def test_arguments_are_checked_before_anything_is_done(
    arguments, error, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    given = {"duration": 1.0, "step": 0.01} | arguments
    with pytest.raises(error, match=message):
        sb.simulate(pendulum().compile(), **given)
    assert list(tmp_path.iterdir()) == []


def test_state_of_another_system_is_refused():
    state = sb.consistent_state(chain(bodies=3).compile())
    with pytest.raises(ShapeError, match="position"):
        sb.simulate(pendulum().compile(), state, duration=1.0)
    one = sb.consistent_state(pendulum().compile())
    broken = one.with_(velocity=np.full((1, 6), np.nan))
    with pytest.raises(ModelError, match="'mass'"):
        sb.simulate(pendulum().compile(), broken, duration=1.0)


def test_dynamics_of_another_system_or_stabilization_is_refused():
    system = pendulum().compile()
    dynamics = sb.ForwardDynamics(system)
    with pytest.raises(SimulationError, match="another system"):
        sb.simulate(pendulum().compile(), duration=1.0, dynamics=dynamics)
    with pytest.raises(SimulationError, match="Baumgarte"):
        sb.simulate(
            system, duration=1.0, dynamics=dynamics, method=sb.Method(stabilization="baumgarte")
        )


def test_control_of_the_wrong_shape_is_refused():
    with pytest.raises(StoppedSimulationError, match="body_force"):
        sb.simulate(pendulum().compile(), duration=1.0, control=lambda t, state: np.zeros(6))


def test_a_motion_with_wrong_energy_is_doubted():
    """Four bars at steps of a second turn by several radians at once, and nothing else tells."""
    with pytest.warns(EnergyWarning, match=r"energy of 'four-bar' changed by .*%.*smaller steps"):
        run = sb.simulate(sb.build("four-bar").compile(), duration=3.0, step=1.0, method="rk4")
    assert run.energy_error > 0.2


def test_keywords_of_the_version_before_are_taken_with_a_warning(tmp_path):
    system, path = sb.build("four-bar").compile(), tmp_path / "run.h5"
    now = sb.simulate(
        system,
        duration=0.04,
        step=0.01,
        method=sb.Method("rk4", stabilization="none"),
        dynamics=sb.Solver(ordering="natural"),
        record=sb.Recording(step=0.02, reactions=True),
    )
    with pytest.warns(DeprecationWarning, match=r"record=Recording\(step="):
        before = sb.simulate(
            system,
            duration=0.04,
            step=0.01,
            method="rk4",
            stabilization="none",
            ordering="natural",
            record_step=0.02,
            record_reactions=True,
            output=path,
            overwrite=True,
        )
    np.testing.assert_array_equal(before.joint_wrench, now.joint_wrench)
    np.testing.assert_array_equal(before.position, now.position)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stpe'"):
        sb.simulate(system, duration=0.1, stpe=0.01)
