"""Accelerations as functions of PyTorch tensors."""

import numpy as np
import pytest
from random_motions import random_motion

from sparsebody.errors import ModelError, ShapeError
from sparsebody.linearization import derivatives, torch_accelerations, torch_simulation
from sparsebody.linearization.vector_functions import variables

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # its own


def test_gradcheck_accepts_both_modes():
    system, state, _ = random_motion(1, n_bodies=4, n_loops=1)
    function, values = torch_accelerations(system, state), variables(system, state)
    tensors = [torch.tensor(value, requires_grad=True) for value in values.values()]
    of = lambda *tensors: function(**dict(zip(values, tensors, strict=True)))  # noqa: E731
    options = {"check_forward_ad": True, "fast_mode": True, "atol": 1e-4, "rtol": 1e-5}
    assert torch.autograd.gradcheck(of, tensors, **options)
    at = torch.tensor(values["velocity"], requires_grad=True)
    assert torch.autograd.gradcheck(lambda velocity: function(velocity=velocity), at)


def test_jacobians_are_those_of_derivatives():
    system, state, _ = random_motion(2)
    function, force = torch_accelerations(system, state), np.zeros((system.n_bodies, 6))
    expected = derivatives(system, state).matrix("force")
    for jacobian in (torch.func.jacfwd, torch.func.jacrev):
        matrix = jacobian(lambda force: function(force=force)[0])(torch.tensor(force))
        np.testing.assert_allclose(matrix, expected, atol=1e-11 * np.abs(expected).max())


def test_simulations_have_gradients():
    system, state, _ = random_motion(1, n_loops=1)
    function = torch_simulation(system, state, duration=0.03, step=0.01)
    gravity = torch.tensor(np.array(system.gravity), requires_grad=True)
    torch.autograd.gradcheck(lambda gravity: function(gravity=gravity), gravity, rtol=1e-4)


def test_what_has_no_derivative_is_told():
    system, state, _ = random_motion(0)
    function, gravity = torch_accelerations(system, state), torch.tensor([0.0, 0.0, -9.81])
    with pytest.raises(ShapeError, match=r"gravity is torch.float32 on cpu; give torch.float64"):
        function(gravity=gravity)
    loss = lambda gravity: torch.sum(function(gravity=gravity)[0] ** 2)  # noqa: E731
    with pytest.raises(ModelError, match="first derivatives only"):
        torch.autograd.functional.hessian(loss, gravity.double())
    with pytest.raises(ModelError, match="first derivatives only"):
        torch.func.hessian(loss)(gravity.double())
