import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm

from sparsebody.errors import ShapeError
from sparsebody.spatial import (
    force_cross,
    force_transform,
    motion_cross,
    plucker_transform,
    rotation_exponential,
)

twists = arrays(float, 6, elements=st.floats(-3, 3))


def close(found, expected, atol=1e-11):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@given(twists, twists)
def test_cross_operators_are_the_cross_products_of_their_parts(v, m):
    (w, u), (a, b) = np.split(v, 2), np.split(m, 2)
    close(motion_cross(v) @ m, [*np.cross(w, a), *(np.cross(w, b) + np.cross(u, a))])
    close(force_cross(v) @ m, [*(np.cross(w, a) + np.cross(u, b)), *np.cross(w, b)])


@given(twists, twists)
def test_cross_operators_transform_like_their_vectors(v, pose):
    X = plucker_transform(rotation_exponential(pose[:3]), pose[3:])
    X_force = force_transform(X)
    close(motion_cross(X @ v), X @ motion_cross(v) @ np.linalg.inv(X), atol=1e-9)
    close(force_cross(X @ v), X_force @ force_cross(v) @ np.linalg.inv(X_force), atol=1e-9)


@given(arrays(float, 3, elements=st.floats(-2, 2)))
def test_exponential_of_motion_cross_is_the_transform_of_a_turned_frame(phi):
    X_world_body = expm(motion_cross([*phi, 0, 0, 0]))
    close(X_world_body, plucker_transform(rotation_exponential(phi), np.zeros(3)))


def test_cross_operators_are_vectorized_over_leading_axes():
    v = np.random.default_rng(0).normal(size=(2, 3, 6))
    close(motion_cross(v)[1, 2], motion_cross(v[1, 2]))
    close(force_cross(v)[1, 2], force_cross(v[1, 2]))


@pytest.mark.parametrize("operator", [motion_cross, force_cross])
def test_wrong_shape_is_named(operator):
    with pytest.raises(ShapeError, match=r"velocity must have shape \(\.\.\., 6\), got \(3,\)"):
        operator(np.zeros(3))
