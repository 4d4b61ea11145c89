"""Files on the way from `simulate` to its first step, and calls to higher layers."""

import pytest
from call_paths import watched

import sparsebody as sb

MOST_FILES, MOST_OF_SIMULATION = 15, 8


@pytest.mark.parametrize("name", ["four-bar", "ladder", "pendulum"])
@pytest.mark.parametrize("method", ["auto", "rk4"])
def test_simulate_takes_a_step_by_few_files_and_never_climbs(name, method):
    system = sb.build(name).compile()
    state = sb.consistent_state(system)
    options = {"step": 1e-3, "method": method, "dynamics": sb.ForwardDynamics(system, state)}
    files, climbs = watched(lambda: sb.simulate(system, state, duration=1e-3, **options))
    files = set(files) - {"model/names.py"}  # copied into the trajectory, after the last step
    assert 5 < len(files) <= MOST_FILES, files
    assert sum(file.startswith("simulation") for file in files) <= MOST_OF_SIMULATION, files
    assert not climbs
