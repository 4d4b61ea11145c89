"""Files on the way from a system to its first accelerations, and calls to higher layers."""

import pytest
from call_paths import watched
from linkages import at_start

import sparsebody as sb

MOST_FILES, MOST_OF_EVALUATION = 20, 5


@pytest.mark.parametrize("name", ["four-bar", "ladder", "lattice", "scissor", "chain"])
def test_a_system_reaches_its_accelerations_by_few_files_and_never_climbs(name):
    system, state = at_start(sb.build(name))
    files, climbs = watched(lambda: sb.ForwardDynamics(system, state).acceleration(state))
    assert 5 < len(files) <= MOST_FILES, files
    assert not climbs
    dynamics = sb.ForwardDynamics(system, state)
    assert len(watched(lambda: dynamics.acceleration(state))[0]) <= MOST_OF_EVALUATION
