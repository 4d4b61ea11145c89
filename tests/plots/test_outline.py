"""Outlines of mechanisms, and the planes in which they are drawn."""

import numpy as np
import pytest
from linkages import one_body
from scipy.spatial.distance import pdist

import sparsebody as sb
from sparsebody.model.gallery import GALLERY
from sparsebody.plots.drawing import choose_view
from sparsebody.plots.outline import mechanism_outline


def outline_of(mechanism):
    system = mechanism.compile()
    return mechanism_outline(mechanism, system), system


@pytest.mark.parametrize(
    ("shape", "half"),
    [
        (sb.Box((2.0, 4.0, 6.0)), [2, 1, 3]),
        (sb.Cylinder(radius=1.0, length=4.0), [1, 1, 2]),
        (sb.Sphere(radius=1.5), [1.5, 1.5, 1.5]),
        (sb.Mesh([[1, 2, 3], [-1, -2, -3], [1, 0, 0]], [[0, 1, 2]]), [2, 1, 3]),
        (sb.CompoundShape([sb.Box((1, 1, 8)), sb.Cylinder(1.0, 4.0)]), [1, 1, 4]),
    ],
)
def test_shapes_are_drawn_around_their_frames_wherever_the_center_of_mass_is(shape, half):
    position = {"center_of_mass": [0.1, 0.2, 0.3], "position": [5.0, 0.0, 0.0]}
    turn = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]  # x to y
    outline, system = outline_of(one_body(**position, orientation=turn, shape=shape))
    points = outline.lines.at(system.initial_state) - [5.0, 0.0, 0.0]
    assert not isinstance(shape, sb.Box) or len(points) == 24
    np.testing.assert_allclose(points.min(axis=0), -np.array(half), atol=1e-12)
    np.testing.assert_allclose(points.max(axis=0), half, atol=1e-12)
    if isinstance(shape, sb.Sphere):
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.5)


def test_a_body_without_a_shape_is_a_line_between_its_joints():
    mechanism = sb.Mechanism()
    for name, x in (("first", 0.5), ("second", 1.5)):
        mechanism.add_body(name, mass=1.0, inertia=[1.0, 1.0, 1.0], position=[x, 0.0, 0.0])
    mechanism.add_joint("hinge", sb.Revolute(), sb.WORLD, "first", point=[0, 0, 0])
    mechanism.add_joint("ball", sb.Spherical(), "first", "second", point=[1, 0, 0])
    outline, system = outline_of(mechanism)
    first, second = outline.lines.at(system.initial_state).reshape(2, 2, 3)
    assert np.allclose(first, [[1, 0, 0], [0, 0, 0]])
    assert np.allclose(second, [[1.5, 0, 0], [1, 0, 0]])
    assert outline.grounded.tolist() == [True, False]


def test_rods_and_springs_are_links_between_points_of_bodies():
    mechanism = one_body(position=[0.0, 0.0, -1.0])
    mechanism.add_distance("rod", sb.WORLD, "body")
    mechanism.add_point_force("spring", sb.WORLD, "body", first_point=[1, 0, 0], stiffness=1.0)
    outline, system = outline_of(mechanism)
    links = outline.links.at(system.initial_state)
    assert np.allclose(links, [[0, 0, 0], [0, 0, -1], [1, 0, 0], [0, 0, -1]])


@pytest.mark.parametrize("name", GALLERY)
def test_joints_are_where_both_their_bodies_have_them(name):
    mechanism = sb.build(name)
    outline, system = outline_of(mechanism)
    state = sb.consistent_state(system)
    positions = outline.joints.at(state)
    assert positions.shape == (system.n_joints, 3)
    assert np.all(np.isfinite(outline.lines.at(state)))
    assert set(outline.lines.body) == set(range(system.n_bodies))


DOWN_Y, DOWN_Z = np.array([0.0, -9.81, 0.0]), np.array([0.0, 0.0, -9.81])
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def in_plane(normal):
    return np.insert(SQUARE, normal, 0.3, axis=1)


@pytest.mark.parametrize(("normal", "labels"), [(0, "yz"), (1, "xz"), (2, "xy")])
def test_points_in_a_coordinate_plane_are_seen_along_its_normal(normal, labels):
    view = choose_view([in_plane(normal)], DOWN_Z)
    assert view.labels == tuple(f"{axis} [m]" for axis in labels)
    assert np.allclose(view(in_plane(normal)), SQUARE)


LINE = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
THICK = np.concatenate([in_plane(2), in_plane(2) + np.array([0, 0, 1])])
MOVED = THICK + np.array([0.1, 0.2, 0.0])
MOVED[0] += [0.3, 0.0, 0.0]


@pytest.mark.parametrize(
    ("positions", "gravity", "labels"),
    [([LINE], DOWN_Y, "xy"), ([LINE], DOWN_Z, "xz"), ([THICK, MOVED], DOWN_Y, "xy")],
)
def test_planes_hold_gravity_or_lie_across_the_normal_of_the_motion(positions, gravity, labels):
    view = choose_view(positions, gravity)
    assert view.labels == tuple(f"{axis} [m]" for axis in labels)


def test_points_in_space_are_seen_in_three_dimensions():
    points = np.random.default_rng(0).normal(size=(10, 3))
    assert not choose_view([points], DOWN_Z).is_planar


def test_a_tilted_plane_keeps_its_distances_and_has_up_on_top():
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    points = in_plane(2) @ turn.T
    view = choose_view([points], DOWN_Z)
    assert view.is_planar
    np.testing.assert_allclose(pdist(view(points)), pdist(points))
    assert view.axes[1] @ DOWN_Z < 0


def test_beams_are_cubics_from_end_to_end_that_leave_along_their_frames():
    mechanism = one_body(position=[2, 0, 0])
    section = {"E": 1e7, "G": 1e7, "A": 1e-2, "I_y": 1e-5, "I_z": 1e-5, "J": 1e-5}
    mechanism.add_beam("beam", sb.WORLD, "body", start=[0, 0, 0], end=[2, 0, 0], **section)
    system = mechanism.compile()
    outline = mechanism_outline(mechanism, system)
    (straight,) = outline.beam_curves(system.initial_state)
    np.testing.assert_allclose(straight[[0, -1]], [[0, 0, 0], [2, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(straight[:, 1:], 0.0, atol=1e-15)
    bent = sb.displaced(system.initial_state, np.array([[0, 0.3, 0, 0, 0, -0.4]]))
    (curve,) = outline.beam_curves(bent)
    along = np.diff(curve, axis=0)
    np.testing.assert_allclose(curve[-1], [2, 0, -0.4], atol=1e-15)
    assert abs(along[0, 2] / along[0, 0]) < 0.1
    assert along[-1, 2] / along[-1, 0] == pytest.approx(-np.tan(0.3), rel=0.1)
