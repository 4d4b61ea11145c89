"""Runs that are killed, interrupted or prolonged go on with the same bits, whatever the scheme."""

import os
import signal

import numpy as np
import pytest
from overconstrained import figure_8_2_a

import sparsebody as sb
from sparsebody.simulation import INTEGRATORS, outer_steppers
from sparsebody.simulation.options import _ADAPTIVE

CHANNELS = ("time", "position", "orientation", "velocity", "coordinate", "potential_energy")
RUNS = [
    *((name, 0.005) for name in (*INTEGRATORS, "auto")),
    *((name, "auto") for name in _ADAPTIVE),
]


def assert_same_bits(one, other):
    for name in CHANNELS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.events == other.events


def four_bars():
    """A motion through a flat pose, with a tracked coordinate and a stiff spring."""
    mechanism = sb.build("n-four-bar", loops=2)
    mechanism.add_joint_force("spring", "ground-0", stiffness=30.0)
    return mechanism.compile()


def kill_after(moment, system, path, options):
    """Run in a process that is killed, without warning, at a time of the motion."""

    def report(now, end):
        if now > moment:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        sb.simulate(system, output=sb.Output(path, resume=True), progress=report, **options)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


@pytest.mark.parametrize(("method", "step"), RUNS)
def test_a_killed_run_goes_on_bit_for_bit(method, step, tmp_path, monkeypatch):
    monkeypatch.setattr("sparsebody.simulation.callbacks._PERIOD", 0.0)
    monkeypatch.setattr("sparsebody.simulation.trajectory_files._FLUSH_PERIOD", 0.0)
    system, path = four_bars(), tmp_path / "run.h5"
    options = {"duration": 0.9, "step": step, "method": method, "record": sb.Recording(step=0.01)}
    undisturbed = sb.simulate(system, **options)
    for moment in (0.3, 0.725):
        kill_after(moment, system, path, options)
    assert_same_bits(
        sb.simulate(system, output=sb.Output(path, resume=True), **options), undisturbed
    )


def crank_in_line():
    """Two rhombi, flat and upon each other, that turn with their crank."""
    tree, state = figure_8_2_a(0.0, (0.0, 0.0))
    velocity = np.zeros_like(state.velocity)
    for i, name in enumerate(tree.system.body_names):
        turns = not name.startswith("coupler")
        velocity[i] = [0.0, -2.0 * turns, 0.0, 0.0, 0.0, 1.0 if turns else 2.0]
    return tree.system, state.with_(velocity=velocity)


def lattice(**size):
    return sb.build("lattice", rows=3, **size).compile(), None


PROLONGED = {  # system and state; ends of the parts and of the whole; options
    "steps chosen by errors": (
        lambda: (sb.build("four-bar").compile(), None),
        (0.105, 0.21),
        {"step": "auto", "rtol": 1e-5, "record": sb.Recording(step=0.007)},
    ),
    "steps chosen by errors, of a lattice": (
        lambda: lattice(columns=3),
        (0.105, 0.21),
        {"step": "auto", "rtol": 1e-5, "record": sb.Recording(step=0.007)},
    ),
    "implicit steps, then explicit ones": (
        lambda: lattice(columns=3),
        (0.2, 0.4, 0.5),
        {"step": 0.004},
    ),
    "rows chosen anew": (
        lambda: lattice(columns=4),
        (0.04, 0.08),
        {"step": 0.01, "record": sb.Recording(step=0.02), "method": "rk4"},
    ),
    "a singular pose": (crank_in_line, (0.05, 0.2), {"step": 0.01, "method": "rk4"}),
    "joints that become stiffer": (
        lambda: (sb.build("scissor", pairs=20, drive=True).compile(), None),
        (0.4, 0.8),
        {"step": 0.01, "method": "generalized-alpha"},
    ),
    "forces of elements": (
        lambda: (sb.build("beam", elements=4).compile(), None),
        (0.02, 0.04),
        {"step": 1e-3, "method": "generalized-alpha"},
    ),
}


@pytest.mark.parametrize("case", PROLONGED)
def test_a_run_is_prolonged_bit_for_bit(case, tmp_path, monkeypatch):
    monkeypatch.setattr(outer_steppers, "_CHECKED", 16)
    monkeypatch.setattr(outer_steppers, "_MOST_CHECKS", 1)
    make, (*parts, end), options = PROLONGED[case]
    system, state = make()
    whole = sb.simulate(system, state, duration=end, **options)
    for part in parts:
        into = options | {"output": sb.Output(tmp_path / f"{part}.h5", resume=True)}
        sb.simulate(system, state, duration=part, **into)
        assert_same_bits(sb.simulate(system, state, duration=end, **into), whole)
