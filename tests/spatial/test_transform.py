import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import sparsebody.spatial as sp
from sparsebody.errors import ModelError, ShapeError

ANGLES = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-4, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-12]


def close(result, expected, atol=1e-12):
    np.testing.assert_allclose(result, expected, rtol=0, atol=atol)


def vectors(size=3, bound=10.0):
    return arrays(float, size, elements=st.floats(-bound, bound))


@st.composite
def units(draw, size=3):
    v = draw(vectors(size))
    assume(np.linalg.norm(v) > 1e-3)
    return v / np.linalg.norm(v)


@st.composite
def transforms(draw):
    return sp.plucker_transform(sp.rotation_from_quaternion(draw(units(4))), draw(vectors()))


# --- the cross product ---


@given(vectors(), vectors())
def test_skew_is_the_cross_product(a, b):
    close(sp.skew(a) @ b, np.cross(a, b))


@given(arrays(float, (2, 5, 3), elements=st.floats(-10, 10)))
def test_unskew_inverts_skew_over_leading_axes(a):
    np.testing.assert_array_equal(sp.unskew(sp.skew(a)), a)


# --- quaternions form a group ---


@given(units(4), units(4))
def test_product_of_quaternions_is_product_of_rotations(p, q):
    product = sp.rotation_from_quaternion(sp.quaternion_product(p, q))
    close(product, sp.rotation_from_quaternion(p) @ sp.rotation_from_quaternion(q))


@given(units(4))
def test_rotation_from_quaternion_agrees_with_scipy_and_with_the_sandwich(q):
    R = sp.rotation_from_quaternion(q)
    close(R, Rotation.from_quat(q, scalar_first=True).as_matrix())
    p = np.array([1.0, -2.0, 3.0])
    sandwich = sp.quaternion_product(
        sp.quaternion_product(q, [0.0, *p]), sp.quaternion_conjugate(q)
    )
    close(R @ p, sandwich[1:])
    close(sp.quaternion_product(sp.quaternion_conjugate(q), q), [1.0, 0.0, 0.0, 0.0])


# --- bijections ---


@given(units(4))
def test_quaternion_and_rotation_matrix_are_equivalent_up_to_the_sign(q):
    back = sp.quaternion_from_rotation(sp.rotation_from_quaternion(q))
    assert back[0] >= 0.0
    assert min(np.abs(back - q).max(), np.abs(back + q).max()) < 1e-12


@pytest.mark.parametrize("q", [*np.eye(4), [0, 0.6, 0.8, 0], [0.5, -0.5, 0.5, -0.5]])
def test_quaternion_from_rotation_is_exact_at_half_turns(q):
    back = sp.quaternion_from_rotation(sp.rotation_from_quaternion(q))
    assert min(np.abs(back - q).max(), np.abs(back + np.asarray(q)).max()) < 1e-15


@pytest.mark.parametrize("angle", ANGLES)
@settings(max_examples=25)
@given(axis=units())
def test_quaternion_logarithm_inverts_the_exponential(angle, axis):
    phi = angle * axis
    q = sp.quaternion_exponential(phi)
    assert abs(np.linalg.norm(q) - 1.0) < 1e-15
    close(sp.quaternion_logarithm(q), phi, atol=1e-15 * max(angle, 1e-290) * 10)
    close(sp.quaternion_logarithm(-q), phi, atol=1e-15 * max(angle, 1e-290) * 10)


@given(units())
def test_rotation_logarithm_at_a_half_turn_is_one_of_both_axes(axis):
    phi = sp.rotation_logarithm(2.0 * np.outer(axis, axis) - np.eye(3))
    assert min(np.abs(phi - np.pi * axis).max(), np.abs(phi + np.pi * axis).max()) < 1e-12


@given(vectors())
def test_logarithm_is_the_shortest_rotation_vector(phi):
    shortest = sp.quaternion_logarithm(sp.quaternion_exponential(phi))
    assert np.linalg.norm(shortest) <= np.pi + 1e-12
    close(sp.rotation_exponential(shortest), sp.rotation_exponential(phi))


@given(units(), st.floats(-10, 10))
def test_all_exponentials_agree_with_scipy(axis, angle):
    expected = Rotation.from_rotvec(angle * axis).as_matrix()
    close(sp.rotation_about(axis, angle), expected)
    close(sp.rotation_exponential(angle * axis), expected)
    close(sp.rotation_from_quaternion(sp.quaternion_exponential(angle * axis)), expected)


def test_rotations_are_vectorized_over_leading_axes():
    phi = np.random.default_rng(0).normal(size=(2, 5, 3))
    q, R = sp.quaternion_exponential(phi), sp.rotation_exponential(phi)
    close(sp.rotation_from_quaternion(q), R)
    close(sp.rotation_logarithm(R), sp.quaternion_logarithm(q))
    close(R[1, 3], sp.rotation_exponential(phi[1, 3]))
    angles = np.linspace(-1, 1, 5)
    close(sp.rotation_about([0, 1, 0], angles)[2], sp.rotation_about([0, 1, 0], angles[2]))


# --- Plücker transforms ---


@given(units(4), vectors())
def test_plucker_parts_invert_plucker_transform(q, r):
    E = sp.rotation_from_quaternion(q)
    E_back, r_back = sp.plucker_parts(sp.plucker_transform(E, r))
    close(E_back, E)
    close(r_back, r)


@given(transforms())
def test_inverse_and_force_transform_equal_dense_algebra(X):
    close(sp.inverse_transform(X) @ X, np.eye(6), atol=1e-11)
    close(sp.inverse_transform(X), np.linalg.inv(X), atol=1e-10)
    close(sp.force_transform(X), np.linalg.inv(X).T, atol=1e-10)


def test_transform_shifts_the_velocity_of_the_origin():
    spin = np.array([0, 0, 2.0, 0, 0, 0])  # about z through the origin of A
    X = sp.plucker_transform(np.eye(3), [3.0, 0, 0])
    close(X @ spin, [0, 0, 2, 0, 6, 0])


twists = arrays(float, 6, elements=st.floats(-3, 3))


@given(twists, twists)
def test_cross_operators_are_the_cross_products_of_their_parts(v, m):
    (w, u), (a, b) = np.split(v, 2), np.split(m, 2)
    close(sp.motion_cross(v) @ m, [*np.cross(w, a), *(np.cross(w, b) + np.cross(u, a))])
    close(sp.force_cross(v) @ m, [*(np.cross(w, a) + np.cross(u, b)), *np.cross(w, b)])


@given(twists, twists)
def test_cross_operators_transform_like_their_vectors(v, pose):
    X = sp.plucker_transform(sp.rotation_exponential(pose[:3]), pose[3:])
    X_force = sp.force_transform(X)
    close(sp.motion_cross(X @ v), X @ sp.motion_cross(v) @ np.linalg.inv(X), atol=1e-9)
    close(sp.force_cross(X @ v), X_force @ sp.force_cross(v) @ np.linalg.inv(X_force), atol=1e-9)


@given(arrays(float, 3, elements=st.floats(-2, 2)))
def test_exponential_of_motion_cross_is_the_transform_of_a_turned_frame(phi):
    X_world_body = expm(sp.motion_cross([*phi, 0, 0, 0]))
    close(X_world_body, sp.plucker_transform(sp.rotation_exponential(phi), np.zeros(3)))


# --- subspaces ---

seeds = st.integers(0, 2**32 - 1)  # of dense random matrices, which hypothesis draws slowly
UNIT = np.eye(6)


@given(st.integers(0, 6), seeds)
def test_complement_depends_on_the_subspace_alone_and_is_orthonormal(n, seed):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(6, n))
    assume(n == 0 or np.linalg.cond(S) < 1e3)
    T = sp.orthogonal_complement(S)
    assert T.shape == (6, 6 - n)
    np.testing.assert_allclose(T.T @ S, 0.0, atol=1e-12)
    np.testing.assert_allclose(T.T @ T, np.eye(6 - n), atol=1e-13)
    other = S @ (rng.uniform(-0.1, 0.1, (n, n)) + np.diag(range(1, n + 1)))
    np.testing.assert_allclose(sp.orthogonal_complement(other), T, atol=1e-9)


@given(st.sets(st.integers(0, 5)), st.randoms())
def test_complement_of_unit_vectors_is_the_other_unit_vectors_in_order(axes, random):
    shuffled = sorted(axes)
    random.shuffle(shuffled)
    others = [axis for axis in range(6) if axis not in axes]
    T = sp.orthogonal_complement(-3.0 * UNIT[:, shuffled])
    np.testing.assert_array_equal(T, UNIT[:, others])


def test_complement_of_a_screw_couples_force_and_moment_by_the_pitch():
    h = 0.3
    T = sp.orthogonal_complement([[0], [0], [1], [0], [0], [h]])
    np.testing.assert_array_equal(T[:, :4], UNIT[:, [0, 1, 3, 4]])
    np.testing.assert_allclose(T[:, 4], np.array([0, 0, -h, 0, 0, 1]) / np.hypot(1, h), atol=1e-15)


def test_units_do_not_make_columns_dependent():
    S = np.array([[0, 0, 1e-9, 0, 0, 0], [0, 0, 0, 0, 0, 1e9]]).T
    np.testing.assert_array_equal(sp.orthogonal_complement(S), UNIT[:, [0, 1, 3, 4]])


# --- errors ---

SHAPES = [
    *((sp.skew, (2,)), (sp.unskew, (3,)), (sp.quaternion_conjugate, (3,))),
    *((sp.quaternion_exponential, (4,)), (sp.quaternion_logarithm, (3,))),
    *((sp.quaternion_from_rotation, (3, 4)), (sp.rotation_from_quaternion, ())),
    *((sp.rotation_exponential, (3, 2)), (sp.rotation_logarithm, (2, 2))),
    *((sp.plucker_parts, (3, 3)), (sp.inverse_transform, (6,)), (sp.force_transform, (6, 5))),
    *((sp.motion_cross, (3,)), (sp.force_cross, (3,))),
]
FORCE_TRANSFORM = sp.force_transform(sp.plucker_transform(np.eye(3), [1.0, 2.0, 3.0]))
SUBSPACES = [
    (np.zeros(6), r"subspace must have shape \(6, n\) with n <= 6, got \(6,\)"),
    (np.zeros((5, 2)), r"must have shape \(6, n\)"),
    (np.ones((6, 7)), r"with n <= 6, got \(6, 7\)"),
    (np.full((6, 1), np.nan), r"must hold finite numbers"),
    (np.zeros((6, 1)), r"the 1 columns of subspace depend on each other; leave out"),
    (UNIT[:, [0, 1, 0]], r"the 3 columns of subspace depend on each other"),
    (np.ones((6, 2)) + 1e-13 * UNIT[:, :2], r"the 2 columns of subspace depend"),
]
MISFITS = [
    *(((f, np.zeros(shape)), r"must have shape \(\.\.\., .*got \(") for f, shape in SHAPES),
    ((sp.quaternion_product, np.zeros((2, 4)), np.zeros((3, 4))), r"leading .* p \(2,\), q \(3,\)"),
    ((sp.plucker_transform, np.eye(3)[[[0] * 3] * 2], np.zeros((3, 3))), r"\(2,\), origin \(3,\)"),
    ((sp.rotation_about, np.zeros((2, 3)), np.zeros(3)), r"axis \(2,\), angle \(3,\)"),
    ((sp.skew, ["a", "b", "c"]), "vector must be an array of numbers"),
    ((sp.rotation_about, [0, 0, 2], 0.1), "axis must be a unit vector"),
    ((sp.rotation_about, [np.nan, 0, 1], 0.1), "axis must be a unit vector"),
    ((sp.plucker_parts, FORCE_TRANSFORM), "upper right block"),
    ((sp.inverse_transform, FORCE_TRANSFORM), "upper right block"),
    ((sp.force_transform, FORCE_TRANSFORM), "upper right block"),
    *(((sp.orthogonal_complement, S), message) for S, message in SUBSPACES),
]
QUATERNIONS = [
    ([2, 0, 0, 0], r"norm 2, not 1; divide it by its norm"),
    ([0, 0, 0, 0], r"norm 0, not 1; use \(1, 0, 0, 0\)"),
    ("upright", r"'upright'; give 4 numbers"),
]


@pytest.mark.parametrize(("call", "message"), MISFITS)
def test_arguments_that_do_not_fit_are_named(call, message):
    with pytest.raises(ShapeError, match=message):
        call[0](*call[1:])


@pytest.mark.parametrize(("quaternion", "message"), QUATERNIONS)
def test_bad_quaternion_is_refused_with_the_name_the_value_and_the_remedy(quaternion, message):
    with pytest.raises(ModelError, match=f"body 'arm'.*{message}"):
        sp.check_unit_quaternion(quaternion, "body 'arm'")
