import numpy as np
import pytest

import sparsebody as sb
from sparsebody.analysis.energy import body_kinetic_energies, energy_drift
from sparsebody.errors import ShapeError
from sparsebody.model.gallery.n_four_bar import n_four_bar
from sparsebody.model.gallery.pendulum import pendulum


def test_body_energies_add_up_to_the_recorded_one():
    system = n_four_bar(2).compile()
    run = sb.simulate(system, duration=0.1, step=0.01)
    total = body_kinetic_energies(system, run).sum(axis=1)
    np.testing.assert_allclose(total, run.kinetic_energy, rtol=1e-13)


def test_energy_drift_falls_with_the_step():
    system = pendulum().compile()
    coarse, fine = (
        energy_drift(sb.simulate(system, duration=1.0, step=step)) for step in (0.02, 0.01)
    )
    assert fine.largest < 0.1 * coarse.largest
    assert coarse.relative == pytest.approx(coarse.largest / 9.81, rel=0.05)


def test_drift_rate_is_the_slope_of_the_energy():
    system = pendulum().compile()
    run = sb.simulate(system, duration=1.0, step=0.1, method="semi-implicit-euler")
    expected = np.polyfit(run.time, run.energy, 1)[0]
    assert energy_drift(run).rate == pytest.approx(expected)


def test_energy_drift_of_a_driven_mechanism_is_refused():
    mechanism = pendulum()
    mechanism.add_joint_force("motor", "pivot", effort=1.0)
    run = sb.simulate(mechanism.compile(), duration=0.1, step=0.01)
    with pytest.raises(ShapeError, match="not constant by itself"):
        energy_drift(run)


def test_trajectory_of_another_system_is_refused():
    run = sb.simulate(pendulum().compile(), duration=0.1, step=0.01)
    with pytest.raises(ShapeError, match="has 1 bodies"):
        body_kinetic_energies(n_four_bar(2).compile(), run)
