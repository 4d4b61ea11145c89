"""Steps that are chosen by their errors, and records in between."""

from __future__ import annotations

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import SimulationOptionError
from sparsebody.model.gallery import build


@pytest.mark.parametrize("name", ["four-bar", "bricard"])
def test_errors_fall_with_the_tolerance(name):
    system = build(name).compile()
    exact = sb.simulate(
        system, duration=1.0, step=5e-4, record=sb.Recording(step=0.05), method="rk4"
    )
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        run = sb.simulate(
            system,
            duration=1.0,
            step="auto",
            rtol=rtol,
            atol=1e-2 * rtol,
            record=sb.Recording(step=0.05),
        )
        np.testing.assert_allclose(run.time, exact.time, atol=1e-15)
        errors.append(np.abs(run.position - exact.position).max())
        assert run.position_error.max() < 1e-12
    assert errors[0] < 1e-2
    assert errors[1] < errors[0] / 30.0
    assert errors[2] < errors[1] / 30.0


def test_records_between_steps_lie_on_the_parabola_of_a_free_fall():
    mechanism = sb.Mechanism("ball")
    mechanism.add_body("ball", mass=1.0, inertia=[1, 1, 1], linear_velocity=[1, 0, 2])
    run = sb.simulate(
        mechanism.compile(), duration=1.0, step="auto", record=sb.Recording(step=0.003)
    )
    t = run.time
    np.testing.assert_allclose(run.position[:, 0, 2], 2.0 * t - 4.905 * t**2, atol=1e-13)
    np.testing.assert_allclose(run.velocity[:, 0, 5], 2.0 - 9.81 * t, atol=1e-12)


def test_implicit_steps_become_as_short_as_their_errors_ask_for():
    system = build("bricard").compile()
    errors = [
        sb.simulate(
            system, duration=1.0, step="auto", rtol=rtol, method="generalized-alpha"
        ).energy_error
        for rtol in (1e-4, 1e-6)
    ]
    assert errors[1] < errors[0] / 5.0 < 1e-3


@pytest.mark.parametrize(
    ("name", "parameters"), [("four-bar", {}), ("lattice", {"rows": 3, "columns": 3})]
)
def test_a_run_resumes_bit_for_bit(name, parameters, tmp_path):
    system = build(name, **parameters).compile()
    options = {"step": "auto", "rtol": 1e-5, "record": sb.Recording(step=0.007)}
    whole = sb.simulate(system, duration=0.21, **options)
    sb.simulate(system, duration=0.105, output=tmp_path / "part", **options)
    resumed = sb.simulate(
        system, duration=0.21, output=sb.Output(tmp_path / "part", resume=True), **options
    )
    np.testing.assert_array_equal(resumed.time, whole.time)
    np.testing.assert_array_equal(resumed.position, whole.position)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "semi-implicit-euler"}, "does not tell its errors"),
        ({"rtol": 0.0}, "rtol is 0.0"),
        ({"atol": -1.0}, "atol is -1.0"),
        ({"record": sb.Recording(step=-1.0)}, "record step is -1.0"),
    ],
)
def test_tolerances_are_checked(changes, message):
    system = build("pendulum").compile()
    with pytest.raises(SimulationOptionError, match=message):
        sb.simulate(system, duration=0.1, step="auto", **changes)
