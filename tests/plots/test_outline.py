"""Outlines of mechanisms, and the planes in which they are drawn."""

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.equations.initial_state import consistent_state
from sparsebody.model.bodies import Box, Cylinder, Sphere
from sparsebody.model.gallery import GALLERY, build
from sparsebody.model.joints import Revolute, Spherical
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.plots.drawing import choose_view
from sparsebody.plots.outline import mechanism_outline


def outline_of(mechanism):
    system = mechanism.compile()
    return mechanism_outline(mechanism, system), system


def one_body(shape):
    mechanism = Mechanism()
    mechanism.add_body(
        "body",
        mass=1.0,
        inertia=[1.0, 1.0, 1.0],
        center_of_mass=[0.1, 0.2, 0.3],
        position=[5.0, 0.0, 0.0],
        orientation=[np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)],  # x to y
        shape=shape,
    )
    outline, system = outline_of(mechanism)
    return outline.lines.at(system.initial_state)


def test_a_box_is_drawn_around_its_frame_wherever_the_center_of_mass_is():
    corners = one_body(Box((2.0, 4.0, 6.0)))
    assert len(corners) == 24
    assert np.allclose(corners.min(axis=0), [3.0, -1.0, -3.0])
    assert np.allclose(corners.max(axis=0), [7.0, 1.0, 3.0])


def test_a_cylinder_stands_along_its_z_axis():
    corners = one_body(Cylinder(radius=1.0, length=4.0))
    assert np.allclose(np.ptp(corners, axis=0), [2.0, 2.0, 4.0])


def test_a_sphere_has_the_same_size_in_all_directions():
    corners = one_body(Sphere(radius=1.5))
    assert np.allclose(np.linalg.norm(corners - [5.0, 0.0, 0.0], axis=1), 1.5)


def test_a_body_without_a_shape_is_a_line_between_its_joints():
    mechanism = Mechanism()
    for name, x in (("first", 0.5), ("second", 1.5)):
        mechanism.add_body(name, mass=1.0, inertia=[1.0, 1.0, 1.0], position=[x, 0.0, 0.0])
    mechanism.add_joint("hinge", Revolute(), WORLD, "first", point=[0, 0, 0])
    mechanism.add_joint("ball", Spherical(), "first", "second", point=[1, 0, 0])
    outline, system = outline_of(mechanism)
    first, second = outline.lines.at(system.initial_state).reshape(2, 2, 3)
    assert np.allclose(first, [[1, 0, 0], [0, 0, 0]])
    assert np.allclose(second, [[1.5, 0, 0], [1, 0, 0]])
    assert outline.grounded.tolist() == [True, False]


def test_rods_and_springs_are_links_between_points_of_bodies():
    mechanism = Mechanism()
    mechanism.add_body("bob", mass=1.0, inertia=[1.0, 1.0, 1.0], position=[0.0, 0.0, -1.0])
    mechanism.add_distance("rod", WORLD, "bob")
    mechanism.add_point_force("spring", WORLD, "bob", first_point=[1, 0, 0], stiffness=1.0)
    outline, system = outline_of(mechanism)
    links = outline.links.at(system.initial_state)
    assert np.allclose(links, [[0, 0, 0], [0, 0, -1], [1, 0, 0], [0, 0, -1]])


@pytest.mark.parametrize("name", GALLERY)
def test_joints_are_where_both_their_bodies_have_them(name):
    mechanism = build(name)
    outline, system = outline_of(mechanism)
    state = consistent_state(system)
    places = outline.joints.at(state)
    assert places.shape == (system.n_joints, 3)
    assert np.all(np.isfinite(outline.lines.at(state)))
    assert set(outline.lines.body) == set(range(system.n_bodies))


DOWN_Y, DOWN_Z = np.array([0.0, -9.81, 0.0]), np.array([0.0, 0.0, -9.81])
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def in_plane(normal):
    return np.insert(SQUARE, normal, 0.3, axis=1)


@pytest.mark.parametrize(
    ("normal", "labels"),
    [(0, ("y [m]", "z [m]")), (1, ("x [m]", "z [m]")), (2, ("x [m]", "y [m]"))],
)
def test_points_in_a_coordinate_plane_are_seen_along_its_normal(normal, labels):
    view = choose_view([in_plane(normal)], DOWN_Z)
    assert view.labels == labels
    assert np.allclose(view(in_plane(normal)), SQUARE)


def test_a_straight_mechanism_is_seen_in_a_plane_that_holds_gravity():
    line = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert choose_view([line], DOWN_Y).labels == ("x [m]", "y [m]")
    assert choose_view([line], DOWN_Z).labels == ("x [m]", "z [m]")


def test_a_planar_motion_of_a_thick_mechanism_is_seen_along_its_normal():
    thick = np.concatenate([in_plane(2), in_plane(2) + np.array([0, 0, 1])])
    moved = thick + np.array([0.1, 0.2, 0.0])
    moved[0] += [0.3, 0.0, 0.0]
    assert choose_view([thick, moved], DOWN_Y).labels == ("x [m]", "y [m]")


def test_points_in_space_are_seen_in_three_dimensions():
    points = np.random.default_rng(0).normal(size=(10, 3))
    assert not choose_view([points], DOWN_Z).is_planar


def test_a_tilted_plane_keeps_its_distances_and_has_up_on_top():
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    points = in_plane(2) @ turn.T
    view = choose_view([points], DOWN_Z)
    assert view.is_planar
    seen = view(points)
    for k in range(3):
        apart = np.linalg.norm(points[k + 1] - points[k])
        assert np.linalg.norm(seen[k + 1] - seen[k]) == pytest.approx(apart)
    assert view.axes[1] @ DOWN_Z < 0


def test_a_flipped_view_exchanges_its_axes():
    view = choose_view([in_plane(1)], DOWN_Z).flipped()
    assert view.labels == ("z [m]", "x [m]")
    assert np.allclose(view(in_plane(1)), SQUARE[:, ::-1])


def test_beams_are_cubics_from_end_to_end_that_leave_along_their_frames():
    mechanism = sb.Mechanism("cantilever")
    mechanism.add_body("tip", mass=1.0, inertia=[1, 1, 1], position=[2, 0, 0])
    section = {"E": 1e7, "G": 1e7, "A": 1e-2, "I_y": 1e-5, "I_z": 1e-5, "J": 1e-5}
    mechanism.add_beam("beam", sb.WORLD, "tip", start=[0, 0, 0], end=[2, 0, 0], **section)
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
