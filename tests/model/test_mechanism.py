"""Building the body-joint graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mechanisms import random_rotation

import sparsebody as sb
from sparsebody.model.bodies import axes
from sparsebody.spatial import quaternion_from_rotation

SEEDS = st.integers(0, 2**32 - 1)


def two_bodies(rng):
    """Bodies "a" and "b" anywhere."""
    mechanism = sb.Mechanism("two")
    turns = quaternion_from_rotation([random_rotation(rng) for _ in range(2)])
    position = {"position": rng.normal(size=(2, 3)), "orientation": turns}
    mechanism.add_bodies(["a", "b"], mass=1.0, inertia=[1, 1, 1], **position)
    return mechanism


@pytest.mark.parametrize("length", [1e-200, 1.0, 1e200])
def test_axes_may_have_any_length(length):
    mechanism = sb.Mechanism()
    mechanism.add_body("bar", mass=1.0, inertia=[1.0, 1.0, 1.0])
    mechanism.add_joint("pivot", sb.Revolute(), sb.WORLD, "bar", axis=[0, 3 * length, 4 * length])
    axis = mechanism.compile().predecessor_rotation[0, :, 2]
    np.testing.assert_allclose(axis, [0.0, 0.6, 0.8], atol=1e-15)


def test_the_graph_carries_bodies_and_joints():
    mechanism = two_bodies(np.random.default_rng(0))
    hinge = mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "a")
    ball = mechanism.add_joint("ball", sb.Spherical(), "a", "b")
    second = mechanism.add_joint("second", sb.Spherical(), "a", "b")
    graph = mechanism.graph
    assert isinstance(graph, nx.MultiDiGraph)
    assert set(graph) == {sb.WORLD, *mechanism.bodies} == {sb.WORLD, "a", "b"}
    assert isinstance(graph.nodes["a"]["body"], sb.RigidBody)
    assert graph.number_of_edges("a", "b") == 2
    assert mechanism.joints == {"hinge": hinge, "ball": ball, "second": second}
    assert repr(mechanism) == "Mechanism('two': 2 bodies, 3 joints)"


@given(seed=SEEDS)
def test_a_joint_given_in_the_world_is_closed_at_its_zero(seed):
    rng = np.random.default_rng(seed)
    mechanism = two_bodies(rng)
    point, axis, x_axis = rng.normal(size=(3, 3))
    where = {"point": point, "axis": axis, "x_axis": x_axis}
    joint = mechanism.add_joint("joint", sb.Revolute(), "a", "b", **where)
    for body, frame in (("a", joint.predecessor_frame), ("b", joint.successor_frame)):
        carrier = mechanism.body(body)
        R = carrier.rotation @ frame.rotation
        np.testing.assert_allclose(carrier.to_world(frame.origin), point, atol=1e-13)
        np.testing.assert_allclose(R[:, 2], axis / np.linalg.norm(axis), atol=1e-13)
        assert R[:, 1] @ x_axis == pytest.approx(0.0, abs=1e-12)
        assert R[:, 0] @ x_axis > 0.0


def test_a_joint_may_be_given_by_its_frames_and_sits_at_the_origin_of_its_successor_unless_told():
    mechanism = two_bodies(np.random.default_rng(2))
    frames = {
        "predecessor_frame": sb.Frame((1, 2, 3)),
        "successor_frame": sb.Frame((4, 5, 6), (0, 1, 0, 0)),
    }
    joint = mechanism.add_joint("joint", sb.Spherical(), "a", "b", **frames)
    for side, frame in frames.items():
        np.testing.assert_array_equal(getattr(joint, side).position, frame.position)
        np.testing.assert_array_equal(getattr(joint, side).orientation, frame.orientation)
    half = mechanism.add_joint("half", sb.Spherical(), "a", "b", successor_frame=sb.Frame())
    np.testing.assert_array_equal(half.predecessor_frame.origin, 0.0)
    to_body = mechanism.add_joint("one", sb.Spherical(), "a", "b")
    np.testing.assert_allclose(to_body.successor_frame.origin, 0.0, atol=1e-15)
    to_world = mechanism.add_joint("two", sb.Revolute(), "b", sb.WORLD).successor_frame
    np.testing.assert_allclose(to_world.origin, mechanism.body("b").position)
    np.testing.assert_allclose(to_world.rotation, np.eye(3))


@pytest.mark.parametrize(
    ("given_motion", "expected"),
    [
        (None, {}),
        (0.5, {0: sb.Polynomial((0.5,))}),
        (sb.Sinusoid(1.0, 2.0), {0: sb.Sinusoid(1.0, 2.0)}),
        ({1: 0.5}, {1: sb.Polynomial((0.5,))}),
        ({1: 0.5, 0: sb.Sinusoid(1.0, 2.0)}, {0: sb.Sinusoid(1.0, 2.0), 1: sb.Polynomial((0.5,))}),
    ],
)
def test_prescribed_motions_may_be_numbers_functions_or_both(given_motion, expected):
    mechanism = two_bodies(np.random.default_rng(3))
    joint = mechanism.add_joint("cross", sb.Universal(), "a", "b", prescribed=given_motion)
    assert dict(joint.prescribed) == expected
    assert joint.n_constraints == 4 + len(expected)


@given(seed=SEEDS)
def test_a_distance_keeps_what_it_finds(seed):
    rng = np.random.default_rng(seed)
    mechanism = two_bodies(rng)
    first, second = rng.normal(size=(2, 3))
    rod = mechanism.add_distance("rod", "a", "b", first_point=first, second_point=second)
    ends = mechanism.body("a").to_world(first), mechanism.body("b").to_world(second)
    assert isinstance(rod.type, sb.ConstantDistance)
    assert rod.type.length == pytest.approx(np.linalg.norm(ends[1] - ends[0]))
    tether = mechanism.add_distance("tether", sb.WORLD, "a", length=2.0)
    assert tether.type.parameter == 2.0


@given(seed=SEEDS)
def test_axes_are_right_handed_with_z_where_it_is_asked_for(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=3)
    for x in (None, rng.normal(size=3)):
        R = axes(z, x, "frame")
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
        assert np.linalg.det(R) == pytest.approx(1.0)
        np.testing.assert_allclose(R[:, 2], z / np.linalg.norm(z), atol=1e-14)
    for sign in (1, -1):
        np.testing.assert_allclose(axes((0, 0, 2 * sign), None, "frame"), np.diag([1, sign, sign]))
