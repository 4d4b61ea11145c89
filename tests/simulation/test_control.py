"""Controls in Python and in C, and all that compiled steps take into one call."""

import ctypes
import shutil
import subprocess
import weakref

import numpy as np
import pytest
from closed_stages import close_stages
from linkages import one_body
from scipy import LowLevelCallable

import sparsebody as sb
from sparsebody.errors import SimulationError
from sparsebody.simulation import CONTROL_FUNCTION, StoppedSimulationError, explicit_steps

SOURCE = """
#include <stddef.h>
int control(double time, ptrdiff_t n, const double *position, const double *orientation,
            const double *velocity, const double *coordinate, double *wrench, void *data) {
  const double factor = *(double *)data;
  for (ptrdiff_t k = 5; k < 6 * n; k += 6) wrench[k] = -factor * time * velocity[k];
  return time > 0.5;
}
"""
FACTOR = 3.0
PENDULUM = sb.build("chain", bodies=2).compile()
CUBE = sb.build("lattice", rows=4, columns=4, layers=4).compile()  # dependent at the start


def damping(time, state):
    wrench = np.zeros_like(state.velocity)
    wrench[:, 5] = -FACTOR * time * state.velocity[:, 5]
    return wrench


def c_damping(time, n, position, orientation, velocity, coordinate, wrench, data):
    del position, orientation, coordinate, data
    rates, wrenches = (
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double)) for pointer in (velocity, wrench)
    )
    for i in range(5, 6 * n, 6):
        wrenches[i] = -FACTOR * time * rates[i]
    return 0


@pytest.fixture
def compiled(tmp_path):
    """A C function with its factor as data; of times after 0.5 s it wants nothing to do with."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "control.c").write_text(SOURCE)
    library = tmp_path / "control.so"
    sources = "-shared", "-fPIC", "-o", str(library), str(tmp_path / "control.c")
    subprocess.run([compiler, *sources], check=True)
    function = ctypes.CDLL(str(library)).control
    function.restype, function.argtypes = CONTROL_FUNCTION._restype_, CONTROL_FUNCTION._argtypes_
    factor = ctypes.c_double(FACTOR)
    data = ctypes.cast(ctypes.pointer(factor), ctypes.c_void_p)
    return LowLevelCallable(function, data), factor


@pytest.mark.parametrize("method", ["rk4", "variational", "generalized-alpha"])
def test_controls_in_c_and_in_python_are_the_same(compiled, method):
    system = sb.build("ladder", rungs=2).compile()
    options = {"duration": 0.3, "step": 0.01, "method": method}
    runs = [
        sb.simulate(system, control=control, **options)
        for control in (damping, compiled[0], CONTROL_FUNCTION(c_damping))
    ]
    free = sb.simulate(system, **options)
    assert np.abs(runs[0].position - free.position).max() > 1e-4
    for run in runs[1:]:
        np.testing.assert_allclose(run.position, runs[0].position, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "variational", "generalized-alpha"])
@pytest.mark.parametrize(
    ("late", "said"),
    [
        (lambda wrench: wrench[:, :5], r"the control's wrench is \(2, 5\), not \(2, 6\)"),
        (lambda wrench: wrench + np.inf, "the control's wrench of '.*' is not finite"),
    ],
)
def test_wrenches_that_are_none_end_the_motion_and_are_named(late, said, method):
    def control(time, state):
        wrench = np.zeros_like(state.velocity)
        return late(wrench) if time > 0.05 else wrench

    with pytest.raises(StoppedSimulationError, match=said) as stopped:
        sb.simulate(PENDULUM, duration=1.0, step=0.02, control=control, method=method)
    assert stopped.value.trajectory.time[-1] == pytest.approx(0.04, abs=1e-12)


def failing(time, state):
    """Fail as steps do that are tried again in parts or by another method."""
    if time > 0.5:
        raise SimulationError("no wrench is known")
    return np.zeros_like(state.velocity)


@pytest.mark.parametrize("method", ["auto", "rk4", "generalized-alpha", "radau-iia"])
@pytest.mark.parametrize("language", ["C", "Python"])
def test_a_control_that_fails_ends_the_motion_and_says_why(compiled, method, language):
    system, control = sb.build("four-bar").compile(), compiled[0] if language == "C" else failing
    said = r"not return 0 in the step to t = 0\.5.* s" if language == "C" else "no wrench is known"
    with pytest.raises(StoppedSimulationError, match=f"stopped at t = 0.5 s.*{said}$") as stopped:
        sb.simulate(system, duration=1.0, step=0.01, control=control, method=method)
    run = stopped.value.trajectory
    assert run.time[-1] == pytest.approx(0.5, abs=1e-12)
    assert {event.kind for event in run.events} <= {"compliance"}


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("kick", [None, 10.0])
@pytest.mark.parametrize("name", ["lattice", "ladder", "four-bar-torus"])
def test_a_control_of_zeros_changes_no_bit(name, kick):
    system, options = sb.build(name).compile(), {"duration": 0.2, "step": 0.005}
    zeros = np.zeros((system.n_bodies, 6))

    def late(time, state):
        return time - 0.055

    late.change = lambda time, state: state.with_(velocity=kick * state.velocity)
    options["events"] = None if kick is None else late
    free, controlled = (
        sb.simulate(system, control=control, **options) for control in (None, lambda *_: zeros)
    )
    for array in ("position", "velocity", "energy"):
        np.testing.assert_array_equal(getattr(controlled, array), getattr(free, array))


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.filterwarnings("ignore:rigid joints of")
@pytest.mark.parametrize("step", [0.002, "auto"])
def test_joints_of_a_driven_lattice_are_not_made_stiffer_in_vain(step):
    """Near singular poses multipliers grow as fast as the compliance falls.

    Joints became stiffer at every step until Newton's method failed: 32 calls a step, in 8 parts.
    """
    calls, push = [], np.full((CUBE.n_bodies, 6), 1e-6)

    def control(time, state):
        calls.append(time)
        return push

    run = sb.simulate(CUBE, duration=0.3, step=step, rtol=1e-4, control=control)
    free = sb.simulate(CUBE, duration=0.3, step=step, rtol=1e-4, control=None)
    n_in_parts = sum(event.kind == "step in parts" for event in run.events)
    assert n_in_parts <= 6
    assert len(calls) < 10 * (150 if step == 0.002 else 600)
    assert run.position_error.max() < 2.0 * free.position_error.max()


@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_a_control_may_keep_its_states_and_write_into_them(method):
    kept, first = [], PENDULUM.initial_state.position.copy()

    def control(time, state):
        kept.append((state, state.velocity.copy()))
        state.position[:] = np.nan
        return np.zeros((2, 6), dtype=np.float32)  # of a type that has to be converted

    options = {"duration": 0.1, "step": 0.02, "method": method}
    run = sb.simulate(PENDULUM, control=control, **options)
    np.testing.assert_array_equal(PENDULUM.initial_state.position, first)
    np.testing.assert_array_equal(run.position, sb.simulate(PENDULUM, **options).position)
    assert len({id(state.velocity) for state, _ in kept}) == len(kept) >= 10
    for state, velocity in kept:
        np.testing.assert_array_equal(state.velocity, velocity)


@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_what_a_control_keeps_of_its_states_stays_as_it_is(method):
    # memory of which nothing is kept is used again, for new arrays
    kept, seen = [], []
    keeping = (
        lambda state: [state],
        lambda state: [state.position],
        lambda state: [state.orientation[1]],
        lambda state: [memoryview(state.velocity)],
        lambda state: [vars(state)],
        lambda state: object.__setattr__(state, "velocity", np.zeros(3)) or [],
        lambda state: state.velocity.setflags(write=False) or [],
        lambda state: [],
        lambda state: [],
    )

    def numbers_of(part):
        fields = vars(part) if isinstance(part, sb.State) else part
        arrays = fields.values() if isinstance(fields, dict) else [fields]
        return np.concatenate([np.ravel(array) for array in arrays])

    def control(time, state):
        seen.append((time, state.time, state.velocity.copy()))
        for part in keeping[len(seen) % len(keeping)](state):
            kept.append((part, numbers_of(part)))
        return np.zeros((2, 6))

    options = {"duration": 0.2, "step": 0.02, "method": method}
    sb.simulate(PENDULUM, control=control, **options)
    expected = []
    sb.simulate(PENDULUM, control=lambda *of: expected.append(of) or np.zeros((2, 6)), **options)
    assert len(seen) == len(expected) >= 20
    for (time, own_time, velocity), (expected_time, state) in zip(seen, expected, strict=True):
        assert time == own_time == expected_time == state.time
        np.testing.assert_array_equal(velocity, state.velocity)
    assert len(kept) > 10
    for part, numbers in kept:
        np.testing.assert_array_equal(numbers_of(part), numbers)


def test_weak_references_to_states_of_a_control_are_dead_after_its_call():
    references = []

    def control(time, state):
        assert all(reference() is None for reference in references)
        references.extend(map(weakref.ref, [state, state.velocity]))
        return np.zeros((2, 6))

    sb.simulate(PENDULUM, duration=0.1, step=0.02, control=control)
    assert len(references) > 20


def test_a_control_is_called_once_a_stage_with_coordinates_of_that_time():
    drive, calls = {"prescribed": sb.Polynomial([1.0, 4.0])}, []
    mechanism = one_body(sb.Revolute(), joint=drive)

    def control(time, state):
        calls.append((time, float(state.coordinate[0])))
        return np.zeros((1, 6))

    sb.simulate(mechanism.compile(), duration=2.0, step=0.1, control=control, method="rk4")
    times, angles = np.array(calls[-80:]).T
    np.testing.assert_allclose(angles, 1.0 + 4.0 * times, atol=1e-12)  # whole turns included
    np.testing.assert_allclose(times[:4], [0.05, 0.05, 0.1, 0.1])


def loaded():
    """Everything that acts: springs on a joint and between points, loads, a drive."""
    mechanism = sb.build("four-bar")
    points = [[0.2, 0.3, 0.1], [1.0, 0.3, 0.4]]
    mechanism.add_bodies(["weight", "disk"], mass=0.5, inertia=[0.1, 0.2, 0.3], position=points)
    body, motion = mechanism.body_names[0], sb.Sinusoid(1.0, 5.0)
    mechanism.add_joint("neck", sb.Universal(), body, "weight", point=[0.2, 0.2, 0])
    mechanism.add_joint("axle", sb.Revolute(), body, "disk", prescribed=motion)
    coil = {"stiffness": 30.0, "damping": 0.2, "effort": lambda t: (np.cos(t), 0.0, 0.0)}
    mechanism.add_joint_force("coil", "neck", **coil)
    rope = {"stiffness": 20.0, "damping": 0.3, "effort": sb.Polynomial([2.0])}
    rope |= {"first_point": [0.1, 0, 0], "second_point": [3, 1, 0]}
    mechanism.add_point_force("rope", "weight", sb.WORLD, **rope)
    mechanism.add_external_force("push", "weight", force=[1, 2, 3], point=[0.1, 0, 0.2])
    return mechanism.compile()


@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_compiled_steps_with_all_loads_are_those_of_python(monkeypatch, method):
    system = loaded()
    options = {"duration": 0.4, "step": 0.01, "method": method}
    close_stages(monkeypatch)
    whole = sb.simulate(system, **options)
    monkeypatch.setattr(explicit_steps.ExplicitSteps, "__call__", lambda *_: None)
    by_parts = sb.simulate(system, **options)
    for name in ("position", "velocity", "coordinate"):
        ours, theirs = getattr(whole, name), getattr(by_parts, name)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9, err_msg=name)
    assert whole.position_error.max() < 1e-13
