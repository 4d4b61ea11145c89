import numpy as np
import pytest

from sparsebody.equations.initial_state import consistent_state
from sparsebody.model.bodies import Box, Cylinder, Sphere
from sparsebody.model.gallery import GALLERY, build
from sparsebody.model.joints import Revolute, Spherical
from sparsebody.model.mechanism import WORLD, Mechanism
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
