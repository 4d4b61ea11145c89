"""Trajectory files: complete, resumable bit for bit, and never lost."""

import json
import os
import signal
import sys
import time
from contextlib import contextmanager

import h5py
import numpy as np
import pytest
from overconstrained import figure_8_2_a

import sparsebody as sb
from sparsebody.errors import InterruptionWarning, OutputError, SimulationError
from sparsebody.model.system import States
from sparsebody.simulation import INTEGRATORS, outer_steppers, trajectory_files
from sparsebody.simulation.options import ADAPTIVE
from sparsebody.simulation.trajectory import CHANNELS

OPTIONS = {"step": 0.01, "record": sb.Recording(step=0.02)}
PENDULUM = sb.build("pendulum").compile()


RUNS = [
    *((name, 0.005) for name in (*INTEGRATORS, "auto")),
    *((name, "auto") for name in ADAPTIVE),
]


def four_bars(stiffness):
    """A motion through a flat pose, with a tracked coordinate."""
    mechanism = sb.build("n-four-bar", loops=2)
    mechanism.add_joint_force("spring", "ground-0", stiffness=stiffness)
    return mechanism.compile()


FOUR_BARS, STIFF_FOUR_BARS = four_bars(1.0), four_bars(30.0)


def assert_same(one, other):
    for name in CHANNELS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.events == other.events


def test_file_holds_what_memory_would_hold(tmp_path):
    path = tmp_path / "run.h5"
    options = OPTIONS | {"duration": 0.5, "record": sb.Recording(step=0.02, reactions=True)}
    written = sb.simulate(FOUR_BARS, output=sb.Output(path, source="four_bar.json"), **options)
    memory = sb.simulate(FOUR_BARS, **options)
    assert_same(written, memory)
    np.testing.assert_array_equal(written.joint_wrench, memory.joint_wrench)
    loaded = sb.Trajectory.load(str(path))
    assert_same(loaded, memory)
    assert loaded.body_names == memory.body_names
    assert loaded.joint_names == memory.joint_names
    assert (loaded.source, loaded.path) == ("four_bar.json", path)
    assert (loaded.steps, loaded.interrupted) == (50, False)
    assert loaded.options == memory.options
    with h5py.File(path) as file:
        assert file.attrs["step"] == 0.01
        assert {"sparsebody_version", "created", "fingerprint"} <= set(file.attrs)
        assert json.loads(file.attrs["options"])["method"] == "auto"


@pytest.mark.parametrize(
    "limit",
    ["trajectory._BLOCK_BYTES", "trajectory_files._BLOCK_BYTES", "trajectory._MOST_NUMBERS"],
)
@pytest.mark.parametrize("size", [1, 3000])  # 3000 are a few records of some steps
@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_memory_of_few_records_or_steps_at_once_holds_the_same(
    limit, size, method, tmp_path, monkeypatch
):
    options = {"duration": 0.2, "step": 0.01, "method": method}
    undisturbed = sb.simulate(STIFF_FOUR_BARS, **options)
    monkeypatch.setattr(f"sparsebody.simulation.{limit}", size)
    output = tmp_path / "run.h5" if limit.startswith("trajectory_files") else None
    assert_same(sb.simulate(STIFF_FOUR_BARS, output=output, **options), undisturbed)


@pytest.mark.parametrize("method", ["rk4", "generalized-alpha", "radau-iia"])
def test_records_of_every_step_are_those_of_every_other_one(method):
    """Steps fill the memory of records, if all are recorded, also where an event undoes some."""
    options = {"duration": 0.4, "step": 0.01, "method": method, "events": lambda t, _: t - 0.105}
    every, some = (
        sb.simulate(STIFF_FOUR_BARS, record=sb.Recording(step=h), **options) for h in (0.01, 0.02)
    )
    assert len(every) == 2 * len(some) - 1 == 41
    for name in CHANNELS:
        if (channel := getattr(every, name)) is not None:
            np.testing.assert_array_equal(channel[::2], getattr(some, name), err_msg=name)


@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_states_that_an_event_function_keeps_stay_as_they_are(method):
    states = []

    def event(time, state):
        states.append(state)
        return 1.0

    options = {"duration": 0.5, "step": 0.01, "method": method}
    run = sb.simulate(STIFF_FOUR_BARS, events=event, **options)
    assert len(states) > 40
    for state in states:
        k = int(np.argmin(np.abs(run.time - state.time)))
        for name in ("time", "position", "orientation", "velocity", "coordinate"):
            np.testing.assert_array_equal(getattr(state, name), getattr(run, name)[k], name)


def signal_after(moment, number):
    """Return a report of progress that sends this process a signal beyond a moment."""

    def report(now, end):
        if now > moment:
            os.kill(os.getpid(), number)

    return report


@pytest.mark.parametrize("damage", ["torn", "none yet"])
def test_a_run_without_its_newest_checkpoint_resumes_from_before(tmp_path, damage):
    path = tmp_path / "run.h5"
    sb.simulate(FOUR_BARS, output=path, duration=0.2, **OPTIONS)
    sb.simulate(FOUR_BARS, output=sb.Output(path, resume=True), duration=0.4, **OPTIONS)
    with h5py.File(path, "r+") as file:
        if damage == "torn":
            file["checkpoint"][int(np.argmax(file["checkpoint"][:, 0])), 20] += 1.0
        else:
            file["checkpoint"][:] = 0.0
    resumed = sb.simulate(FOUR_BARS, output=sb.Output(path, resume=True), duration=0.4, **OPTIONS)
    assert_same(resumed, sb.simulate(FOUR_BARS, duration=0.4, **OPTIONS))


def kill_after(moment, system, path, options):
    """Run in a process that is killed, without warning, at a time of the motion."""
    report, child = signal_after(moment, signal.SIGKILL), os.fork()
    if child == 0:
        sb.simulate(system, output=sb.Output(path, resume=True), progress=report, **options)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize(("method", "step"), RUNS)
@pytest.mark.filterwarnings("ignore:os.fork")  # by JAX, if an earlier test has imported it
def test_a_killed_run_goes_on_bit_for_bit(method, step, tmp_path, monkeypatch):
    for seconds in ("callbacks._PERIOD", "trajectory_files._FLUSH_PERIOD"):
        monkeypatch.setattr(f"sparsebody.simulation.{seconds}", 0.0)
    monkeypatch.setattr(sys.modules[sb.simulate.__module__], "_MOST_STEPS", 4)
    opening = "sparsebody.simulation.trajectory_reading.check_readable"
    monkeypatch.setattr(opening, lambda *_: None)  # by another process, which takes a second
    system, path = STIFF_FOUR_BARS, tmp_path / "run.h5"
    options = {"duration": 0.9, "step": step, "method": method, "record": sb.Recording(step=0.01)}
    undisturbed = sb.simulate(system, **options)
    for moment in (0.3, 0.725):
        kill_after(moment, system, path, options)
        killed = sb.Trajectory.load(path)
        assert killed.interrupted
        assert killed.time[-1] > 0.8 * moment
    assert_same(sb.simulate(system, output=sb.Output(path, resume=True), **options), undisturbed)


def crank_in_line():
    """Two rhombi, flat and upon each other, that turn with their crank."""
    tree, state = figure_8_2_a(0.0, (0.0, 0.0))
    velocity = np.zeros_like(state.velocity)
    for i, name in enumerate(tree.system.body_names):
        turns = not name.startswith("coupler")
        velocity[i] = [0.0, -2.0 * turns, 0.0, 0.0, 0.0, 1.0 if turns else 2.0]
    return tree.system, state.with_(velocity=velocity)


def built(name, **parameters):
    return lambda: (sb.build(name, **parameters).compile(), None)


def push(time, state):
    """Exert a little on all bodies."""
    return np.full_like(state.velocity, 1e-6)


SHEET, SHEET_OF_12 = (built("lattice", rows=3, columns=columns) for columns in (3, 4))
CHOSEN = {"step": "auto", "rtol": 1e-5, "record": sb.Recording(step=0.007)}
ALPHA = {"method": "generalized-alpha"}
PROLONGED = {  # system and state; ends of the parts and of the whole; options
    "steps chosen by errors": (built("four-bar"), (0.105, 0.21), CHOSEN),
    "steps chosen by errors, of a lattice": (SHEET, (0.105, 0.21), CHOSEN),
    "implicit steps, then explicit ones": (SHEET, (0.1, 0.2, 0.25), {"step": 0.002}),
    "ends within a step, and no longer at last": (
        lambda: (FOUR_BARS, None),
        (0.155, 0.3, 0.3),
        OPTIONS,
    ),
    "rows chosen anew": (SHEET_OF_12, (0.04, 0.08), OPTIONS | {"method": "rk4"}),
    "a singular pose": (crank_in_line, (0.05, 0.2), {"step": 0.01, "method": "rk4"}),
    "joints that become stiffer": (
        built("scissor", pairs=20, drive=True),
        (0.4, 0.8),
        {"step": 0.01} | ALPHA,
    ),
    "joints that become stiffer, and softer again": (
        built("lattice", rows=4, columns=4, layers=4),
        (0.014, 0.034, 0.038, 0.042, 0.06),
        {"step": 0.002, "control": push},
    ),
    "forces of elements": (built("beam", elements=4), (0.02, 0.04), {"step": 1e-3} | ALPHA),
}


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.filterwarnings("ignore:rigid joints of")
@pytest.mark.parametrize("case", PROLONGED)
def test_a_run_is_prolonged_bit_for_bit(case, tmp_path, monkeypatch):
    monkeypatch.setattr(outer_steppers, "_CHECK_INTERVAL", 16)
    make, (*parts, end), options = PROLONGED[case]
    system, state = make()
    whole = sb.simulate(system, state, duration=end, **options)
    for part in parts:
        into = options | {"output": sb.Output(tmp_path / f"{part}.h5", resume=True)}
        sb.simulate(system, state, duration=part, **into)
        assert_same(sb.simulate(system, state, duration=end, **into), whole)


@contextmanager
def small_disk(size):
    """Files can have `size` bytes; yield what takes the limit away."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def enlarge():
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield enlarge
    finally:
        enlarge()


@pytest.mark.usefixtures("step_by_step")
@pytest.mark.parametrize("period", [0.0, 1e9])
def test_run_that_fills_the_disk_is_readable_and_resumes(tmp_path, monkeypatch, period):
    monkeypatch.setattr("sparsebody.simulation.trajectory_files._FLUSH_PERIOD", period)  # [s]
    monkeypatch.setattr(trajectory_files, "_CHUNK_BYTES", 1 << 12)
    path, start, give_up = tmp_path / "run.h5", PENDULUM, trajectory_files._give_up
    options = {"duration": 2.5, "step": 0.01}
    undisturbed = sb.simulate(start, **options)
    with small_disk(70_000) as enlarge:  # of the disk, not of the memory that the rest goes to
        monkeypatch.setattr(trajectory_files, "_give_up", lambda file: (enlarge(), give_up(file)))
        with pytest.raises(OutputError, match=r"cannot write '.*run\.h5': File too large"):
            sb.simulate(start, output=path, **options)
    kept = sb.Trajectory.load(path)
    assert kept.interrupted
    assert (len(kept) > 50) == (period == 0.0)
    np.testing.assert_array_equal(kept.position, undisturbed.position[: len(kept)])
    np.testing.assert_array_equal(kept.velocity, undisturbed.velocity[: len(kept)])
    assert_same(sb.simulate(start, output=sb.Output(path, resume=True), **options), undisturbed)


def test_disk_without_space_for_a_new_file_leaves_none(tmp_path):
    many = sb.build("chain", bodies=500).compile()
    dynamics = sb.ForwardDynamics(many)
    message = r"cannot write '.*run\.h5': File too large"
    with small_disk(50_000), pytest.raises(OutputError, match=message):
        sb.simulate(many, dynamics=dynamics, output=tmp_path / "run.h5", duration=1.0)
    assert list(tmp_path.iterdir()) == []


def test_output_that_cannot_be_written_is_refused_before_anything_is_computed(tmp_path):
    path = tmp_path / "loop.h5"
    path.symlink_to(path)
    with pytest.raises(OutputError, match=r"cannot write '.*loop\.h5'"):
        sb.simulate(FOUR_BARS, FOUR_BARS.initial_state.with_(time=np.nan), output=path, duration=1)


def test_existing_file_is_only_replaced_on_request(tmp_path):
    path = tmp_path / "run.h5"
    path.write_text("precious")
    with pytest.raises(
        SimulationError, match=r"exists; give another name, Output.path, resume=True"
    ):
        sb.simulate(FOUR_BARS, output=path, duration=0.1)
    assert path.read_text() == "precious"
    run = sb.simulate(FOUR_BARS, output=sb.Output(path, overwrite=True), duration=0.1)
    assert len(run) == 101


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": 0.005}, "its step is 0.01, not 0.005"),
        ({"method": "semi-implicit-euler"}, "its method is 'auto'"),
        ({"record": sb.Recording(step=0.01)}, "its record every is 2, not 1"),
        ({"record": sb.Recording(0.02, reactions=True)}, "its record reactions is False, not True"),
        ({"method": sb.Method(stabilization="none")}, "its stabilization is 'projection'"),
    ],
)
def test_resuming_with_other_options_is_refused(tmp_path, changes, message):
    path = tmp_path / "run.h5"
    sb.simulate(FOUR_BARS, output=path, duration=0.1, **OPTIONS)
    content = path.read_bytes()
    options = OPTIONS | {"duration": 0.2, "output": sb.Output(path, resume=True)} | changes
    with pytest.raises(SimulationError, match=message):
        sb.simulate(FOUR_BARS, **options)
    assert path.read_bytes() == content


def test_resuming_another_mechanism_or_start_is_refused(tmp_path):
    path = tmp_path / "run.h5"
    sb.simulate(FOUR_BARS, output=path, duration=0.1, **OPTIONS)
    options = OPTIONS | {"duration": 0.2, "output": sb.Output(path, resume=True)}
    with pytest.raises(SimulationError, match="mechanism 'n-four-bar' with other bodies"):
        sb.simulate(sb.build("n-four-bar", loops=2).compile(), **options)
    state = sb.consistent_state(FOUR_BARS)
    faster = state.with_(velocity=1.1 * state.velocity)
    with pytest.raises(SimulationError, match="began with another velocity"):
        sb.simulate(FOUR_BARS, faster, **options)


def test_files_that_are_no_trajectories_are_refused(tmp_path):
    (tmp_path / "text.h5").write_text("no HDF5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    for name, message in (
        ("missing.h5", "there is no trajectory file"),
        ("text.h5", "cannot be read as a trajectory"),
        ("other.h5", "is no sparsebody trajectory"),
    ):
        with pytest.raises(SimulationError, match=message):
            sb.Trajectory.load(tmp_path / name)


def test_file_can_be_read_while_it_is_written(tmp_path):
    path, seen = tmp_path / "run.h5", []
    last = [time.monotonic()]

    def control(now, state):
        if not seen and time.monotonic() - last[0] > 0.1:
            last[0] = time.monotonic()
            partial = sb.Trajectory.load(path)
            if len(partial) > 1:
                seen.append(partial)
                os.kill(os.getpid(), signal.SIGINT)
        return np.zeros((1, 6))

    with pytest.warns(InterruptionWarning):
        sb.simulate(PENDULUM, output=path, duration=1e4, step=0.01, control=control)
    assert seen[0].interrupted


def test_error_of_a_control_leaves_a_complete_file(tmp_path):
    path = tmp_path / "run.h5"

    def control(now, state):
        if now > 0.05:
            raise ZeroDivisionError
        return np.zeros((1, 6))

    with pytest.raises(ZeroDivisionError):
        sb.simulate(PENDULUM, output=path, duration=1.0, step=0.01, control=control)
    kept = sb.Trajectory.load(path)
    assert kept.interrupted
    assert kept.time[-1] == pytest.approx(0.05)


def test_long_texts_of_events_are_cut_between_characters(tmp_path):
    state = PENDULUM.initial_state
    recorder = trajectory_files.FileRecorder(
        tmp_path / "run.h5",
        trajectory_files.Header(
            PENDULUM,
            trajectory_files.simulation_options(
                0.01, (1e-6, 1e-9), "rk4", trajectory_files.Solver(), sb.Recording()
            ),
            conservative=True,
            source=None,
        ),
        2,
    )
    recorder.append(trajectory_files.records_of(PENDULUM, States.of(state)))
    recorder.note(trajectory_files.Event(0.0, "x" + "é" * 40, "x" + "é" * 400))
    (event,) = recorder.close(steps=0, wall_time=0.0, interrupted=False).events
    assert event.kind == "x" + "é" * 15
    assert event.message == "x" + "é" * 239
