import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sparsebody.spatial as sp
from sparsebody.errors import ModelError, ShapeError

vectors = arrays(float, 3, elements=st.floats(-3, 3))
sizes = st.floats(0.1, 10.0)


def close(result, expected, atol=1e-10):
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=atol)


@st.composite
def bodies(draw):
    """Mass, center of mass and rotational inertia of a box that is turned at random."""
    mass, R = draw(sizes), sp.rotation_exponential(draw(vectors))
    box = sp.box_inertia(mass, [draw(sizes), draw(sizes), draw(sizes)])
    return mass, draw(vectors), R @ box @ R.T


@st.composite
def transforms(draw):
    return sp.plucker_transform(sp.rotation_exponential(draw(vectors)), draw(vectors))


@given(bodies())
def test_inertia_parts_invert_spatial_inertia(body):
    for result, given_value in zip(sp.inertia_parts(sp.spatial_inertia(*body)), body, strict=True):
        close(result, given_value)


@given(bodies(), vectors, vectors)
def test_kinetic_energy_is_that_of_the_center_of_mass_plus_the_spin(body, w, u):
    m, c, I_c = body
    v = np.concatenate([w, u])
    u_c = u + np.cross(w, c)
    close(v @ sp.spatial_inertia(*body) @ v, m * u_c @ u_c + w @ I_c @ w, atol=1e-8)


@given(bodies(), transforms())
def test_transformed_inertia_gives_the_transformed_momentum(body, X):
    I_A = sp.spatial_inertia(*body)
    I_B = sp.transform_inertia(I_A, X)
    np.testing.assert_array_equal(I_B, I_B.T)
    close(I_B @ X, sp.force_transform(X) @ I_A, atol=1e-8)


def test_inertias_are_vectorized_over_leading_axes():
    generator = np.random.default_rng(0)
    mass, c = generator.uniform(1, 2, size=4), generator.normal(size=(4, 3))
    inertia = sp.spatial_inertia(mass, c, np.diag([1.0, 2.0, 2.5]))
    close(inertia[2], sp.spatial_inertia(mass[2], c[2], np.diag([1.0, 2.0, 2.5])))
    X = sp.plucker_transform(sp.rotation_exponential(c), c)
    close(sp.transform_inertia(inertia, X)[2], sp.transform_inertia(inertia[2], X[2]))
    close(sp.inertia_parts(inertia)[1], c)


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
        (sp.box_inertia(2.0, 2 * scale), sampled_inertia(2.0, cube * scale)),
        (sp.sphere_inertia(2.0, 1.0), sampled_inertia(2.0, ball)),
        (sp.cylinder_inertia(2.0, 1.0, 4.0), sampled_inertia(2.0, roller * [1, 1, 2])),
        (sp.rod_inertia(2.0, 4.0, [3, 0, 0]), sampled_inertia(2.0, np.outer(2 * t, [1, 0, 0]))),
    ]:
        np.testing.assert_allclose(exact, sampled, **close_enough)


@given(sizes, sizes, sizes, vectors)
def test_rod_with_a_radius_is_a_cylinder_and_turns_with_its_axis(mass, radius, length, phi):
    R = sp.rotation_exponential(phi)
    rod = sp.rod_inertia(mass, length, R @ [0.0, 0.0, 2.0], radius=radius)
    close(rod, R @ sp.cylinder_inertia(mass, radius, length) @ R.T, atol=1e-9)
    sp.check_inertia(mass, rod, "rod")


@given(bodies(), vectors)
def test_real_bodies_pass_the_check_and_so_does_a_plate_with_the_triangle_equality(body, phi):
    R = sp.rotation_exponential(phi)
    sp.check_inertia(body[0], body[2], "body 'box'")
    sp.check_inertia(body[0], sp.sphere_inertia(body[0], 0.3), "body 'ball'")
    sp.check_inertia(1.0, R @ np.diag([1.0, 2.0, 3.0]) @ R.T, "body 'plate'")


# --- errors ---

BODIES = [
    *((m, np.eye(3), f"mass {m} kg; give a positive") for m in (0.0, -1.0, np.nan, np.inf)),
    (1.0, [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], r"entry \[0, 1\] is 0.1 .* is 0; make"),
    (1.0, np.zeros((3, 3)), r"moments 0, 0, 0 kg m\^2 and is not positive definite; give every"),
    (1.0, np.diag([1.0, -1.0, 1.0]), r"moments -1, 1, 1 .*not positive definite"),
    (1.0, np.diag([1.0, 1.0, 2.1]), r"no body has principal moments 1, 1, 2.1 .*check the units"),
    (1.0, np.diag([1.0, 1.0, np.nan]), r"every number must be finite"),
    (1.0, [1.0, 1.0, 1.0], r"shape \(3,\); give numbers of shape \(3, 3\)"),
]
SOLIDS = [
    (lambda: sp.box_inertia(0.0, [1, 1, 1]), r"box: mass 0.0; give a positive"),
    (lambda: sp.box_inertia(1.0, [1, -2, 1]), r"box: shortest side -2.0; give a positive"),
    (lambda: sp.box_inertia(1.0, [1, 1]), r"box: sides has shape \(2,\)"),
    (lambda: sp.sphere_inertia(1.0, np.nan), r"sphere: radius nan; give a positive"),
    (lambda: sp.cylinder_inertia(1.0, 0.0, 1.0), r"cylinder: radius 0.0; give a positive"),
    (lambda: sp.cylinder_inertia(1.0, 1.0, 1.0, [0, 0, 0]), r"cylinder: axis .* no direction"),
    (lambda: sp.rod_inertia(1.0, -1.0), r"rod: length -1.0; give a positive"),
    (lambda: sp.rod_inertia(1.0, 1.0, radius=-0.1), r"rod: radius -0.1; give zero or a positive"),
]
ZEROS = np.zeros((2, 6, 6)), np.zeros((3, 6, 6))
SHAPES = [
    (lambda: sp.spatial_inertia(1.0, [0, 0], np.eye(3)), r"center_of_mass must .*\.\.\., 3\)"),
    (lambda: sp.spatial_inertia(1.0, [0, 0, 0], [1] * 3), r"rotational_inertia .*\.\.\., 3, 3\)"),
    (lambda: sp.spatial_inertia([1.0] * 2, np.eye(3), np.eye(3)), r"mass \(2,\), center \(3,\)"),
    (lambda: sp.inertia_parts(np.eye(3)), r"inertia must have shape \(\.\.\., 6, 6\)"),
    (lambda: sp.transform_inertia(*ZEROS), r"leading axes .*inertia \(2,\), transform \(3,\)"),
]


@pytest.mark.parametrize(("mass", "inertia", "message"), BODIES)
def test_bad_bodies_are_refused_with_the_name_the_value_and_the_remedy(mass, inertia, message):
    with pytest.raises(ModelError, match=f"body 'arm': .*{message}"):
        sp.check_inertia(mass, inertia, "body 'arm'")


@pytest.mark.parametrize(("function", "message"), SOLIDS + SHAPES)
def test_bad_arguments_are_refused_with_the_value_and_the_remedy(function, message):
    with pytest.raises(ModelError if (function, message) in SOLIDS else ShapeError, match=message):
        function()


@given(vectors)
def test_slender_rod_is_refused_in_every_direction(phi):
    rod = sp.rod_inertia(1.0, 2.0, sp.rotation_exponential(phi) @ [0.0, 0.0, 1.0])
    with pytest.raises(ModelError, match="thin rod: a small radius"):
        sp.check_inertia(1.0, rod, "body 'bar'")


@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-6])
def test_inverses_by_cofactors_are_as_accurate_as_elimination(smallest):
    rng = np.random.default_rng(0)
    moments = np.array([smallest, 1.0, 1.05])
    R = sp.rotation_exponential(rng.normal(size=(500, 3)))
    inertia = R @ np.diag(moments) @ np.swapaxes(R, 1, 2)
    inertia = 0.5 * (inertia + np.swapaxes(inertia, 1, 2))
    expected = R @ np.diag(1.0 / moments) @ np.swapaxes(R, 1, 2)
    result = sp.symmetric_inverse(inertia)
    np.testing.assert_array_equal(result, np.swapaxes(result, 1, 2))
    error = np.abs(result - expected).max()
    assert error < 3.0 * np.abs(np.linalg.inv(inertia) - expected).max()
