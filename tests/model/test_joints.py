"""Every joint type of the table, by the properties that make it one."""

import numpy as np
import pytest
from random_mechanisms import random_position, random_type

import sparsebody as sb
from sparsebody._core import joints
from sparsebody.spatial import rotation_exponential, skew


def of_types(*names):
    """Run a test(name, seed) for some joint types, with a hundred seeds each."""

    def of_names(test):
        def of_seeds(name):
            for seed in range(100):
                test(name, seed)

        of_seeds.__name__, of_seeds.__doc__ = test.__name__, test.__doc__
        return pytest.mark.parametrize("name", names)(of_seeds)

    return of_names


of_every_type = of_types(*sb.JOINT_TYPES)


def sample(name, seed):
    """A joint type, its position and its pose (E, r), and what draws more."""
    rng = np.random.default_rng(seed)
    joint_type = random_type(rng, name)
    q = random_position(rng, joint_type)
    return joint_type, q, *joint_type.pose(q), rng


def errors(joint_type, E, r):
    """The compiled position error of one joint in the pose (E, r)."""
    return joints.position_error(joint_type.kind, joint_type.parameter, E, r)


def moved(E, r, twist):
    """The pose after S moves by a twist in S coordinates."""
    return rotation_exponential(twist[:3]).T @ E, r + E.T @ twist[3:]


@of_every_type
def test_constraint_forces_do_no_work_and_active_ones_are_dual_to_the_motion(name, seed):
    joint_type, q, *_ = sample(name, seed)
    S, T = joint_type.motion_subspace(q), joint_type.constraint_force_subspace(q)
    assert S.shape == (6, joint_type.n_velocities)
    assert T.shape == (6, joint_type.n_constraints)
    np.testing.assert_allclose(T.T @ S, 0.0, atol=1e-14)
    assert np.linalg.matrix_rank(np.hstack([S, T])) == 6
    T_a = joint_type.active_force_subspace(q)
    np.testing.assert_allclose(T_a.T @ S, np.eye(joint_type.n_velocities), atol=1e-14)


@of_every_type
def test_coordinates_invert_the_transform_where_the_error_is_zero(name, seed):
    joint_type, q, E, r, _ = sample(name, seed)
    X = joint_type.transform(joint_type.coordinates(E, r))
    np.testing.assert_allclose(X, joint_type.transform(q), atol=1e-13)
    if joint_type.n_positions == joint_type.n_velocities:
        np.testing.assert_allclose(joint_type.coordinates(E, r), q, atol=1e-13)
    np.testing.assert_allclose(errors(joint_type, E, r), 0.0, atol=1e-13)


@of_every_type
def test_position_error_grows_as_the_constrained_velocity(name, seed):
    joint_type, q, E, r, rng = sample(name, seed)
    twist, h = rng.normal(size=6), 1e-5
    ahead, behind = (errors(joint_type, *moved(E, r, sign * h * twist)) for sign in (1.0, -1.0))
    rate = joint_type.constraint_force_subspace(q).T @ twist
    np.testing.assert_allclose((ahead - behind) / (2 * h), rate, atol=1e-7)


@of_every_type
def test_motion_subspace_is_the_rate_of_the_transform(name, seed):
    joint_type, q, E, r, rng = sample(name, seed)
    if not joint_type.scalar_positions or joint_type.n_positions != joint_type.n_velocities:
        S = joint_type.motion_subspace(q)  # moving along S keeps the joint closed
        along = S @ rng.normal(size=joint_type.n_velocities)
        np.testing.assert_allclose(errors(joint_type, *moved(E, r, 1e-7 * along)), 0.0, atol=1e-12)
        return
    qd, h = rng.normal(size=joint_type.n_velocities), 1e-6
    E_1, r_1 = joint_type.pose(q + h * qd)
    E_0, r_0 = joint_type.pose(q - h * qd)
    spin = -(E_1 - E_0) / (2 * h) @ E.T  # dE/dt = -w x E
    v = np.concatenate([[spin[2, 1], spin[0, 2], spin[1, 0]], E @ (r_1 - r_0) / (2 * h)])
    np.testing.assert_allclose(spin, skew(v[:3]), atol=1e-8)
    np.testing.assert_allclose(joint_type.motion_subspace(q) @ qd, v, atol=1e-8)


@of_every_type
def test_compiled_coordinates_agree_with_the_type(name, seed):
    """Value q, dual W with W' S = 1 on its column, and (dW/dt)' v_J by differences."""
    joint_type, q, E, r, rng = sample(name, seed)
    n = joint_type.n_velocities
    if not joint_type.has_named_coordinates:
        assert not joint_type.scalar_positions
        return
    S = joint_type.motion_subspace(q)
    v_J = S @ rng.normal(size=n)

    def run(E, r):
        joint, kind = np.zeros(n, dtype=np.intp), np.array([joint_type.kind])
        parameter = np.array([joint_type.parameter])
        return joints.coordinate_motions(
            joint, np.arange(n), (kind, E[None], r[None], parameter), v_J[None]
        )

    value, W, drift = run(E, r)
    np.testing.assert_allclose(W @ S, np.eye(n), atol=1e-13)
    offset = joint_type.n_positions - n  # quaternion first, then the scalars
    for i in joint_type.scalar_positions:
        np.testing.assert_allclose(value[i], joint_type.coordinates(E, r)[i + offset], atol=1e-13)
    h = 1e-6
    ahead, behind = run(*moved(E, r, h * v_J))[1], run(*moved(E, r, -h * v_J))[1]
    np.testing.assert_allclose((ahead - behind) @ v_J / (2 * h), drift, atol=1e-7)


@of_every_type
def test_drift_is_that_of_all_dual_vectors_also_off_the_joint(name, seed):
    """T' c = -(dT/dt)' v and W' c = -(dW/dt)' v at any pose near the joint and any v."""
    joint_type, _, E, r, rng = sample(name, seed)
    kind, parameter = joint_type.kind, joint_type.parameter
    pose = moved(E, r, 0.1 * rng.uniform(-1, 1, 6))
    v, h = rng.normal(size=6), 1e-6
    c = joints.drift(kind, *pose, v)
    duals = [joints.constraint_force_subspace]
    if joint_type.has_named_coordinates:  # else the basis of S is carried along as it likes
        duals.append(joints.active_force_subspace)
    for dual in duals:
        ahead, behind = (dual(kind, parameter, *moved(*pose, sign * h * v)) for sign in (1.0, -1.0))
        rate = (ahead - behind).T @ v / (2 * h)
        np.testing.assert_allclose(dual(kind, parameter, *pose).T @ c, -rate, rtol=1e-5, atol=1e-5)


@of_types("prismatic", "cylindrical", "planar")
def test_position_error_of_a_tilted_joint_is_a_distance_that_its_rows_never_increase(name, seed):
    rng = np.random.default_rng(seed)
    joint_type = sb.JOINT_TYPES[name]()
    E, r = rotation_exponential(rng.uniform(-2, 2, 3)), rng.normal(size=3)
    T = joint_type.constraint_force_subspace(np.zeros(joint_type.n_positions))
    shifting = ~T[:3].any(axis=0)
    delta = errors(joint_type, E, r)[shifting]
    distance = abs(r[2]) if name == "planar" else np.hypot(r[0], r[1])
    np.testing.assert_allclose(np.linalg.norm(delta), distance)
    nearer = errors(joint_type, *moved(E, r, -1e-3 * T[:, shifting] @ delta))[shifting]
    assert np.linalg.norm(nearer) <= distance * (1.0 + 1e-14)


def test_helical_error_takes_the_nearest_turn_of_the_thread():
    screw = sb.Helical(0.01)
    E, r = screw.pose(np.array([40.0]))
    np.testing.assert_allclose(errors(screw, E, r), 0.0, atol=1e-13)
    np.testing.assert_allclose(screw.coordinates(E, r), [40.0])


def test_a_distance_between_coinciding_points_is_made_by_assembly():
    mechanism = sb.Mechanism()
    mechanism.add_body("ball", mass=1.0, inertia=[1, 1, 1], linear_velocity=[0.3, 0, 0])
    mechanism.add_distance("rod", sb.WORLD, "ball", length=2.0)
    state = sb.consistent_state(mechanism.compile())
    np.testing.assert_allclose(np.linalg.norm(state.position[0]), 2.0)
    np.testing.assert_allclose(state.position[0] @ state.velocity[0, 3:], 0.0, atol=1e-12)
