"""Accelerations as functions of JAX arrays."""

import os
import subprocess
import sys

import numpy as np
import pytest
from random_motions import random_motion

from sparsebody.equations import consistent_state
from sparsebody.errors import ModelError, ShapeError, UnknownNameError
from sparsebody.linearization import (
    derivatives,
    jax_accelerations,
    jax_simulation,
    simulate_with_pullback,
)
from sparsebody.linearization.vector_functions import variables

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(name="case", scope="module")
def made_case():
    system, state, _ = random_motion(1, n_loops=1)
    return jax_accelerations(system, state), variables(system, state)


def test_derivatives_of_both_modes_are_those_of_differences(case):
    function, values = case
    from jax.test_util import check_grads

    modes, tolerance = ("fwd", "rev"), {"rtol": 1e-5, "atol": 1e-4}
    of = lambda values: function(**values)  # noqa: E731
    check_grads(of, (values,), order=1, modes=modes, eps=1e-5, **tolerance)


def test_gradients_are_the_same_compiled_and_in_batches(case):
    function, values = case

    def loss(values):
        acceleration, multiplier = function(**values)
        return jnp.sum(acceleration**2) + jnp.sum(multiplier)

    gradient, compiled = jax.grad(loss)(values), jax.jit(jax.grad(loss))(values)
    batch = jax.tree.map(lambda a: jnp.stack([1.1 * a, a]), values)
    batched = jax.jit(jax.vmap(jax.grad(loss)))(batch)
    for name, expected in gradient.items():
        assert np.abs(expected).max() > 0.0
        np.testing.assert_array_equal(compiled[name], expected)
        np.testing.assert_array_equal(batched[name][1], expected)


def test_jacobians_are_those_of_derivatives():
    system, state, _ = random_motion(2)
    function = jax_accelerations(system, state)
    expected = derivatives(system, state).matrix("force")
    at = jnp.zeros((system.n_bodies, 6))
    for jacobian in (jax.jacfwd, jax.jacrev):
        matrix, _ = jacobian(lambda force: function(force=force))(at)
        np.testing.assert_allclose(matrix, expected, atol=1e-11 * np.abs(expected).max())


def test_simulations_have_compiled_gradients():
    system, state, _ = random_motion(1, n_loops=1)
    state = consistent_state(system, state)
    function = jax_simulation(system, state, duration=0.03, step=0.01)

    def height(gravity, velocity):
        return jnp.sum(function(gravity=gravity, velocity=velocity)[0][:, 2])

    gradients = jax.jit(jax.grad(height, (0, 1)))(system.gravity, state.velocity)
    pullback = simulate_with_pullback(system, state, duration=0.03, step=0.01)
    expected = pullback(position=np.tile([0.0, 0.0, 1.0], (system.n_bodies, 1)))
    for name, gradient in zip(("gravity", "velocity"), gradients, strict=True):
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-8, atol=1e-12)


ON_ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax, numpy as np, sparsebody as sb
from sparsebody.linearization import jax_accelerations
jax.config.update("jax_enable_x64", True)
function = jax_accelerations(sb.build("chain", bodies=3000).compile())
gradient = jax.jit(jax.grad(lambda v: (function(velocity=v)[0] ** 2).sum()))
for k in range(3):
    print(np.asarray(gradient(np.full((3000, 6), 0.1 * k))).shape)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen")
def test_callbacks_wait_for_no_thread_of_their_own():
    command = [sys.executable, "-c", ON_ONE_CORE]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert result.stdout.split("\n")[:3] == ["(3000, 6)"] * 3


def test_what_has_no_derivative_is_told(case):
    function, values = case
    with pytest.raises(UnknownNameError, match="variable is 'speed'"):
        function(speed=1.0)
    with pytest.raises(ShapeError, match="mass has shape"):
        function(mass=jnp.ones(2))
    with pytest.raises(ModelError, match="first derivatives only"):
        jax.hessian(lambda g: jnp.sum(function(gravity=g)[0] ** 2))(values["gravity"])
    with jax.enable_x64(False), pytest.raises(ShapeError, match="jax_enable_x64"):
        function(gravity=values["gravity"])
