"""Accelerations by named arrays: differences, adjointness, gradients in quaternions."""

import sys

import numpy as np
import pytest
from random_motions import random_motion, slope

import sparsebody as sb
from sparsebody import linearization
from sparsebody.errors import (
    MissingDependencyError,
    ModelError,
    ShapeError,
    SimulationOptionError,
    UnknownNameError,
)
from sparsebody.linearization.derivatives import LINE_VARIABLES, POINT_VARIABLES
from sparsebody.linearization.vector_functions import (
    AccelerationFunction,
    SimulationFunction,
    joined,
    simulation_times,
    split,
    variables,
)

STATE = "position", "orientation", "velocity"
SPRINGS = "effort", "stiffness", "rest", "damping", *LINE_VARIABLES, *POINT_VARIABLES
PARAMETERS = "mass", "inertia", "gravity", *SPRINGS


@pytest.mark.parametrize(
    "names", [STATE, (*PARAMETERS, "force", "prescribed_acceleration"), (*PARAMETERS, *STATE)]
)
@pytest.mark.parametrize("seed", [1, 2])
def test_products_are_those_of_differences_and_their_transposes(names, seed):
    system, state, force = random_motion(seed, n_loops=seed % 2)
    function = AccelerationFunction(system, state, names)
    values = variables(system, state) | {"force": force}
    values["orientation"] = 1.3 * values["orientation"]
    x, rng = joined(values[name] for name in function.inputs), np.random.default_rng(seed)
    direction = rng.normal(size=x.shape)
    expected = slope(lambda step: function.value(x + step * direction), 1e-5)
    change = function.jvp(x, direction)
    np.testing.assert_allclose(change, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    weight = rng.normal(size=change.shape)
    gradient = function.vjp(x, weight)
    assert gradient @ direction == pytest.approx(weight @ change, rel=1e-9)
    by_quaternion = split(gradient, function.inputs).get("orientation")
    if by_quaternion is not None:
        radial = np.sum(by_quaternion * values["orientation"], axis=1)
        np.testing.assert_allclose(radial, 0.0, atol=1e-10 * np.abs(gradient).max())


SIMULATED = {"duration": 0.035, "step": 0.01}  # three steps, and half of one


@pytest.mark.parametrize(
    "names", [STATE, ("control", "force", "mass", "gravity", "stiffness", *SPRINGS[4:])]
)
def test_gradients_of_simulations_are_those_of_differences(names):
    system, state, force = random_motion(1, n_loops=1)
    state, rng, h = sb.consistent_state(system, state), np.random.default_rng(0), 1e-4
    function = SimulationFunction(system, state, names, **SIMULATED)
    values = variables(system, state) | {"force": force, "control": np.zeros((5, 7, 6))}
    x = joined(values[name] for name in function.inputs)
    direction = rng.normal(size=x.shape)
    weight = rng.normal(size=function.value(x).shape)
    change = (function.value(x + h * direction) - function.value(x - h * direction)) / (2.0 * h)
    assert function.vjp(x, weight) @ direction == pytest.approx(weight @ change, rel=1e-5)
    with pytest.raises(ModelError, match="use reverse derivatives"):
        function.jvp(x, direction)


def test_values_of_the_system_give_its_accelerations():
    system, state, _ = random_motion(1)
    values = variables(system, state)
    function = AccelerationFunction(system, state, tuple(values))
    accelerations = linearization.derivatives(system, state).acceleration
    y = function.value(joined(values[name] for name in function.inputs))
    by_name = split(y, function.outputs)
    np.testing.assert_allclose(by_name["acceleration"], accelerations, atol=1e-9)


def test_wrong_variables_are_told():
    system, state, _ = random_motion(0)
    with pytest.raises(UnknownNameError, match="variable is 'speed'"):
        AccelerationFunction(system, state, ["speed"])
    with pytest.raises(ShapeError, match="no variable: give one or more of position"):
        AccelerationFunction(system, None, [])
    with pytest.raises(ShapeError, match=r"mass has shape \(2,\), not \(7,\)"):
        AccelerationFunction(system, state, ["mass"]).check({"mass": np.ones(2)})


@pytest.mark.parametrize("package", ["jax", "torch"])
def test_a_missing_package_is_told_with_its_remedy(package, monkeypatch):
    make, (system, *_) = getattr(linearization, f"{package}_accelerations"), random_motion(0)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'sparsebody\[{package}\]'"):
        make(system)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mass", -1.0, r"mass of body 'b0' is -1; it must be positive"),
        ("mass", np.nan, r"mass of body 'b0' is nan; it must be finite"),
        ("inertia", -1.0, r"least principal moment of body 'b0' is -[\d.]+; it must be positive"),
        ("gravity", np.inf, r"gravity is inf; it must be finite"),
        ("stiffness", np.nan, r"stiffness at joint 'j\d' is nan; it must be finite"),
        (
            "second_point",
            np.nan,
            r"second_point of .*line 0.* is \[nan nan nan\]; it must be finite",
        ),
        ("prescribed_acceleration", np.nan, r"prescribed_acceleration at joint 'drive' is nan"),
        ("orientation", 0.0, r"orientation of body 'b0' is \[0. 0. 0. 0.\]; give a quaternion"),
    ],
)
def test_values_of_no_mechanism_are_told_by_name(name, value, message):
    system, state, _ = random_motion(1)
    function = AccelerationFunction(system, state, [name])
    at = variables(system, state)[name].copy()
    at[0] = value
    with pytest.raises(ModelError, match=message):
        function.value(at.ravel())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"duration": -1.0}, SimulationOptionError, "duration is -1.0; give a positive number"),
        ({"step": "auto"}, SimulationOptionError, "step is 'auto'; give a positive number"),
        ({"control": 0.0}, SimulationOptionError, "give control=... at a call"),
        ({"stepp": 0.1}, UnknownNameError, "option is 'stepp'; give one of method"),
    ],
)
def test_times_and_options_of_simulations_are_checked_before_a_call(options, error, message):
    options = {"duration": 1.0, "step": 0.1} | options
    duration, step = options.pop("duration"), options.pop("step")
    with pytest.raises(error, match=message):
        simulation_times(duration, step, options)
