import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import SimulationError
from sparsebody.model.gallery.open_chains import pendulum


@pytest.fixture(scope="module")
def run():
    return sb.simulate(pendulum().compile(), duration=0.1, step=0.01)


def test_states_can_be_taken_out_and_simulated_from(run):
    middle = run.state(5)
    assert middle.time == pytest.approx(0.05)
    rest = sb.simulate(pendulum().compile(), middle, duration=0.05, step=0.01)
    np.testing.assert_allclose(rest.position[-1], run.position[-1], atol=1e-9)
    np.testing.assert_array_equal(run.state(-1).position, run.position[-1])


def test_states_that_are_not_there_are_refused(run):
    for index in (11, -12):
        with pytest.raises(SimulationError, match=rf"no record {index}; the trajectory has 11"):
            run.state(index)


def test_bodies_and_joints_are_found_by_name(run):
    assert (run.body("mass"), run.joint("pivot")) == (0, 0)
    with pytest.raises(SimulationError, match="no body 'pivot'"):
        run.body("pivot")
    with pytest.raises(SimulationError, match="no joint 'mass'"):
        run.joint("mass")


def test_energy_error_of_a_body_at_rest_is_zero():
    mechanism = sb.Mechanism("rest", gravity=(0, 0, 0))
    mechanism.add_body("stone", mass=1.0, inertia=[1, 1, 1])
    assert sb.simulate(mechanism.compile(), duration=0.1, step=0.05).energy_error == 0.0
