import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sparsebody.errors import ModelError, ShapeError
from sparsebody.spatial import (
    box_inertia,
    check_inertia,
    cylinder_inertia,
    force_transform,
    inertia_parts,
    plucker_transform,
    rod_inertia,
    rotation_exponential,
    spatial_inertia,
    sphere_inertia,
    symmetric_inverse,
    transform_inertia,
)

vectors = arrays(float, 3, elements=st.floats(-3, 3))
sizes = st.floats(0.1, 10.0)


def close(result, expected, atol=1e-10):
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=atol)


@st.composite
def bodies(draw):
    """Mass, center of mass and rotational inertia of a box that is turned at random."""
    mass, R = draw(sizes), rotation_exponential(draw(vectors))
    box = box_inertia(mass, [draw(sizes), draw(sizes), draw(sizes)])
    return mass, draw(vectors), R @ box @ R.T


@st.composite
def transforms(draw):
    return plucker_transform(rotation_exponential(draw(vectors)), draw(vectors))


@given(bodies())
def test_inertia_parts_invert_spatial_inertia(body):
    for result, given_value in zip(inertia_parts(spatial_inertia(*body)), body, strict=True):
        close(result, given_value)


@given(bodies(), vectors, vectors)
def test_kinetic_energy_is_that_of_the_center_of_mass_plus_the_spin(body, w, u):
    m, c, I_c = body
    v = np.concatenate([w, u])
    u_c = u + np.cross(w, c)
    close(v @ spatial_inertia(*body) @ v, m * u_c @ u_c + w @ I_c @ w, atol=1e-8)


@given(bodies(), transforms())
def test_transformed_inertia_gives_the_transformed_momentum(body, X):
    I_A = spatial_inertia(*body)
    I_B = transform_inertia(I_A, X)
    np.testing.assert_array_equal(I_B, I_B.T)
    close(I_B @ X, force_transform(X) @ I_A, atol=1e-8)


def test_inertias_are_vectorized_over_leading_axes():
    generator = np.random.default_rng(0)
    mass, c = generator.uniform(1, 2, size=4), generator.normal(size=(4, 3))
    inertia = spatial_inertia(mass, c, np.diag([1.0, 2.0, 2.5]))
    close(inertia[2], spatial_inertia(mass[2], c[2], np.diag([1.0, 2.0, 2.5])))
    X = plucker_transform(rotation_exponential(c), c)
    close(transform_inertia(inertia, X)[2], transform_inertia(inertia[2], X[2]))
    close(inertia_parts(inertia)[1], c)


# --- solids ---


def sampled_inertia(mass, points):
    """Rotational inertia of equal point masses."""
    squares = np.sum(points**2) * np.eye(3)
    return mass / len(points) * (squares - points.T @ points)


def test_solids_equal_a_sum_over_many_points():
    t = (np.arange(60) + 0.5) / 30 - 1.0
    cube = np.stack(np.meshgrid(t, t, t), axis=-1).reshape(-1, 3)
    ball = cube[np.sum(cube**2, axis=1) <= 1.0]
    roller = cube[np.sum(cube[:, :2] ** 2, axis=1) <= 1.0]
    scale = np.array([0.5, 1.0, 1.5])
    close_enough = {"rtol": 5e-3, "atol": 5e-3}
    for exact, sampled in [
        (box_inertia(2.0, 2 * scale), sampled_inertia(2.0, cube * scale)),
        (sphere_inertia(2.0, 1.0), sampled_inertia(2.0, ball)),
        (cylinder_inertia(2.0, 1.0, 4.0), sampled_inertia(2.0, roller * [1, 1, 2])),
        (rod_inertia(2.0, 4.0, [3, 0, 0]), sampled_inertia(2.0, np.outer(2 * t, [1, 0, 0]))),
    ]:
        np.testing.assert_allclose(exact, sampled, **close_enough)


@given(sizes, sizes, sizes, vectors)
def test_rod_with_a_radius_is_a_cylinder_and_turns_with_its_axis(mass, radius, length, phi):
    R = rotation_exponential(phi)
    rod = rod_inertia(mass, length, R @ [0.0, 0.0, 2.0], radius=radius)
    close(rod, R @ cylinder_inertia(mass, radius, length) @ R.T, atol=1e-9)
    check_inertia(mass, rod, "rod")


@given(bodies())
def test_real_bodies_pass_the_check(body):
    mass, _, inertia = body
    check_inertia(mass, inertia, "body 'box'")
    check_inertia(mass, sphere_inertia(mass, 0.3), "body 'ball'")


def test_flat_plate_with_the_triangle_equality_passes():
    R = rotation_exponential([0.3, -0.7, 0.2])
    check_inertia(1.0, R @ np.diag([1.0, 2.0, 3.0]) @ R.T, "body 'plate'")


# --- errors ---


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
def test_bad_mass_is_refused_with_the_name_the_value_and_the_remedy(mass):
    with pytest.raises(ModelError, match=f"body 'arm': mass {mass} kg; give a positive one"):
        check_inertia(mass, np.eye(3), "body 'arm'")


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        ([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], r"entry \[0, 1\] is 0.1 .* is 0; make"),
        (np.zeros((3, 3)), r"moments 0, 0, 0 kg m\^2 and is not positive definite; give every"),
        (np.diag([1.0, -1.0, 1.0]), r"moments -1, 1, 1 .*not positive definite"),
        (rod_inertia(1.0, 1.0, [1, 1, 1]), r"not positive definite.*thin rod: a small radius"),
        (np.diag([1.0, 1.0, 2.1]), r"no body has principal moments 1, 1, 2.1 .*check the units"),
        (np.diag([1.0, 1.0, np.nan]), r"give finite numbers"),
        ([1.0, 1.0, 1.0], r"shape \(3,\); give one of shape \(3, 3\)"),
    ],
)
def test_bad_inertia_is_refused_with_the_name_the_value_and_the_remedy(inertia, message):
    with pytest.raises(ModelError, match=f"body 'arm': .*{message}"):
        check_inertia(1.0, inertia, "body 'arm'")


@pytest.mark.parametrize(
    ("solid", "message"),
    [
        (lambda: box_inertia(0.0, [1, 1, 1]), r"box: mass 0.0; give a positive"),
        (lambda: box_inertia(1.0, [1, -2, 1]), r"box: shortest side -2.0; give a positive"),
        (lambda: box_inertia(1.0, [1, 1]), r"box: sides has shape \(2,\)"),
        (lambda: sphere_inertia(1.0, np.nan), r"sphere: radius nan; give a positive"),
        (lambda: cylinder_inertia(1.0, 0.0, 1.0), r"cylinder: radius 0.0; give a positive"),
        (lambda: cylinder_inertia(1.0, 1.0, 1.0, [0, 0, 0]), r"cylinder: axis .* no direction"),
        (lambda: rod_inertia(1.0, -1.0), r"rod: length -1.0; give a positive"),
        (lambda: rod_inertia(1.0, 1.0, radius=-0.1), r"rod: radius -0.1; give zero or a positive"),
    ],
)
def test_bad_solid_is_refused_with_the_value_and_the_remedy(solid, message):
    with pytest.raises(ModelError, match=message):
        solid()


def test_wrong_shapes_are_named():
    with pytest.raises(ShapeError, match=r"center_of_mass must have shape \(\.\.\., 3\)"):
        spatial_inertia(1.0, [0, 0], np.eye(3))
    with pytest.raises(ShapeError, match=r"rotational_inertia must have shape \(\.\.\., 3, 3\)"):
        spatial_inertia(1.0, [0, 0, 0], [1, 1, 1])
    with pytest.raises(ShapeError, match=r"leading axes .*mass \(2,\), center \(3,\)"):
        spatial_inertia([1.0, 2.0], np.zeros((3, 3)), np.eye(3))
    with pytest.raises(ShapeError, match=r"inertia must have shape \(\.\.\., 6, 6\)"):
        inertia_parts(np.eye(3))
    with pytest.raises(ShapeError, match=r"leading axes .*inertia \(2,\), transform \(3,\)"):
        transform_inertia(np.zeros((2, 6, 6)), np.zeros((3, 6, 6)))


@given(vectors)
def test_slender_rod_is_refused_in_every_direction(phi):
    rod = rod_inertia(1.0, 2.0, rotation_exponential(phi) @ [0.0, 0.0, 1.0])
    with pytest.raises(ModelError, match="thin rod: a small radius"):
        check_inertia(1.0, rod, "body 'bar'")


@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-6])
def test_inverses_by_cofactors_are_as_accurate_as_elimination(smallest):
    rng = np.random.default_rng(0)
    moments = np.array([smallest, 1.0, 1.05])
    R = rotation_exponential(rng.normal(size=(500, 3)))
    inertia = R @ np.diag(moments) @ np.swapaxes(R, 1, 2)
    inertia = 0.5 * (inertia + np.swapaxes(inertia, 1, 2))
    expected = R @ np.diag(1.0 / moments) @ np.swapaxes(R, 1, 2)
    result = symmetric_inverse(inertia)
    np.testing.assert_array_equal(result, np.swapaxes(result, 1, 2))
    error = np.abs(result - expected).max()
    assert error < 3.0 * np.abs(np.linalg.inv(inertia) - expected).max()
