"""Runs that are killed or interrupted go on with the same bits, whatever the scheme."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.simulation import INTEGRATORS
from sparsebody.simulation.options import _ADAPTIVE

CHANNELS = ("time", "position", "orientation", "velocity", "coordinate", "potential_energy")
RUNS = [
    *((name, 0.005) for name in (*INTEGRATORS, "auto")),
    *((name, "auto") for name in _ADAPTIVE),
]


def four_bars(damping: float = 0.0) -> sb.System:
    """A motion through a flat pose, with a tracked coordinate and a stiff spring."""
    mechanism = sb.build("n-four-bar", loops=2)
    mechanism.add_joint_force("spring", "ground-0", stiffness=30.0, damping=damping)
    return mechanism.compile()


def kill_after(moment: float, system: sb.System, path: Path, options: dict[str, object]) -> None:
    """Run in a process that is killed, without warning, at a time of the motion."""

    def report(now: float, end: float) -> None:
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
    resumed = sb.simulate(system, output=sb.Output(path, resume=True), **options)
    for name in CHANNELS:
        np.testing.assert_array_equal(getattr(resumed, name), getattr(undisturbed, name))
    assert resumed.events == undisturbed.events
