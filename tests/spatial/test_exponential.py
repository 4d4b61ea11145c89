"""The derivative T of the exponential of SE(3), its inverse, transpose and gradient."""

import numpy as np
import pytest
from scipy.linalg import expm

from sparsebody._core import simulation as native
from sparsebody.spatial import motion_cross

ANGLES = [0.0, 1e-4, 0.5, 0.999, 1.001, np.pi / 2, 3.0, np.pi, 5.0, 6.0]  # below a turn [rad]


def twist(angle):
    """A displacement that turns by an angle, and moves."""
    rng = np.random.default_rng(int(1000 * angle))
    axis = rng.normal(size=3)
    return np.concatenate([angle * axis / np.linalg.norm(axis), rng.normal(size=3)])


def tangent_matrix(y):
    """T(y) = (1 - exp(-ad)) / ad: the upper right block of exp([-ad, 1; 0, 0])."""
    blocks = np.block([[-motion_cross(y), np.eye(6)], [np.zeros((6, 12))]])
    return expm(blocks)[:6, 6:]


def columns(products, y):
    """The matrix of a linear function of twists or wrenches, from the products with unit ones."""
    return np.asarray(products(np.tile(y, (6, 1)), np.eye(6))).T


@pytest.mark.parametrize("angle", ANGLES)
def test_products_with_the_derivative_are_those_of_its_matrix(angle):
    y = twist(angle)
    T = tangent_matrix(y)
    np.testing.assert_allclose(columns(native.tangent_products, y), T, atol=1e-13)
    np.testing.assert_allclose(columns(native.tangent_forces, y), T.T, atol=1e-13)


@pytest.mark.parametrize("angle", ANGLES)
def test_inverses_are_exact_up_to_a_turn(angle):
    y = twist(angle)
    T = tangent_matrix(y)
    inverse = columns(native.inverse_tangent_products, y)
    np.testing.assert_allclose(T @ inverse, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(columns(native.inverse_tangent_forces, y), inverse.T, atol=1e-12)


@pytest.mark.parametrize("angle", ANGLES)
def test_the_gradient_of_a_product_is_its_difference(angle):
    y, rng = twist(angle), np.random.default_rng(7)
    m, f, change = rng.normal(size=(3, 6))
    step = 1e-5
    forward, back = (f @ tangent_matrix(y + s * step * change) @ m for s in (1.0, -1.0))
    gradient = np.asarray(native.tangent_gradients(y[None], m[None], f[None]))[0]
    np.testing.assert_allclose(gradient @ change, (forward - back) / (2.0 * step), atol=1e-7)
