"""Building the body-joint graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mechanisms import random_rotation

from sparsebody.model.bodies import RigidBody
from sparsebody.model.connections import Joint
from sparsebody.model.frames import Frame, axes
from sparsebody.model.joints import ConstantDistance, Revolute, Spherical, Universal
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.time_functions import Polynomial, Sinusoid
from sparsebody.spatial import quaternion_from_rotation

SEEDS = st.integers(0, 2**32 - 1)


def two_bodies(rng: np.random.Generator) -> Mechanism:
    """Bodies "a" and "b" anywhere."""
    mechanism = Mechanism("two")
    for name in ("a", "b"):
        mechanism.add_body(
            name,
            mass=1.0,
            inertia=[1, 1, 1],
            position=rng.normal(size=3),
            orientation=quaternion_from_rotation(random_rotation(rng)),
        )
    return mechanism


def test_the_graph_carries_bodies_and_joints() -> None:
    mechanism = two_bodies(np.random.default_rng(0))
    hinge = mechanism.add_joint("hinge", Revolute(), WORLD, "a")
    ball = mechanism.add_joint("ball", Spherical(), "a", "b")
    second = mechanism.add_joint("second", Spherical(), "a", "b")
    graph = mechanism.graph
    assert isinstance(graph, nx.MultiDiGraph)
    assert set(graph) == {WORLD, "a", "b"}
    assert isinstance(graph.nodes["a"]["body"], RigidBody)
    assert graph.edges[WORLD, "a", "hinge"]["joint"] is hinge
    assert graph.number_of_edges("a", "b") == 2
    assert mechanism.joints == {"hinge": hinge, "ball": ball, "second": second}
    assert mechanism.joint("ball") is ball
    assert list(mechanism.bodies) == ["a", "b"]
    assert mechanism.body("b") is mechanism.bodies["b"]
    assert (mechanism.n_bodies, mechanism.n_joints) == (2, 3)
    assert repr(mechanism) == "Mechanism('two': 2 bodies, 3 joints)"


@given(seed=SEEDS)
def test_a_joint_given_in_the_world_is_closed_at_its_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism = two_bodies(rng)
    point, axis, x_axis = rng.normal(size=(3, 3))
    joint = mechanism.add_joint(
        "joint", Revolute(), "a", "b", point=point, axis=axis, x_axis=x_axis
    )
    for body, frame in (("a", joint.predecessor_frame), ("b", joint.successor_frame)):
        carrier = mechanism.body(body)
        R = carrier.rotation @ frame.rotation
        np.testing.assert_allclose(carrier.to_world(frame.origin), point, atol=1e-13)
        np.testing.assert_allclose(R[:, 2], axis / np.linalg.norm(axis), atol=1e-13)
        assert R[:, 1] @ x_axis == pytest.approx(0.0, abs=1e-12)
        assert R[:, 0] @ x_axis > 0.0


def test_a_joint_sits_at_the_origin_of_its_successor_unless_told() -> None:
    mechanism = two_bodies(np.random.default_rng(1))
    place = np.asarray(mechanism.body("b").position)
    to_body = mechanism.add_joint("one", Spherical(), "a", "b")
    np.testing.assert_allclose(to_body.successor_frame.origin, 0.0, atol=1e-15)
    to_world = mechanism.add_joint("two", Revolute(), "b", WORLD)
    np.testing.assert_allclose(to_world.successor_frame.origin, place)
    np.testing.assert_allclose(to_world.successor_frame.rotation, np.eye(3))


def test_a_joint_may_be_given_by_its_frames() -> None:
    mechanism = two_bodies(np.random.default_rng(2))
    first, second = Frame((1, 2, 3)), Frame((4, 5, 6), (0, 1, 0, 0))
    joint = mechanism.add_joint(
        "joint", Spherical(), "a", "b", predecessor_frame=first, successor_frame=second
    )
    for frame, same in ((joint.predecessor_frame, first), (joint.successor_frame, second)):
        np.testing.assert_array_equal(frame.position, same.position)
        np.testing.assert_array_equal(frame.orientation, same.orientation)
    half = mechanism.add_joint("half", Spherical(), "a", "b", successor_frame=second)
    np.testing.assert_array_equal(half.predecessor_frame.origin, 0.0)


@pytest.mark.parametrize(
    ("given_motion", "expected"),
    [
        (None, {}),
        (0.5, {0: Polynomial((0.5,))}),
        (Sinusoid(1.0, 2.0), {0: Sinusoid(1.0, 2.0)}),
        ({1: 0.5}, {1: Polynomial((0.5,))}),
        ({1: 0.5, 0: Sinusoid(1.0, 2.0)}, {0: Sinusoid(1.0, 2.0), 1: Polynomial((0.5,))}),
    ],
)
def test_prescribed_motions_may_be_numbers_functions_or_both(
    given_motion: object, expected: dict[int, object]
) -> None:
    mechanism = two_bodies(np.random.default_rng(3))
    joint = mechanism.add_joint("cross", Universal(), "a", "b", prescribed=given_motion)
    assert dict(joint.prescribed) == expected
    assert joint.n_constraints == 4 + len(expected)


@given(seed=SEEDS)
def test_a_distance_keeps_what_it_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism = two_bodies(rng)
    first, second = rng.normal(size=(2, 3))
    rod = mechanism.add_distance("rod", "a", "b", first_point=first, second_point=second)
    ends = mechanism.body("a").to_world(first), mechanism.body("b").to_world(second)
    assert isinstance(rod.type, ConstantDistance)
    assert rod.type.length == pytest.approx(np.linalg.norm(ends[1] - ends[0]))
    tether = mechanism.add_distance("tether", WORLD, "a", length=2.0)
    assert tether.type.parameter == 2.0


@given(seed=SEEDS)
def test_axes_are_right_handed_with_z_where_it_is_asked_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=3)
    for x in (None, rng.normal(size=3)):
        R = axes(z, x, "frame")
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
        assert np.linalg.det(R) == pytest.approx(1.0)
        np.testing.assert_allclose(R[:, 2], z / np.linalg.norm(z), atol=1e-14)


def test_axes_along_and_against_z_are_axes_too() -> None:
    np.testing.assert_allclose(axes((0, 0, 2), None, "frame"), np.eye(3))
    np.testing.assert_allclose(axes((0, 0, -2), None, "frame"), np.diag([1, -1, -1]))


def test_a_diagonal_inertia_may_be_given_by_its_moments() -> None:
    body = Mechanism().add_body("a", mass=1.0, inertia=[1, 2, 2.5])
    np.testing.assert_array_equal(body.inertia, np.diag([1, 2, 2.5]))


def test_what_a_model_holds_cannot_be_changed_afterwards() -> None:
    mechanism = two_bodies(np.random.default_rng(6))
    body = mechanism.body("a")
    for array in (body.inertia, body.position, mechanism.gravity):
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(array)[0] = 1.0
    mechanism.joints["ghost"] = Joint("ghost", Revolute(), "a", "b")  # a copy
    assert mechanism.n_joints == 0
