"""Trajectory files: complete, resumable bit for bit, and never lost."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager

import h5py
import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import InterruptionWarning, OutputError, SimulationError
from sparsebody.model.gallery.lattices import lattice
from sparsebody.model.gallery.open_chains import chain, pendulum
from sparsebody.model.gallery.planar_linkages import n_four_bar
from sparsebody.simulation import trajectory_files

CHANNELS = (
    *("time", "position", "orientation", "velocity", "coordinate", "kinetic_energy"),
    *("potential_energy", "momentum", "position_error", "velocity_error"),
)
OPTIONS = {"step": 0.01, "record": sb.Recording(step=0.02)}


def system() -> sb.System:
    mechanism = n_four_bar(2)
    mechanism.add_joint_force("spring", "ground-0", stiffness=1.0)  # a tracked coordinate
    return mechanism.compile()


def assert_same(one: sb.Trajectory, other: sb.Trajectory) -> None:
    for name in CHANNELS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.events == other.events


def interrupt_at(moment: float):
    def report(now: float, end: float) -> None:
        if now > moment:
            os.kill(os.getpid(), signal.SIGINT)

    return report


def test_file_holds_what_memory_would_hold(tmp_path):
    path = tmp_path / "run.h5"
    options = OPTIONS | {"duration": 0.5, "record": sb.Recording(step=0.02, reactions=True)}
    written = sb.simulate(system(), output=sb.Output(path, source="four_bar.json"), **options)
    memory = sb.simulate(system(), **options)
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
        assert {"sparsebody_version", "created", "options", "fingerprint"} <= set(file.attrs)


def test_interrupted_and_resumed_equals_undisturbed_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr("sparsebody.simulation.callbacks._PERIOD", 0.0)  # [s] between reports
    path = tmp_path / "run.h5"
    options = OPTIONS | {"duration": 1.5}
    undisturbed = sb.simulate(system(), **options)
    assert undisturbed.events  # it passes a singular pose
    for moment in (0.3, 0.7, 1.1):
        stop = interrupt_at(moment)
        with pytest.warns(InterruptionWarning):
            run = sb.simulate(
                system(), output=sb.Output(path, resume=True), progress=stop, **options
            )
        assert run.interrupted
        assert run.events[-1].kind == "interruption"
    resumed = sb.simulate(system(), output=sb.Output(path, resume=True), **options)
    assert not resumed.interrupted
    assert_same(resumed, undisturbed)
    assert list(tmp_path.iterdir()) == [path]


def test_finished_run_can_be_prolonged(tmp_path):
    path = tmp_path / "run.h5"
    short = sb.simulate(system(), output=path, duration=0.155, **OPTIONS)  # ends within a step
    assert short.time[-1] == pytest.approx(0.155)
    again = sb.simulate(system(), output=sb.Output(path, resume=True), duration=0.155, **OPTIONS)
    assert_same(short, again)
    long = sb.simulate(system(), output=sb.Output(path, resume=True), duration=0.3, **OPTIONS)
    assert_same(long, sb.simulate(system(), duration=0.3, **OPTIONS))


def test_run_whose_rows_were_chosen_anew_resumes_bit_for_bit(tmp_path):
    path = tmp_path / "run.h5"
    start = lattice(rows=3, columns=4).compile()  # its flat pose is singular
    options = OPTIONS | {"method": "rk4"}
    sb.simulate(start, output=path, duration=0.04, **options)
    resumed = sb.simulate(start, output=sb.Output(path, resume=True), duration=0.08, **options)
    assert resumed.events[0].kind == "re-analysis"
    assert_same(resumed, sb.simulate(start, duration=0.08, **options))


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_killed_run_is_readable_and_resumes_bit_for_bit(tmp_path):
    path = tmp_path / "run.h5"
    script = tmp_path / "run.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            import sparsebody as sb
            from sparsebody.model.gallery.open_chains import pendulum

            sb.simulate(
                pendulum().compile(), duration=1e4, step=0.01, output=sys.argv[1],
                progress=lambda now, end: print(now, flush=True),
            )
            """
        )
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, script, path], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    process.stdout.readline()  # under way
    time.sleep(1.3)
    process.kill()
    process.wait()
    process.stdout.close()
    killed = sb.Trajectory.load(path)
    assert killed.interrupted
    assert killed.steps > 0
    assert killed.wall_time > 0.4
    assert len(killed) >= killed.steps + 1
    duration = 0.01 * (killed.steps + 5)
    options = {"duration": duration, "step": 0.01}
    resumed = sb.simulate(pendulum().compile(), output=sb.Output(path, resume=True), **options)
    assert_same(resumed, sb.simulate(pendulum().compile(), **options))


@contextmanager
def small_disk(size: int):
    """Files can have `size` bytes; yield what takes the limit away."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("period", [0.0, 1e9])
def test_run_that_fills_the_disk_is_readable_and_resumes(tmp_path, monkeypatch, period):
    monkeypatch.setattr("sparsebody.simulation.trajectory_files._FLUSH_PERIOD", period)  # [s]
    monkeypatch.setattr(trajectory_files, "_CHUNK_BYTES", 1 << 12)
    path, start, give_up = tmp_path / "run.h5", pendulum().compile(), trajectory_files._give_up
    options = {"duration": 5.0, "step": 0.01}
    undisturbed = sb.simulate(start, **options)
    with small_disk(100_000) as enlarge:  # of the disk, not of the memory that the rest goes to
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
    many = chain(500).compile()
    dynamics = sb.ForwardDynamics(many)
    with (
        small_disk(50_000),
        pytest.raises(OutputError, match=r"cannot write '.*run\.h5': File too large"),
    ):
        sb.simulate(many, dynamics=dynamics, output=tmp_path / "run.h5", duration=1.0)
    assert list(tmp_path.iterdir()) == []


def test_output_that_cannot_be_written_is_refused_before_anything_is_computed(tmp_path):
    path = tmp_path / "loop.h5"
    path.symlink_to(path)
    with pytest.raises(OutputError, match=r"cannot write '.*loop\.h5'"):
        sb.simulate(system(), system().initial_state.with_(time=np.nan), output=path, duration=1)


def test_torn_checkpoint_is_not_used(tmp_path):
    path = tmp_path / "run.h5"
    sb.simulate(system(), output=path, duration=0.2, **OPTIONS)
    sb.simulate(system(), output=sb.Output(path, resume=True), duration=0.4, **OPTIONS)
    with h5py.File(path, "r+") as file:
        newest = int(np.argmax(file["checkpoint"][:, 0]))
        file["checkpoint"][newest, 20] += 1.0
    resumed = sb.simulate(system(), output=sb.Output(path, resume=True), duration=0.4, **OPTIONS)
    assert_same(resumed, sb.simulate(system(), duration=0.4, **OPTIONS))


def test_run_killed_before_its_first_checkpoint_begins_anew(tmp_path):
    path = tmp_path / "run.h5"
    sb.simulate(system(), output=path, duration=0.2, **OPTIONS)
    with h5py.File(path, "r+") as file:
        file["checkpoint"][:] = 0.0
    resumed = sb.simulate(system(), output=sb.Output(path, resume=True), duration=0.2, **OPTIONS)
    assert_same(resumed, sb.simulate(system(), duration=0.2, **OPTIONS))


def test_existing_file_is_only_replaced_on_request(tmp_path):
    path = tmp_path / "run.h5"
    path.write_text("precious")
    with pytest.raises(
        SimulationError, match=r"exists; give another name, Output.path, resume=True"
    ):
        sb.simulate(system(), output=path, duration=0.1)
    assert path.read_text() == "precious"
    run = sb.simulate(system(), output=sb.Output(path, overwrite=True), duration=0.1)
    assert len(run) == 101


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": 0.005}, "its step is 0.01, not 0.005"),
        ({"method": "semi-implicit-euler"}, "its method is 'auto'"),
        ({"record": sb.Recording(step=0.01)}, "its record every is 2, not 1"),
        (
            {"record": sb.Recording(step=0.02, reactions=True)},
            "its record reactions is False, not True",
        ),
        ({"method": sb.Method(stabilization="none")}, "its stabilization is 'projection'"),
    ],
)
def test_resuming_with_other_options_is_refused(tmp_path, changes, message):
    path = tmp_path / "run.h5"
    sb.simulate(system(), output=path, duration=0.1, **OPTIONS)
    content = path.read_bytes()
    with pytest.raises(SimulationError, match=message):
        sb.simulate(
            system(), output=sb.Output(path, resume=True), **(OPTIONS | {"duration": 0.2} | changes)
        )
    assert path.read_bytes() == content


def test_resuming_another_mechanism_or_start_is_refused(tmp_path):
    path = tmp_path / "run.h5"
    sb.simulate(system(), output=path, duration=0.1, **OPTIONS)
    with pytest.raises(SimulationError, match="mechanism 'n-four-bar' with other bodies"):
        sb.simulate(
            n_four_bar(2).compile(), output=sb.Output(path, resume=True), duration=0.2, **OPTIONS
        )
    state = sb.consistent_state(system())
    faster = state.with_(velocity=1.1 * state.velocity)
    with pytest.raises(SimulationError, match="began with another velocity"):
        sb.simulate(system(), faster, output=sb.Output(path, resume=True), duration=0.2, **OPTIONS)


def test_files_that_are_no_trajectories_are_refused(tmp_path):
    with pytest.raises(SimulationError, match="there is no trajectory file"):
        sb.Trajectory.load(tmp_path / "missing.h5")
    text = tmp_path / "text.h5"
    text.write_text("no HDF5")
    with pytest.raises(SimulationError, match="cannot be read as a trajectory"):
        sb.Trajectory.load(text)
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["x"] = 1
    with pytest.raises(SimulationError, match="is no sparsebody trajectory"):
        sb.Trajectory.load(other)


def test_file_can_be_read_while_it_is_written(tmp_path):
    path, seen = tmp_path / "run.h5", []
    last = [time.monotonic()]

    def control(now: float, state: sb.State) -> np.ndarray:
        if not seen and time.monotonic() - last[0] > 0.1:
            last[0] = time.monotonic()
            found = sb.Trajectory.load(path)
            if len(found) > 1:
                seen.append(found)
                os.kill(os.getpid(), signal.SIGINT)
        return np.zeros((1, 6))

    with pytest.warns(InterruptionWarning):
        sb.simulate(pendulum().compile(), output=path, duration=1e4, step=0.01, control=control)
    assert seen[0].interrupted


def test_error_of_a_control_leaves_a_complete_file(tmp_path):
    path = tmp_path / "run.h5"

    def control(now: float, state: sb.State) -> np.ndarray:
        if now > 0.05:
            raise ZeroDivisionError
        return np.zeros((1, 6))

    with pytest.raises(ZeroDivisionError):
        sb.simulate(pendulum().compile(), output=path, duration=1.0, step=0.01, control=control)
    kept = sb.Trajectory.load(path)
    assert kept.interrupted
    assert kept.time[-1] == pytest.approx(0.05)


def test_options_are_stored_as_json(tmp_path):
    path = tmp_path / "run.h5"
    sb.simulate(pendulum().compile(), output=path, duration=0.01)
    with h5py.File(path) as file:
        assert json.loads(file.attrs["options"])["method"] == "auto"
